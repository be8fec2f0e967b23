"""What members of a group without a hub say to each other: one class for each thing said.

How they are written in bytes is in `peer_bytes`; who says what, and when, in `peer`.
"""

from __future__ import annotations

import msgspec

from pregon.causal.message import CausalMessage
from pregon.causal.stamps import Stamp
from pregon.limits import GROUP_MEMBERS_MAX

ORDINARY, JOINED, LEFT, GONE, BACK = range(5)
HERE, IS_LEAVING, HAS_LEFT, IS_GONE = range(4)

ADDRESS_BYTES_MAX = 256
CLOCK_MEMBERS_MAX = 2 * GROUP_MEMBERS_MAX
"""Members in one clock: those who are here, and those who are gone and not yet forgotten."""


class Sealed(msgspec.Struct, frozen=True, gc=False):
    """What a causal message is about, and the frame that it came in, to be repeated for who lacks it."""

    kind: int
    body: bytes
    frame: bytes


class Card(msgspec.Struct, frozen=True):
    """One member, as another one knows it."""

    member: int
    state: int
    event: Stamp | None
    """The message that brought it into its state."""
    name: str
    address: str


class JoinFrame(msgspec.Struct, frozen=True):
    """Let me in."""

    sender: int
    group: int
    name: str
    address: str
    clock: dict[int, int]


class StartFrame(msgspec.Struct, frozen=True):
    """The answer of one member to who wants to join: what it has, and whom it knows."""

    sender: int
    group: int
    to: int
    clock: dict[int, int]
    cards: tuple[Card, ...]


class RefusedFrame(msgspec.Struct, frozen=True):
    """The other answer."""

    sender: int
    to: int
    code: str
    reason: str


class ReportFrame(msgspec.Struct, frozen=True):
    """What a member has been shown."""

    sender: int
    group: int
    is_full: bool
    clock: dict[int, int]


class AskFrame(msgspec.Struct, frozen=True):
    """Messages first..last of a member, please."""

    sender: int
    member: int
    first: int
    last: int


class LostFrame(msgspec.Struct, frozen=True):
    """Messages first..last of a member were here, and are forgotten."""

    sender: int
    member: int
    first: int
    last: int
    cards: tuple[Card, ...]
    """Who that member is, if it is known, for one who has not met it."""


class NeverFrame(msgspec.Struct, frozen=True):
    """There is nothing of mine after this number."""

    sender: int
    last: int


class LeavingFrame(msgspec.Struct, frozen=True):
    """I am about to leave."""

    sender: int


class MessageFrame(msgspec.Struct, frozen=True):
    """A causal message, from its sender or repeated by another."""

    message: CausalMessage
    is_repair: bool


class Introduction(msgspec.Struct, frozen=True):
    """The body of JOINED and of BACK."""

    group: int
    name: str
    address: str


Frame = JoinFrame | StartFrame | RefusedFrame | ReportFrame | AskFrame | LostFrame | NeverFrame | LeavingFrame
