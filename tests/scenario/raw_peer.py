"""A peer of the fast lane that says whatever it is told to: a plain DEALER, and the frames of PREGON/1 by hand."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec
import zmq

DEADLINE_MS = 10_000
ERROR = 0xFF


class Answer(NamedTuple):
    """What came back."""

    command: int
    id: int
    header: dict[str, Any]
    payload: list[bytes]

    @property
    def code(self) -> str:
        """The code of an error, or nothing."""
        return str(self.header["code"]) if self.command == ERROR else ""


def prelude(command: int, request_id: int = 7, magic: bytes = b"PRG", version: int = 1) -> bytes:
    """The first frame of a request."""
    return struct.pack(">3sBB3xQ", magic, version, command, request_id)


def header(**fields: Any) -> bytes:
    """The second frame."""
    return msgspec.msgpack.encode(fields)


class RawPeer:
    """The socket."""

    def __init__(self, socket: zmq.Socket[bytes]) -> None:
        self.socket = socket

    def send(self, *frames: bytes) -> None:
        """Send the frames as they are."""
        self.socket.send_multipart(frames)

    def receive(self, deadline_ms: int = DEADLINE_MS) -> Answer:
        """The next answer; fails if none comes."""
        assert self.socket.poll(deadline_ms), f"no answer in {deadline_ms} ms"
        first, second, *payload = self.socket.recv_multipart()
        magic, version, command, request_id = struct.unpack(">3sBB3xQ", first)
        assert (magic, version) == (b"PRG", 1)
        return Answer(command, request_id, msgspec.msgpack.decode(second), payload)

    def ask(self, command: int, fields: dict[str, Any], payload: Sequence[bytes] = ()) -> Answer:
        """Send a well-formed request, and wait for its answer."""
        self.send(prelude(command), header(**fields), *payload)
        return self.receive()


@contextmanager
def connected(url: str, **options: int) -> Iterator[RawPeer]:
    """A peer of the hub at this address; `options` are those of its socket."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        for name, value in options.items():
            socket.setsockopt(getattr(zmq, name.upper()), value)
        socket.connect(url)
        yield RawPeer(socket)
