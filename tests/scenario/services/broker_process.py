"""`pregon services` in a process of its own, which can be killed and started again on the same addresses.

Promises: `start` returns when the broker has said that it listens, or fails with its log.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import zmq

from pregon.wire.services import NO_ID, QUERY, encode_head

from ..hub_process import COMMAND, find_port, wait_until
from .program import PATIENCE_S, Program

DEFAULT_TYPE = "default"
"""Of requests that name no type."""


class BrokerProcess(Program):
    """A broker without a hub, and what a test does to it."""

    def __init__(self, place: Path, *options: str, name: str = "broker") -> None:
        self.front = f"tcp://127.0.0.1:{find_port()}"
        self.back = f"tcp://127.0.0.1:{find_port()}"
        ours = ("services", "--front", self.front, "--back", self.back)
        super().__init__(name, [*COMMAND, *ours, *options], place)
        self._logged = 0

    def start(self) -> None:
        """Start the process, and wait until the broker is ready."""
        self._logged = self.err.stat().st_size if self.err.exists() else 0
        super().start()

        def is_ready() -> bool:
            assert self.is_alive, f"the broker ended with {self.running.returncode}:\n{self.said()}"
            return any(event["event"] == "services ready" for event in self.events())

        wait_until(is_ready, "the broker is ready", PATIENCE_S)

    def events(self) -> list[dict[str, Any]]:
        """What it has logged since it was last started; lines that are no events are shown as such."""
        whole = self.err.read_bytes()[self._logged :].split(b"\n")[:-1]
        return [_event(line) for line in whole]

    def bugs(self) -> list[dict[str, Any]]:
        """What it logged that only a bug explains."""
        return [event for event in self.events() if "exception" in event or event["level"] == "?"]

    def services(self) -> list[dict[str, Any]]:
        """What it answers to whoever asks who serves what."""
        with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
            dealer.setsockopt(zmq.LINGER, 0)
            dealer.connect(self.front)
            dealer.send(encode_head(QUERY, NO_ID))
            assert dealer.poll(PATIENCE_S * 1_000), f"the broker does not answer:\n{self.said()}"
            _, body = dealer.recv_multipart()
        rows: list[dict[str, Any]] = json.loads(body)
        return rows

    def show(self, figure: str, service: str = DEFAULT_TYPE, version: str = "") -> int:
        """One of the figures that it shows of a service; 0 of one that it does not know."""
        rows = (row for row in self.services() if (row["type"], row["version"]) == (service, version))
        return next((int(row[figure]) for row in rows), 0)

    def wait_for(self, figure: str, count: int, service: str = DEFAULT_TYPE) -> None:
        """Wait until a figure of a service is so many."""
        wait_until(lambda: self.show(figure, service) == count, f"{service} has {count} {figure}", PATIENCE_S)


def _event(line: bytes) -> dict[str, Any]:
    try:
        event: dict[str, Any] = json.loads(line)
    except ValueError:
        # A traceback, say.
        return {"event": line.decode(errors="replace"), "level": "?"}
    return event
