"""The state machine alone, without a network: deliveries a second, and what one costs while many are held back.

Deliveries: the messages of one group as they were sent, and out of order, to a member that only receives, by ours and
by vector clocks, in turns. Held back: so many messages wait, and then the one comes that they wait for.

    one cause       all wait for the same message
    chain           each waits for the one before it, and they come last one first

Beside ours, the queue as Algorithm 1 has it written: a list that is looked through again after every delivery.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

from pregon.bench.groups.traffic import Traffic
from pregon.bench.rounds import ROUNDS, Run, in_turns
from pregon.causal.history import History
from pregon.causal.member import Member
from pregon.causal.message import CausalMessage
from pregon.causal.stamps import Stamp
from pregon.causal.vector import VectorMember, VectorMessage
from pregon.errors import InternalError

MEMBERS = (10, 100, 1_000)
HELD = (10, 100, 1_000, 10_000)
SCANNED_HELD_MAX = 1_000
"""More would take the scanned queue minutes."""
_MESSAGES = 2_000
_UNDER_WAY = 8
_ROUNDS_HELD = 3
_SHUFFLED_WITHIN = 200
"""How far a message may come from its place."""


class ScannedMember:
    """Algorithm 1 word by word: what cannot be delivered is put in a list, which is looked through after a delivery."""

    def __init__(self) -> None:
        self.clock: dict[int, int] = {}
        self._queue: list[CausalMessage] = []

    def receive(self, message: CausalMessage) -> list[CausalMessage]:
        """What may be delivered now."""
        self._queue.append(message)
        done: list[CausalMessage] = []
        is_changed = True
        while is_changed:
            is_changed = False
            for waiting in list(self._queue):
                if self._may_deliver(waiting):
                    self._queue.remove(waiting)
                    self.clock[waiting.stamp.member] = waiting.stamp.number
                    done.append(waiting)
                    is_changed = True
        return done

    def _may_deliver(self, message: CausalMessage) -> bool:
        clock, (member, number) = self.clock, message.stamp
        return clock.get(member, 0) == number - 1 and all(clock.get(k, 0) >= n for k, n in message.after)


def conversation(traffic: Traffic) -> tuple[list[CausalMessage], list[VectorMessage]]:
    """The messages of some traffic as they were sent, with both kinds of control information.

    Members are shown everything in one order, some late: those who send are behind by what is under way.
    """
    chance = random.Random(f"conversation {traffic.seed}")
    shown: list[CausalMessage] = []
    clocks = {member: Member(member, history=History(0)) for member in range(1, traffic.members + 1)}
    read = dict.fromkeys(clocks, 0)
    vectors: list[VectorMessage] = []
    for _ in range(traffic.messages):
        sender = chance.randint(1, traffic.members)
        member = clocks[sender]
        seen = max(read[sender], len(shown) - chance.randint(0, int(2 * traffic.under_way)))
        for message in shown[read[sender] : seen]:
            if message.stamp.member != sender:
                member.receive(message)
        read[sender] = seen
        shown.append(member.broadcast())
        counts = member.clock
        vectors.append(VectorMessage(sender, tuple(counts.get(one, 0) for one in range(1, traffic.members + 1))))
    return shown, vectors


def shuffled(messages: Sequence[Any], within: int = _SHUFFLED_WITHIN) -> list[Any]:
    """The same ones, each at most about so far from its place."""
    chance = random.Random(within)
    keys = [place + chance.uniform(0, within) for place in range(len(messages))]
    return [messages[place] for place in sorted(range(len(messages)), key=keys.__getitem__)]


def _feed(make: Callable[[], Any], messages: Sequence[Any]) -> float:
    """Seconds of a receiver for all of them; raises if one is not delivered."""
    receiver = make()
    receive = receiver.receive
    begun = perf_counter()
    delivered = sum(len(receive(message)) for message in messages)
    took = perf_counter() - begun
    if delivered != len(messages):
        raise InternalError(f"{delivered} of {len(messages)} messages were delivered: the benchmark measures nothing")
    return took


def _feed_times(make: Callable[[], Any], messages: Sequence[Any], times: int, _round: int) -> float:
    """Seconds for each delivery; garbage is collected before, as `timeit` does."""
    gc.collect()
    gc.disable()
    try:
        return sum(_feed(make, messages) for _ in range(times)) / times / len(messages)
    finally:
        gc.enable()


def _observer() -> Member:
    return Member(1_000_000)


def measure_deliveries(run: Run) -> None:
    """Deliveries a second, in order and out of order, beside vector clocks."""
    messages = run.plan.scaled(_MESSAGES)
    rows = []
    results: dict[str, Any] = {}
    for count in MEMBERS:
        ours, vectors = conversation(Traffic(count, messages, _UNDER_WAY))
        vector = partial(VectorMember, count + 1, count + 1)
        widened = [VectorMessage(one.sender, (*one.clock, 0)) for one in vectors]
        timed: dict[str, Callable[[int], float]] = {
            "ours, in order": partial(_feed_times, _observer, ours, 1),
            "vector clocks, in order": partial(_feed_times, vector, widened, 1),
            "ours, shuffled": partial(_feed_times, _observer, shuffled(ours), 1),
            "vector clocks, shuffled": partial(_feed_times, vector, shuffled(widened), 1),
        }
        took = in_turns(2 if run.plan.quick else ROUNDS, timed)
        results[str(count)] = {name: [1 / one for one in values] for name, values in took.items()}
        rates = {name: median(values) for name, values in results[str(count)].items()}
        for order in ("in order", "shuffled"):
            mine, theirs = took[f"ours, {order}"], took[f"vector clocks, {order}"]
            ratio = median(other / one for one, other in zip(mine, theirs, strict=True))
            cells = (f"{rates[f'ours, {order}']:,.0f}", f"{rates[f'vector clocks, {order}']:,.0f}", f"{ratio:.1f}")
            rows.append((f"{count:,} members, {order}", *cells))
    run.results["groups_deliveries_per_s"] = results
    run.show("deliveries a second of the state machine", ("", "ours", "vector clocks", "ours is ×"), rows)


def held_by_one_cause(count: int) -> list[CausalMessage]:
    """Messages of as many members that all depend on one, which comes last."""
    cause = Stamp(1, 1)
    return [*(CausalMessage(Stamp(member, 1), (cause,)) for member in range(2, count + 2)), CausalMessage(cause)]


def held_as_chain(count: int) -> list[CausalMessage]:
    """Messages of as many members, each depending on the one before, that come last one first."""
    stamps = [Stamp(member, 1) for member in range(1, count + 2)]
    chain = [CausalMessage(later, (earlier,)) for earlier, later in pairwise(stamps)]
    return [*reversed(chain), CausalMessage(stamps[0])]


def measure_held_back(run: Run) -> None:
    """What a delivery costs as more are held back."""
    shapes = {"one cause": held_by_one_cause, "chain": held_as_chain}
    results: dict[str, dict[str, list[float]]] = {
        name: {} for name in (*shapes, "one cause, scanned", "chain, scanned")
    }
    for name, make in shapes.items():
        for count in HELD:
            # The same number of deliveries at every size: a short one would measure the clock.
            times = max(HELD) // count
            feeds: dict[str, Callable[[int], float]] = {name: partial(_feed_times, _observer, make(count), times)}
            if count <= SCANNED_HELD_MAX:
                feeds[f"{name}, scanned"] = partial(_feed_times, ScannedMember, make(count), max(1, 100 // count))
            took = in_turns(2 if run.plan.quick else _ROUNDS_HELD, feeds)
            for one, values in took.items():
                results[one][str(count)] = [value * 1e6 for value in values]
    run.results["groups_held_back_us"] = results
    rows = [
        (name, *(f"{median(by_count[str(count)]):.2f}" if str(count) in by_count else "" for count in HELD))
        for name, by_count in results.items()
    ]
    run.show("held back, µs for each delivery", ("held back", *(f"{count:,}" for count in HELD)), rows)
