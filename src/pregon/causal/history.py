"""Which of two delivered messages was first, if one was: before, after or concurrent.

Keeps the last deliveries of a member with what each depended on immediately. All the rest follows: a message is before
another if there is a way back to it. What is older than the history is said to be forgotten, never guessed; so is what
could only be known through a message that was lost for good, or through a member that was forgotten.

Promises:
- At most `messages_max` deliveries are kept.
- An answer walks over the deliveries between the two at most, and `concurrent_with` once over all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable
from enum import Enum
from typing import NamedTuple

import msgspec

from pregon.causal.message import CausalMessage
from pregon.causal.stamps import Stamp
from pregon.limits import GROUP_HISTORY_MAX, GROUP_MEMBERS_MAX

_SKIPPED_MAX = 16
"""Members of whom it is remembered that messages were lost: the last ones."""


class Relation(Enum):
    """How a message stands to another one."""

    SAME = "same"
    BEFORE = "before"
    AFTER = "after"
    CONCURRENT = "concurrent"
    FORGOTTEN = "forgotten"


class _Marks(msgspec.Struct, frozen=True, gc=False):
    """What a message had to do with members whose messages were lost."""

    lost: dict[int, int]
    """Of each, its last message that was lost and that this one follows from."""
    seen: dict[int, int]
    """Of each, its last message at all that this one follows from."""


_NO_MARKS = _Marks({}, {})


class _Entry(NamedTuple):
    """A delivery."""

    place: int
    after: tuple[Stamp, ...]
    marks: _Marks


class History:
    """The last deliveries of one member, in the order in which they were made."""

    def __init__(self, messages_max: int = GROUP_HISTORY_MAX) -> None:
        self._messages_max = messages_max
        self._entries: dict[Stamp, _Entry] = {}
        self._order: deque[Stamp] = deque()
        self._count = 0
        self._skipped: dict[int, int] = {}
        """Of a member whose messages were lost, the last of these."""
        self._forgotten: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, stamp: Stamp) -> bool:
        return stamp in self._entries

    def add(self, message: CausalMessage) -> None:
        """It was delivered, or sent, now; the oldest one may be forgotten for it."""
        order = self._order
        if len(order) >= self._messages_max:
            if not order:
                return
            del self._entries[order.popleft()]
        self._count += 1
        stamp = message.stamp
        order.append(stamp)
        marks = self._mark(stamp, message.after) if self._skipped else _NO_MARKS
        # The quick way to make one: this is done for every delivery.
        self._entries[stamp] = tuple.__new__(_Entry, (self._count, message.after, marks))

    def skip(self, member: int, number: int) -> None:
        """A member's messages up to a number are passed over, for good or for now: what led through them is unknown."""
        self._skipped.pop(member, None)
        self._skipped[member] = number
        if len(self._skipped) > _SKIPPED_MAX:
            del self._skipped[next(iter(self._skipped))]

    def forget(self, member: int) -> None:
        """From now on messages do not name this member's any more, though they may follow from them."""
        self._forgotten.pop(member, None)
        self._forgotten[member] = None
        if len(self._forgotten) > GROUP_MEMBERS_MAX:
            del self._forgotten[next(iter(self._forgotten))]

    def relation(self, one: Stamp, other: Stamp) -> Relation:
        """How `one` stands to `other`."""
        if one == other:
            return Relation.SAME
        if one.member == other.member:
            return Relation.BEFORE if one.number < other.number else Relation.AFTER
        first, second = self._entries.get(one), self._entries.get(other)
        if first is None or second is None:
            return Relation.FORGOTTEN
        if first.place < second.place:
            cause, effect, answer = one, other, Relation.BEFORE
        else:
            cause, effect, answer = other, one, Relation.AFTER
        past = self._walk_back([effect], min(first.place, second.place))
        if past.get(cause.member, 0) >= cause.number:
            return answer
        return Relation.CONCURRENT if self._is_certain(cause, effect) else Relation.FORGOTTEN

    def concurrent_with(self, stamp: Stamp) -> list[Stamp]:
        """The remembered messages that neither caused this one nor follow from it, in the order of their delivery."""
        if stamp not in self._entries:
            return []
        place = self._entries[stamp].place
        past = self._walk_back([stamp], 0)
        follows = {stamp.member: stamp.number}
        found: list[Stamp] = []
        for other in self._order:
            entry = self._entries[other]
            if entry.place < place:
                if other.number > past.get(other.member, 0) and self._is_certain(other, stamp):
                    found.append(other)
            elif other.member in follows or any(follows.get(one, which + 1) <= which for one, which in entry.after):
                follows.setdefault(other.member, other.number)
            elif self._is_certain(stamp, other):
                found.append(other)
        return found

    def past_of(self, stamps: Iterable[Stamp], since: Stamp | None = None) -> dict[int, int]:
        """Of each member, its last message that some of these follow from; nothing from before `since` is looked at."""
        return self._walk_back(stamps, self._place_of(since))

    def causes_through(self, stamp: Stamp, members: Container[int], since: Stamp | None = None) -> dict[int, int]:
        """Of each other member, its last message that leads to this one by messages of these members only."""
        place = self._place_of(since)
        causes: dict[int, int] = {}
        seen: dict[int, int] = {}
        ahead = [stamp]
        while ahead:
            member, number = one = ahead.pop()
            if member in members:
                ahead.extend(self._run_back(one, seen.get(member, 0), place))
                seen[member] = max(number, seen.get(member, 0))
            elif one in self._entries and self._entries[one].place >= place:
                causes[member] = max(number, causes.get(member, 0))
        return causes

    def _place_of(self, stamp: Stamp | None) -> int:
        entry = self._entries.get(stamp) if stamp is not None else None
        return entry.place if entry is not None else 0

    def _walk_back(self, stamps: Iterable[Stamp], place: int) -> dict[int, int]:
        """What these follow from since a place, as the last message of each member."""
        reached: dict[int, int] = {}
        ahead = [cause for stamp in stamps for cause in self._causes_of(stamp)]
        while ahead:
            stamp = ahead.pop()
            known = reached.get(stamp.member, 0)
            if stamp.number > known:
                reached[stamp.member] = stamp.number
                ahead.extend(self._run_back(stamp, known, place))
        return reached

    def _run_back(self, stamp: Stamp, known: int, place: int) -> list[Stamp]:
        """What a member's messages named, from this one back to one that is known, or was here before a place."""
        member, number = stamp
        causes: list[Stamp] = []
        while number > known:
            entry = self._entries.get(Stamp(member, number))
            # What was delivered before a place cannot follow from what was delivered there.
            if entry is None or entry.place <= place:
                break
            causes.extend(entry.after)
            number -= 1
        return causes

    def _causes_of(self, stamp: Stamp) -> tuple[Stamp, ...]:
        entry = self._entries.get(stamp)
        if entry is None:
            return ()
        member, number = stamp
        return (*entry.after, Stamp(member, number - 1)) if number > 1 else entry.after

    def _mark(self, stamp: Stamp, after: tuple[Stamp, ...]) -> _Marks:
        skipped = self._skipped
        lost: dict[int, int] = {}
        seen: dict[int, int] = {}
        for cause in (*after, Stamp(stamp.member, stamp.number - 1)):
            member, number = cause
            if member in skipped:
                _raise_to(seen, cause)
            entry = self._entries.get(cause)
            if entry is not None:
                for one in entry.marks.lost.items():
                    _raise_to(lost, one)
                for one in entry.marks.seen.items():
                    _raise_to(seen, one)
            elif 0 < number <= skipped.get(member, 0):
                _raise_to(lost, cause)
        return _Marks(lost, seen) if lost or seen else _NO_MARKS

    def _is_certain(self, cause: Stamp, effect: Stamp) -> bool:
        """Whether two without a way between them have none either through what was lost or is forgotten.

        There is none through a lost message that both follow from; and what is lost may have made either one late.
        """
        if cause.member in self._forgotten:
            return False
        one, other = self._entries[cause].marks, self._entries[effect].marks
        return all(
            mine.seen.get(member, 0) >= number
            for mine, theirs in ((one, other), (other, one))
            for member, number in theirs.lost.items()
        )


def _raise_to(numbers: dict[int, int], stamp: tuple[int, int]) -> None:
    member, number = stamp
    if number > numbers.get(member, 0):
        numbers[member] = number
