"""The frames of PREGON/1: a fixed prelude, a MessagePack header, and payload frames.

    request, client to hub                      answer, hub to client
    +--------------------------------------+    +--------------------------------------+
    | frame 0: prelude, 16 bytes           |    | frame 0: prelude, the same id        |
    | frame 1: header, a MessagePack map   |    | frame 1: header, a MessagePack map   |
    | frame 2…: payload                    |    | frame 2…: payload                    |
    +--------------------------------------+    +--------------------------------------+

    prelude   0        1        2        3        4        5        6        7
            +--------+--------+--------+--------+--------+--------+--------+--------+
            |  'P'   |  'R'   |  'G'   | version| command|       0, reserved        |
            +--------+--------+--------+--------+--------+--------+--------+--------+
            |               request id, 64 bits, big-endian                         |
            +--------+--------+--------+--------+--------+--------+--------+--------+

In an answer the command is the request's with its high bit set, or 0xFF for an error.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from pregon.errors import BadRequest, VersionUnknown
from pregon.limits import HEADER_BYTES_MAX

VERSION = 1
MAGIC = b"PRG"
ANSWER_BIT = 0x80
ERROR = 0xFF

_PRELUDE = struct.Struct(">3sBB3xQ")
PRELUDE_BYTES = _PRELUDE.size
PAYLOAD_FRAMES_MAX = 1


class Request(NamedTuple):
    """A request as it came: nothing in it has been believed yet but its prelude."""

    command: int
    id: int
    header: bytes
    payload: Sequence[Any]


def encode_prelude(command: int, request_id: int) -> bytes:
    """The first frame."""
    return _PRELUDE.pack(MAGIC, VERSION, command, request_id)


def peek_request_id(frames: Sequence[Any]) -> int:
    """The id of a request that may be malformed, 0 if it cannot be told."""
    if frames and len(frames[0]) >= PRELUDE_BYTES:
        return int(_PRELUDE.unpack_from(frames[0])[3])
    return 0


def decode_request(frames: Sequence[Any]) -> Request:
    """The request in frames from outside; raises BadRequest or VersionUnknown."""
    if len(frames) < 2 or len(frames) > 2 + PAYLOAD_FRAMES_MAX:
        raise BadRequest(
            f"a request has a prelude, a header and at most {PAYLOAD_FRAMES_MAX} payload, not {len(frames)} frames"
        )
    if len(frames[0]) != PRELUDE_BYTES:
        raise BadRequest(f"the prelude has {PRELUDE_BYTES} bytes, not {len(frames[0])}")
    magic, version, command, request_id = _PRELUDE.unpack(frames[0])
    if magic != MAGIC:
        raise BadRequest("the prelude does not begin with PRG: this is not PREGON")
    if version != VERSION:
        raise VersionUnknown(f"this hub speaks PREGON/{VERSION}, not /{version}: use a client of the same generation")
    if len(frames[1]) > HEADER_BYTES_MAX:
        raise BadRequest(f"the header has {len(frames[1])} bytes; at most {HEADER_BYTES_MAX}")
    return Request(command, request_id, bytes(frames[1]), frames[2:])


class Answer(NamedTuple):
    """An answer as it came to a client."""

    command: int
    id: int
    header: bytes
    payload: Sequence[Any]

    @property
    def is_error(self) -> bool:
        """Whether it is an error."""
        return self.command == ERROR


def decode_answer(frames: Sequence[Any]) -> Answer | None:
    """The answer in frames from a hub, or None if it is not one of PREGON/1."""
    if len(frames) < 2 or len(frames[0]) != PRELUDE_BYTES:
        return None
    magic, version, command, request_id = _PRELUDE.unpack(frames[0])
    if magic != MAGIC or version != VERSION or not command & ANSWER_BIT:
        return None
    return Answer(command, request_id, bytes(frames[1]), frames[2:])
