"""Members that are broken on purpose, each in one way: whoever judges them must notice.

Each says in its docstring what is wrong with it, and which violations show it.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from pregon.causal.hold_back import HoldBack
from pregon.causal.member import Gap, Member, MemberState
from pregon.causal.message import CausalMessage, Delivery
from pregon.causal.stamps import Stamp


class DropsOneDependency(Member):
    """A message does not name one of those that it follows from, when there are several."""

    shown_by = frozenset({"out_of_order", "inexact"})

    def broadcast(self, body: Any = None) -> CausalMessage:
        """Take the newest out before it is sent."""
        if len(self.frontier) > 1:
            self.frontier.popitem()
        return super().broadcast(body)


class NamesNothing(Member):
    """A message names nothing at all: only the sender's own order is left."""

    shown_by = frozenset({"out_of_order", "inexact"})

    def broadcast(self, body: Any = None) -> CausalMessage:
        """Forget everything before it is sent."""
        self.frontier.clear()
        return super().broadcast(body)


class DoesNotClearAfterSend(Member):
    """What was named once is named again."""

    shown_by = frozenset({"inexact"})

    def broadcast(self, body: Any = None) -> CausalMessage:
        """Put it back."""
        frontier = dict(self.frontier)
        message = super().broadcast(body)
        self.frontier.update(frontier)
        return message


class DeliversEarly(Member):
    """Whatever comes next of its sender is delivered, without a look at what it follows from."""

    shown_by = frozenset({"out_of_order"})

    def _find_missing(self, message: CausalMessage) -> Stamp | None:
        return super()._find_missing(CausalMessage(message.stamp, (), message.body))


class LooksAtOneDependency(Member):
    """Only the first of those that it follows from is looked at."""

    shown_by = frozenset({"out_of_order"})

    def _find_missing(self, message: CausalMessage) -> Stamp | None:
        return super()._find_missing(CausalMessage(message.stamp, message.after[:1], message.body))


class IgnoresFifo(Member):
    """The sender's own earlier messages are not waited for."""

    shown_by = frozenset({"not_fifo", "out_of_order"})

    def _find_missing(self, message: CausalMessage) -> Stamp | None:
        for needed in message.after:
            if self.clock.get(needed.member, 0) < needed.number:
                return needed
        return None


class KeepsWhatIsCovered(Member):
    """What a delivered message followed from is named again beside it."""

    shown_by = frozenset({"inexact"})

    def _deliver(self, ready: deque[Delivery]) -> list[Delivery]:
        frontier = dict(self.frontier)
        done = super()._deliver(ready)
        for member, number in frontier.items():
            self.frontier.setdefault(member, number)
        return done


class DoesNotNameWhatItWasShown(Member):
    """A delivery is not noted as something that the next message follows from, if it had been held back."""

    shown_by = frozenset({"inexact", "out_of_order"})

    def _deliver(self, ready: deque[Delivery]) -> list[Delivery]:
        done = super()._deliver(ready)
        for delivery in done:
            if delivery.waited_for is not None:
                self.frontier.pop(delivery.message.stamp.member, None)
        return done


class OffByOne(Member):
    """One that follows from the next message of somebody is not held back."""

    shown_by = frozenset({"out_of_order"})

    def _find_missing(self, message: CausalMessage) -> Stamp | None:
        after = tuple(Stamp(member, number - 1) for member, number in message.after)
        return super()._find_missing(CausalMessage(message.stamp, after, message.body))


class DeliversTwice(Member):
    """A copy of what was delivered is delivered again."""

    shown_by = frozenset({"repeated"})

    def receive(self, message: CausalMessage) -> list[Delivery]:
        """Say what was known again."""
        if message.stamp.number == self.clock.get(message.stamp.member, 0) and message.stamp.member != self.me:
            return [Delivery(message)]
        return super().receive(message)


class _WrongWaiters(HoldBack):
    def waiting_for(self, delivered: Stamp) -> list[Any]:
        """Those that wait for the one after it."""
        return super().waiting_for(Stamp(delivered.member, delivered.number + 1))


class ReleasesTheWrongWaiter(Member):
    """A delivery wakes those that wait for another message: its own stay for ever."""

    shown_by = frozenset({"held", "incomplete"})

    def __init__(self, me: int, clock: Any = None, **options: Any) -> None:
        super().__init__(me, clock, **{**options, "hold_back": _WrongWaiters()})


class _Trusting(HoldBack):
    def waiting_for(self, delivered: Stamp) -> list[Any]:
        """Everything of some sender, whatever it waits for."""
        held = super().waiting_for(delivered)
        return held or [self._held[stamp] for stamp in [*self._held][:1]]


class ReleasesWithoutLooking(Member):
    """Whatever is taken out of the queue is delivered, though it may lack something else."""

    shown_by = frozenset({"out_of_order", "not_fifo"})

    def __init__(self, me: int, clock: Any = None, **options: Any) -> None:
        super().__init__(me, clock, **{**options, "hold_back": _Trusting()})

    def _ready(self, candidates: Any) -> deque[Delivery]:
        ready: deque[Delivery] = deque()
        for held in candidates:
            self.held.release(held.message.stamp)
            ready.append(Delivery(held.message, held.waited_first_for))
        return ready


class ForgetsToAsk(Member):
    """It does not say what it lacks, so that what was lost stays lost, and what follows from it stays held."""

    shown_by = frozenset({"held", "incomplete"})

    def gaps(self) -> list[Gap]:
        """Say that nothing is missing."""
        return []


class ComesBackWithoutFrontier(Member):
    """After a restart it has forgotten what its next message follows from."""

    shown_by = frozenset({"inexact", "out_of_order"})

    def state(self) -> MemberState:
        """Leave the frontier out."""
        return MemberState(me=self.me, clock=dict(self.clock), frontier={})


class AltersBodies(Member):
    """What is held back is delivered with another content."""

    shown_by = frozenset({"altered"})

    def _ready(self, candidates: Any) -> deque[Delivery]:
        ready = super()._ready(candidates)
        return deque(
            Delivery(CausalMessage(one.message.stamp, one.message.after, "something else"), one.waited_for)
            for one in ready
        )


MUTATIONS: tuple[type[Member], ...] = (
    DropsOneDependency,
    NamesNothing,
    DoesNotClearAfterSend,
    DeliversEarly,
    LooksAtOneDependency,
    IgnoresFifo,
    KeepsWhatIsCovered,
    DoesNotNameWhatItWasShown,
    OffByOne,
    DeliversTwice,
    ReleasesTheWrongWaiter,
    ReleasesWithoutLooking,
    ForgetsToAsk,
    ComesBackWithoutFrontier,
    AltersBodies,
)
