"""`pregon trace` and `pregon traces`; and a message's story, which is the same at every door."""

from __future__ import annotations

import asyncio
import re

import httpx
import msgspec
import pytest

from pregon.client import AsyncClient, Client
from pregon.clock import format_us
from pregon.model.trace import Story, TraceQuery

from .command_line import run
from .hub_process import HubProcess
from .soap_clients.plain import TRAZAS, PlainClient, operation


@pytest.fixture
def told(client: Client, topic: str) -> str:
    """A topic whose second message was parked for bps and acknowledged by dnic; who subscribed later has no part."""
    for subscriber in ("bps", "dnic"):
        client.create("subscription", topic=topic, subscriber=subscriber)
    client.publish(topic, "Pepe", id="uno")
    client.publish(topic, "<x/>", id="dos", key="1.234", content_type="text/xml")
    client.create("subscription", topic=topic, subscriber="later", start="latest")
    client.park(topic, "bps", [2], reason="no such\x1b[31m person")
    client.ack(topic, "dnic", 2)
    return topic


def web(hub: HubProcess) -> str:
    """Where its HTTP door is."""
    return f"http://{hub.addresses.http}"


def lines_of(out: str) -> list[str]:
    """What people read, with runs of spaces made one, and times left out."""
    plain = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\d\d:\d\d:\d\d\.\d+", "TIME", out)
    return [" ".join(line.split()) for line in plain.splitlines() if line.strip()]


def test_the_story_of_a_message_reads_like_one(hub: HubProcess, told: str) -> None:
    said = run("trace", told, "2", hub=hub.url)

    assert said.status == 0, said.err
    title, day, *events = lines_of(said.out)
    assert title == f"{told} 2 from local text/xml id dos key 1.234"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", day)
    assert events == [
        "TIME local accepted",
        "TIME bps parked no such\N{REPLACEMENT CHARACTER}[31m person",
        "TIME dnic acknowledged (1 to 2)",
        "now",
        "bps parked since TIME; no such\N{REPLACEMENT CHARACTER}[31m person",
        "dnic acknowledged since TIME",
        "later not entitled",
    ]


def test_the_story_is_told_in_spanish_too(hub: HubProcess, told: str) -> None:
    said = run("trace", told, "2", hub=hub.url, PREGON_LANG="es")

    assert [line.split()[1] for line in lines_of(said.out) if line.startswith(("bps", "dnic", "later"))] == [
        "apartado",
        "confirmado",
        "anterior",
    ]


def test_there_is_no_story_of_what_was_never_published(hub: HubProcess, told: str) -> None:
    missing = [run("trace", name, seq, "--json", hub=hub.url) for name, seq in ((told, "3"), (f"no-{told}", "1"))]
    wrong = run("trace", told, "0", "--json", hub=hub.url)

    assert [one.error["code"] for one in missing] == ["not_found"] * 2
    assert wrong.error["code"] == "bad_request"
    assert {one.out for one in (*missing, wrong)} == {""}


def test_the_story_is_the_same_at_every_door(hub: HubProcess, client: Client, told: str) -> None:
    async def ask_async() -> Story:
        async with AsyncClient(web(hub)) as other:
            return await other.story(told, 2)

    story = client.story(told, 2)
    over_http = asyncio.run(ask_async())
    by_command = run("trace", told, "2", "--json", hub=hub.url).row
    by_rest = httpx.get(f"{web(hub)}/v1/topics/{told}/messages/2/story").json()
    soap = PlainClient(web(hub))
    asked = f"<topic>{told}</topic><notificationId>2</notificationId>"
    by_soap = soap.post("trazas", operation("GetStory", asked, TRAZAS))
    soap.close()

    assert over_http == story
    assert by_command == msgspec.to_builtins(story)
    assert (by_rest["id"], by_rest["key"], by_rest["content_type"]) == ("dos", "1.234", "text/xml")
    assert by_rest["accepted_at"] == by_rest["traces"][0]["at"] == format_us(story.accepted_us or 0)
    assert [one["kind"] for one in by_rest["traces"]] == ["accepted", "parked", "acknowledged"]
    assert {one["subscriber"]: one["state"] for one in by_rest["subscriptions"]} == {
        "bps": "parked",
        "dnic": "acknowledged",
        "later": "not_entitled",
    }
    assert by_soap.fields("trace", "kind") == ["accepted", "parked", "acknowledged"]
    assert by_soap.fields("subscription", "state") == ["parked", "acknowledged", "not_entitled"]


@pytest.mark.parametrize("seq", ["0", "-1", "x", "1" * 30])
def test_a_number_that_cannot_be_is_refused_over_http(hub: HubProcess, told: str, seq: str) -> None:
    answer = httpx.get(f"{web(hub)}/v1/topics/{told}/messages/{seq}/story")

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")


# Pages.


def test_a_search_gathers_as_many_as_were_asked_for_and_says_how_to_go_on(
    hub: HubProcess, client: Client, topic: str
) -> None:
    for number in range(5):
        client.publish(topic, str(number))

    said = run("traces", "--topic", topic, "--max", "3", hub=hub.url)
    found = re.fullmatch(r"there are older ones: --before (\d+)\n", said.err)
    assert found is not None
    rest = run("traces", "--topic", topic, "--before", found[1], "--json", hub=hub.url)

    assert len(said.out.splitlines()) == 1 + 3
    assert [row["first_seq"] for row in rest.rows] == [2, 1]
    assert rest.err == ""


def test_what_happened_to_the_messages_of_a_producer_is_found_at_every_door(
    hub: HubProcess, client: Client, topic: str
) -> None:
    client.create("subscription", topic=topic, subscriber="bps")
    for _ in range(3):
        client.publish(topic, "x")
    for seq in (1, 2, 3):
        client.ack(topic, "bps", seq)

    by_command = run("traces", "--producer", "local", "--subscriber", "bps", "--topic", topic, "--json", hub=hub.url)
    page = client.traces(TraceQuery(producer="local", subscriber="bps", topic=topic, max=2))
    asked = {"producer": "local", "subscriber": "bps", "topic": topic, "max": "2"}
    first = httpx.get(f"{web(hub)}/v1/traces", params=asked).json()
    second = httpx.get(f"{web(hub)}/v1/traces", params={**asked, "cursor": first["next"]}).json()

    assert [row["first_seq"] for row in by_command.rows] == [3, 2, 1]
    assert ([trace.first_seq for trace in page], page.next) == ([3, 2], page[-1].id)
    assert [[one["first_seq"] for one in answer["items"]] for answer in (first, second)] == [[3, 2], [1]]
    assert second["next"] is None
