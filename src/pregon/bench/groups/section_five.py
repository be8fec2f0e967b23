"""The experiment of section V of the paper: everybody broadcasts at once, with causal order and without.

For 10, 20 … 210 processes. Each has a connection of its own; they are talkers of two operating-system processes, as
everything is on two cores. Before a round one of them says something that everybody is shown: everybody then answers
at once. A message's response time is from its send until everybody else was shown it and its sender has the hub's
acknowledgement; that of a round is the mean of its messages'. Rounds with and without order are taken in turns, the
first one by turns too, and a ratio is of the same turn.

`hard` is the worst that can be for causal order: everybody answers everybody at once, so that each message depends on
all the others' last ones.
"""

from __future__ import annotations

from contextlib import ExitStack
from statistics import fmean, median
from typing import Any

import msgspec

from pregon.bench.groups.crowd import Told
from pregon.bench.groups.crowds import Crowds
from pregon.bench.groups.paper import GLASSFISH, JBOSS, PROCESSES, class_of
from pregon.bench.groups.talkers import LIBRARY, ORDERED, PLAIN
from pregon.bench.hub_process import HubProcess
from pregon.bench.rounds import Run

ROUNDS = 7
ROUNDS_EXTRA = 3
LIBRARY_AT = (10, 50, 110, 210)
"""Sizes at which the library and the worst case are measured too."""
QUICK_AT = (10, 50)
_SPEAKER = 0


class Response(msgspec.Struct):
    """What a round took, in milliseconds."""

    response_ms: float
    """Mean of the messages: from the send until everybody was shown it."""
    slowest_ms: float
    acknowledged_ms: float
    """Mean of the messages: from the send until the hub's answer."""
    processor_ms: float
    """What the crowds used."""

    @classmethod
    def of(cls, senders: list[int], told: list[Told]) -> Response:
        """Put together what each process tells of a round."""
        sent = {number: at for one in told for number, at in one.sent.items()}
        acked = {number: at for one in told for number, at in one.acked.items()}
        shown = {number: max(one.shown.get(number, 0.0) for one in told) for number in senders}
        took = [max(shown[number], acked[number]) - sent[number] for number in senders]
        return cls(
            response_ms=fmean(took) * 1e3,
            slowest_ms=max(took) * 1e3,
            acknowledged_ms=fmean(acked[number] - sent[number] for number in senders) * 1e3,
            processor_ms=sum(one.processor_s for one in told) * 1e3,
        )


def measure_section_five(run: Run) -> None:
    """All of it."""
    sizes = QUICK_AT if run.plan.quick else PROCESSES
    measured: dict[str, dict[str, list[Response]]] = {}
    directory = run.folder("section-five")
    with ExitStack() as stack:
        hub = stack.enter_context(HubProcess(directory))
        crowds = stack.enter_context(Crowds(directory, hub.url))
        with hub.client() as client:
            client.create("topic", name=PLAIN)
            for group in (ORDERED, LIBRARY):
                client.create("group", name=group, traced=False)
        have = dict.fromkeys((PLAIN, ORDERED, LIBRARY), 0)
        for count in sizes:
            for way in have if count in LIBRARY_AT else (PLAIN, ORDERED):
                crowds.join(way, way, range(have[way], count))
                have[way] = count
            measured[str(count)] = _rounds(run, crowds, count)
    run.results["groups_section_five_ms"] = msgspec.to_builtins(measured)
    _show(run, measured)


def _rounds(run: Run, crowds: Crowds, count: int) -> dict[str, list[Response]]:
    everybody = list(range(count))
    found: dict[str, list[Response]] = {PLAIN: [], ORDERED: []}

    def answer_at_once(way: str) -> Response:
        crowds.round(way, [_SPEAKER], settles=True)
        return Response.of(everybody, crowds.round(way, everybody))

    for number in range(2 if run.plan.quick else ROUNDS):
        for way in (PLAIN, ORDERED) if number % 2 == 0 else (ORDERED, PLAIN):
            found[way].append(answer_at_once(way))
    if count in LIBRARY_AT:
        extra = range(1 if run.plan.quick else ROUNDS_EXTRA)
        found[LIBRARY] = [answer_at_once(LIBRARY) for _ in extra]
        # Everybody was just shown what everybody sent at once: the next messages name all of those.
        crowds.round(ORDERED, everybody)
        found["hard"] = [Response.of(everybody, crowds.round(ORDERED, everybody)) for _ in extra]
    return found


def increases(with_order: list[Response], without: list[Response]) -> list[float]:
    """By how many per cent each round with order took longer than its neighbour without."""
    pairs = zip(with_order, without, strict=True)
    return [100 * (one.response_ms / other.response_ms - 1) for one, other in pairs]


def _middle(responses: list[Response], field: str = "response_ms") -> float:
    return median(float(getattr(one, field)) for one in responses)


def _range(responses: list[Response]) -> str:
    values = [one.response_ms for one in responses]
    return f"{min(values):,.0f} – {max(values):,.0f}"


def _show(run: Run, measured: dict[str, dict[str, list[Response]]]) -> None:
    rows: list[tuple[str, ...]] = []
    summary: dict[str, Any] = {}
    for count, found in measured.items():
        plain, ordered = found[PLAIN], found[ORDERED]
        increase = median(increases(ordered, plain))
        summary[count] = {"increase": increase, "class": class_of(_middle(ordered) / 1e3)}
        glassfish = GLASSFISH.get(int(count))
        rows.append(
            (
                count,
                f"{_middle(plain):,.0f}",
                _range(plain),
                f"{_middle(ordered):,.0f}",
                _range(ordered),
                f"{_middle(ordered, 'acknowledged_ms'):,.0f}",
                f"{increase:+.0f} %",
                f"{JBOSS[int(count)]:.0f} %",
                f"{glassfish:.0f} %" if glassfish is not None else "",
                class_of(_middle(ordered) / 1e3),
            )
        )
    run.results["groups_section_five"] = summary
    run.show(
        "everybody broadcasts at once: response time, ms, with causal order and without",
        ("processes", "without", "rounds", "with", "rounds", "acknowledged", "increase", "JBoss", "Glassfish", "class"),
        rows,
    )
    rows = []
    for count, found in measured.items():
        if LIBRARY in found:
            ways = (found[ORDERED], found[LIBRARY], found["hard"])
            rows.append((count, *(f"{_middle(one):,.0f} ({_range(one)})" for one in ways)))
    run.show(
        "the same with the library's conversation, and where each message depends on all the others', ms",
        ("processes", "order alone", "library", "everybody answers everybody"),
        rows,
    )
