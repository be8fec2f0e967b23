"""Full vector clocks, beside which the immediate dependency relation is measured and checked.

The broadcast of Birman, Schiper and Stephenson (1991): a message carries how many messages of each member its sender
had delivered, its own included. It is delivered when it is its sender's next and the rest was delivered too. Two
messages are compared by what they carry alone: exact, but as long as the group is large, however quiet it is.

    byte 0          kind of message
    varint          sender
    varint          how many members
    each            varint  number of the last message of member 1, 2, 3 …

Members are 1 to `count`, all known from the beginning. The groups of the product do not use this.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import msgspec

from pregon.causal.encoding import KIND_MAX, append_varint, read_varint
from pregon.causal.history import Relation
from pregon.causal.stamps import Stamp
from pregon.errors import BadRequest
from pregon.limits import GROUP_HELD_MAX, GROUP_MEMBERS_MAX, GROUP_NUMBER_MAX

Message = TypeVar("Message")
Reason = TypeVar("Reason", bound=Hashable)


class VectorMessage(msgspec.Struct, frozen=True, gc=False):
    """A message: who sent it, the clock of its sender when it did, and what it says."""

    sender: int
    clock: tuple[int, ...]
    body: Any = None

    @property
    def stamp(self) -> Stamp:
        """Its name."""
        return Stamp(self.sender, self.clock[self.sender - 1])


class Waiting(Generic[Message, Reason]):
    """Messages that wait, each for one thing at a time, under the name of that thing; beyond a limit none is taken."""

    def __init__(self, find_reason: Callable[[Message], Reason | None], held_max: int = GROUP_HELD_MAX) -> None:
        self._find_reason = find_reason
        self._held_max = held_max
        self._by_reason: dict[Reason, list[Message]] = {}
        self._count = 0
        self.dropped = 0

    def __len__(self) -> int:
        return self._count

    def is_ready(self, message: Message) -> bool:
        """Whether it waits for nothing; if it does, it is kept, or dropped for lack of room."""
        reason = self._find_reason(message)
        if reason is None:
            return True
        if self._count >= self._held_max:
            self.dropped += 1
            return False
        self._by_reason.setdefault(reason, []).append(message)
        self._count += 1
        return False

    def take(self, reason: Reason) -> list[Message]:
        """Those that waited for this and for nothing else."""
        candidates = self._by_reason.pop(reason, [])
        self._count -= len(candidates)
        return [message for message in candidates if self.is_ready(message)]


class VectorMember:
    """One member, by vector clocks."""

    def __init__(self, me: int, count: int, held_max: int = GROUP_HELD_MAX) -> None:
        if not 1 <= me <= count <= GROUP_MEMBERS_MAX:
            raise BadRequest(f"members go from 1 to how many there are, {GROUP_MEMBERS_MAX} at most")
        self.me = me
        self.clock = [0] * count
        self.waiting: Waiting[VectorMessage, Stamp] = Waiting(self._find_missing, held_max)
        self.duplicates = 0

    def broadcast(self, body: Any = None) -> VectorMessage:
        """The next message of this member; here it counts as delivered."""
        self.clock[self.me - 1] += 1
        return VectorMessage(self.me, tuple(self.clock), body)

    def receive(self, message: VectorMessage) -> list[VectorMessage]:
        """What may be delivered now, in order. A copy of one that waits is dropped when its turn comes."""
        if len(message.clock) != len(self.clock) or not 1 <= message.sender <= len(self.clock):
            raise BadRequest(f"this group has the members 1 to {len(self.clock)}, and the message another number")
        done: list[VectorMessage] = []
        ready = [message] if self.waiting.is_ready(message) else []
        while ready:
            one = ready.pop()
            member, number = one.stamp
            if number <= self.clock[member - 1]:
                self.duplicates += 1
                continue
            self.clock[member - 1] = number
            done.append(one)
            ready.extend(self.waiting.take(one.stamp))
        return done

    def _find_missing(self, message: VectorMessage) -> Stamp | None:
        """A message that must be delivered before this one, and is not."""
        sender, number = message.stamp
        if number <= self.clock[sender - 1]:
            return None
        for index, (needed, seen) in enumerate(zip(message.clock, self.clock, strict=True)):
            if needed - (index == sender - 1) > seen:
                return Stamp(index + 1, needed - (index == sender - 1))
        return None


def relation(one: VectorMessage, other: VectorMessage) -> Relation:
    """How `one` stands to `other`, by their clocks."""
    if one.stamp == other.stamp:
        return Relation.SAME
    if one.stamp.number <= other.clock[one.sender - 1]:
        return Relation.BEFORE
    if other.stamp.number <= one.clock[other.sender - 1]:
        return Relation.AFTER
    return Relation.CONCURRENT


def encode_vector(message: VectorMessage, kind: int = 0) -> bytes:
    """The control information of a message."""
    out = bytearray((kind,))
    append_varint(out, message.sender)
    append_varint(out, len(message.clock))
    for number in message.clock:
        append_varint(out, number)
    return bytes(out)


def decode_vector(data: bytes, at: int = 0) -> tuple[int, int, tuple[int, ...], int]:
    """Kind, sender and clock of a message, and where its control information ends; raises BadRequest."""
    if at >= len(data) or data[at] > KIND_MAX:
        raise BadRequest(f"a vector clock begins with the kind of its message, from 0 to {KIND_MAX}")
    kind = data[at]
    sender, at = read_varint(data, at + 1)
    count, at = read_varint(data, at)
    if not 1 <= sender <= count <= GROUP_MEMBERS_MAX:
        raise BadRequest(f"members go from 1 to how many there are, {GROUP_MEMBERS_MAX} at most")
    numbers, at = read_numbers(data, at, count)
    if numbers[sender - 1] == 0:
        raise BadRequest("the clock of a message counts that message: its sender's number is 1 at least")
    return kind, sender, numbers, at


def read_numbers(data: bytes, at: int, count: int) -> tuple[tuple[int, ...], int]:
    """As many numbers as said, and where they end; raises BadRequest."""
    numbers = []
    for _ in range(count):
        number, at = read_varint(data, at)
        if number > GROUP_NUMBER_MAX:
            raise BadRequest(f"a number of the control information is larger than {GROUP_NUMBER_MAX}")
        numbers.append(number)
    return tuple(numbers), at
