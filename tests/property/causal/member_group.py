"""Members on a bad network, with the simplest repair that can be: whoever lacks something is sent it again, at times.

Proves `Member` alone. Who is in the group does not change here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pregon.causal.member import Member
from pregon.causal.message import CausalMessage
from pregon.causal.oracle import Oracle
from pregon.causal.stamps import Stamp

from .simulator import Network, Simulator, Weather, pick
from .trial import body_of

REPAIR_MS = 400.0
PAUSE_MS = 120.0
ASKED_MAX = 50


class MemberGroup:
    """One run."""

    def __init__(
        self, seed: int, count: int, messages: int, make: Callable[[int], Any] = Member, weather: Weather = Weather()
    ) -> None:
        self.simulator = Simulator(seed)
        self.network = Network(self.simulator, weather, self._take)
        self.oracle = Oracle()
        self.members: dict[int, Any] = {me: make(me) for me in range(1, count + 1)}
        self._messages = messages
        self._sent: dict[Stamp, CausalMessage] = {}
        self.held_most = 0
        self.restarts = 0

    def run(self) -> Oracle:
        """Talk, repair, and let the oracle judge; it has the last word also if the end was never reached."""
        self.simulator.after(0, self._say)
        for me in self.members:
            self.simulator.after(REPAIR_MS * me / len(self.members), lambda me=me: self._repair(me))
        talk_ms = self._messages * PAUSE_MS
        self.simulator.run(lambda: len(self._sent) >= self._messages, 10 * talk_ms)
        self.network.calm_down()
        self.simulator.run(self._is_complete, self.simulator.now_ms + 100 * REPAIR_MS)
        self.oracle.finish({me: len(member.held) for me, member in self.members.items()})
        return self.oracle

    def _say(self) -> None:
        if len(self._sent) >= self._messages:
            return
        chance = self.simulator.chance
        me = pick(chance, self.members)
        # Sometimes several at once: a burst of one member shows whether its own order is kept.
        for _ in range(chance.choice((1, 1, 1, 4))):
            member = self.members[me]
            message = member.broadcast(body_of(Stamp(me, member.clock.get(me, 0) + 1)))
            self.oracle.sent(me, message.stamp, message.body, message.after)
            self._sent[message.stamp] = message
            for other in self.members:
                if other != me:
                    self.network.send(me, other, message)
        self.simulator.after(chance.random() * PAUSE_MS, self._say)

    def _take(self, source: int, to: int, message: CausalMessage) -> None:
        member = self.members[to]
        for delivery in member.receive(message):
            self.oracle.delivered(to, delivery.message.stamp, delivery.message.body)
        self.held_most = max(self.held_most, len(member.held))

    def _repair(self, me: int) -> None:
        chance, member = self.simulator.chance, self.members[me]
        if chance.random() < 0.05:
            self.restarts += 1
            self.members[me] = member = type(member).restore(member.state(), history=member.history)
        wanted = {
            Stamp(gap.member, number)
            for gap in member.gaps()
            for number in range(gap.first, min(gap.last, gap.first + ASKED_MAX) + 1)
        }
        # The last message of a sender is missed by nobody: members send it again. The others must be asked for.
        wanted.update(Stamp(other, self.members[other].clock.get(other, 0)) for other in self.members if other != me)
        for stamp in sorted(wanted):
            if stamp in self._sent and stamp.number > member.clock.get(stamp.member, 0):
                self.network.send(stamp.member, me, self._sent[stamp])
        self.simulator.after(REPAIR_MS, lambda: self._repair(me))

    def _is_complete(self) -> bool:
        return not any(self.oracle.lacks(me) for me in self.members)
