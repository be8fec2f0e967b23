"""A started hub for every test, on each database, with a clock that only the test moves."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.store.database import Database, SqliteDatabase

from .group_stage import Stage
from .site import Clock, Site, copy_migrated


@dataclass(frozen=True)
class Kind:
    """A kind of database: how it is opened, the same place giving the same data again."""

    open: Callable[[Path], Database]
    prepare: Callable[[Path], None] = lambda _place: None
    """Called once for a hub that needs no migration, if there is a quicker way to the tables."""


DATABASES: dict[str, Kind] = {"sqlite": Kind(SqliteDatabase, copy_migrated)}


@pytest.fixture(params=sorted(DATABASES))
def database_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kind:
    """Each database in turn."""
    # A log of 16 MiB made ready at each start is most of what a short test would cost.
    monkeypatch.setattr("pregon.store.database.LOG_BYTES_SOFT_MAX", 64 * 1024)
    return DATABASES[request.param]


@pytest.fixture
def open_database(database_kind: Kind, tmp_path: Path) -> Callable[[], Database]:
    """Opens the test's database, again and again with the same data in it."""
    return lambda: database_kind.open(tmp_path / "data")


@pytest.fixture
def database(open_database: Callable[[], Database]) -> Iterator[Database]:
    """The test's database, empty, with no hub on it."""
    opened = open_database()
    yield opened
    opened.close()


@pytest.fixture
def site(database_kind: Kind, tmp_path: Path, open_database: Callable[[], Database]) -> Iterator[Site]:
    """A hub that the test can stop and start again."""
    database_kind.prepare(tmp_path / "data")
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


@pytest.fixture
def stage(hub: Hub) -> Iterator[Stage]:
    """A desk with an open group."""
    set_up = Stage.on(hub)
    set_up.make()
    yield set_up
    set_up.desk.stop()
