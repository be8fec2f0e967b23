"""A started hub for every test, on each database, with a clock that only the test moves."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pregon.hub.hub import Hub, HubOptions
from pregon.store.database import Database, SqliteDatabase

from .site import Clock, Site

DATABASES: dict[str, Callable[[Path], Database]] = {"sqlite": SqliteDatabase}
"""How to open each database; the same directory opens the same data again."""


@pytest.fixture(params=sorted(DATABASES))
def open_database(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], Database]:
    """Opens the test's database, again and again with the same data in it."""
    # A log of 16 MiB made ready at each start is most of what a short test would cost.
    monkeypatch.setattr("pregon.store.database.LOG_BYTES_SOFT_MAX", 64 * 1024)
    return lambda: DATABASES[request.param](tmp_path / "data")


@pytest.fixture
def database(open_database: Callable[[], Database]) -> Iterator[Database]:
    """The test's database, empty, with no hub on it."""
    opened = open_database()
    yield opened
    opened.close()


@pytest.fixture
def site(open_database: Callable[[], Database]) -> Iterator[Site]:
    """A hub that the test can stop and start again."""
    running = Site(open_database)
    running.start()
    yield running
    running.stop()


@pytest.fixture
def hub(site: Site) -> Hub:
    """A started hub that makes topics, producers and subscribers on first use."""
    return site.hub


@pytest.fixture
def strict_hub(site: Site) -> Hub:
    """A started hub that makes nothing on first use."""
    return site.restart(HubOptions(auto_create=False))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The machine's clock, in the hands of the test. Ask for it before the hub."""
    held = Clock()
    monkeypatch.setattr("pregon.clock.wall_us", held.read_us)
    return held
