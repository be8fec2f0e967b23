"""`pregon group`: groups made, shown, changed and deleted; what was said in them drawn, and why a message waited."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from pregon.client import Client
from pregon.client.calls import Call
from pregon.client.groups import calls
from pregon.model.group import DeliveryRow
from pregon.testing import Receiver
from pregon.wire.groups import Join

from ..command_line import Said, run
from ..conftest import MakeHub
from ..hub_process import HubProcess, wait_until
from ..wire_cutter import wire_to
from .rounds import hear, hear_text


def show(hub: HubProcess, *arguments: str, **variables: str) -> str:
    """What a command shows to people, with the spaces between columns made one."""
    said = run(*arguments, hub=hub.url, COLUMNS="250", **variables)
    assert said.status == 0, said.err
    return "\n".join(" ".join(line.split()) for line in said.out.splitlines())


@pytest.fixture(scope="module")
def talked(module_hub: HubProcess) -> str:
    """A group in which Ana asked, Luis answered, and Eva says that the answer came to her first."""
    group = "turbina"
    with module_hub.client() as client:
        client.create("group", name=group)
        ana, luis = client.join(group, name="ana"), client.join(group, name="luis")
        ana.send("¿Dónde va la <turbina>?")
        question = hear_text(luis)
        luis.send("A la izquierda", answers=question)
        answer = hear_text(ana)
        eva = client.join(group, name="eva")
        at_us = answer.at_us
        rows = [
            DeliveryRow(str(answer.stamp), at_us + 10_000, at_us + 320_000, str(question.stamp)),
            DeliveryRow(str(question.stamp), at_us + 320_000, at_us + 320_000),
        ]
        assert client._run(calls.report(group, eva.token, rows)) == 2
        for member in (ana, luis, eva):
            member.close()
    return group


def test_a_group_is_created_shown_changed_listed_and_deleted(hub: HubProcess, topic: str) -> None:
    invited = ["--invite", "ana", "--invite", "luis", "--no-history", "--description", "Turbina"]

    created = run("group", "create", topic, *invited, "--json", hub=hub.url)
    again = run("group", "create", topic, *invited, "--json", hub=hub.url)
    other = run("group", "create", topic, "--json", hub=hub.url)
    changed = run("group", "update", topic, "--open", "--no-traced", "--json", hub=hub.url)
    shown = show(hub, "group", "show", topic)
    listed = show(hub, "group", "list", "--after", topic[:-1], "--max", "1")
    members = show(hub, "group", "members", topic, PREGON_LANG="es")
    unsure = run("group", "delete", topic, hub=hub.url, stdin="n\n")
    deleted = show(hub, "group", "delete", topic, "--yes", PREGON_LANG="es")
    gone = run("group", "delete", topic, "--yes", "--json", hub=hub.url)

    assert (created.row["access"], created.row["allowed"]) == ("invited", ["ana", "luis"])
    assert (created.row["history"], created.row["traced"]) == (False, True)
    assert again.row == created.row
    assert (other.status, other.error["code"]) == (2, "already_exists")
    assert (changed.row["access"], changed.row["traced"], changed.row["history"]) == ("open", False, False)
    assert "description Turbina" in shown
    assert listed.splitlines() == ["name members head_seq access description", f"{topic} 0 0 open Turbina"]
    assert members == "nadie"
    assert unsure.status == 1
    assert deleted == f"grupo {topic} eliminado"
    assert (gone.status, gone.error["code"]) == (3, "not_found")


def test_members_are_told_and_who_of_them_is_here(hub: HubProcess, client: Client, topic: str) -> None:
    client.create("group", name=topic)
    with client.join(topic, name="rosa"):
        people = show(hub, "group", "members", topic)
        rows = run("group", "members", topic, "--json", hub=hub.url).rows
        shown = show(hub, "group", "show", topic)

    assert people.splitlines()[1].startswith("2 rosa native yes 1")
    assert [(row["member"], row["name"], row["is_here"]) for row in rows] == [(2, "rosa", True)]
    assert "members rosa" in shown


def test_what_was_said_is_a_table(hub: HubProcess, talked: str) -> None:
    told = show(hub, "group", "trace", talked).splitlines()
    part = run("group", "trace", talked, "--from", "2", "--to", "3", "--json", hub=hub.url).row
    empty = show(hub, "group", "create", talked + "-2", "--json") and show(hub, "group", "trace", talked + "-2")

    assert told[0] == "seq stamp name kind after text shown_to held_back"
    (answer,) = [line for line in told if "A la izquierda" in line]
    assert answer.endswith("luis message 2:2 A la izquierda 2 1")
    assert [message["seq"] for message in part["messages"]] == [2, 3]
    assert empty == "nothing was said yet"


def test_a_picture_and_a_page_are_drawn(hub: HubProcess, talked: str, tmp_path: Path) -> None:
    picture, page = tmp_path / "design.svg", tmp_path / "design.html"

    drawn = show(hub, "group", "trace", talked, "--output", str(picture))
    show(hub, "group", "trace", talked, "--output", str(page), "--lang", "es", "--logical", "--theme", "dark")

    root = ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    marks = [one for one in root.iter() if one.get("data-stamp")]
    names = {one.text for one in root.iter() if one.get("class") == "name"}
    held = [one for one in marks for ring in one.iter() if ring.get("class") == "came"]
    text = page.read_text(encoding="utf-8")
    assert drawn.endswith(f"{len(marks)} messages drawn")
    assert names == {"pregon", "ana", "luis", "eva"}
    assert [one.get("data-stamp") for one in held] == ["3:2"]
    assert '<html lang="es">' in text
    assert "esperó a 2:2" in text
    assert "&lt;turbina&gt;" in text
    assert "<turbina>" not in text


def test_why_a_message_waited_is_said(hub: HubProcess, talked: str) -> None:
    english = show(hub, "group", "trace", talked, "--why", "3:2", "--member", "eva")
    spanish = show(hub, "group", "trace", talked, "--why", "3:2", "--member", "4", "--lang", "es")
    everybody = run("group", "trace", talked, "--why", "3:2", "--json", hub=hub.url).rows

    assert english.startswith("eva got 3:2 of luis at ")
    assert "and was shown it 310 ms later: it answers 2:2 of ana, which came at " in english
    assert "y se le mostró 310 ms después: responde a 2:2 de" in spanish
    assert [row["why"].split()[0] for row in everybody] == ["luis", "ana", "eva"]


def test_a_web_service_was_shown_what_was_pushed_to_it(make_hub: MakeHub) -> None:
    hub = make_hub(push_allow="127.0.0.1").start()
    with hub.client() as client, Receiver() as receiver:
        client.create("subscriber", name="cad-turbina", mode="push", endpoint=receiver.url)
        with client.join("design", name="ana") as ana:
            turbina = client.enroll("turbina").token
            client._run(
                Call(Join(group="design", token=turbina, subscriber="cad-turbina"), (), lambda answer, _: answer)
            )
            ana.send("¿Cuántas palas?")
            wait_until(lambda: any(b"palas" in one.body for one in receiver.received), "it was pushed")

            def shown() -> list[str]:
                found = run("group", "trace", "design", "--json", hub=hub.url).row
                stamps = {one["stamp"]: one["text"] for one in found["messages"]}
                member = {name: number for number, name in found["members"]}.get("turbina")
                return [stamps[one["stamp"]] for one in found["deliveries"] if one["member"] == member]

            wait_until(lambda: "¿Cuántas palas?" in shown(), "the trace says so")


def test_a_private_conversation_is_shown_to_who_is_in_it(hub: HubProcess, client: Client) -> None:
    marta, pablo = client.enroll("marta").token, client.enroll("pablo").token
    stranger = client.enroll("curioso").token
    with client.private(marta, "pablo") as private:
        private.send("solo para vos")
        name = private.group

    told = show(hub, "group", "trace", name, PREGON_PARTICIPANT=pablo)
    listed = show(hub, "group", "list", PREGON_PARTICIPANT=pablo)
    refused = [
        run("group", *command, name, "--json", hub=hub.url, **who)
        for command in (["trace"], ["show"], ["members"])
        for who in ({}, {"PREGON_PARTICIPANT": stranger})
    ]

    assert "solo para vos" in told
    assert name in listed
    assert name not in show(hub, "group", "list")
    assert [one.out for one in refused] == [""] * 6
    assert all(one.status in (2, 3) for one in refused)


def test_what_cannot_be_traced_says_why(hub: HubProcess, talked: str, tmp_path: Path) -> None:
    def trace(*arguments: str) -> Said:
        return run("group", "trace", *arguments, "--json", hub=hub.url)

    refused = [
        (trace("no-such-group"), 3, "not_found"),
        (trace(talked, "--from", "900"), 3, "not_found"),
        (trace(talked, "--why", "9:9"), 3, "not_found"),
        (trace(talked, "--why", "3:2", "--member", "nobody"), 3, "not_found"),
        (trace(talked, "--member", "ana"), 2, "bad_request"),
        (trace(talked, "--output", "design.png"), 2, "bad_request"),
        (trace(talked, "--output", str(tmp_path / "nowhere" / "a.svg")), 2, "bad_request"),
        (trace(talked, "--lang", "fr"), 2, "bad_request"),
        (trace(talked, "--theme", "blue"), 2, "bad_request"),
        (trace(talked, "--width", "1"), 2, "bad_request"),
        (run("group", "update", talked, "--json", hub=hub.url), 2, "bad_request"),
        (run("group", "create", talked, "--open", "--invite", "ana", "--json", hub=hub.url), 2, "bad_request"),
        (run("group", "show", "no-such-group", "--json", hub=hub.url), 3, "not_found"),
    ]

    assert [(said.status, said.error["code"]) for said, _, _ in refused] == [
        (status, code) for _, status, code in refused
    ]


def test_a_message_that_overtook_its_cause_is_seen_in_what_two_hubs_have(make_hub: MakeHub, tmp_path: Path) -> None:
    first, second = make_hub("first").start(), make_hub("second").start()
    for place, hub in enumerate((first, second), start=1):
        show(hub, "group", "create", "design", "--hubs", "2", "--this", str(place))
    picture = tmp_path / "design.svg"

    with first.client() as here, second.client() as there, wire_to(first.url) as slow:
        ana = here.join("design", name="ana", paths=[second.url])
        luis = there.join("design", name="luis", paths=[first.url])
        eva = there.join("design", name="eva", paths=[slow.url])
        hear(ana, "eva")
        slow.hold()
        ana.send("¿Dónde va la turbina?")
        luis.send("A la izquierda", answers=hear_text(luis))
        hear_text(ana)
        slow.cut()
        heard = [hear_text(eva), hear_text(eva)]
        for group in (ana, luis, eva):
            group.close()
    alone = run("group", "trace", "design", "--json", hub=first.url).row
    together = run("group", "trace", "design", "--also", second.url, "--json", hub=first.url).row
    asked = str(heard[0].seq)
    until = run("group", "trace", "design", "--also", second.url, "--to", asked, "--json", hub=first.url).row
    since = run("group", "trace", "design", "--also", second.url, "--from", asked, "--json", hub=first.url).row
    why = show(
        first, "group", "trace", "design", "--also", second.url, "--why", str(heard[1].stamp), "--member", "eva",
        "--output", str(picture),
    )  # fmt: skip

    question, answer = (str(one.stamp) for one in heard)
    assert [one.text for one in heard] == ["¿Dónde va la turbina?", "A la izquierda"]
    assert {answer} == {one["stamp"] for one in together["deliveries"] if one["waited_for"]}
    assert answer not in {one["stamp"] for one in alone["messages"]}
    assert (alone["hubs"], alone["hubs_here"], together["hubs_here"]) == (2, 1, 2)
    assert [one["stamp"] for one in since["messages"]] == [question, answer]
    assert until["messages"][-1]["stamp"] == question
    assert f"it answers {question} of ana, which came at" in why
    assert picture.read_text(encoding="utf-8").count('class="came"') == 2
