"""People in the chat: what they do on its page, and what is on their screens.

Promises:
- They do what a person can do there: type, press keys, click. What is checked is what the page shows.
- Names and rooms of one test are no other test's, because people of a hub have unique names.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from playwright.sync_api import Locator, Page, expect
from scenario.hub_process import wait_until

from .visitors import Visitor

NETWORK_IS_GONE = "WebSocket connection to .* failed|ERR_CONNECTION|ERR_EMPTY_RESPONSE|ERR_SOCKET|ERR_NETWORK"
REFUSED_BY_HUB = "the server responded with a status of 40[13]"
_numbers = itertools.count(1)

_ROWS = """() => [...document.querySelectorAll("#log > li[data-stamp]")].map((row) => ({
  stamp: row.dataset.stamp, seq: Number(row.dataset.seq), kind: row.dataset.kind, name: row.dataset.name ?? "",
  answers: row.dataset.answers ?? null, depth: Number(row.dataset.depth ?? 0),
  text: (row.querySelector(".text") ?? row.querySelector("span")).textContent,
}))"""


def new_name(name: str) -> str:
    """A name that nobody in any other test has."""
    return f"{name} {next(_numbers)}"


@dataclass(frozen=True)
class Row:
    """A message or an event, as it is on a screen."""

    stamp: str
    seq: int
    kind: str
    name: str
    answers: str | None
    depth: int
    text: str


class Person:
    """Somebody at the page of the chat."""

    def __init__(self, visitor: Visitor, http: str) -> None:
        self.visitor = visitor
        self.page: Page = visitor.page
        self.address = http if http.startswith("http") else f"http://{http}"
        self.name = new_name(visitor.name)

    def come_in(self, room: str = "") -> Person:
        """Open the page, choose a name, and go into a room."""
        self.page.goto(f"{self.address}/chat")
        self.choose_name(self.name)
        expect(self.page.locator("#self-name")).to_have_text(self.name)
        if room:
            self.go_to(room)
        return self

    def choose_name(self, name: str) -> None:
        """On the first page."""
        self.page.locator("#entry-name").fill(name)
        self.page.locator("#entry-name").press("Enter")

    def go_to(self, room: str) -> None:
        """Into a room, which is made if there is none."""
        if not self.page.locator("#lobby").is_visible():
            self.page.locator("#to-lobby").click()
        self.page.locator("#room-name").fill(room)
        self.page.locator("#room-name").press("Enter")
        expect(self.page.locator("#title")).to_have_text(room)
        # Only who has been told that it is in can be seen to be in.
        expect(self.page.locator("#log li").first).to_be_visible()

    def go_to_on_phone(self, room: str) -> None:
        """The same where the list of rooms is out of sight."""
        self.page.locator("#room-name").fill(room)
        self.page.locator("#room-submit").tap()
        expect(self.page.locator("#title")).to_have_text(room)

    def answer_on_phone(self, to: str, text: str) -> None:
        """A tap on a message shows what can be done with it."""
        row = self.row(to)
        row.tap()
        row.locator(".actions button").first.tap()
        self.write(text)

    def write(self, *texts: str) -> None:
        """Say something, in the room that is open."""
        for text in texts:
            self.page.locator("#text").fill(text)
            self.page.locator("#text").press("Enter")

    def answer(self, to: str, text: str) -> None:
        """Say something under what somebody said."""
        self.act(to, 0)
        self.write(text)

    def mark(self, text: str) -> None:
        """Ask what is concurrent with what somebody said."""
        self.act(text, 1)

    def act(self, text: str, which: int) -> None:
        """Use one of the buttons of a message."""
        row = self.row(text)
        row.hover()
        row.locator(".actions button").nth(which).click()

    def row(self, text: str) -> Locator:
        """The message with this text."""
        return self.page.locator("#log .message", has=self.page.get_by_text(text, exact=True))

    def rows(self) -> list[Row]:
        """All that is in the log on the screen, from top to bottom."""
        return [Row(**one) for one in self.page.evaluate(_ROWS)]

    def texts(self) -> list[str]:
        """What was said, from top to bottom."""
        return [row.text for row in self.rows() if row.kind == "message"]

    def events(self) -> list[str]:
        """What happened, from top to bottom."""
        return [row.text for row in self.rows() if row.kind != "message"]

    def wait_for(self, *texts: str) -> None:
        """Until all of these are on the screen as messages of the room, and no line waits any more."""

        def have_come() -> bool:
            return set(texts) <= set(self.texts()) and not self.page.locator("#waiting-lines li").count()

        wait_until(have_come, f"{self.name} sees {texts}")

    def set_setting(self, which: str, value: str) -> None:
        """Choose something in the settings."""
        self.page.locator("#to-settings").click()
        self.page.locator(f"#{which}").select_option(value)
        self.page.locator("#settings-close").click()


@contextmanager
def enrolled(http: str, name: str) -> Iterator[httpx.Client]:
    """Somebody who takes part by a program, over REST."""
    with httpx.Client(base_url=f"http://{http}", timeout=30) as client:
        token = checked(client.post("/v1/participants", json={"name": name}))["token"]
        client.headers["Pregon-Participant"] = token
        yield client


def checked(answer: httpx.Response) -> Any:
    """What was answered, if it was not refused."""
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None
