"""Messages that came before what they depend on, until they may be delivered.

Each waits for one missing message at a time, under that message's name: a delivery looks only at those that wait for
it, so that its cost does not grow with how many are held back.

Promises:
- At most `held_max` messages, and at most `held_of_member_max` of one sender: who floods loses its own newest ones,
  which can be asked for again, and never makes another's wait longer.
"""

from __future__ import annotations

import heapq

import msgspec

from pregon.causal.message import CausalMessage
from pregon.causal.stamps import Stamp
from pregon.limits import GROUP_HELD_MAX, GROUP_HELD_OF_MEMBER_MAX

_STALE_MAX = 16
"""Numbers of a sender that may stay in its heap after they were released, beside as many as are held."""


class Held(msgspec.Struct, gc=False):
    """A message that waits."""

    message: CausalMessage
    waits_for: Stamp
    waited_first_for: Stamp


class HoldBack:
    """The queue of one member."""

    def __init__(self, held_max: int = GROUP_HELD_MAX, held_of_member_max: int = GROUP_HELD_OF_MEMBER_MAX) -> None:
        self._held_max = held_max
        self._held_of_member_max = held_of_member_max
        self._held: dict[Stamp, Held] = {}
        self._by_missing: dict[Stamp, dict[Stamp, None]] = {}
        """Those that wait for a missing one, as they came: a dictionary, so that one of many is taken out at once."""
        self._of_member: dict[int, list[int]] = {}
        """Numbers of each sender, the newest first, as heaps of their negatives; some are no longer held."""
        self._count_of: dict[int, int] = {}
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, stamp: Stamp) -> bool:
        return stamp in self._held

    def hold(self, message: CausalMessage, missing: Stamp) -> bool:
        """Keep it until the missing one is delivered; whether there was room for it."""
        stamp = message.stamp
        if not self._make_room(stamp):
            self.dropped += 1
            return False
        self._held[stamp] = Held(message, missing, missing)
        self._by_missing.setdefault(missing, {})[stamp] = None
        count = self._count_of[stamp.member] = self._count_of.get(stamp.member, 0) + 1
        numbers = self._of_member.setdefault(stamp.member, [])
        heapq.heappush(numbers, -stamp.number)
        if len(numbers) > 2 * count + _STALE_MAX:
            # A list sorted from low to high is a heap.
            self._of_member[stamp.member] = [-number for number in reversed(self.of_member(stamp.member))]
        return True

    def find(self, stamp: Stamp) -> CausalMessage | None:
        """The message that is held under this name."""
        held = self._held.get(stamp)
        return held.message if held is not None else None

    def waiting_for(self, delivered: Stamp) -> list[Held]:
        """Take out those that waited for this one."""
        stamps = self._by_missing.pop(delivered, None)
        if stamps is None:
            return []
        return [self._held[stamp] for stamp in stamps]

    def waiting_up_to(self, member: int, number: int) -> list[Held]:
        """Take out those that waited for any message of a member up to a number: they will not come any more."""
        passed = [stamp for stamp in self._by_missing if stamp.member == member and stamp.number <= number]
        return [held for stamp in sorted(passed) for held in self.waiting_for(stamp)]

    def keep(self, held: Held, missing: Stamp) -> None:
        """One that was taken out waits for another."""
        held.waits_for = missing
        self._by_missing.setdefault(missing, {})[held.message.stamp] = None

    def release(self, stamp: Stamp) -> None:
        """It waits no more: it is delivered, or given up."""
        held = self._held.pop(stamp, None)
        if held is None:
            return
        waiting = self._by_missing.get(held.waits_for)
        if waiting is not None:
            waiting.pop(stamp, None)
            if not waiting:
                del self._by_missing[held.waits_for]
        left = self._count_of[stamp.member] - 1
        if left:
            self._count_of[stamp.member] = left
        else:
            del self._count_of[stamp.member], self._of_member[stamp.member]

    def forget_member(self, member: int) -> int:
        """Give up all that a member sent and is held; how many it was."""
        stamps = [stamp for stamp in self._held if stamp.member == member]
        for stamp in stamps:
            self._drop(stamp)
        return len(stamps)

    def is_awaited(self, member: int) -> bool:
        """Whether what another one sent waits for a message of this member."""
        return any(
            missing.member == member and any(one.member != member for one in waiting)
            for missing, waiting in self._by_missing.items()
        )

    def missing(self) -> list[tuple[Stamp, Stamp]]:
        """Each missing message that somebody waits for, and one that waits for it."""
        return [(missing, next(iter(stamps))) for missing, stamps in self._by_missing.items()]

    def of_member(self, member: int) -> list[int]:
        """The numbers of the messages of a member that are held, from low to high."""
        return sorted({-number for number in self._of_member.get(member, ()) if Stamp(member, -number) in self._held})

    def messages(self) -> list[CausalMessage]:
        """All that is held."""
        return [held.message for held in self._held.values()]

    def _make_room(self, stamp: Stamp) -> bool:
        if self._count_of.get(stamp.member, 0) >= self._held_of_member_max:
            return self._drop_newer_than(stamp)
        if len(self._held) < self._held_max:
            return True
        # Who has most gives way: a flood takes its own room, not that of the others.
        most = max(self._count_of, key=self._count_of.__getitem__)
        if most == stamp.member:
            return self._drop_newer_than(stamp)
        if self._count_of[most] <= self._count_of.get(stamp.member, 0):
            return False
        self._drop(Stamp(most, self._newest_of(most)))
        return True

    def _drop_newer_than(self, stamp: Stamp) -> bool:
        newest = self._newest_of(stamp.member)
        if newest < stamp.number:
            return False
        self._drop(Stamp(stamp.member, newest))
        return True

    def _newest_of(self, member: int) -> int:
        numbers = self._of_member[member]
        while Stamp(member, -numbers[0]) not in self._held:
            heapq.heappop(numbers)
        return -numbers[0]

    def _drop(self, stamp: Stamp) -> None:
        self.release(stamp)
        self.dropped += 1
