"""A broker on a stage: clients and workers say their lines, and what each of them is told is written down.

The state machine is the real one, with all its parts; only the sockets and the clock are played. Whoever is not
`reachable` is treated as the loop with the sockets does: what cannot be brought to a worker is taken from it, and a
client that cannot be told is gone.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from pregon.services.durables import Journal
from pregon.services.options import ServiceOptions, changed_options
from pregon.services.parts import Parts
from pregon.services.rights import Rights
from pregon.wire import services as wire


class Heard(NamedTuple):
    """A message of PGS/1 that a client or a worker received."""

    kind: str
    id: bytes
    tail: bytes
    body: list[bytes]


class Stage:
    """Who says what, when, and what they hear."""

    def __init__(
        self, options: dict[str, Any] | None = None, rights: Rights | None = None, journal: Journal | None = None
    ) -> None:
        self.parts = Parts(changed_options(ServiceOptions(), options or {}), rights, journal)
        self.broker = self.parts.broker
        self.now_ms = 1_000.0
        self.broker.at(self.now_ms)
        self.unreachable: set[bytes] = set()
        self.at_front: dict[bytes, list[list[bytes]]] = defaultdict(list)
        self.at_back: dict[bytes, list[list[bytes]]] = defaultdict(list)

    # Time.

    def wait(self, ms: float) -> None:
        """So much later."""
        self.now_ms += ms
        self.parts.tick(self.now_ms)
        self.bring()

    def set_options(self, job_type: str, **values: Any) -> None:
        """The operator changes how a service is run."""
        lines = self.broker.lines
        lines.set_options(job_type, changed_options(lines.options_of(job_type), values))

    # What is said.

    def front(self, identity: bytes, *frames: bytes, user: str = "") -> None:
        """A client sends."""
        self.parts.front.take([identity, *frames], user)
        self.bring()

    def back(self, identity: bytes, *frames: bytes, user: str = "") -> None:
        """A worker sends."""
        self.parts.back.take([identity, *frames], user)
        self.bring()

    def ask(self, client: bytes, id: int, name: str, *body: bytes, user: str = "", **options: Any) -> None:
        """A request of PGS/1."""
        tail = wire.encode_options(name, wire.RequestOptions(**options))
        self.front(client, wire.encode_head(wire.REQUEST, number(id), tail), *(body or (b"body",)), user=user)

    def cancel(self, client: bytes, id: int) -> None:
        """Nobody waits any more."""
        self.front(client, wire.encode_head(wire.CANCEL, number(id)))

    def collect(self, client: bytes, id: int, durable_id: str, wait_ms: int = 0, user: str = "") -> None:
        """The result of a durable request is wanted."""
        tail = wire.encode_options(durable_id, wire.CollectOptions(wait_ms=wait_ms))
        self.front(client, wire.encode_head(wire.COLLECT, number(id), tail), user=user)

    def hello(self, worker: bytes, *types: str, slots: int = 1, load: float = 0.0, user: str = "") -> None:
        """A worker of PGS/1 offers itself."""
        hello = wire.Hello(types=list(types), slots=slots, load=load)
        self.back(worker, wire.encode_head(wire.HELLO, tail=wire.encode_json(hello)), user=user)

    def register(self, worker: bytes, *segments: bytes, user: str = "") -> None:
        """A worker of the plain form does."""
        self.back(worker, b"", b"", b"", *(segments or (b"",)), user=user)

    def say(self, worker: bytes, kind: int, id: bytes = wire.NO_ID, *body: bytes, tail: bytes = b"") -> None:
        """A worker of PGS/1 says something."""
        self.back(worker, wire.encode_head(kind, id, tail), *body)

    def answer(self, worker: bytes, *body: bytes, tail: bytes = b"") -> None:
        """A worker of PGS/1 answers what it was given last."""
        self.say(worker, wire.ANSWER, self.work(worker)[-1].id, *(body or (b"answer",)), tail=tail)

    # What is heard.

    def bring(self) -> None:
        """Bring what is to be sent, as the loop with the sockets does."""
        broker = self.broker
        while broker.to_back or broker.to_front:
            to_back, broker.to_back = broker.to_back, []
            unsent: dict[bytes, list[list[bytes]]] = defaultdict(list)
            for identity, *frames in to_back:
                if identity in self.unreachable:
                    unsent[identity].append([identity, *frames])
                else:
                    self.at_back[identity].append(frames)
            for identity, lost in unsent.items():
                self.parts.worker_unreachable(identity, lost)
            to_front = list(broker.to_front)
            broker.to_front.clear()
            for identity, *frames in to_front:
                if identity in self.unreachable:
                    broker.client_gone(identity)
                else:
                    self.at_front[identity].append(frames)

    def told(self, client: bytes) -> list[list[bytes]]:
        """What a client received since it was last asked, as it travelled."""
        return self.at_front.pop(client, [])

    def answers(self, client: bytes) -> list[list[bytes]]:
        """The bodies of the answers among it."""
        return [heard.body for heard in map(read, self.told(client)) if heard.kind == "A"]

    def errors(self, client: bytes) -> list[str]:
        """The codes of the errors among it."""
        return [error_of(heard).code for heard in map(read, self.told(client)) if heard.kind == "E"]

    def heard(self, worker: bytes) -> list[Heard]:
        """What a worker of PGS/1 received since it was last asked."""
        return [read(frames) for frames in self.at_back.pop(worker, [])]

    def work(self, worker: bytes) -> list[Heard]:
        """The work that a worker of PGS/1 was given, all that is written down."""
        return [heard for heard in map(read, self.at_back[worker]) if heard.kind == "R"]

    def given(self, worker: bytes) -> list[bytes]:
        """The first frames of the bodies of that work, which is then forgotten."""
        return [heard.body[0] for heard in self.heard(worker) if heard.kind == "R"]


def number(id: int) -> bytes:
    """The id of a request, as it travels."""
    return id.to_bytes(8, "big")


def read(frames: list[bytes]) -> Heard:
    """A message of PGS/1, with or without a delimiter before it."""
    while not wire.is_head(frames[0]):
        frames = frames[1:]
    head = wire.decode_head(frames[0])
    return Heard(chr(head.kind), head.id, head.tail, frames[1:])


def error_of(heard: Heard) -> wire.Failure:
    """The error that it carries."""
    return wire.decode_failure(heard.tail)
