"""A hub for your own tests: real, on free ports, in a directory of its own, gone at the end.

from pregon.testing import run_hub

def test_my_program():
    with run_hub() as hub:
        with hub.client() as client:
            client.publish("topic", "hello")
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pregon.client import AsyncClient, Client
from pregon.server import Server
from pregon.settings import Settings

ANY_PORT: dict[str, Any] = {
    "zmq": "tcp://127.0.0.1:*",
    "feed": "tcp://127.0.0.1:*",
    "ingest": "tcp://127.0.0.1:*",
    "http": "127.0.0.1:0",
}


@dataclass(frozen=True, slots=True)
class RunningHub:
    """A hub in this process."""

    server: Server
    url: str
    """The address of its fast lane."""
    feed: str
    ingest: str
    http: str

    def client(self, **options: Any) -> Client:
        """A client of this hub."""
        return Client(self.url, **options)

    def async_client(self, **options: Any) -> AsyncClient:
        """An asyncio client of this hub."""
        return AsyncClient(self.url, **options)


@contextmanager
def run_hub(data: Path | None = None, **settings: Any) -> Iterator[RunningHub]:
    """A running hub; `settings` as in `pregon.settings`, `data` to keep its directory."""
    with tempfile.TemporaryDirectory(prefix="pregon-") as scratch:
        values = {**ANY_PORT, "data": str(data or scratch), **settings}
        with Server(Settings(**values)) as server:
            addresses = {"feed": "", "ingest": "", "http": "", **server.addresses}
            yield RunningHub(server, addresses["zmq"], addresses["feed"], addresses["ingest"], addresses["http"])
