"""What a member of a group is shown: messages, and who joins, leaves, is gone or has another name.

All of them are in the same causal order, and each can be asked how it stands to another one: before, after or
concurrent. They are the same with a hub and without one.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import msgspec

from pregon.causal.history import History, Relation
from pregon.causal.stamps import Stamp
from pregon.model.message import DEFAULT_CONTENT_TYPE

__all__ = [
    "Event",
    "GroupEvent",
    "GroupMember",
    "GroupMessage",
    "GuardedOrder",
    "MemberGone",
    "MemberJoined",
    "MemberLeft",
    "MemberRenamed",
    "MessagesMissed",
    "Order",
    "Relation",
    "Stamp",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Order(Protocol):
    """Who knows how two messages stand to each other."""

    def relation(self, one: Stamp, other: Stamp) -> Relation:
        """How `one` stands to `other`."""
        ...


class GuardedOrder:
    """A history that several threads may ask, under the lock under which it is added to."""

    def __init__(self, history: History, lock: AbstractContextManager[Any]) -> None:
        self._history = history
        self._lock = lock

    def relation(self, one: Stamp, other: Stamp) -> Relation:
        """How `one` stands to `other`."""
        with self._lock:
            return self._history.relation(one, other)

    def concurrent_with(self, stamp: Stamp) -> list[Stamp]:
        """The remembered messages that neither caused this one nor follow from it, in the order of their delivery."""
        with self._lock:
            return self._history.concurrent_with(stamp)


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member: its number in the group, which nobody else ever has, its name, and whether it was in contact lately."""

    number: int
    name: str
    is_here: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEvent:
    """What all of them have."""

    stamp: Stamp
    """Its own name in the group: who said it, and which of theirs it is."""
    member: int
    """The member that it is about: of a message, who sent it."""
    name: str
    """That member's name."""
    after: tuple[Stamp, ...] = ()
    """What it depends on immediately; everything earlier follows from these."""
    seq: int = 0
    """Its number in the hub's log; 0 without a hub."""
    at_us: int = 0
    """When the hub stored it, in microseconds since 1970; without a hub, when it was sent."""
    waited_for: Stamp | None = None
    """The message that was missing when this one came, so that it was held back; None if it was shown at once."""
    is_history: bool = False
    """Whether it is from before this member joined."""
    order: Order = field(repr=False, compare=False)
    """The member's memory of what it was shown."""

    @property
    def at(self) -> datetime:
        """When the hub stored it; without a hub, when it was sent."""
        return _EPOCH + timedelta(microseconds=self.at_us)

    def relation(self, other: GroupEvent | Stamp) -> Relation:
        """How this one stands to another; FORGOTTEN if one of them is too old to be told, or was never shown here."""
        return self.order.relation(self.stamp, other if isinstance(other, Stamp) else other.stamp)

    def is_after(self, other: GroupEvent | Stamp) -> bool:
        """Whether the other one may have caused this one."""
        return self.relation(other) is Relation.AFTER

    def is_before(self, other: GroupEvent | Stamp) -> bool:
        """Whether this one may have caused the other one."""
        return self.relation(other) is Relation.BEFORE

    def concurrent_with(self, other: GroupEvent | Stamp) -> bool:
        """Whether neither can have caused the other: nobody who sent one had been shown the other."""
        return self.relation(other) is Relation.CONCURRENT


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMessage(GroupEvent):
    """A message of a member."""

    body: bytes = b""
    content_type: str = DEFAULT_CONTENT_TYPE
    headers: Mapping[str, str] = field(default_factory=dict)
    answers: Stamp | None = None
    """The message that it answers, if its sender said so."""
    sent_us: int = 0
    """When its sender says that it was sent, in microseconds since 1970."""

    @property
    def sender(self) -> str:
        """The name of who sent it."""
        return self.name

    @property
    def sent_at(self) -> datetime:
        """When its sender says that it was sent."""
        return _EPOCH + timedelta(microseconds=self.sent_us)

    @property
    def text(self) -> str:
        """The body read as UTF-8, with what is not UTF-8 replaced."""
        return self.body.decode(errors="replace")

    def json(self) -> Any:
        """The body read as JSON; raises msgspec.DecodeError if it is not."""
        return msgspec.json.decode(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberJoined(GroupEvent):
    """A member is in: what it says from now on comes after this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLeft(GroupEvent):
    """A member has left: this is the last that it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberGone(GroupEvent):
    """A member is out without having left: it was taken for dead, put out, or came back as another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRenamed(GroupEvent):
    """A member has another name."""

    old: str = ""


@dataclass(frozen=True, slots=True)
class MessagesMissed:
    """Messages first to last are lost for this member for good: nobody had them any more when it came back."""

    member: int
    """Whose they are; 0 if the numbers are those of the hub's log."""
    first: int
    last: int


Event = GroupEvent | MessagesMissed
