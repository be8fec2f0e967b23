"""The administration pages for who cannot see or uses no mouse: axe finds nothing serious, and a keyboard is enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from scenario.hub_process import HubProcess

from .admin_people import Administrator, make_people
from .conftest import OpenPage
from .test_admin_entry import HOUSE, PLACES

FORMS = ("topics/-/new", "producers/-/new", "subscribers/-/new", "subscriptions/new")
ONE_OF_EACH = (
    "topics/deaths",
    "topics/deaths/edit",
    "topics/deaths/delete",
    "producers/registry",
    "subscribers/bank",
    "subscribers/bank/edit",
    "subscriptions/deaths/bank",
    "messages/deaths/1",
    "traces?topic=deaths&kind=accepted",
    "?span=day",
)


@pytest.fixture(scope="module", autouse=True)
def something(module_hub: HubProcess) -> Iterator[None]:
    """People, and something of everything to look at."""
    module_hub.stop()
    make_people(module_hub.data)
    module_hub.start()
    with module_hub.client(producer="registry") as client:
        client.create("topic", name="deaths", description="What the registry tells")
        client.create("subscriber", name="bank", mode="push", endpoint="http://bank.invalid/", description="Pensions")
        client.create("subscription", topic="deaths", subscriber="bank")
        client.publish("deaths", b'{"name": "Pepe"}', content_type="application/json")
        client.publish("deaths", b"<name>Ana</name>", content_type="application/xml")
    yield


def faults(page: Page) -> list[str]:
    """What axe finds serious or critical on a page."""
    found: dict[str, Any] = Axe().run(page).response
    return [
        f"{page.url}: {one['id']} ({one['impact']}): {node['html'][:160]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"][:3]
    ]


@pytest.mark.parametrize("scheme, width", [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing_serious_on_any_page(
    hub: HubProcess, open_page: OpenPage, scheme: Literal["light", "dark"], width: int
) -> None:
    ana = Administrator(open_page("ana", "es", color_scheme=scheme, viewport={"width": width, "height": 800}), hub)
    ana.page.goto(f"{ana.base}/enter")
    found = faults(ana.page)
    ana.enter()

    for place in (*PLACES, *HOUSE, *FORMS, *ONE_OF_EACH):
        ana.go(place)
        found += faults(ana.page)

    assert not found, "\n".join(found)


def test_axe_would_find_what_is_serious(open_page: OpenPage) -> None:
    page = open_page("somebody").page
    page.set_content("<html lang=en><title>x</title><main><h1>x</h1><img src='data:,'><input></main></html>")

    found = faults(page)

    assert any("image-alt" in one for one in found)
    assert any("label" in one for one in found)


def test_one_comes_to_the_content_and_through_a_form_with_the_keyboard_alone(
    hub: HubProcess, open_page: OpenPage
) -> None:
    ana = Administrator(open_page("ana", "en"), hub).enter()
    ana.go("topics/-/new")

    ana.page.keyboard.press("Tab")
    expect(ana.page.locator(".skip")).to_be_focused()
    ana.page.keyboard.press("Enter")
    ana.page.keyboard.press("Tab")
    for _ in range(5):
        if ana.page.evaluate("document.activeElement.name") == "name":
            break
        ana.page.keyboard.press("Tab")
    ana.page.keyboard.type("by-keyboard")
    ana.page.keyboard.press("Enter")

    expect(ana.page.locator("h1")).to_contain_text("by-keyboard")
    with hub.client() as client:
        assert client.show("topic", "by-keyboard")["name"] == "by-keyboard"
