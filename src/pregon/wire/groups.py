"""The commands of PREGON/1 about groups: headers of requests and answers.

Who takes part shows the token that it got when it was enrolled (`CREATE participant`). Groups, participants and members
are created, shown, listed, changed and deleted by the commands for entries, as kinds `group`, `participant`, `member`.
"""

from __future__ import annotations

import msgspec

from pregon.limits import PULL_BYTES_MAX
from pregon.model.group import HOSTED, MESSAGE, DeliveryRow, GroupMember, Membership
from pregon.model.message import DEFAULT_CONTENT_TYPE
from pregon.wire.headers import Header, Number, Request


class Join(Request):
    """Become a member, or come back as one. Answered with Joined.

    A native member keeps its own clock: it names the member that it was (`member`) and how many messages it has sent
    (`number`), or 0 for both to begin anew, and sends its `joined` as message 1. For a hosted one the hub does it.
    """

    group: str
    token: str
    kind: str = HOSTED
    member: Number = 0
    number: Number = 0
    subscriber: str = ""
    """Of a hosted member that is a web service: the subscriber to whom the group is pushed."""


class Joined(Header):
    """As whom one is a member, and where one begins."""

    group: str
    member: Number
    seq: Number
    """The newest message of the log when this was answered: the clock and the frontier are of there."""
    first_seq: Number = 1
    """The oldest message that this member may read."""
    number: Number = 0
    """How many messages the hub has of this member."""
    seen_seq: Number = 0
    """Of a hosted member: what it has seen, as far as it said so."""
    clock: dict[int, Number] = {}
    """Of each member, how many messages the log has up to `seq`."""
    highest: Number = 0
    """The highest number that a member of this hub has: a lower one that is not in the clock is long gone, and so are
    its messages."""
    frontier: str = ""
    """What a message would depend on whose sender has seen everything up to `seq`, as stamps."""
    members: list[GroupMember] = []
    topic: str = ""
    traced: bool = False
    """Whether the hub wants to be told what is shown to this member."""
    is_back: bool = False
    """Whether it was a member already."""


class Leave(Request):
    """Leave: a hosted member is out with the answer; a native one announces it and then sends `left`."""

    group: str
    token: str


class Send(Request):
    """Store a message of a member; the payload is its body. Answered with Sent, when it is on disk.

    A native member gives its number and what it depends on (`control`, as in causal.encoding); a hosted one says up to
    which message it has seen the group, and an id of its own choice by which a repetition is recognised.
    """

    group: str
    token: str
    control: bytes = b""
    seen_seq: Number | None = None
    id: str = ""
    kind: str = MESSAGE
    answers: str = ""
    """The stamp of the message that this one answers."""
    content_type: str = DEFAULT_CONTENT_TYPE
    headers: dict[str, str] = {}
    published_us: Number = 0


class Sent(Header):
    """It is on disk: its number in the log, its stamp, what it depends on, and whether it was there already."""

    seq: Number
    stamp: str = ""
    after: str = ""
    duplicate: bool = False


class Read(Request):
    """Messages of the group after a number, waiting for some if there are none. Answered with Messages."""

    group: str
    token: str
    after_seq: Number = 0
    max: Number = 500
    bytes_max: Number = PULL_BYTES_MAX
    wait_ms: Number = 0
    seen_seq: Number | None = None
    """Of a hosted member: it has seen everything up to here."""


class Report(Request):
    """What a member was shown, and when. Answered with Count."""

    group: str
    token: str
    rows: list[DeliveryRow]


class Mine(Request):
    """The groups of a participant, at once or when they have changed. Answered with Memberships."""

    token: str
    version: Number = 0
    wait_ms: Number = 0


class Memberships(Header):
    """The groups of a participant; `version` is what to wait on."""

    name: str = ""
    groups: list[Membership] = []
    version: Number = 0


class Private(Request):
    """The conversation of two: made when it is first asked for, both are members. Answered with Joined."""

    token: str
    with_: str = msgspec.field(name="with")
