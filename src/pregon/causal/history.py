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

from pregon.causal.message import CausalMessage
from pregon.causal.stamps import Stamp
from pregon.limits import GROUP_HISTORY_MAX, GROUP_MEMBERS_MAX


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
        self._order: deque[Stamp] = deque()
        self._count = 0
        self._skipped: dict[int, tuple[int, int]] = {}
        """Of a member whose messages were lost: the last of these, and after which delivery that was known."""
        self._forgotten: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._after)

    def __contains__(self, stamp: Stamp) -> bool:
        return stamp in self._after

    def add(self, message: CausalMessage) -> None:
        """It was delivered, or sent, now; the oldest one may be forgotten for it."""
        order = self._order
        if len(order) >= self._messages_max:
            if not order:
                return
            del self._after[order.popleft()]
        self._count += 1
        order.append(message.stamp)
        self._after[message.stamp] = (self._count, message.after)

    def skip(self, member: int, number: int) -> None:
        """Messages of a member up to a number will never be delivered: what led through them is not known."""
        self._skipped.pop(member, None)
        self._skipped[member] = (number, self._count)
        _keep_newest(self._skipped)

    def forget(self, member: int) -> None:
        """From now on messages do not name this member's any more, though they may follow from them."""
        self._forgotten.pop(member, None)
        self._forgotten[member] = None
        _keep_newest(self._forgotten)

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
            cause, effect, answer = one, other, Relation.BEFORE
        else:
            cause, effect, answer = other, one, Relation.AFTER
        past, is_whole = self._walk_back([effect], self._after[cause][0])
        if past.get(cause.member, 0) >= cause.number:
            return answer
        return Relation.CONCURRENT if is_whole and cause.member not in self._forgotten else Relation.FORGOTTEN

    def concurrent_with(self, stamp: Stamp) -> list[Stamp]:
        """The remembered messages that neither caused this one nor follow from it, in the order of their delivery."""
        if stamp not in self._after:
            return []
        place = self._after[stamp][0]
        past, _ = self._walk_back([stamp], 0)
        found: list[Stamp] = []
        follows = {stamp.member: stamp.number}
        unknown: dict[int, int] = {}
        for other in self._order:
            there, after = self._after[other]
            if there < place:
                # Only what the history cannot be sure of is asked for one by one.
                is_known = not self._skipped and other.member not in self._forgotten
                if other.number > past.get(other.member, 0) and (
                    is_known or self.relation(other, stamp) is Relation.CONCURRENT
                ):
                    found.append(other)
            elif _is_reached(other, after, follows):
                follows.setdefault(other.member, other.number)
            elif _is_reached(other, after, unknown) or self._follows_from_lost(other, place):
                unknown.setdefault(other.member, other.number)
            elif stamp.member not in self._forgotten:
                found.append(other)
        return found

    def past_of(self, stamps: Iterable[Stamp], since: Stamp | None = None) -> dict[int, int]:
        """Of each member, its last message that some of these follow from; nothing from before `since` is looked at."""
        return self._walk_back(stamps, self._place_of(since))[0]

    def causes_through(self, stamp: Stamp, members: Container[int], since: Stamp | None = None) -> dict[int, int]:
        """Of each other member, its last message that leads to this one by messages of these members only."""
        place = self._place_of(since)
        causes: dict[int, int] = {}
        seen: dict[int, int] = {}
        ahead = [stamp]
        while ahead:
            member, number = one = ahead.pop()
            if member in members:
                ahead.extend(self._run_back(one, seen.get(member, 0), place)[0])
                seen[member] = max(number, seen.get(member, 0))
            elif one in self._after and self._after[one][0] >= place:
                causes[member] = max(number, causes.get(member, 0))
        return causes

    def _place_of(self, stamp: Stamp | None) -> int:
        found = self._after.get(stamp) if stamp is not None else None
        return found[0] if found is not None else 0

    def _walk_back(self, stamps: Iterable[Stamp], place: int) -> tuple[dict[int, int], bool]:
        """What these follow from, as the last message of each member, and whether that is all since a place."""
        reached: dict[int, int] = {}
        is_whole = True
        ahead: list[Stamp] = []
        for stamp in stamps:
            ahead.extend(self._causes_of(stamp))
        while ahead:
            stamp = ahead.pop()
            member, number = stamp
            known = reached.get(member, 0)
            if number <= known:
                continue
            reached[member] = number
            causes, was_lost = self._run_back(stamp, known, place)
            ahead.extend(causes)
            is_whole = is_whole and not was_lost
        return reached, is_whole

    def _run_back(self, stamp: Stamp, known: int, place: int) -> tuple[list[Stamp], bool]:
        """What a member's messages followed from, from this one back to one that is known, or was here before a place.

        And whether that may lack something, because one of them was lost.
        """
        member, number = stamp
        causes: list[Stamp] = []
        while number > known:
            found = self._after.get(Stamp(member, number))
            if found is None:
                return causes, self._is_lost(Stamp(member, number), place)
            # What was delivered before a place cannot follow from what was delivered there.
            if found[0] <= place:
                break
            causes.extend(found[1])
            number -= 1
        return causes, False

    def _causes_of(self, stamp: Stamp) -> tuple[Stamp, ...]:
        found = self._after.get(stamp)
        if found is None:
            return ()
        member, number = stamp
        return (*found[1], Stamp(member, number - 1)) if number > 1 else found[1]

    def _follows_from_lost(self, stamp: Stamp, place: int) -> bool:
        return bool(self._skipped) and any(self._is_lost(cause, place) for cause in self._causes_of(stamp))

    def _is_lost(self, stamp: Stamp, place: int) -> bool:
        """Whether it may have been skipped after the delivery at a place."""
        last, when = self._skipped.get(stamp.member, (0, 0))
        return stamp.number <= last and when >= place and stamp not in self._after


def _is_reached(stamp: Stamp, after: tuple[Stamp, ...], since: dict[int, int]) -> bool:
    """Whether a message is one of these, or of their senders' later ones, or follows from one at once."""
    return stamp.member in since or any(since.get(member, number + 1) <= number for member, number in after)


def _keep_newest(of_members: dict[int, tuple[int, int]] | dict[int, None]) -> None:
    if len(of_members) > GROUP_MEMBERS_MAX:
        del of_members[next(iter(of_members))]
