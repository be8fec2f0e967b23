"""One member of a group: what it may be shown, in causal order, by the immediate dependency relation.

Algorithm 1 of Vargas-Santiago, Morales-Rosales, Pomares-Hernández and Drira (after Pomares, Fanchon and Drira, 2004). A
message carries only the messages that it depends on *immediately*: those that its sender had been shown and that no
other of those followed. Everything earlier is implied, because whoever delivers one of them delivered its causes first.

    VT   clock      of each member, the number of its last message that was delivered here
    CI   frontier   what the next message sent from here will depend on

Whatever arrives may be late, early, twice or never: `receive` delivers what it can, holds back the rest, and `gaps`
says what is missing. How it is asked for again is left to others: `peer` without a hub, the log with one.

Promises:
- A message is delivered at most once, after every message that it depends on, and after its sender's earlier ones.
- What is held back is bounded, and a sender that lies holds back only what it sends itself. One that tells each member
  another lie under the same name holds back whatever follows from it, until a copy comes that may be delivered.
- Who is a member, and whether a message is its sender's, is not known here: others keep out strangers and forgeries.
- No clock and no randomness are read here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from pregon.causal.history import History
from pregon.causal.hold_back import Held, HoldBack
from pregon.causal.message import CausalMessage, Delivery
from pregon.causal.stamps import Stamp
from pregon.limits import GROUP_HELD_OF_MEMBER_MAX, GROUP_MEMBERS_MAX, GROUP_NUMBER_MAX


class Gap(msgspec.Struct, frozen=True):
    """Messages first..last of a member that are missing, and who showed that they exist by depending on them."""

    member: int
    first: int
    last: int
    wanted_by: Stamp


class MemberState(msgspec.Struct, frozen=True, kw_only=True):
    """What a member must keep to come back as the same one."""

    me: int
    clock: dict[int, int]
    frontier: dict[int, int]
    settled: tuple[int, ...] = ()


class Member:
    """The state machine."""

    def __init__(
        self,
        me: int,
        clock: Mapping[int, int] | None = None,
        *,
        hold_back: HoldBack | None = None,
        history: History | None = None,
    ) -> None:
        self.me = me
        self.clock: dict[int, int] = dict(clock or {})
        self.frontier: dict[int, int] = {}
        self.history = history if history is not None else History()
        self.held = hold_back if hold_back is not None else HoldBack()
        self.settled: dict[int, None] = {}
        """Members that are gone and forgotten: whatever is said to depend on one of their messages need not wait.

        Only the last GROUP_MEMBERS_MAX of them are known, the oldest first; one from before is a stranger again.
        """
        self._covered: set[Stamp] = set()
        """Messages that are delivered and that another delivered one depends on: they are out of the frontier, and need
        not be looked at again. The newest of them, as many as there is room for."""
        self.duplicates = 0
        self.conflicts = 0
        """Copies of a held message that depended on something else: their sender tells each member another thing."""

    @classmethod
    def restore(
        cls, state: MemberState, *, hold_back: HoldBack | None = None, history: History | None = None
    ) -> Member:
        """The member that had this state. What it held back is asked for again."""
        member = cls(state.me, state.clock, hold_back=hold_back, history=history)
        member.frontier.update(state.frontier)
        member.settled.update(dict.fromkeys(state.settled))
        return member

    def state(self) -> MemberState:
        """What to keep in order to come back."""
        return MemberState(
            me=self.me, clock=dict(self.clock), frontier=dict(self.frontier), settled=tuple(self.settled)
        )

    def broadcast(self, body: Any = None) -> CausalMessage:
        """The next message of this member, to be sent to all the others; here it counts as delivered."""
        number = self.clock.get(self.me, 0) + 1
        frontier = self.frontier
        message = CausalMessage(Stamp(self.me, number), tuple(map(Stamp._make, sorted(frontier.items()))), body)
        self.clock[self.me] = number
        frontier.clear()
        self.history.add(message)
        return message

    def receive(self, message: CausalMessage) -> list[Delivery]:
        """What may be delivered now that this message has come, in order; nothing if it must wait or was known."""
        stamp = message.stamp
        if stamp[1] <= self.clock.get(stamp[0], 0) or stamp[0] in self.settled:
            self.duplicates += 1
            return []
        if self.held and stamp in self.held and not self._replaces_held(message):
            self.duplicates += 1
            return []
        missing = self._find_missing(message)
        if missing is None:
            return self._deliver(deque([Delivery(message)]))
        if stamp.number - self.clock.get(stamp.member, 0) <= GROUP_HELD_OF_MEMBER_MAX:
            self.held.hold(message, missing)
        else:
            # Too far ahead to be kept: what comes before it is asked for first.
            self.held.dropped += 1
        return []

    def follow(self, stamp: Stamp) -> None:
        """What is said next follows from a message that was not delivered here, or not yet."""
        self._covered.clear()
        if stamp.number > self.clock.get(stamp.member, 0):
            self.frontier[stamp.member] = max(stamp.number, self.frontier.get(stamp.member, 0))
            self.history.skip(*stamp)

    def advance(self, member: int, number: int) -> list[Delivery]:
        """Count a member's messages up to a number as delivered: they were before our time, or are lost for good.

        Only they said what they followed from: what follows from them no longer waits for that.
        """
        if number <= self.clock.get(member, 0) or member in self.settled:
            return []
        self.clock[member] = number
        self.history.skip(member, number)
        for old in self.held.of_member(member):
            if old <= number:
                self.held.release(Stamp(member, old))
        return self._deliver(self._ready(self.held.waiting_up_to(member, number)))

    def forget(self, member: int) -> list[Delivery]:
        """A member is gone, and everybody has all that it sent: it takes no more room here."""
        self.held.forget_member(member)
        self.clock.pop(member, None)
        self.settled.pop(member, None)
        self.settled[member] = None
        if len(self.settled) > GROUP_MEMBERS_MAX:
            del self.settled[next(iter(self.settled))]
        self._covered.clear()
        last = self.frontier.pop(member, None)
        if last is not None:
            self._inherit(Stamp(member, last))
        self.history.forget(member)
        return self._deliver(self._ready(self.held.waiting_up_to(member, GROUP_NUMBER_MAX)))

    def discard(self, sender: int) -> bool:
        """Hold back nothing more of a sender, unless what another one sent waits for it; whether that is so now."""
        if self.held.is_awaited(sender):
            return False
        self.held.forget_member(sender)
        return True

    def give_up(self, stamp: Stamp) -> bool:
        """Hold a message back no longer, as if it had not come: what waits for it asks for another copy."""
        if stamp not in self.held:
            return False
        self.held.release(stamp)
        return True

    def gaps(self) -> list[Gap]:
        """What is missing so that nothing is held back any more: no message twice, and none that is held."""
        wanted: dict[int, list[tuple[int, Stamp]]] = {}
        for missing, wanted_by in self.held.missing():
            if missing not in self.held:
                wanted.setdefault(missing.member, []).append((missing.number, wanted_by))
        found: list[Gap] = []
        for member, numbers in wanted.items():
            held = self.held.of_member(member)
            known = self.clock.get(member, 0)
            for number, wanted_by in sorted(numbers):
                below = bisect_left(held, number)
                # What is before a held one is held too, or is the reason why another one waits.
                known = max(known, held[below - 1] if below else 0)
                found.append(Gap(member, known + 1, number, wanted_by))
                known = number
        return found

    def _replaces_held(self, message: CausalMessage) -> bool:
        """Whether a copy of a held message may be delivered and the held one not: then the held one is given up."""
        held = self.held.find(message.stamp)
        if held is None or held.after == message.after:
            return False
        self.conflicts += 1
        return self._find_missing(message) is None and self.give_up(message.stamp)

    def _inherit(self, gone: Stamp) -> None:
        """The next message will not name this one, whose sender is forgotten: it names what this one followed from."""
        frontier, history = self.frontier, self.history
        mine = Stamp(self.me, self.clock.get(self.me, 0))
        for member, number in history.causes_through(gone, self.settled, mine).items():
            if member != self.me:
                frontier[member] = max(number, frontier.get(member, 0))
        past = history.past_of(map(Stamp._make, frontier.items()), mine)
        for member in [member for member, number in frontier.items() if number <= past.get(member, 0)]:
            del frontier[member]

    def _find_missing(self, message: CausalMessage) -> Stamp | None:
        """A message that must be delivered before this one, and is not."""
        clock = self.clock
        member, number = message.stamp
        if clock.get(member, 0) != number - 1:
            return Stamp(member, number - 1)
        if self._covered.issuperset(message.after):
            return None
        for needed in message.after:
            if clock.get(needed[0], 0) < needed[1] and needed[0] not in self.settled:
                return needed
        return None

    def _ready(self, candidates: Iterable[Held]) -> deque[Delivery]:
        """Those of the held messages that lack nothing more; the others go on waiting."""
        ready: deque[Delivery] = deque()
        for held in candidates:
            missing = self._find_missing(held.message)
            if missing is None:
                self.held.release(held.message.stamp)
                ready.append(Delivery(held.message, held.waited_first_for))
            else:
                self.held.keep(held, missing)
        return ready

    def _deliver(self, ready: deque[Delivery]) -> list[Delivery]:
        """Deliver what is ready, and whatever waited for it."""
        clock, frontier, held, covered = self.clock, self.frontier, self.held, self._covered
        done: list[Delivery] = []
        while ready:
            delivery = ready.popleft()
            message = delivery.message
            stamp, after = message.stamp, message.after
            member, number = stamp
            clock[member] = number
            if member != self.me:
                frontier[member] = number
            if not covered.issuperset(after):
                for before, which in after:
                    if frontier.get(before) == which:
                        del frontier[before]
                if len(covered) > GROUP_MEMBERS_MAX:
                    covered.clear()
                covered.update(after)
            self.history.add(message)
            done.append(delivery)
            if held:
                ready.extend(self._ready(held.waiting_for(stamp)))
        return done
