"""A worker as the broker knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pregon.services.line import Line
    from pregon.services.request import Request

READY, LEAVING, LOST, GONE = "ready", "leaving", "lost", "gone"
"""Takes work; answers what it has and takes no more; given up until it speaks again; forgotten."""


class Worker:
    """One worker: what it serves, how much it can take, what it has, when it was last heard."""

    __slots__ = (
        "answered", "beaten_ms", "failed", "free", "heard_ms", "identity", "idle_mark", "in_hand", "is_plain", "late",
        "lines", "load", "lost_count", "name", "overdue", "slots", "state", "turn", "user",
        "withheld",
    )  # fmt: skip

    def __init__(self, identity: bytes, lines: list[Line], slots: int, load: float, now_ms: float) -> None:
        self.identity = identity
        self.name = printable(identity)
        self.user = ""
        self.is_plain = False
        self.lines = lines
        self.slots = slots
        self.free = slots
        self.withheld = 0
        """Slots that it has no room for, as it said by giving work back; free again when it answers something."""
        self.load = load
        self.state = READY
        self.in_hand: dict[bytes, Request] = {}
        """By the number under which it has them."""
        self.overdue: dict[bytes, float] = {}
        """Numbers of requests that were taken from it because it took too long: each still holds a slot."""
        self.late: set[bytes] = set()
        """Numbers of requests that were taken from it when it was given up."""
        self.heard_ms = now_ms
        self.beaten_ms = now_ms
        self.idle_mark = 0
        """Counts up whenever anybody gets free: the smaller, the longer it has waited."""
        self.turn = 0
        """Which of its lines is asked first for the next request."""
        self.answered = 0
        self.failed = 0
        """Requests that it answered with an error."""
        self.lost_count = 0
        """How often it was given up."""


def printable(identity: bytes) -> str:
    """An identity for people: as text if it is one, else in hexadecimal."""
    try:
        text = identity.decode("ascii")
    except UnicodeDecodeError:
        return identity.hex()
    return text if text.isprintable() and text else identity.hex()
