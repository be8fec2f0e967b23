"""Groups on the administration pages: who is in them, what was said after what, the diagram, and what is private."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
from playwright.sync_api import expect
from scenario.hub_process import HubProcess, wait_until

from pregon import Group
from pregon.errors import PregonError

from .admin_people import Administrator, make_people
from .conftest import OpenPage

REFUSED = r"status of (400|403|404)"
"""Browsers write a line to the console for an answer like these, though the page shows it as it should."""
PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module", autouse=True)
def people(module_hub: HubProcess) -> None:
    """The people of the tests, in the hub that they share."""
    module_hub.stop()
    make_people(module_hub.data)
    module_hub.start()


def listen(group: Group) -> None:
    """Be shown all that is said, until the group is closed or gone."""
    with suppress(PregonError):
        for _ in group:
            pass


@contextmanager
def members(hub: HubProcess, group: str, *names: str) -> Iterator[list[Group]]:
    """Real members, who listen to all that is said."""
    with ExitStack() as stack:
        client = stack.enter_context(hub.client())
        joined = [stack.enter_context(client.join(group, name=f"{name} {group}"[:30].strip("- "))) for name in names]
        for one in joined:
            threading.Thread(target=listen, args=(one,), daemon=True).start()
        yield joined


def test_a_hub_without_groups_says_how_to_begin(hub: HubProcess, open_page: OpenPage) -> None:
    rita = Administrator(open_page("rita", "es"), hub, "rita").enter()

    rita.go("groups")

    rita.sees("Todavía no hay grupos")
    rita.sees("pregon chat cocina")


def test_a_group_shows_who_is_in_what_was_said_after_what_and_its_diagram(
    hub: HubProcess, open_page: OpenPage, topic: str
) -> None:
    group = topic[-24:].strip("-")
    with members(hub, group, "eva", "luis") as (eva, luis), hub.client() as client:
        stamp = str(eva.send(f"who cooks? {HOSTILE}"))
        wait_until(lambda: len(client.show("group-trace", group, "0", "0")["deliveries"]) > 2, "members say so")
        luis.send("I do")
        wait_until(
            lambda: any(stamp in one["after"] for one in client.show("group-trace", group, "0", "0")["messages"]),
            "an answer",
        )
        rita = Administrator(open_page("rita", "en"), hub, "rita").enter()
        rita.go("groups")
        rita.press(group)

        expect(rita.page.locator("tr", has_text="eva").locator(".badge")).to_have_text("present")
        row = rita.page.locator("tr", has_text="I do")
        expect(row.get_by_role("link", name=stamp, exact=True)).to_be_visible()
        rita.sees(HOSTILE)
        picture = rita.page.locator(".roll img")
        expect(picture).to_be_visible()
        assert picture.evaluate("one => one.complete && one.naturalWidth") > 400
        rita.press("Open it, to point at messages")
        message = rita.page.locator(f'g.m[data-stamp="{stamp}"]')
        message.focus()
        expect(message).to_have_class(re.compile(r"\bone\b"))
        assert rita.page.evaluate("document.querySelector('img')") is None


def test_a_private_conversation_is_seen_by_who_administers_and_by_nobody_else(
    hub: HubProcess, open_page: OpenPage
) -> None:
    with members(hub, "taller", "ines", "juan") as (ines, _), hub.client() as client:
        with client.private(ines, "juan taller") as private:
            private.send("only for you")
            name = private.group
        visitor = open_page("rita", "en")
        visitor.allow(REFUSED)
        rita = Administrator(visitor, hub, "rita").enter()
        ana = Administrator(open_page("ana", "en"), hub).enter()

        statuses = [
            rita.page.request.get(f"{rita.base}/groups/{name}{more}").status
            for more in ("", "/diagram", "/diagram.svg")
        ]
        rita.go(f"groups?q={name}")
        ana.go(f"groups/{name}")

        assert statuses == [404, 404, 404]
        rita.sees("Nothing is like that.")
        ana.sees("This is a private conversation of two people.")
        ana.sees("only for you")


def test_who_died_is_removed_and_a_group_is_deleted_when_its_name_is_written(
    hub: HubProcess, open_page: OpenPage, topic: str
) -> None:
    group = topic[-24:].strip("-")
    with members(hub, group, "olga", "raul"):
        ana = Administrator(open_page("ana", "es", **PHONE), hub).enter()
        ana.go(f"groups/{group}")
        assert ana.page.evaluate("document.documentElement.scrollWidth") == 390

        ana.page.locator("tr", has_text="olga").get_by_role("button", name="Quitar").click()
        ana.sees("Se quitó del grupo.")
        ana.press("Eliminar")
        ana.sees("1 integrante, que queda fuera en el acto")
        expect(ana.page.get_by_role("button", name="Eliminar el grupo")).to_be_disabled()
        ana.fill(name=group)
        ana.press("Eliminar el grupo")

        ana.sees("Se eliminó.")
    ana.go("audit?kind=group")
    ana.sees(f"ana eliminó el grupo {group}")
