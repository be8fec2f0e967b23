"""The network of a browser can be cut, held and restored, and its page sees it as people's pages do."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page
from scenario.conftest import MakeHub
from scenario.hub_process import HubProcess, wait_until

from pregon.client import Client

from .conftest import MakeRelay, OpenPage

FOLLOW = """topic => new Promise((resolve) => {
  window.seen ??= [];
  window.socket = new WebSocket(`ws://${location.host}/v1/topics/${topic}/stream`);
  socket.onopen = () => { seen.push("open"); resolve("open"); };
  socket.onmessage = (event) => seen.push(JSON.parse(event.data).seq);
  socket.onclose = () => { seen.push("closed"); resolve("closed"); };
})"""
NETWORK_IS_GONE = "WebSocket connection to .* failed|ERR_CONNECTION|ERR_EMPTY_RESPONSE|ERR_SOCKET"


def wait_for_seen(page: Page, seen: list[Any]) -> None:
    """Until the page has seen just this."""
    wait_until(lambda: page.evaluate("seen") == seen, f"the page has seen {seen}")


def test_a_cut_closes_open_sockets_and_refuses_others_until_it_is_restored(
    hub: HubProcess, client: Client, topic: str, open_page: OpenPage, make_relay: MakeRelay
) -> None:
    client.publish(topic, "before")
    relay = make_relay(hub.addresses.http)
    ana = open_page("Ana")
    ana.allow(NETWORK_IS_GONE)
    ana.page.goto(f"{relay.address}/docs")
    assert ana.page.evaluate(FOLLOW, topic) == "open"

    relay.cut()
    wait_for_seen(ana.page, ["open", "closed"])
    while_cut = ana.page.evaluate(FOLLOW, topic)
    relay.restore()
    afterwards = ana.page.evaluate(FOLLOW, topic)
    client.publish(topic, "after")

    assert (while_cut, afterwards) == ("closed", "open")
    wait_for_seen(ana.page, ["open", "closed", "closed", "open", 2])


def test_what_is_held_arrives_when_it_is_restored(
    hub: HubProcess, client: Client, topic: str, open_page: OpenPage, make_relay: MakeRelay
) -> None:
    client.publish(topic, "before")
    relay = make_relay(hub.addresses.http)
    ana, beto = open_page("Ana"), open_page("Beto")
    ana.page.goto(f"{relay.address}/docs")
    beto.page.goto(f"http://{hub.addresses.http}/docs")
    for person in (ana, beto):
        assert person.page.evaluate(FOLLOW, topic) == "open"

    relay.hold()
    client.publish(topic, "held")
    wait_for_seen(beto.page, ["open", 2])
    seen_while_held = ana.page.evaluate("seen")
    relay.restore()

    assert seen_while_held == ["open"]
    wait_for_seen(ana.page, ["open", 2])


def test_its_address_outlives_the_hub(
    make_hub: MakeHub, topic: str, open_page: OpenPage, make_relay: MakeRelay
) -> None:
    hub = make_hub().start()
    relay = make_relay(hub.addresses.http)
    with hub.client() as client:
        client.publish(topic, "before")
    ana = open_page("Ana")
    ana.allow(NETWORK_IS_GONE)
    ana.page.goto(f"{relay.address}/docs")
    assert ana.page.evaluate(FOLLOW, topic) == "open"

    hub.kill()
    wait_for_seen(ana.page, ["open", "closed"])
    while_down = ana.page.evaluate(FOLLOW, topic)
    hub.start()
    afterwards = ana.page.evaluate(FOLLOW, topic)

    assert (while_down, afterwards) == ("closed", "open")


def test_the_offline_mode_of_the_browser_holds_open_sockets_instead_of_closing_them(
    hub: HubProcess, client: Client, topic: str, open_page: OpenPage
) -> None:
    client.publish(topic, "before")
    ana, beto = open_page("Ana"), open_page("Beto")
    for person in (ana, beto):
        person.page.goto(f"http://{hub.addresses.http}/docs")
        assert person.page.evaluate(FOLLOW, topic) == "open"

    ana.context.set_offline(True)
    client.publish(topic, "held")
    wait_for_seen(beto.page, ["open", 2])
    seen_while_offline = ana.page.evaluate("seen")
    ana.context.set_offline(False)

    assert seen_while_offline == ["open"]
    wait_for_seen(ana.page, ["open", 2])
