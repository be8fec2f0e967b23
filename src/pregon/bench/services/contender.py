"""A contender: a server, two workers and a client, started together, asked many times and ended together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

from pregon.bench.peers import PeerFailed
from pregon.bench.services.actors import Actor
from pregon.bench.services.asking import Ask, Asked

WORKERS = 2
_WARM_UP = (Ask(seconds=0.1, in_flight=1), Ask(seconds=0.2, in_flight=50))


class Doors(NamedTuple):
    """Where a server is reached."""

    front: str
    """By clients."""
    back: str
    """By workers."""


@dataclass(slots=True)
class Contender:
    """One of those that are measured."""

    name: str
    """What the report calls it, with what distinguishes it from its neighbours."""
    serve: Callable[[Path, ExitStack], Doors]
    """Start its server with its data in a folder, and give the stack what ends it."""
    worker: tuple[str, ...]
    """The module and role of its workers, and what they are told beside the address."""
    client: tuple[str, ...]
    """The same of its client."""
    _stack: ExitStack = field(default_factory=ExitStack)
    _client: Actor | None = None

    def start(self, directory: Path) -> None:
        """Start it and have it answer; raises `PeerMissing` or `PeerFailed` and leaves nothing running then."""
        with ExitStack() as stack:
            doors = self.serve(directory, stack)
            workers = [
                stack.enter_context(_actor(directory / f"worker-{n}.log", self.worker, doors.back))
                for n in range(WORKERS)
            ]
            self._client = stack.enter_context(_actor(directory / "client.log", self.client, doors.front))
            for actor in (*workers, self._client):
                actor.wait_until_ready()
            for ask in _WARM_UP:
                self.ask(ask)
            self._stack = stack.pop_all()

    def ask(self, ask: Ask) -> Asked:
        """Have its client ask; raises `PeerFailed`."""
        assert self._client is not None
        answer = self._client.ask(msgspec.json.encode(ask).decode())
        try:
            return msgspec.json.decode(answer, type=Asked)
        except msgspec.DecodeError as error:
            raise PeerFailed(f"{self.name}: its client said {answer[:200]!r}") from error

    def stop(self) -> None:
        """End all of it."""
        self._client = None
        self._stack.close()


def _actor(log: Path, part: tuple[str, ...], address: str) -> Actor:
    module, role, *rest = part
    return Actor(log, module, role, address, *rest)
