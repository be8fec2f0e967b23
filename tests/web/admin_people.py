"""People at the administration pages: they enter, look, click, and read what they are told.

hub = start_with_people(make_hub(push_allow="127.0.0.0/8"))
ana = Administrator(open_page("ana", "en"), hub).enter()
ana.go("topics"); ana.press("New topic")
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect
from scenario.hub_process import HubProcess, open_hub

from pregon.cli.key_places import who_has_directory
from pregon.hub.gate import Gate

from .visitors import Visitor

PASSWORD = "a sentence that is long"
ROLES = {"ana": "administrator", "omar": "operator", "rita": "reader"}
"""Who may enter each hub of the tests, and as what."""


def make_people(data: Path, **roles: str) -> None:
    """Let these people enter the pages of a hub that is not running; their password is `PASSWORD`."""
    with open_hub(data) as hub:
        people = Gate(hub).people
        for name, role in (roles or ROLES).items():
            people.create(who_has_directory(), name, PASSWORD, role)


def start_with_people(hub: HubProcess) -> HubProcess:
    """Start a hub that `ROLES` may enter."""
    make_people(hub.data)
    return hub.start()


class Administrator:
    """One person at the pages of one hub."""

    def __init__(self, visitor: Visitor, hub: HubProcess, name: str = "ana") -> None:
        self.visitor = visitor
        self.hub = hub
        self.name = name
        self.base = f"http://{hub.addresses.http}/admin"

    @property
    def page(self) -> Page:
        """The page that they look at."""
        return self.visitor.page

    def enter(self, password: str = PASSWORD) -> Administrator:
        """Enter by the page where one enters, wherever one is sent from there."""
        self.page.goto(f"{self.base}/enter")
        self.fill_entry(password)
        expect(self.page.locator("main h1")).to_be_visible()
        return self

    def fill_entry(self, password: str = PASSWORD) -> None:
        """Fill in the form and send it."""
        self.page.locator("[name=name]").fill(self.name)
        self.page.locator("[name=password]").fill(password)
        self.page.locator("main form button.strong").click()

    def go(self, path: str = "") -> Page:
        """Open a page by its address below /admin; the page must be one."""
        answer = self.page.goto(f"{self.base}/{path}".rstrip("/"))
        assert answer is not None and answer.status == 200, f"{path}: {answer and answer.status}"
        return self.page

    def press(self, name: str | re.Pattern[str]) -> None:
        """Press the button or follow the link of a name, which there is one of."""
        main = self.page.locator("main")
        main.get_by_role("button", name=name).or_(main.get_by_role("link", name=name)).first.click()

    def fill(self, **fields: Any) -> None:
        """Fill in fields of the form by their names: text, a choice, or whether a box is checked."""
        for name, value in fields.items():
            place = self.page.locator(f"main [name={name}]:not([type=hidden])").first
            if isinstance(value, bool):
                place.set_checked(value)
            elif place.evaluate("one => one.tagName") == "SELECT":
                place.select_option(str(value))
            else:
                place.fill(str(value))

    def sees(self, text: str | re.Pattern[str]) -> None:
        """Wait until the page says something."""
        expect(self.page.locator("main").get_by_text(text).first).to_be_visible()
