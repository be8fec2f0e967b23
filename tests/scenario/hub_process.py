"""A hub in a process of its own, which can be killed and started again on the same addresses and data.

Promises:
- `start` returns when the hub has said that it is ready, or fails with its log.
- Ports are outside the range from which the system takes ports for outgoing connections: while a hub is down,
  a client that reconnects cannot be given the hub's own port, which would keep the hub from coming back.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pregon.client import Client
from pregon.hub.hub import Hub
from pregon.store.database import SqliteDatabase

T = TypeVar("T")
COMMAND = (sys.executable, "-m", "pregon")
_PORTS = range(14_000, 31_000)
# Each is given once: two doors of one hub that draw the same port would keep the hub from starting.
_PORTS_LEFT = iter(random.SystemRandom().sample(_PORTS, len(_PORTS)))
_LOOK_S = 0.005


def wait_until(is_met: Callable[[], T], what: str, deadline_s: float = 30.0) -> T:
    """The first answer that is true; fails, saying what was waited for, when none comes in time."""
    last = time.monotonic() + deadline_s
    while True:
        found = is_met()
        if found:
            return found
        assert time.monotonic() < last, f"waited {deadline_s} s in vain until {what}"
        time.sleep(_LOOK_S)


def find_port() -> int:
    """A port of this machine where nobody listens, and which was not given before: whoever has it may be down now."""
    for port in _PORTS_LEFT:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")


def clean_environment(**more: str) -> dict[str, str]:
    """The variables of a process that must not be led astray by those of whoever runs the tests."""
    theirs = ("PREGON_", "LC_", "LANG", "PYTHONUNBUFFERED", "PYTHONWARNINGS", "NO_COLOR", "FORCE_COLOR", "COLUMNS")
    ours = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
    return {**ours, "LANG": "C.UTF-8", **more}


@dataclass(frozen=True)
class Addresses:
    """Where the doors of a hub are."""

    zmq: str = field(default_factory=lambda: f"tcp://127.0.0.1:{find_port()}")
    feed: str = field(default_factory=lambda: f"tcp://127.0.0.1:{find_port()}")
    ingest: str = field(default_factory=lambda: f"tcp://127.0.0.1:{find_port()}")
    http: str = field(default_factory=lambda: f"127.0.0.1:{find_port()}")
    services_front: str = field(default_factory=lambda: f"tcp://127.0.0.1:{find_port()}")
    services_back: str = field(default_factory=lambda: f"tcp://127.0.0.1:{find_port()}")

    def options(self) -> list[str]:
        """As options of `pregon serve`."""
        topics = [*("--zmq", self.zmq), *("--feed", self.feed), *("--ingest", self.ingest), *("--http", self.http)]
        return [*topics, "--services-front", self.services_front, "--services-back", self.services_back]


class HubProcess:
    """`pregon serve`, and what a test does to it."""

    def __init__(self, data: Path, **settings: str) -> None:
        self.data = data
        self.addresses = Addresses()
        self.options = ["--data", str(data), *self.addresses.options()]
        self.log = data.with_name(data.name + ".log")
        self._environment = clean_environment(**{f"PREGON_{name.upper()}": value for name, value in settings.items()})
        self._process: subprocess.Popen[bytes] | None = None
        self._seen = 0

    @property
    def url(self) -> str:
        """The address of the fast lane."""
        return self.addresses.zmq

    @property
    def pid(self) -> int:
        """The process of the hub, which must be running."""
        return self.running.pid

    @property
    def running(self) -> subprocess.Popen[bytes]:
        """The process, started and not yet given up."""
        assert self._process is not None, "the hub was not started"
        return self._process

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended by itself."""
        return self._process is not None and self._process.poll() is None

    def launch(self) -> HubProcess:
        """Start the process, and do not wait."""
        assert not self.is_alive, "the hub is running already"
        self._seen = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*COMMAND, "serve", *self.options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=self._environment,
            )
        return self

    def start(self) -> HubProcess:
        """Start the process, and wait until the hub is ready."""
        self.launch()
        self.wait_until_ready()
        return self

    def wait_until_ready(self) -> None:
        """Wait until the hub says so in its log."""

        def is_ready() -> bool:
            assert self.is_alive, f"the hub ended with {self.running.returncode}:\n{self.log.read_text()}"
            return any(event["event"] == "hub ready" for event in self.events())

        wait_until(is_ready, "the hub is ready")

    def events(self) -> list[dict[str, Any]]:
        """What the hub has logged since it was last started; lines that are no events are shown as such."""
        return self.history(self._seen)

    def history(self, after: int = 0) -> list[dict[str, Any]]:
        """What it has ever logged, after a byte of its log."""
        return [_event(line) for line in self.log.read_bytes()[after:].splitlines(keepends=True)]

    def kill(self) -> None:
        """End it as nothing in it can notice."""
        self.running.kill()
        self.running.wait()
        self._process = None

    def stop(self, number: int = signal.SIGTERM, deadline_s: float = 20.0) -> int:
        """Ask it to end, and wait; its exit status."""
        self.running.send_signal(number)
        status = self.running.wait(deadline_s)
        self._process = None
        return status

    def client(self, **options: Any) -> Client:
        """A client of this hub."""
        return Client(self.url, **options)

    def status(self) -> dict[str, Any]:
        """How the hub says that it is."""
        with self.client() as client:
            return client.status()

    def counters(self) -> dict[str, int]:
        """What the hub has counted since it was last started."""
        counted: dict[str, int] = self.status()["counters"]
        return counted

    def bugs(self) -> list[dict[str, Any]]:
        """What it logged that only a bug explains."""
        return [event for event in self.events() if "exception" in event or event["level"] == "?"]


def _event(line: bytes) -> dict[str, Any]:
    try:
        event: dict[str, Any] = json.loads(line)
    except ValueError:
        # A traceback, say. The last line of a log that is being written may also not be whole yet.
        return {"event": line.decode(errors="replace"), "level": "?" if line.endswith(b"\n") else ""}
    return event


def end(hub: HubProcess) -> None:
    """Leave nothing behind, whatever the test did."""
    if hub.is_alive:
        hub.kill()


@contextmanager
def open_hub(data: Path) -> Iterator[Hub]:
    """The hub of a data directory in this process, without doors: to see what is there."""
    database = SqliteDatabase(data)
    try:
        hub = Hub(database)
        hub.start()
        try:
            yield hub
        finally:
            hub.stop()
    finally:
        database.close()
