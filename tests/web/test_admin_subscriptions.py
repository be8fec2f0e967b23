"""Subscriptions in the administration pages: why one fails, how it is put right, what is set aside in all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect
from scenario.hub_process import HubProcess, end

from pregon.client import Client
from pregon.errors import NotFound
from pregon.testing import Receiver, Reply

from .admin_people import Administrator, make_people
from .conftest import OpenPage

NEVER_MS = 3_600_000
"""A wait between two attempts that no test sees the end of."""


@pytest.fixture(scope="module")
def module_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """A hub that pushes to this machine, and that people may enter."""
    shared = HubProcess(tmp_path_factory.mktemp("hub") / "data", push_allow="127.0.0.1")
    make_people(shared.data)
    try:
        yield shared.start()
        assert shared.stop() == 0
    finally:
        end(shared)


@pytest.fixture
def client(hub: HubProcess) -> Iterator[Client]:
    """A producer, who also administers."""
    with hub.client(producer="registry") as client:
        yield client


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """The web service of a subscriber."""
    with Receiver() as started:
        yield started


def pushed(client: Client, topic: str, receiver: Receiver, *bodies: str, **push: object) -> None:
    """A topic with messages for a subscriber of the same name, to which they are pushed."""
    options = {"delay_ms_first": NEVER_MS, "delay_ms_max": NEVER_MS, **push}
    client.create("subscriber", name=topic, mode="push", endpoint=receiver.url, push=options)
    client.create("subscription", topic=topic, subscriber=topic)
    publish(client, topic, *bodies)


def publish(client: Client, topic: str, *bodies: str) -> None:
    """Publish texts."""
    for body in bodies:
        client.publish(topic, body.encode())


def fetched(client: Client, topic: str, *bodies: str) -> None:
    """A topic with messages that `bank` and `mint` fetch when they like."""
    for name in ("bank", "mint"):
        client.create("subscription", topic=topic, subscriber=name)
    publish(client, topic, *bodies)


def figures(who: Administrator) -> dict[str, int]:
    """Where the page says that the messages are."""
    found = who.page.locator(".sum > div").evaluate_all(
        "all => all.map(one => [one.querySelector('dt').textContent.trim(), one.querySelector('dd').textContent])"
    )
    return {name: int(re.sub(r"\D", "", text)) for name, text in found}


def test_an_operator_sees_why_it_fails_and_watches_the_backlog_flow_once_it_is_repaired(
    hub: HubProcess, client: Client, receiver: Receiver, topic: str, open_page: OpenPage
) -> None:
    receiver.reply = Reply(503)
    pushed(client, topic, receiver, "one", "two", "three")
    receiver.wait_for(1)
    omar = Administrator(open_page("omar", "en"), hub, "omar").enter()
    omar.go(f"subscriptions/{topic}/{topic}")
    omar.sees(f"Messages have not got through to {topic}")
    omar.sees("The web service is down for a moment")
    omar.sees(re.compile("^HTTP 503 Service Unavailable$"))
    omar.sees("until attempt 2")
    failing = figures(omar)

    receiver.reply = Reply(200)
    omar.press("Try now")
    omar.page.evaluate("() => { window.isTheSamePage = true; }")
    omar.sees(f"{topic} has everything")
    publish(client, topic, "four", "five")
    omar.sees("5 messages delivered.")

    assert failing == {
        "Delivered": 0,
        "Waiting": 3,
        "Set aside": 0,
        "Expired or given up": 0,
        "Not wanted by the filter": 0,
        "Accepted since it began": 3,
    }
    assert figures(omar)["Delivered"] == figures(omar)["Accepted since it began"] == 5
    assert omar.page.evaluate("() => window.isTheSamePage") is True
    assert [one.body for one in receiver.received][-2:] == [b"four", b"five"]


def test_the_clock_of_the_next_try_goes_between_two_looks(
    hub: HubProcess, client: Client, receiver: Receiver, topic: str, open_page: OpenPage
) -> None:
    receiver.reply = Reply(503)
    pushed(client, topic, receiver, "one")
    receiver.wait_for(1)
    rita = Administrator(open_page("rita", "es"), hub, "rita").enter()

    rita.go(f"subscriptions/{topic}/{topic}")
    clock = rita.page.locator("[data-left-ms]")
    shown = clock.inner_text()

    expect(clock).not_to_have_text(shown)
    assert re.fullmatch(r"\d{1,2}:\d\d:\d\d|\d{1,2}:\d\d", clock.inner_text())
    expect(rita.page.locator("main form")).to_have_count(0)


def test_the_list_has_those_that_fail_first_and_narrows_to_a_state(
    hub: HubProcess, client: Client, receiver: Receiver, topic: str, open_page: OpenPage
) -> None:
    receiver.reply = Reply(404)
    pushed(client, f"{topic}-z", receiver, "one")
    receiver.wait_for(1)
    fetched(client, f"{topic}-a", "one")
    ana = Administrator(open_page("ana", "en"), hub).enter()

    ana.go(f"subscriptions?q={topic}")
    first = ana.page.locator("#list tbody tr").first
    expect(first).to_contain_text(f"{topic}-z")
    expect(first).to_contain_text("failing")
    expect(first).to_contain_text("There is nothing at that address")
    ana.page.get_by_role("link", name="Waiting", exact=True).first.click()

    expect(ana.page.locator("#list tbody tr")).to_have_count(3)
    ana.go(f"subscriptions?q={topic}&state=paused")
    ana.sees("Nothing is like that.")


def test_one_is_made_changed_and_deleted_once_its_cost_was_said(
    hub: HubProcess, client: Client, topic: str, open_page: OpenPage
) -> None:
    publish(client, topic, "one", "two", "three")
    ana = Administrator(open_page("ana", "en"), hub).enter()
    ana.visitor.allow(r"status of 400")

    ana.go(f"subscriptions/new?topic={topic}")
    ana.fill(subscriber="bank", start="number", start_seq="2", filter='{"header": "region"}')
    ana.press("Create the subscription")
    ana.sees("The filter cannot be understood.")
    ana.fill(filter='{"field": "producer", "equals": "registry"}', pending_age="30d")
    ana.press("Create the subscription")
    ana.sees("2 messages wait until bank fetches them")
    ana.press("Edit")
    ana.fill(pending_max="7", filter="")
    ana.press("Save")
    ana.sees("Saved.")
    changed = client.show("subscription", topic, "bank")
    ana.go(f"subscriptions/{topic}/bank/delete")
    expect(ana.page.locator(".tile").first).to_contain_text("2")
    expect(ana.page.get_by_role("button", name="Delete the subscription")).to_be_disabled()
    ana.fill(name="bank")
    ana.press("Delete the subscription")
    ana.sees("Deleted.")

    assert (changed["pending_max"], changed["pending_age_ms"], changed["filter"]) == (7, 30 * 86_400_000, "")
    with pytest.raises(NotFound):
        client.show("subscription", topic, "bank")


def test_it_is_paused_and_resumed_and_its_next_message_skipped(
    hub: HubProcess, client: Client, topic: str, open_page: OpenPage
) -> None:
    fetched(client, topic, "one", "two", "three")
    omar = Administrator(open_page("omar", "en"), hub, "omar").enter()

    omar.go(f"subscriptions/{topic}/bank")
    omar.press("Pause")
    omar.sees("Paused: nothing is pushed")
    paused = client.show("subscription", topic, "bank")["paused"]
    omar.press("Resume")
    omar.sees("Resumed.")
    omar.press("Skip…")
    omar.sees(f"bank never gets message 1 of {topic}.")
    omar.fill(reason="asked for by letter")
    omar.press("Skip message 1")
    omar.sees("1 skipped.")

    assert paused is True
    assert figures(omar) | {"Waiting": 2, "Expired or given up": 1} == figures(omar)
    assert [one.seq for one in client.pull(topic, "bank")] == [2, 3]


def test_messages_are_set_aside_by_number_and_delivered_again_or_given_up_in_bulk(
    hub: HubProcess, client: Client, topic: str, open_page: OpenPage
) -> None:
    fetched(client, topic, "one", "two", "three", "four")
    client.park(topic, "mint", [2, 4], "HTTP 500 Internal Server Error")
    omar = Administrator(open_page("omar", "en"), hub, "omar").enter()
    omar.visitor.allow(r"status of 400")

    omar.go(f"subscriptions/{topic}/bank")
    omar.press("Set messages aside…")
    omar.fill(numbers="1-2 x", reason="cannot be read")
    omar.press("Set them aside")
    omar.sees("is no number of a message")
    omar.fill(numbers="1-2 4")
    omar.press("Set them aside")
    omar.sees("3 set aside.")
    omar.go(f"parked?q={topic}")
    omar.sees("5 messages, newest first.")
    omar.sees("The web service failed while it dealt with the message")
    for name, seq in (("bank", 1), ("mint", 4)):
        omar.page.get_by_label(f"Message {seq} of {topic} for {name}").check()
    omar.press("Deliver the chosen again…")
    omar.sees("2 messages are delivered again")
    omar.press("Deliver 2 again")
    omar.sees("2 will be delivered again.")
    omar.page.get_by_label("Choose all on this page").check()
    omar.press("Give the chosen up…")
    omar.sees("3 messages are never delivered")
    omar.press("Give 3 up")
    omar.sees("3 given up")

    accounts = {name: client.account(topic, name) for name in ("bank", "mint")}
    assert {name: (one.pending, one.parked, one.expired) for name, one in accounts.items()} == {
        "bank": (2, 0, 2),
        "mint": (3, 0, 1),
    }


def test_boxes_that_are_checked_stay_so_while_the_page_is_live(
    hub: HubProcess, client: Client, topic: str, open_page: OpenPage
) -> None:
    fetched(client, topic, "one", "two", "three")
    client.park(topic, "bank", [1])
    omar = Administrator(open_page("omar", "en"), hub, "omar").enter()
    omar.go(f"subscriptions/{topic}/bank")
    box = omar.page.get_by_label("Message 1", exact=True)

    box.check()
    client.park(topic, "bank", [2])
    expect(omar.page.locator(".sum > div", has_text="Set aside").locator("dd")).to_have_text("2")

    expect(box).to_be_checked()
    box.uncheck()
    expect(omar.page.get_by_label("Message 2", exact=True)).to_be_visible()


def test_a_replay_says_first_what_it_would_deliver_again(
    hub: HubProcess, client: Client, topic: str, open_page: OpenPage
) -> None:
    fetched(client, topic, "one", "two", "three", "four")
    client.ack(topic, "bank", 4)
    client.cancel(topic, "mint", [3], "asked for by letter")
    omar = Administrator(open_page("omar", "en"), hub, "omar").enter()

    omar.go(f"parked/expired?q={topic}")
    omar.sees("asked for by letter")
    omar.press("Replay from there…")
    omar.sees("Nothing would be delivered again")
    omar.go(f"subscriptions/{topic}/bank/replay?from_at=2020-01-01T00:00")
    omar.sees("4 messages would be delivered again")
    omar.go(f"subscriptions/{topic}/bank/replay")
    omar.fill(from_seq="3")
    omar.press("See what that would deliver again")
    omar.sees("2 messages would be delivered again")
    untouched = client.account(topic, "bank").pending
    omar.press("Deliver 2 again")
    omar.sees("Replayed")

    assert (untouched, client.account(topic, "bank").pending) == (0, 2)


def test_a_reader_looks_and_can_change_nothing(
    hub: HubProcess, client: Client, topic: str, open_page: OpenPage
) -> None:
    fetched(client, topic, "one", "two")
    client.park(topic, "bank", [1], "<b>why</b>")
    rita = Administrator(open_page("rita", "en"), hub, "rita").enter()
    rita.visitor.allow(r"status of 403")

    for place in (f"subscriptions/{topic}/bank", f"parked?q={topic}", "parked/expired", f"subscriptions?q={topic}"):
        rita.go(place)
        expect(rita.page.locator("main form:not([role=search]) button, main input[type=checkbox]")).to_have_count(0)
    statuses = [
        rita.page.evaluate(
            """async ([path, csrf]) => (await fetch(`/admin/${path}`, {method: "POST", redirect: "manual",
            headers: {"content-type": "application/x-www-form-urlencoded"}, body: `csrf=${csrf}`})).status""",
            [path, rita.page.locator("input[name=csrf]").first.get_attribute("value")],
        )
        for path in (
            *(f"subscriptions/{topic}/bank/{act}" for act in ("pause", "resume", "try", "unpark", "skip", "park")),
            *(f"subscriptions/{topic}/bank/{act}" for act in ("replay", "edit", "delete")),
            "subscriptions/new",
            "parked/chosen",
            "parked/settle",
        )
    ]

    assert set(statuses) == {403}
    rita.go(f"parked?q={topic}")
    rita.sees("<b>why</b>")
