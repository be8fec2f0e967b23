"""Which of two delivered messages was first, if one was: before, after or concurrent.

Keeps the last deliveries of a member with what each depended on immediately. All the rest follows: a message is before
another if there is a way back to it. What is older than the history is said to be forgotten, never guessed.
"""

from __future__ import annotations

from enum import Enum

from pregon.causal.message import CausalMessage
from pregon.causal.stamps import Stamp
from pregon.limits import GROUP_HISTORY_MAX


class Relation(Enum):
    """How a message stands to another one."""

    SAME = "same"
    BEFORE = "before"
    AFTER = "after"
    CONCURRENT = "concurrent"
    FORGOTTEN = "forgotten"


class History:
    """The last deliveries of one member, in the order in which they were made."""

    def __init__(self, messages_max: int = GROUP_HISTORY_MAX) -> None:
        self._messages_max = messages_max
        self._after: dict[Stamp, tuple[int, tuple[Stamp, ...]]] = {}
        """Of each message: its place among the deliveries, and what it depended on immediately."""
        self._count = 0

    def __len__(self) -> int:
        return len(self._after)

    def __contains__(self, stamp: Stamp) -> bool:
        return stamp in self._after

    def add(self, message: CausalMessage) -> None:
        """It was delivered, or sent, now; the oldest one may be forgotten for it."""
        after = self._after
        if self._messages_max == 0:
            return
        if len(after) >= self._messages_max:
            del after[next(iter(after))]
        self._count += 1
        after[message.stamp] = (self._count, message.after)

    def relation(self, one: Stamp, other: Stamp) -> Relation:
        """How `one` stands to `other`."""
        if one == other:
            return Relation.SAME
        if one.member == other.member:
            return Relation.BEFORE if one.number < other.number else Relation.AFTER
        first, second = self._after.get(one), self._after.get(other)
        if first is None or second is None:
            return Relation.FORGOTTEN
        if first[0] < second[0]:
            return Relation.BEFORE if self._leads_to(one, first[0], other) else Relation.CONCURRENT
        return Relation.AFTER if self._leads_to(other, second[0], one) else Relation.CONCURRENT

    def concurrent_with(self, stamp: Stamp) -> list[Stamp]:
        """The remembered messages that neither caused this one nor follow from it, in the order of their delivery."""
        if stamp not in self._after:
            return []
        return [other for other in self._after if self.relation(other, stamp) is Relation.CONCURRENT]

    def _leads_to(self, cause: Stamp, place: int, effect: Stamp) -> bool:
        """Whether there is a way back from the effect to the cause, which was delivered at a place."""
        seen: dict[int, int] = {}
        ahead = [effect]
        while ahead:
            stamp = ahead.pop()
            member, number = stamp
            if member == cause.member:
                if number >= cause.number:
                    return True
                continue
            found = self._after.get(stamp)
            # What was delivered before the cause cannot follow from it, and what is behind has been looked at.
            if found is None or found[0] < place or number <= seen.get(member, 0):
                continue
            seen[member] = number
            ahead.extend(found[1])
            if number > 1:
                ahead.append(Stamp(member, number - 1))
        return False
