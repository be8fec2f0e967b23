"""A message of a group's log as a member reads it: its control information out of its headers."""

from __future__ import annotations

import msgspec

from pregon.causal.message import CausalMessage, check_control
from pregon.causal.stamps import decode_stamp, decode_stamps
from pregon.errors import PregonError
from pregon.model.group import AFTER_HEADER, HEADER_PREFIX, KIND_HEADER, MESSAGE, STAMP_HEADER
from pregon.model.message import Message


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """The body of a causal message that came from a log: what is there, by which path it came, and when."""

    message: Message
    kind: str
    path: int
    received_us: int
    tick: int = 0
    """Which of the member's reads brought it, counted over all paths."""


def read_record(message: Message, path: int, received_us: int, tick: int = 0) -> CausalMessage | None:
    """The causal message in a record of a group's log; None if it is none."""
    headers = message.headers
    try:
        stamp, after = decode_stamp(headers[STAMP_HEADER]), decode_stamps(headers.get(AFTER_HEADER, ""))
        check_control(stamp, after)
    except (KeyError, PregonError):
        return None
    kind = headers.get(KIND_HEADER, MESSAGE)
    return CausalMessage(stamp, after, Arrival(message, kind, path, received_us, tick))


def own_headers(message: Message) -> dict[str, str]:
    """The headers that the sender gave, without those of the group."""
    return {name: value for name, value in message.headers.items() if not name.startswith(HEADER_PREFIX)}
