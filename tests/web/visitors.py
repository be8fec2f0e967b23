"""People at their browsers, each with cookies, storage and a language of their own.

Promises:
- Visitors share nothing but the browser's program: what one stores, no other sees.
- Whatever a page of theirs complains about is written down: errors in the console, exceptions that nobody caught,
  crashes, and silence. What a test did not allow beforehand is a failure of the test.
- When there is a failure, each of their pages leaves a screenshot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, TimeoutError, WebError
from playwright.sync_api import Error as BrowserError

Language = Literal["es", "en"]
LOCALES: dict[Language, str] = {"es": "es-UY", "en": "en-GB"}
ZONE = "America/Montevideo"
"""Pages show times: they must be the same on every machine that runs the tests."""

_COMPLAINTS_MAX = 100
_ANSWER_MS = 10_000


@dataclass
class Visitor:
    """One person with one page; more pages of the same person are made by `context.new_page()`."""

    name: str
    context: BrowserContext
    page: Page
    complaints: list[str] = field(default_factory=list)
    allowed: list[re.Pattern[str]] = field(default_factory=list)

    def allow(self, pattern: str) -> None:
        """From now on, and for what was already said, complaints in which the pattern is found are no failure."""
        self.allowed.append(re.compile(pattern))

    def unexpected(self) -> list[str]:
        """What the pages have complained about until now, without what was allowed."""
        for page in self.context.pages:
            silence = _hear_what_was_said(page)
            if silence:
                self.complain(silence)
        return [one for one in self.complaints if not any(pattern.search(one) for pattern in self.allowed)]

    def complain(self, what: str) -> None:
        """Write down a complaint; a page that complains for ever is known by its first ones."""
        if len(self.complaints) < _COMPLAINTS_MAX:
            self.complaints.append(what)


class Visitors:
    """All those of one test."""

    def __init__(self, browser: Browser, screenshots: Path) -> None:
        self._browser = browser
        self._screenshots = screenshots
        self._all: list[Visitor] = []

    def open(self, name: str = "visitor", language: Language = "es", **options: Any) -> Visitor:
        """One more person, with an empty page; `options` as of Playwright's `new_context`."""
        settings = {"locale": LOCALES[language], "timezone_id": ZONE, **options}
        context = self._browser.new_context(**settings)
        visitor = Visitor(name, context, context.new_page())
        self._all.append(visitor)

        def hear(message: ConsoleMessage) -> None:
            if message.type == "error":
                where = message.location
                visitor.complain(f"console: {message.text} ({where.get('url', '')}:{where.get('lineNumber', '')})")

        def catch(error: WebError) -> None:
            visitor.complain(f"uncaught: {error.error}")

        def watch(page: Page) -> None:
            page.on("crash", lambda crashed: visitor.complain(f"crashed: {crashed.url}"))

        context.on("console", hear)
        context.on("weberror", catch)
        context.on("page", watch)
        watch(visitor.page)
        return visitor

    def leave(self, *, has_failed: bool) -> list[str]:
        """All go away. Returns what was not expected; if there is any, or the test has failed, pages are kept."""
        found = [f"{visitor.name}: {one}" for visitor in self._all for one in visitor.unexpected()]
        if found or has_failed:
            self._keep_pages()
        while self._all:
            self._all.pop().context.close()
        return found

    def _keep_pages(self) -> None:
        for number, visitor in enumerate(self._all, start=1):
            name = re.sub(r"\W+", "-", visitor.name)
            for tab, page in enumerate(visitor.context.pages, start=1):
                file = self._screenshots / f"{number}-{name}-{tab}.png"
                try:
                    page.screenshot(path=file, timeout=_ANSWER_MS)
                except BrowserError as problem:
                    print(f"{visitor.name}: no screenshot of {page.url}: {problem}")
                else:
                    print(f"{visitor.name}: {page.url} looked like {file}")


def _hear_what_was_said(page: Page) -> str:
    """Complaints come in order with answers: after any answer, those from before it have been heard.

    Returns a complaint about a page that gives no answer.
    """
    try:
        page.wait_for_selector("html", state="attached", timeout=_ANSWER_MS)
    except TimeoutError:
        return f"silent: {page.url} did not answer in {_ANSWER_MS} ms"
    except BrowserError:
        # A page that crashed has already said so.
        return ""
    return ""
