"""How much control information a message carries: by the number of members, and by how much is under way at once.

Ours beside a vector clock and beside (R,K) clocks of constant size, all for the same traffic. A vector clock delivers
in exactly the same order as ours (a test says so), so that the clock of a sender at its send is that of our member.
Only who sends is simulated, because only a send makes control information. Of the (R,K) clocks it is counted, too, how
often they deliver before a cause, with all members and by `causal.oracle`, which knows the true order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean

from pregon.bench.groups.traffic import Traffic, senders_of, steps_of
from pregon.bench.rounds import Run
from pregon.causal.encoding import encode_control
from pregon.causal.history import History
from pregon.causal.member import Member
from pregon.causal.message import CausalMessage
from pregon.causal.oracle import Oracle
from pregon.causal.probabilistic import ProbabilisticMember, ProbabilisticMessage, Shape, choose_entries, encode_entries
from pregon.causal.stamps import Stamp
from pregon.causal.vector import VectorMessage, encode_vector

MEMBERS = (2, 5, 10, 20, 50, 100, 200, 500, 1_000)
UNDER_WAY = (1, 2, 4, 8, 16, 32, 64, 128)
UNDER_WAY_SHOWN = (1, 8, 32)
"""Degrees of concurrency that are told for every number of members."""
MEMBERS_SHOWN = 200
"""The members for which every degree of concurrency is told."""
MEMBERS_JUDGED = 100
"""Those among which the wrong deliveries of (R,K) clocks are counted."""
_MESSAGES = 400
_WARM_UP = 150
_ROUNDS_AT_ONCE = 6


@dataclass(slots=True)
class Sizes:
    """Of each message: the entries and bytes of ours, and the bytes of a vector clock."""

    entries: list[int] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    vector_bytes: list[int] = field(default_factory=list)

    @property
    def longer_than_vector(self) -> int:
        """Messages for which ours is longer than a vector clock."""
        return sum(ours > vector for ours, vector in zip(self.bytes, self.vector_bytes, strict=True))

    def add(self, message: CausalMessage, clock: dict[int, int], members: int) -> None:
        """One more message of ours, and what a vector clock would have been."""
        vector = VectorMessage(message.stamp.member, tuple(clock.get(member, 0) for member in range(1, members + 1)))
        self.entries.append(len(message.after))
        self.bytes.append(len(encode_control(message.stamp, message.after)))
        self.vector_bytes.append(len(encode_vector(vector)))

    def summary(self) -> dict[str, float]:
        """What is told of them."""
        return {
            "entries": fmean(self.entries),
            "entries_max": max(self.entries),
            "bytes": fmean(self.bytes),
            "bytes_max": max(self.bytes),
            "vector_bytes": fmean(self.vector_bytes),
            "longer_than_vector": self.longer_than_vector,
        }


def sizes_in(traffic: Traffic, warm_up: int = _WARM_UP) -> Sizes:
    """What the messages of some traffic carry, after the first ones."""
    sizes = Sizes()
    who = sorted(set(senders_of(traffic)))
    members = {number: Member(number, history=History(0)) for number in who}
    sent: list[CausalMessage] = []
    for step in steps_of(traffic, who):
        member = members[step.member]
        if not step.is_send:
            member.receive(sent[step.message])
            continue
        sent.append(member.broadcast())
        if step.message >= warm_up:
            sizes.add(sent[-1], member.clock, traffic.members)
    return sizes


def constant_bytes(traffic: Traffic, shape: Shape = Shape()) -> int:
    """What a message with (R,K) clocks has after this traffic: it grows only as the numbers in its entries do."""
    observer = ProbabilisticMember(traffic.members + 1, shape)
    entries = observer.entries
    for sender in senders_of(traffic):
        for entry in choose_entries(sender, shape):
            entries[entry] += 1
    return len(encode_entries(observer.broadcast()))


def sizes_all_at_once(count: int) -> Sizes:
    """The most that can be: everybody sends at once, after having been shown what everybody sent at once before."""
    sizes = Sizes()
    # All members are alike but for their number: the messages of the first one are enough.
    clock: dict[int, int] = {}
    for number in range(1, _ROUNDS_AT_ONCE + 1):
        after = tuple(Stamp(member, number - 1) for member in range(2, count + 1)) if number > 1 else ()
        sizes.add(CausalMessage(Stamp(1, number), after), {**clock, 1: number}, count)
        clock = dict.fromkeys(range(1, count + 1), number)
    return Sizes(*(values[1:] for values in (sizes.entries, sizes.bytes, sizes.vector_bytes)))


def wrong_deliveries(traffic: Traffic, shape: Shape = Shape()) -> float:
    """Which part of the deliveries by (R,K) clocks comes before something from its causal past."""
    oracle = Oracle()
    everybody = list(range(1, traffic.members + 1))
    members = {number: ProbabilisticMember(number, shape) for number in everybody}
    numbers = dict.fromkeys(everybody, 0)
    sent: list[ProbabilisticMessage] = []
    for step in steps_of(traffic, everybody):
        member = members[step.member]
        if step.is_send:
            numbers[step.member] += 1
            stamp = Stamp(step.member, numbers[step.member])
            sent.append(member.broadcast(stamp))
            oracle.sent(step.member, stamp)
            delivered = member.release()
        else:
            delivered = member.receive(sent[step.message])
        for message in delivered:
            oracle.delivered(step.member, message.body)
    return oracle.counts["out_of_order"] / oracle.deliveries


def measure_control_size(run: Run) -> None:
    """The tables; the plots are made of what they leave in the results."""
    messages = _WARM_UP + 50 if run.plan.quick else _MESSAGES
    by_members: dict[str, dict[str, dict[str, float]]] = {}
    for count in MEMBERS:
        by_members[str(count)] = {
            str(under_way): sizes_in(Traffic(count, messages, under_way)).summary() for under_way in UNDER_WAY_SHOWN
        }
        by_members[str(count)]["all at once"] = sizes_all_at_once(count).summary()
        for summary in by_members[str(count)].values():
            summary["constant_bytes"] = constant_bytes(Traffic(count, messages, 1))
    by_under_way = {}
    for under_way in UNDER_WAY:
        summary = sizes_in(Traffic(MEMBERS_SHOWN, messages, under_way)).summary()
        summary["constant_bytes"] = constant_bytes(Traffic(MEMBERS_SHOWN, messages, under_way))
        summary["wrong"] = wrong_deliveries(Traffic(MEMBERS_JUDGED, messages, under_way))
        by_under_way[str(under_way)] = summary
    run.results["groups_control_by_members"] = by_members
    run.results["groups_control_by_under_way"] = by_under_way
    _show(run)


def _show(run: Run) -> None:
    rows = []
    for count, ways in run.results["groups_control_by_members"].items():
        cells = [f"{ways[str(one)]['entries']:.1f} / {ways[str(one)]['bytes']:.1f}" for one in UNDER_WAY_SHOWN]
        most = ways["all at once"]
        vector, constant = ways[str(UNDER_WAY_SHOWN[0])]["vector_bytes"], most["constant_bytes"]
        longer = sum(one["longer_than_vector"] for one in ways.values())
        worst = f"{most['entries']:.0f} / {most['bytes']:.0f}"
        rows.append((count, *cells, worst, f"{vector:.0f}", f"{constant:.0f}", f"{longer:.0f}"))
    titles = tuple(f"{one} under way" for one in UNDER_WAY_SHOWN)
    run.show(
        "control information of a message, entries / bytes, by members",
        ("members", *titles, "all at once", "vector clock bytes", "(R,K) bytes", "longer than vector"),
        rows,
    )
    rows = [
        (
            under_way,
            f"{one['entries']:.1f}",
            f"{one['entries_max']:.0f}",
            f"{one['bytes']:.0f}",
            f"{one['vector_bytes']:.0f}",
            f"{one['constant_bytes']:.0f}",
            f"{100 * one['wrong']:.2f} %",
        )
        for under_way, one in run.results["groups_control_by_under_way"].items()
    ]
    run.show(
        f"control information by messages under way at once, {MEMBERS_SHOWN} members",
        ("under way", "entries", "most", "bytes", "vector clock bytes", "(R,K) bytes", "(R,K) delivers wrongly"),
        rows,
    )
