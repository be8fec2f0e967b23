"""Web services of subscribers on the administration pages: tested by people, whatever they answer."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import expect
from scenario.hub_process import HubProcess, wait_until
from scenario.push.receiver import Answer, Station

from .admin_people import Administrator, make_people
from .conftest import OpenPage


@pytest.fixture(scope="module")
def module_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """A hub with people, which may push to this machine."""
    shared = HubProcess(tmp_path_factory.mktemp("hub") / "data", push_allow="127.0.0.0/8")
    make_people(shared.data)
    shared.start()
    try:
        yield shared
        assert shared.is_alive, "a test of this module ended the hub"
    finally:
        shared.stop()


@pytest.fixture
def ana(hub: HubProcess, open_page: OpenPage) -> Administrator:
    """Who administers."""
    return Administrator(open_page("ana", "en"), hub).enter()


@pytest.fixture
def station() -> Iterator[Station]:
    """A subscriber's web service."""
    with Station() as opened:
        yield opened


def test_an_endpoint_is_tested_and_what_went_over_the_wire_is_shown(
    ana: Administrator, station: Station, topic: str
) -> None:
    station.answer = lambda _arrival: Answer(503, {"X-Why": "<b>maintenance</b>"}, b"<script>alert(1)</script>\xc3\xb1")
    ana.go("subscribers/-/new")
    ana.fill(name=topic, endpoint=station.url("/news"), format="raw")
    ana.press("Create the subscriber")
    ana.sees("pull: messages wait until it asks for them")

    ana.press("Test this endpoint")
    ana.page.get_by_text("Send something of your own").click()
    ana.fill(body="¿anda?", content_type="text/plain; charset=utf-8")
    ana.press("Send the test")

    ana.sees("The web service was not reached: a push would wait")
    ana.sees("The web service is down for a moment")
    sent, answered = ana.page.locator("main .columns .card").all()
    assert (station.arrivals[0].body, station.arrivals[0].headers["pregon-test"]) == ("¿anda?".encode(), "true")
    for part in ("POST /news HTTP/1.1", f"Host: 127.0.0.1:{station.port}", "Pregon-Test: true", "¿anda?"):
        expect(sent).to_contain_text(part)
    for part in ("HTTP 503", "X-Why: <b>maintenance</b>", "<script>alert(1)</script>ñ"):
        expect(answered).to_contain_text(part)
    ana.page.reload()
    ana.sees("The web service was not reached: a push would wait")
    assert len(station.arrivals) == 1


def test_a_slow_endpoint_keeps_no_page_waiting(ana: Administrator, station: Station, topic: str) -> None:
    with ana.hub.client() as client:
        client.create("subscriber", name=topic, endpoint=station.url())
    station.hold()
    ana.go(f"subscribers/{topic}/test")
    ana.press("Send the test")

    ana.sees("The web service has not answered yet")
    station.let_go()

    ana.sees("The web service took the message: a push would be settled.")
    assert len(station.arrivals) == 1


def test_why_the_hub_stopped_pushing_is_said_and_undone(ana: Administrator, station: Station, topic: str) -> None:
    station.answer = lambda _arrival: Answer(410)
    with ana.hub.client() as client:
        client.create("subscriber", name=topic, mode="push", endpoint=station.url(), format="raw")
        client.create("subscription", topic=topic, subscriber=topic)
        client.publish(topic, b"x")
        wait_until(lambda: not client.show("subscriber", topic)["enabled"], "the hub stops pushing")
    ana.go(f"subscribers/{topic}")
    ana.sees("The hub stopped pushing to it.")
    ana.sees("The web service says that it is gone for good.")

    station.answer = lambda _arrival: Answer()
    ana.press("Enable")

    ana.sees("Enabled.")
    station.wait_for_taken(1)
    ana.press("New secret")
    ana.press("Make the secret")
    assert ana.page.locator("#secret-value").input_value().startswith("whsec_")


def test_a_test_of_an_endpoint_is_for_who_sent_it(ana: Administrator, open_page: OpenPage, station: Station) -> None:
    with ana.hub.client() as client:
        client.create("subscriber", name="mine", endpoint=station.url())
    ana.go("subscribers/mine/test")
    ana.press("Send the test")
    ana.sees("The web service took the message")
    omar = Administrator(open_page("omar", "en"), ana.hub, "omar").enter()
    omar.visitor.allow("status of 404")

    answer = omar.page.goto(ana.page.url)

    assert answer is not None and answer.status == 404
    assert httpx.get(ana.page.url, follow_redirects=False).status_code == 303
