"""Joining a group of 200 while it talks: how long until one is in, and what the others notice of it.

The members send one after another at a steady pace, and everybody is shown everything. For the same time nobody joins,
or one joins after another, in turns; who joined leaves before the next turn. Told is how long a message takes to be
shown to each member, and how many messages were held back for another.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from statistics import median

import msgspec

from pregon.bench.groups.crowd import Told
from pregon.bench.groups.crowds import Crowds
from pregon.bench.groups.talkers import ORDERED
from pregon.bench.hub_process import HubProcess
from pregon.bench.rounds import Run
from pregon.bench.services.asking import percentile

MEMBERS = 200
PER_S = 20
"""Messages a second: with 200 members, 4,000 deliveries a second."""
JOINS_PER_S = 5
SECONDS = 4
TURNS = 4
_GROUP = "joining"


class Turn(msgspec.Struct):
    """What was measured of one turn."""

    took_p50_ms: float
    took_p99_ms: float
    took_max_ms: float
    waited: int
    """Messages that were held back for another."""
    joined_ms: list[float]


def measure_joining(run: Run) -> None:
    """Turns with and without joins."""
    members, seconds, turns = (20, 1, 1) if run.plan.quick else (MEMBERS, SECONDS, TURNS)
    directory = run.folder("joining")
    found: dict[str, list[Turn]] = {"nobody joins": [], "somebody joins": []}
    with ExitStack() as stack:
        hub = stack.enter_context(HubProcess(directory))
        crowds = stack.enter_context(Crowds(directory, hub.url))
        # In a process of their own: those who join are not among those who are measured.
        newcomers = stack.enter_context(Crowds(run.folder("newcomers"), hub.url, processes=1))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        with hub.client() as client:
            client.create("group", name=_GROUP, traced=False)
        crowds.join(ORDERED, _GROUP, range(members))
        senders = [(place * 7) % members for place in range(PER_S * seconds)]
        new = members
        for _ in range(turns):
            found["nobody joins"].append(_turn(crowds.round(ORDERED, senders, 1 / PER_S), []))
            numbers = range(new, new + JOINS_PER_S * seconds)
            new = numbers.stop
            joining = pool.submit(newcomers.join, ORDERED, _GROUP, numbers, 1 / JOINS_PER_S)
            told = crowds.round(ORDERED, senders, 1 / PER_S)
            found["somebody joins"].append(_turn(told, joining.result()[0].joined_ms))
            newcomers.leave(ORDERED, numbers)
    run.results["groups_joining_ms"] = msgspec.to_builtins(found)
    _show(run, found, members)


def _turn(told: list[Told], joined_ms: list[float]) -> Turn:
    took = sorted(one for each in told for one in each.took_ms)
    return Turn(
        took_p50_ms=percentile(took, 50),
        took_p99_ms=percentile(took, 99),
        took_max_ms=took[-1],
        waited=sum(one.waited for one in told),
        joined_ms=joined_ms,
    )


def _show(run: Run, found: dict[str, list[Turn]], members: int) -> None:
    rows = [
        (
            name,
            f"{median(one.took_p50_ms for one in turns):.1f}",
            f"{median(one.took_p99_ms for one in turns):.1f}",
            f"{min(one.took_p99_ms for one in turns):.1f} – {max(one.took_p99_ms for one in turns):.1f}",
            str(turns[-1].waited),
        )
        for name, turns in found.items()
    ]
    run.show(
        f"{members} members, {PER_S} messages a second: from sending to showing, ms",
        ("", "p50", "p99", "p99 of the turns", "held back"),
        rows,
    )
    joins = sorted(one for turn in found["somebody joins"] for one in turn.joined_ms)
    run.results["groups_joins_ms"] = {"p50": percentile(joins, 50), "p99": percentile(joins, 99), "count": len(joins)}
    run.out.print(
        f"{len(joins)} joins, {JOINS_PER_S} a second: in after {percentile(joins, 50):.1f} ms (p50), "
        f"{percentile(joins, 99):.1f} ms (p99)\n"
    )
