"""Clients that say whatever they are told to: one DEALER each, and the frames of both forms by hand.

Promises: a client keeps everything that it was ever told, so that a test can count.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable
from types import TracebackType
from typing import Any, NamedTuple

import zmq

from .program import PATIENCE_S

DEFAULT_TYPE = "default"


class Reply(NamedTuple):
    """What came back: of PGS/1, or a plain answer, which has no kind and no number."""

    kind: str
    number: int
    tail: bytes
    body: list[bytes]

    @property
    def code(self) -> str:
        """The code of an error, or nothing."""
        return str(json.loads(self.tail)["code"]) if self.kind == "E" else ""

    @property
    def message(self) -> str:
        """The words of an error."""
        return str(json.loads(self.tail)["message"])


class RawClient:
    """A client of a broker's front."""

    def __init__(self, front: str, identity: str = "", service: str = DEFAULT_TYPE) -> None:
        self.service = service
        self.socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.SNDHWM, 0)
        self.socket.setsockopt(zmq.RCVHWM, 0)
        self.socket.setsockopt(zmq.RECONNECT_IVL, 50)
        if identity:
            self.socket.setsockopt(zmq.IDENTITY, identity.encode())
        self.socket.connect(front)
        self.replies: list[Reply] = []

    def __enter__(self) -> RawClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    # Say.

    def say(self, kind: str, number: int = 0, tail: bytes = b"", body: Iterable[bytes] = ()) -> None:
        """A message of PGS/1."""
        self.socket.send_multipart([b"PGS1" + kind.encode() + number.to_bytes(8, "big") + tail, *body])

    def ask(self, number: int, body: bytes = b"", **options: Any) -> None:
        """A request to its service; the body is the number unless told otherwise."""
        tail = self.service.encode() + (b"\n" + json.dumps(options).encode() if options else b"")
        self.say("R", number, tail, [body or str(number).encode()])

    def ask_plainly(self, *body: bytes) -> None:
        """A request as a REQ socket would send it."""
        self.socket.send_multipart([b"", *body])

    # Hear.

    def hear(self, timeout_s: float = PATIENCE_S) -> Reply | None:
        """The next thing that it is told, None if nothing comes."""
        if not self.socket.poll(int(timeout_s * 1_000)):
            return None
        first, *frames = self.socket.recv_multipart()
        reply = Reply("", 0, b"", frames) if first == b"" else _decode(first, frames)
        self.replies.append(reply)
        return reply

    def require(self, number: int = 0) -> Reply:
        """The next reply, which must be to the request with this number."""
        reply = self.hear()
        assert reply is not None, f"no answer in {PATIENCE_S} s"
        assert reply.number == number, reply
        return reply

    def hear_until(self, count: int) -> None:
        """Wait until it was told so many things in all."""
        last = time.monotonic() + PATIENCE_S
        while len(self.replies) < count:
            assert time.monotonic() < last, f"{len(self.replies)} of {count} answers came in {PATIENCE_S} s"
            self.hear(1.0)

    def hear_the_rest(self) -> None:
        """Whatever the broker has said to it so far is here when this returns: replies keep their order."""
        self.say("Q", 2**63)
        last = time.monotonic() + PATIENCE_S
        while time.monotonic() < last:
            reply = self.hear(1.0)
            if reply is not None and reply.number == 2**63:
                self.replies.pop()
                return
        raise AssertionError("the broker does not answer")

    def counted(self) -> Counter[bytes]:
        """How often each request was answered, by its body, errors aside."""
        return Counter(reply.body[0] for reply in self.replies if reply.kind in ("", "A"))


def _decode(head: bytes, frames: list[bytes]) -> Reply:
    assert head[:4] == b"PGS1", head
    return Reply(chr(head[4]), int.from_bytes(head[5:13], "big"), head[13:], frames)
