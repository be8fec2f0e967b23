"""Traces and messages in the administration pages: what happened is found, told, taken along, and never run."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from playwright.sync_api import expect
from scenario.hub_process import HubProcess, end, wait_until

from pregon.client import Client
from pregon.model.trace import FAILED, REMOVED, TraceQuery

from .admin_people import Administrator, start_with_people
from .conftest import OpenPage
from .visitors import Language

RUN = "document.title='it ran';window.ran=1"
HOSTILE = [
    ("text/html", f"<h1>hola</h1><script>{RUN}</script><img src=x onerror={RUN}>".encode()),
    ("application/json", b'{"nombre": "</pre><script>' + RUN.encode() + b'</script>"}'),
    ("application/xml", b"<a><script xmlns='http://www.w3.org/1999/xhtml'>" + RUN.encode() + b"</script></a>"),
    ("image/svg+xml", b'<svg xmlns="http://www.w3.org/2000/svg" onload="' + RUN.encode() + b'"/>'),
    (f'text/html"><script>{RUN}</script>', b"a type of its own"),
]
FORMULA = '=HYPERLINK("http://example.org")'


@pytest.fixture(scope="module")
def module_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """A hub that may push to this machine, with people, and messages to which everything has happened."""
    hub = start_with_people(HubProcess(tmp_path_factory.mktemp("hub") / "data", push_allow="127.0.0.0/8"))
    try:
        fill(hub)
        yield hub
        assert hub.stop() == 0
    finally:
        end(hub)


def fill(hub: HubProcess) -> None:
    """In `deaths`, 1 and 3 are acknowledged, 2 is set aside, 4 waits."""
    with hub.client(producer="registry") as client:
        client.create("topic", name="deaths")
        client.create("subscriber", name="bank")
        client.create("subscription", topic="deaths", subscriber="bank")
        for name in ("Pepe", "Ana", "Luz"):
            client.publish("deaths", f'{{"name": "{name}", "n": 1.10}}', content_type="application/json", key="k-1")
        client.pull("deaths", "bank")
        client.park("deaths", "bank", [2], FORMULA)
        client.ack("deaths", "bank", 3)
        client.publish("deaths", b"\x00\x01\xff", headers={"office": "3"})


@pytest.fixture
def registry(hub: HubProcess) -> Iterator[Client]:
    """A producer."""
    with hub.client(producer="registry") as client:
        yield client


@pytest.fixture
def ana(hub: HubProcess, open_page: OpenPage) -> Administrator:
    """Ana, who administers the hub and has entered."""
    return Administrator(open_page("ana", "en"), hub).enter()


def sentences(person: Administrator) -> list[str]:
    """What the rows of the list say happened."""
    return [" ".join(one.split()) for one in person.page.locator("tbody tr td:nth-child(3)").all_inner_texts()]


def test_a_search_finds_what_happened_and_is_in_the_address(ana: Administrator, open_page: OpenPage) -> None:
    ana.go("traces")
    ana.fill(topic="deaths", subscriber="bank", kind="acknowledged")
    ana.press("Search")
    expect(ana.page.locator("tbody tr")).to_have_count(2)
    found, address = sentences(ana), ana.page.url

    ana.page.goto(address)

    assert sentences(ana) == found
    assert found == ["bank acknowledged message 3 of deaths", "bank acknowledged message 1 of deaths"]
    assert {"topic=deaths", "subscriber=bank", "kind=acknowledged"} <= set(address.partition("?")[2].split("&"))
    ana.page.get_by_role("link", name="3", exact=True).click()
    expect(ana.page.locator("h1")).to_have_text("Message 3 of deaths")


def test_a_search_by_number_date_and_producer_finds_the_same_as_the_hub(ana: Administrator, client: Client) -> None:
    expected = client.traces(TraceQuery(topic="deaths", seq=2))

    ana.go("traces?topic=deaths&seq=2&from=2020-01-01T00:00&until=2099-01-01T00:00")
    by_number = sentences(ana)
    ana.go("traces?producer=registry&topic=deaths&kind=accepted")

    assert len(by_number) == len(expected) == 3
    assert by_number[0] == f"Set aside for bank: message 2 of deaths {FORMULA}"
    assert sentences(ana)[0] == "registry published message 4 of deaths"


def test_what_makes_no_sense_is_said_and_what_was_entered_stays(ana: Administrator) -> None:
    ana.visitor.allow("status of 400")
    ana.go("traces")

    ana.fill(seq="17")
    ana.press("Search")

    expect(ana.page.get_by_role("alert")).to_contain_text("a message number means nothing without its topic")
    expect(ana.page.locator("[name=seq]")).to_have_value("17")


def test_a_search_that_finds_nothing_says_how_to_widen_it(ana: Administrator) -> None:
    ana.go("traces?topic=deaths&kind=expired")
    ana.sees("No trace is like that")

    ana.press("without: Result")

    expect(ana.page.locator("tbody tr").first).to_be_visible()
    expect(ana.page.locator("[name=topic]")).to_have_value("deaths")


def test_a_field_suggests_the_names_that_there_are(ana: Administrator) -> None:
    ana.go("traces")

    ana.page.locator("[name=topic]").press_sequentially("dea")

    expect(ana.page.locator("#names-topic option")).to_have_count(1)
    expect(ana.page.locator("#names-topic option")).to_have_attribute("value", "deaths")


def test_older_ones_follow_page_by_page(ana: Administrator, registry: Client, topic: str) -> None:
    for number in range(150):
        registry.publish(topic, f"{number}")
    seen: list[str] = []

    ana.go(f"traces?topic={topic}")
    seen += sentences(ana)
    ana.page.locator("[rel=next]").click()
    expect(ana.page.get_by_role("link", name="Newest")).to_be_visible()
    seen += sentences(ana)

    assert len(seen) == len(set(seen)) == 150
    expect(ana.page.locator("[rel=next]")).to_have_count(0)


@pytest.mark.parametrize("language, story", [("en", "It was set aside for bank"), ("es", "Se apartó para bank")])
def test_a_message_tells_its_story(hub: HubProcess, open_page: OpenPage, language: Language, story: str) -> None:
    ana = Administrator(open_page("ana", language), hub).enter()

    page = ana.go("messages/deaths/2")

    expect(page.locator("pre.body")).to_have_text('{\n  "name": "Ana",\n  "n": 1.10\n}')
    expect(page.locator(".story li")).to_have_count(3)
    expect(page.locator(".story li").last).to_contain_text(story)
    expect(page.locator(".story li").last).to_contain_text(FORMULA)
    row = page.locator("tbody tr", has_text="bank")
    expect(row.locator(".badge")).to_have_text("set aside" if language == "en" else "apartado")
    expect(page.locator(".facts")).to_contain_text("k-1")
    page.locator("[rel=next]").click()
    expect(page.locator("h1")).to_contain_text("3")


def test_bytes_that_are_no_text_are_shown_as_such_and_come_back_as_they_were(ana: Administrator) -> None:
    page = ana.go("messages/deaths/4")
    expect(page.locator("pre.body.hex")).to_contain_text("00 01 ff")
    expect(page.locator(".facts")).to_contain_text("office")

    with page.expect_download() as download:
        ana.press("Download")

    assert Path(download.value.path()).read_bytes() == b"\x00\x01\xff"
    assert download.value.suggested_filename == "deaths-4.bin"


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_no_body_is_ever_run(ana: Administrator, registry: Client, topic: str, number: int) -> None:
    content_type, body = HOSTILE[number]
    registry.publish(topic, body, content_type=content_type)

    page = ana.go(f"messages/{topic}/1")
    shown = page.locator("pre.body").inner_text()
    answer = page.request.get(f"{ana.base}/messages/{topic}/1/body")
    ran = page.evaluate("window.ran")

    assert RUN in shown or RUN in content_type
    assert ran is None
    assert "it ran" not in page.title()
    assert page.locator("pre.body *").count() == 0
    assert answer.body() == body
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"].startswith("attachment; ")
    assert "sandbox" in answer.headers["content-security-policy"]


def test_a_message_that_retention_removed_still_has_its_story(ana: Administrator, registry: Client, topic: str) -> None:
    registry.create("topic", name=topic, retention={"when_acknowledged": True})
    registry.create("subscription", topic=topic, subscriber="bank")
    registry.publish(topic, "one")
    registry.ack(topic, "bank", 1)
    wait_until(lambda: registry.traces(TraceQuery(topic=topic, kind=REMOVED)), "retention removes something")

    page = ana.go(f"messages/{topic}/1")

    ana.sees("The log does not have this message any more")
    expect(page.locator(".story li").last).to_contain_text("The topic's retention removed it")
    expect(page.locator("pre.body")).to_have_count(0)
    assert page.request.get(f"{ana.base}/messages/{topic}/1/body").status == 404


def test_the_files_have_what_the_search_found(ana: Administrator, client: Client, tmp_path: Path) -> None:
    expected = client.traces(TraceQuery(topic="deaths"))
    ana.go("traces?topic=deaths")
    files = {}
    for name in ("CSV", "Parquet"):
        with ana.page.expect_download() as download:
            ana.press(name)
        files[name] = tmp_path / download.value.suggested_filename
        download.value.save_as(files[name])

    rows = list(csv.DictReader(io.StringIO(files["CSV"].read_bytes().decode("utf-8-sig"), newline="")))
    frame = pd.read_parquet(files["Parquet"])
    counted = duckdb.sql(f'SELECT kind, count(*) FROM "{files["Parquet"]}" GROUP BY kind').fetchall()

    assert re.fullmatch(r"traces-\d{4}-\d\d-\d\d\.csv", files["CSV"].name)
    assert files["Parquet"].suffix == ".parquet"
    assert [int(row["id"]) for row in rows] == [one.id for one in expected] == frame["id"].tolist()
    assert [int(at.timestamp() * 1e6) for at in pd.to_datetime([row["at"] for row in rows], utc=True)] == [
        one.at_us for one in expected
    ]
    assert [row["detail"] for row in rows if row["detail"]] == [f"'{FORMULA}"]
    assert set(frame["detail"]) == {"", FORMULA}
    assert sum(count for _, count in counted) == len(expected)


def test_a_file_of_more_than_one_page_is_whole(ana: Administrator, registry: Client, topic: str) -> None:
    for number in range(2_100):
        registry.publish(topic, f"{number}")

    answer = ana.page.request.get(f"{ana.base}/traces.csv?topic={topic}&kind=accepted")

    numbers = [int(row["first_seq"]) for row in csv.DictReader(io.StringIO(answer.body().decode("utf-8-sig")))]
    assert numbers == list(range(2_100, 0, -1))


def test_a_file_of_a_question_without_sense_is_a_page_that_says_so(ana: Administrator) -> None:
    answers = [ana.page.request.get(f"{ana.base}/traces.{one}?seq=3") for one in ("csv", "parquet")]

    assert [one.status for one in answers] == [400, 400]
    assert "give both" in answers[0].text()


def test_who_may_not_operate_is_not_offered_a_replay(hub: HubProcess, open_page: OpenPage) -> None:
    omar, rita = (Administrator(open_page(name, "en"), hub, name).enter() for name in ("omar", "rita"))

    offered = [one.go("messages/deaths/1").get_by_role("link", name="Replay from here") for one in (omar, rita)]

    expect(offered[0]).to_have_attribute("href", "/admin/subscriptions/deaths/bank/replay?from_seq=1")
    expect(offered[1]).to_have_count(0)


def test_on_paper_there_is_what_happened_and_no_form(ana: Administrator) -> None:
    page = ana.go("traces?topic=deaths")

    page.emulate_media(media="print")

    expect(page.locator("form[role=search]")).to_be_hidden()
    expect(page.locator(".actions")).to_be_hidden()
    expect(page.locator("tbody tr").first).to_be_visible()
    expect(page.get_by_text("Searched for:")).to_contain_text("deaths")


def test_a_failed_push_is_told_in_plain_words(ana: Administrator, registry: Client, topic: str) -> None:
    registry.create("subscriber", name="lost", mode="push", endpoint="http://127.0.0.1:9/")
    registry.create("subscription", topic=topic, subscriber="lost")
    registry.publish(topic, b"hola")
    wait_until(lambda: registry.traces(TraceQuery(topic=topic, kind=FAILED)), "the push fails")

    page = ana.go(f"messages/{topic}/1")

    failed = page.locator(".story li", has_text="The hub could not deliver it to lost").first
    expect(failed).to_contain_text("Nothing listens at that address")
    expect(failed).to_contain_text("attempt 1")
    expect(page.locator("tbody tr", has_text="lost")).to_contain_text("waiting")
