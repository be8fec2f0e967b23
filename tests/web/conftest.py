"""A browser for the tests of pages, people who use it, and the network between them and a hub.

While the browser is open an event loop of Playwright's runs in the main thread, so `asyncio.run` is refused there:
a test that needs a loop of its own runs it in a thread. The browser closes after the last test of this folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from scenario.conftest import client, hub, make_hub, module_hub, topic

from .chromium import Chromium, require_chromium
from .relay import Relay
from .visitors import Visitor, Visitors

__all__ = ["client", "hub", "make_hub", "module_hub", "topic"]

OpenPage = Callable[..., Visitor]
MakeRelay = Callable[[str], Relay]

# Busy machines take their time; a test that passes never waits for all of it.
_EXPECT_MS = 20_000
_HAS_FAILED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test to need the browser may have to install it, which has a time limit of its own."""
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(func_only=True))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember that a test has failed, for those who clean up after it."""
    report = yield
    if report.failed:
        item.stash[_HAS_FAILED] = True
    return report


@pytest.fixture(scope="session")
def chromium() -> Chromium:
    """The browser's program; without it, the test is skipped on a laptop and fails in CI."""
    return require_chromium()


@pytest.fixture(scope="package")
def browser(chromium: Chromium) -> Iterator[Browser]:
    """The browser, running without a window."""
    expect.set_options(timeout=_EXPECT_MS)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=chromium.executable,
            env=dict(chromium.environment()),
            # Chromium refuses to build its sandbox as root; the only pages that it opens are ours.
            chromium_sandbox=os.geteuid() != 0,
        )
        try:
            yield running
        finally:
            running.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[OpenPage]:
    """Brings people, each in a context of their own: `ana = open_page("Ana", "es")`, then `ana.page.goto(…)`.

    What their pages complain about fails the test, unless `ana.allow(pattern)` said that it may come.
    """
    visitors = Visitors(browser, tmp_path)
    yield visitors.open
    unexpected = visitors.leave(has_failed=request.node.stash.get(_HAS_FAILED, False))
    assert not unexpected, "\n".join(["pages complained:", *unexpected])


@pytest.fixture
def make_relay() -> Iterator[MakeRelay]:
    """Makes networks that can be cut, each to the HTTP address of a hub."""
    made: list[Relay] = []

    def make(http: str) -> Relay:
        made.append(Relay(http))
        return made[-1]

    yield make
    for relay in made:
        relay.close()
