"""The server: the only place that chooses the parts and joins them.

Promises:
- When the constructor returns, every address is bound and the database is at the schema of this version; if
  it raises, everything is given back.
- `stop` answers who waits, writes what was taken, and returns in less than two seconds.
"""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import zmq

from pregon.clock import monotonic_ms
from pregon.edges.http.door import HttpDoor
from pregon.edges.zmq.dispatch import Dispatcher
from pregon.edges.zmq.fast_lane import FastLane
from pregon.edges.zmq.feed import Feed
from pregon.edges.zmq.ingest import Ingest
from pregon.hub.hub import Hub, HubOptions
from pregon.settings import Settings, parse_host_port
from pregon.store.database import SqliteDatabase
from pregon.version import __version__

log = logging.getLogger("pregon.server")


class Server:
    """A running hub with its doors."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._started_ms = monotonic_ms()
        with ExitStack() as undo:
            database = SqliteDatabase(Path(settings.data))
            undo.callback(database.close)
            self.hub = Hub(
                database,
                HubOptions(
                    auto_create=settings.auto_create,
                    body_bytes_max=settings.body_bytes_max,
                    dedupe_keep_ms=settings.dedupe_keep_hours * 3_600_000,
                    traces_keep_ms=settings.traces_keep_days * 86_400_000,
                    maintenance_every_ms=settings.maintenance_every_ms,
                    reader_threads=settings.reader_threads,
                ),
            )
            self._zmq = zmq.Context()
            undo.callback(lambda: self._zmq.destroy(linger=0))
            self.fast_lane = FastLane(self._zmq, settings.zmq, Dispatcher(self.hub, self.status), self.hub.committer)
            self.feed = Feed(self._zmq, settings.feed, self.hub.counters) if settings.feed else None
            self.ingest = Ingest(self._zmq, settings.ingest, self.hub) if settings.ingest else None
            self.http = HttpDoor(*parse_host_port(settings.http), self.hub) if settings.http else None
            undo.pop_all()

    def start(self) -> None:
        """Open the doors."""
        if self.feed is not None:
            self.hub.listen(self.feed)
        self.hub.start()
        for door in (self.fast_lane, self.feed, self.ingest, self.http):
            if door is not None:
                door.start()
        log.info(
            "hub ready",
            extra={"version": __version__, "pid": os.getpid(), "data": self.settings.data, **self.addresses},
        )

    @property
    def addresses(self) -> dict[str, str]:
        """Where each door listens."""
        doors = {"zmq": self.fast_lane, "feed": self.feed, "ingest": self.ingest, "http": self.http}
        return {name: door.address for name, door in doors.items() if door is not None}

    def status(self) -> dict[str, Any]:
        """How the hub is, for the command of that name."""
        counters = self.hub.counters
        return {
            "version": __version__,
            "pid": os.getpid(),
            "data": str(Path(self.settings.data).resolve()),
            "uptime_s": round((monotonic_ms() - self._started_ms) / 1_000, 1),
            "addresses": self.addresses,
            "commits": self.hub.committer.commits,
            "queued": self.hub.committer.queued,
            "waiting": self.hub.waiting.count,
            "counters": {name: getattr(counters, name) for name in counters.__slots__},
        }

    def stop(self) -> None:
        """Close the doors, write what was taken, answer it, and give everything back."""
        begun_ms = monotonic_ms()
        self.fast_lane.stop_taking()
        for door in (self.ingest, self.http):
            if door is not None:
                door.stop()
        self.hub.stop()
        # Last, because the answers to what the hub has just written go out through it.
        self.fast_lane.stop()
        if self.feed is not None:
            self.feed.stop()
        self._zmq.destroy(linger=0)
        log.info("hub stopped", extra={"took_ms": round(monotonic_ms() - begun_ms)})

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
