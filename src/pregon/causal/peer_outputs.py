"""How a peer is set up, what it tells whoever drives it, and what it keeps in order to come back."""

from __future__ import annotations

import msgspec

from pregon.causal.member import MemberState
from pregon.causal.message import CausalMessage, Delivery
from pregon.causal.peer_frames import Card
from pregon.errors import BadRequest, PregonError
from pregon.limits import GROUP_HISTORY_MAX, MIB


class PeerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Times and limits of one member of a group without a hub; all members should have the same times."""

    address: str = ""
    """Where the others find this member; it travels with its name."""
    tick_ms: int = 100
    """How often `tick` is called, about."""
    join_ms: int = 300
    """How often a request to join is repeated."""
    start_ms: int = 3_000
    """How long the answers of all members are waited for once one has answered."""
    report_ms: int = 200
    """How soon the others are told what was delivered here."""
    beat_ms: int = 1_000
    """How often everything is told, also when there is nothing new: the sign of life."""
    dead_ms: int = 5_000
    """A silence of this length, and a member is taken for gone."""
    forget_ms: int = 60_000
    """How long one who is gone may come back, and what it lacks is kept for it."""
    leave_ms: int = 5_000
    """How long one who leaves stays at most until the others have its last messages."""
    ask_ms: int = 100
    """How long a missing message is waited for before it is asked for; between questions, 2 to 16 times as long."""
    asks_max: int = 64
    """Members about whose messages one tick asks."""
    ask_messages_max: int = 256
    """Messages of one member that are asked for at a time."""
    answer_messages_max: int = 256
    """Messages that one tick repeats for one who asks; the rest, when it asks again."""
    answer_bytes_max: int = 4 * MIB
    """Bytes that one tick repeats for everybody together."""
    retained_max: int = 20_000
    """Messages kept to be repeated, until everybody has them; the oldest ones go first."""
    retained_bytes_max: int = 64 * MIB
    """Their bytes."""
    joining_max: int = 64
    """Members that may be joining at once."""
    tombstones_max: int = 4_096
    """Forgotten members whose number is remembered, so that it is not taken again."""
    early_max: int = 1_000
    """Messages kept that come while this member is joining."""
    shows_later: bool = False
    """Whether the application is shown things after they were delivered, which `Peer.shown` is then told, each in its
    turn: its messages depend on what it was shown only."""
    history_max: int = GROUP_HISTORY_MAX
    """Deliveries of which it is remembered what they depended on."""

    def __post_init__(self) -> None:
        if not (self.report_ms <= self.beat_ms <= self.dead_ms // 2 and self.dead_ms <= self.forget_ms):
            raise BadRequest("times of a peer must be so: report_ms <= beat_ms <= dead_ms / 2, dead_ms <= forget_ms")
        if min(value for value in map(self.__getattribute__, self.__struct_fields__) if type(value) is int) < 1:
            raise BadRequest("a time or limit of a peer is less than 1")


class PeerState(msgspec.Struct, frozen=True, kw_only=True):
    """What a peer must keep to come back as the same member."""

    name: str
    group: int
    """The number of the member that founded the group: what distinguishes it from another of the same name."""
    member: MemberState
    cards: list[Card]
    tombstones: dict[int, int]
    voice: MemberState | None = None
    """What the application was shown, if that is less."""
    frames: list[bytes]
    """Messages that some member may lack yet, its own above all."""


class PeerCounts(msgspec.Struct):
    """What a peer has seen that should not be, and what it did about losses."""

    malformed: int = 0
    forged: int = 0
    """Frames that came on the connection of another than who they say they are from."""
    foreign: int = 0
    """Frames of another group."""
    conflicts: int = 0
    """Copies of a message that say something else under the same name."""
    asked: int = 0
    repaired: int = 0
    """Messages that were repeated for others."""
    missed: int = 0


class Send(msgspec.Struct, frozen=True):
    """A frame for a member, or for everybody who can be reached."""

    to: int | None
    frame: bytes


class Delivered(msgspec.Struct, frozen=True, tag=True):
    """A message of the application, in causal order."""

    delivery: Delivery


class Joined(msgspec.Struct, frozen=True, tag=True):
    """A member is in, or is back; in causal order with the messages."""

    member: int
    name: str
    message: CausalMessage | None
    """None if the message that said so is forgotten by all."""


class Left(msgspec.Struct, frozen=True, tag=True):
    """A member has left: this was its last message."""

    member: int
    name: str
    message: CausalMessage


class Gone(msgspec.Struct, frozen=True, tag=True):
    """A member has not been heard of; it may come back."""

    member: int
    name: str
    message: CausalMessage
    """Who says so, after which messages."""


class Inside(msgspec.Struct, frozen=True):
    """This peer is in now."""


class Missed(msgspec.Struct, frozen=True, tag=True):
    """Messages first..last of a member will never be shown here: nobody has them any more."""

    member: int
    first: int
    last: int


class Refused(msgspec.Struct, frozen=True):
    """This peer is not let in, or is no longer a member: it must join as another."""

    error: PregonError


class Forgotten(msgspec.Struct, frozen=True, tag=True):
    """A member that has left or is gone will not be named any more; only told to who shows later."""

    member: int


class Passed(msgspec.Struct, frozen=True, tag=True):
    """A message that is nothing to the application, but that later ones follow from; only told to who shows later."""

    message: CausalMessage


Shown = Delivered | Joined | Left | Gone | Missed | Forgotten | Passed
"""What the application is shown, or is told when all before it was shown, in causal order."""
Output = Send | Delivered | Joined | Left | Gone | Missed | Forgotten | Passed | Inside | Refused
