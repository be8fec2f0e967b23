"""How groups, who takes part in them, and their messages look in JSON.

Only forms: what is asked is done in `groups` and `groups_messages`, and on the socket in `groups_socket`. What a form
cannot say (a name that is taken, a message that is not there) the groups' desk refuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pregon import limits
from pregon.clock import format_us
from pregon.edges.http.entries import Name
from pregon.edges.http.forms import Number, message_out
from pregon.groups.spacetime import THEMES, WIDTH_MAX, WIDTH_MIN
from pregon.model.group import (
    ACCESS,
    AFTER_HEADER,
    ANSWERS_HEADER,
    HEADER_PREFIX,
    KIND_HEADER,
    OPEN,
    STAMP_HEADER,
    GroupMember,
    Membership,
)
from pregon.model.message import Message
from pregon.wire.groups import Joined, Sent

Nick = Annotated[str, Meta(min_length=1, max_length=limits.NICK_CHARACTERS_MAX)]
Secret = Annotated[str, Meta(pattern="^([A-Za-z0-9_-]{40,100})?$")]
StampText = Annotated[str, Meta(pattern="^[1-9][0-9]{0,17}:[1-9][0-9]{0,17}$")]
WaitMs = Annotated[int, Meta(ge=0, le=limits.WAIT_MS_MAX)]
OwnId = Annotated[str, Meta(max_length=limits.MESSAGE_ID_BYTES_MAX)]
_Description = Annotated[str, Meta(max_length=limits.DESCRIPTION_CHARACTERS_MAX)]
_Access = Annotated[str, Meta(pattern=f"^({'|'.join(ACCESS)})$")]
_Allowed = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=limits.NAME_CHARACTERS_MAX)]],
    Meta(max_length=1_000),
]
_HUBS_MAX = 64
M = TypeVar("M", bound="MessageForm")


class ParticipantPatch(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The name to take part with: nobody else's, however it is written."""

    name: Nick


class ParticipantIn(ParticipantPatch, forbid_unknown_fields=True, kw_only=True):
    """Who wants to take part. With a secret of its own, random and known to nobody else, it may ask twice."""

    secret: Secret = ""


