"""A few members, a network that does as it is told, and the oracle that watches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pregon.causal.hold_back import HoldBack
from pregon.causal.member import Member
from pregon.causal.message import CausalMessage
from pregon.causal.oracle import Oracle
from pregon.causal.stamps import Stamp

Action = tuple[str, int, int]
ACTIONS = ("send", "send", "send", "arrive", "arrive", "arrive", "arrive", "copy", "lose", "ask", "restart")


def body_of(stamp: Stamp) -> str:
    """What a message says: no two say the same."""
    return f"I am {stamp}"


class Trial:
    """One history. Every number is taken modulo what there is, so that any list of actions is a history."""

    def __init__(self, count: int, make: Callable[[int], Any] = Member) -> None:
        self.make = make
        self.members: dict[int, Any] = {me: make(me) for me in range(1, count + 1)}
        self.oracle = Oracle()
        self.sent: dict[Stamp, CausalMessage] = {}
        self.on_the_way: dict[int, list[CausalMessage]] = {me: [] for me in self.members}
        self.shown: dict[int, list[Stamp]] = {me: [] for me in self.members}

    def run(self, actions: Sequence[Action]) -> None:
        """Do what the list says."""
        for what, who, which in actions:
            getattr(self, what)(1 + who % len(self.members), which)

    def send(self, me: int, which: int = 0) -> CausalMessage:
        """A member says something to all the others."""
        member = self.members[me]
        message: CausalMessage = member.broadcast(body_of(Stamp(me, member.clock.get(me, 0) + 1)))
        self.oracle.sent(me, message.stamp, message.body, message.after)
        self.sent[message.stamp] = message
        self.shown[me].append(message.stamp)
        for other, way in self.on_the_way.items():
            if other != me:
                way.append(message)
        return message

    def arrive(self, me: int, which: int) -> None:
        """One of those on their way to a member arrives, whichever it is."""
        if self.on_the_way[me]:
            self.hand(me, self.on_the_way[me].pop(which % len(self.on_the_way[me])))

    def copy(self, me: int, which: int) -> None:
        """Something that was sent arrives, and may have done so before."""
        if self.sent:
            self.hand(me, [*self.sent.values()][which % len(self.sent)])

    def lose(self, me: int, which: int) -> None:
        """One of those on their way to a member is lost."""
        if self.on_the_way[me]:
            self.on_the_way[me].pop(which % len(self.on_the_way[me]))

    def ask(self, me: int, which: int = 0) -> None:
        """A member gets again what it knows to be missing."""
        for gap in self.members[me].gaps():
            assert gap.first <= gap.last
            for number in range(gap.first, min(gap.last, gap.first + 100) + 1):
                if Stamp(gap.member, number) in self.sent:
                    self.hand(me, self.sent[Stamp(gap.member, number)])

    def restart(self, me: int, which: int) -> None:
        """A member falls and comes back with its state: what it held back is lost."""
        old = self.members[me]
        if isinstance(old, Member):
            self.members[me] = type(old).restore(old.state(), hold_back=self.make(me).held, history=old.history)

    def hand(self, me: int, message: CausalMessage) -> None:
        """Give a message to a member, and tell the oracle what the member makes of it."""
        for delivery in self.members[me].receive(message):
            self.oracle.delivered(me, delivery.message.stamp, delivery.message.body)
            self.shown[me].append(delivery.message.stamp)

    def settle(self) -> None:
        """All that was lost is found: everything comes to everybody, the newest first."""
        for me in self.members:
            for message in reversed([*self.on_the_way[me], *self.sent.values()]):
                if message.stamp.member != me:
                    self.hand(me, message)
            self.on_the_way[me].clear()
        self.oracle.finish({me: len(member.held) for me, member in self.members.items()})


def small_member(me: int) -> Member:
    """A member with so little room that it is soon full."""
    return Member(me, hold_back=HoldBack(held_max=4, held_of_member_max=2))
