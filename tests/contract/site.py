"""Where a test's hub lives, and what a test does to it from outside.

It can be stopped and started again on the same data; its clock is moved by hand; and its committer can be
held, so that what is submitted meanwhile shares one commit.
"""

import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.store.database import DATABASE_FILE, Database, SqliteDatabase
from pregon.store.migrate import migrate
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction

_NEVER_MS = 3_600_000
_PATIENCE_S = 10.0


class Site:
    """One database and the hub that runs on it. Housekeeping only runs when a test calls it."""

    def __init__(self, open_database: Callable[[], Database]) -> None:
        self._open_database = open_database
        self._is_running = False
        self.hub: Hub

    def start(self, options: HubOptions | None = None) -> Hub:
        """Start a hub on the data that is there."""
        database = self._open_database()
        try:
            self.hub = Hub(database, replace(options or HubOptions(), maintenance_every_ms=_NEVER_MS))
        except BaseException:  # Whatever was wrong with it, the next test needs the place.
            database.close()
            raise
        self.hub.start()
        self._is_running = True
        return self.hub

    def stop(self) -> None:
        """Stop it, unless it is stopped."""
        if self._is_running:
            self._is_running = False
            self.hub.stop()

    def restart(self, options: HubOptions | None = None) -> Hub:
        """Stop it and start another on the same data."""
        self.stop()
        return self.start(options)


@cache
def _migrated_file() -> bytes:
    with tempfile.TemporaryDirectory(prefix="pregon-") as scratch:
        database = SqliteDatabase(Path(scratch))
        migrate(database)
        database.close()
        return database.path.read_bytes()


def copy_migrated(directory: Path) -> None:
    """An empty SQLite database that was migrated once for all tests: migrating takes longer than most of them."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / DATABASE_FILE).write_bytes(_migrated_file())


class Clock:
    """A machine's clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now_us = 1_700_000_000_000_000

    def read_us(self) -> int:
        """What the machine's clock says."""
        return self.now_us

    def move_ms(self, ms: int) -> int:
        """Set it forward, or back when it is less than nothing; microseconds since 1970 after it."""
        self.now_us += ms * 1_000
        return self.now_us


class Hold:
    """An operation that keeps the committer busy until it is released, and changes nothing."""

    size_bytes = 0
    is_durable = False

    def __init__(self) -> None:
        self.ticket: Ticket[None] = Ticket()
        self.is_held = threading.Event()
        self.may_go = threading.Event()

    def apply(self, transaction: Transaction) -> None:
        """Stay."""
        self.is_held.set()
        self.may_go.wait(_PATIENCE_S)
        transaction.results.append((self.ticket, None))


@contextmanager
def one_commit(hub: Hub) -> Iterator[None]:
    """Everything submitted in this block is carried out in one transaction, when the block ends."""
    hold = Hold()
    hub.committer.submit(hold)
    assert hold.is_held.wait(_PATIENCE_S)
    try:
        yield
    finally:
        hold.may_go.set()


def settle(hub: Hub) -> None:
    """Wait until everything submitted so far is committed (the acknowledgement of a pull, for one)."""
    last = Hold()
    last.may_go.set()
    hub.committer.submit(last)
    last.ticket.result()
