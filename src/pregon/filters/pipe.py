"""What the hub and a child that examines say to each other, and how.

A stream socket between the two carries frames: four bytes with the length, most significant first, then MessagePack.

    child: ready (nil)
    hub:   a task: the filter's text, the limits, the rows of some messages
    child: a verdict for each row, in order, each as soon as it has it; then nil (sooner, if its turn is over)

Promises:
- Each side has at most one frame in memory, and none is longer than `FRAME_BYTES_MAX`.
- A connection that ends, in the middle of a frame or between two, reads as None.
"""

from __future__ import annotations

import socket

import msgspec

from pregon import limits
from pregon.filters.conditions import Examinable
from pregon.filters.expression import Verdict

TASK_BYTES_MAX = 1 * limits.MIB
"""Bodies of the messages of one task, but for the first, which always goes."""
FRAME_BYTES_MAX = 64 * limits.MIB
"""More than any task: a longer one is no frame of ours."""
_READ_BYTES = 64 * limits.KIB
_LENGTH_BYTES = 4


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a filter may see of a message."""

    key: str | None
    content_type: str
    producer: str
    headers: dict[str, str]
    body: bytes

    @classmethod
    def of(cls, message: Examinable) -> Row:
        """The row of a message."""
        return cls(message.key, message.content_type, message.producer, dict(message.headers), message.body)


class Task(msgspec.Struct, frozen=True, array_like=True):
    """Messages to examine by one filter."""

    filter: str
    time_limit_ms: int
    """How much processor time one message may take."""
    turn_ms: float
    """When this long has passed, the rest is left."""
    rows: list[Row]


class Wire:
    """One end of the connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._received = bytearray()

    def send(self, *frames: Task | Verdict | None, timeout_ms: float | None = None) -> None:
        """Send frames whole; raises OSError (TimeoutError) if the other end does not take them (in time)."""
        self._connection.settimeout(None if timeout_ms is None else timeout_ms / 1_000)
        parts = []
        for frame in frames:
            data = msgspec.msgpack.encode(frame)
            parts += [len(data).to_bytes(_LENGTH_BYTES, "big"), data]
        self._connection.sendall(b"".join(parts))

    @property
    def has_more(self) -> bool:
        """Whether something has been received that was not asked for yet."""
        return bool(self._received)

    def receive(self, timeout_ms: float | None = None) -> bytes | None:
        """The next frame, None if there will be none; raises OSError (TimeoutError) if nothing comes (in time)."""
        self._connection.settimeout(None if timeout_ms is None else timeout_ms / 1_000)
        received = self._received
        needed = _LENGTH_BYTES
        while True:
            if len(received) >= _LENGTH_BYTES:
                needed = _LENGTH_BYTES + int.from_bytes(received[:_LENGTH_BYTES], "big")
                if needed > FRAME_BYTES_MAX:
                    return None
                if len(received) >= needed:
                    frame = bytes(received[_LENGTH_BYTES:needed])
                    del received[:needed]
                    return frame
            some = self._connection.recv(max(_READ_BYTES, needed - len(received)))
            if not some:
                return None
            received += some

    def close(self) -> None:
        """Nothing more is said; the other end reads None."""
        self._connection.close()