class ParticipantOut(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Who takes part; the token is told once."""

    name: str
    token: str = ""


class ParticipantsPage(msgspec.Struct, kw_only=True):
    """Participants by name; `next` is `cursor` of the next page."""

    items: list[ParticipantOut]
    next: str | None


class MineQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """At once, or when the groups are no longer those of a version."""

    version: Number = 0
    wait_ms: WaitMs = 0


class MembershipOut(msgspec.Struct, kw_only=True):
    """A group of a participant: as which member, and what is new there."""

    group: str
    member: int
    kind: str
    is_private: bool
    others: list[str]
    seen_seq: int
    head_seq: int


class MineOut(msgspec.Struct, kw_only=True):
    """The groups of a participant; `version` is what to wait on."""

    name: str
    groups: list[MembershipOut]
    version: int


class GroupIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A group to create. `stride` and `offset`: in how many hubs it lives, and which of them this one is."""

    name: Name
    description: _Description = ""
    access: _Access = OPEN
    allowed: _Allowed = []
    history: bool = True
    traced: bool = True
    stride: Annotated[int, Meta(ge=1, le=_HUBS_MAX)] = 1
    offset: Annotated[int, Meta(ge=0, lt=_HUBS_MAX)] = 0


class GroupPatch(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to change of a group; `allowed` is replaced as a whole."""

    description: _Description | UnsetType = UNSET
    access: _Access | UnsetType = UNSET
    allowed: _Allowed | UnsetType = UNSET
    history: bool | UnsetType = UNSET
    traced: bool | UnsetType = UNSET


class GroupRow(msgspec.Struct, kw_only=True):
    """A group in a list: `members` is how many there are."""

    name: str
    description: str
    access: str
    allowed: list[str]
    history: bool
    traced: bool
    stride: int
    offset: int
    is_private: bool
    head_seq: int
    members: int


class GroupsPage(msgspec.Struct, kw_only=True):
    """Groups by name; `next` is `cursor` of the next page."""

    items: list[GroupRow]
    next: str | None


class MemberOut(msgspec.Struct, kw_only=True):
    """A member: its number and name, whether it is here, how many messages it has sent, since when it is in."""

    member: int
    name: str
    kind: str
    is_here: bool
    number: int
    joined_seq: int


class GroupOut(GroupRow, kw_only=True):
    """A group; `members` are told to members and to who may look around."""

    members: list[MemberOut]  # type: ignore[assignment]


class MembersOut(msgspec.Struct, kw_only=True):
    """The members of a group."""

    items: list[MemberOut]


class JoinIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How to take part: nothing, or the subscriber of a web service to which the group is to be pushed."""

    subscriber: Annotated[str, Meta(max_length=limits.NAME_CHARACTERS_MAX)] = ""


class JoinedOut(msgspec.Struct, kw_only=True):
    """As whom one is a member: `head_seq` is the newest message, `first_seq` the oldest that one may read."""

    group: str
    member: int
    head_seq: int
    first_seq: int
    seen_seq: int
    is_back: bool
    topic: str


class PrivateIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """With whom to talk."""

    with_: Nick = msgspec.field(name="with")


class SendQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What the sender has seen, its own id for the message, and the message that it answers."""

    seen: Number | None = None
    """Up to which number it has seen the group; left out by a web service: what was pushed to it."""
    id: OwnId = ""
    """Sent again with the same one, it is the same message."""
    answers: StampText | None = None


class SentOut(msgspec.Struct, kw_only=True):
    """It is on disk: its number, its stamp, the stamps on which it depends, and whether it was there already."""

    seq: int
    stamp: str
    after: list[str]
    duplicate: bool


class ReadQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which messages: after a number, waiting for some if there are none; `seen` says what has been shown."""

    after: Number = 0
    max: Annotated[int, Meta(ge=1, le=limits.PULL_MESSAGES_MAX)] = 100
    wait_ms: WaitMs = 0
    seen: Number | None = None


class MessageForm(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What every form of a message of a group has; its body is one of json, text and base64."""

    seq: int
    stamp: str
    member: int
    name: str
    kind: str
    after: list[str]
    answers: str | None
    at: str
    content_type: str
    headers: dict[str, str] = {}
    json: msgspec.Raw | UnsetType = UNSET
    text: str | UnsetType = UNSET
    base64: str | UnsetType = UNSET


class GroupMessageOut(MessageForm, omit_defaults=True, kw_only=True):
    """A message of a group: who sent it, and the stamps on which it depends immediately."""


class GroupMessagesOut(msgspec.Struct, kw_only=True):
    """Messages of a group, in causal order."""

    messages: list[GroupMessageOut]
    head_seq: int


class RelationQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The message to compare with."""

    to: StampText


class RelationOut(msgspec.Struct, kw_only=True):
    """How a message stands to another: before, after, concurrent, same, or forgotten (too old to know)."""

    one: str
    other: str
    relation: str


class TraceQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which part of the group's log: from a number to a number; left out: the newest part."""

    from_: Number = msgspec.field(name="from", default=0)
    to: Number = 0


class DiagramQuery(TraceQuery, forbid_unknown_fields=True, kw_only=True):
    """And how it is drawn."""

    lang: Annotated[str, Meta(pattern="^(en|es)?$")] = ""
    logical: bool = False
    width: Annotated[int, Meta(ge=WIDTH_MIN, le=WIDTH_MAX)] = 1_200
    theme: Annotated[str, Meta(pattern=f"^({'|'.join(THEMES)})$")] = THEMES[0]


MESSAGE_EXAMPLE = {
    "seq": 17, "stamp": "3:4", "member": 3, "name": "ana", "kind": "message", "after": ["2:7"], "answers": "2:7",
    "at": "2026-11-16T10:00:00.000000Z", "content_type": "text/plain; charset=utf-8", "text": "sí, a las cinco",
}  # fmt: skip


def message_of(message: Message, form: type[M], **more: Any) -> M:
    """A message of a group in one of its forms."""
    headers, whole = message.headers, message_out(message)
    stamp = headers.get(STAMP_HEADER, "")
    return form(
        seq=message.seq,
        stamp=stamp,
        member=int(stamp.partition(":")[0] or 0),
        name=message.key or "",
        kind=headers.get(KIND_HEADER, ""),
        after=split_stamps(headers.get(AFTER_HEADER, "")),
        answers=headers.get(ANSWERS_HEADER) or None,
        at=format_us(message.accepted_us),
        content_type=message.content_type,
        headers={name: value for name, value in headers.items() if not name.startswith(HEADER_PREFIX)},
        json=whole.json,
        text=whole.text,
        base64=whole.base64,
        **more,
    )


def split_stamps(text: str) -> list[str]:
    """The stamps of a text."""
    return text.split()


def group_out(shown: dict[str, Any]) -> GroupOut:
    """A group with its members."""
    members = msgspec.convert(shown["members"], list[GroupMember])
    return GroupOut(**{**shown, "members": members_of(members)})


def members_of(members: Sequence[GroupMember]) -> list[MemberOut]:
    """Members, each with all that is known of it."""
    return [MemberOut(**msgspec.structs.asdict(one)) for one in members]


def memberships_of(memberships: Sequence[Membership]) -> list[MembershipOut]:
    """The groups of a participant, each with all that is known of it."""
    return [MembershipOut(**{**msgspec.structs.asdict(one), "others": list(one.others)}) for one in memberships]


def joined_out(joined: Joined) -> JoinedOut:
    """As whom one is a member."""
    return JoinedOut(
        group=joined.group,
        member=joined.member,
        head_seq=joined.seq,
        first_seq=joined.first_seq,
        seen_seq=joined.seen_seq,
        is_back=joined.is_back,
        topic=joined.topic,
    )


def sent_out(sent: Sent) -> SentOut:
    """Where a message is."""
    return SentOut(seq=sent.seq, stamp=sent.stamp, after=split_stamps(sent.after), duplicate=sent.duplicate)
