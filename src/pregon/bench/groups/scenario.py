"""The scenario `groups`: section V, control information, the state machine, joining; and the plots of all that.

Plots and figures are written into `bench-results/` of the current directory, whatever else is asked for: the
documentation shows copies of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from pregon.bench.groups.control_size import MEMBERS_SHOWN, UNDER_WAY_SHOWN, measure_control_size
from pregon.bench.groups.joining import measure_joining
from pregon.bench.groups.paper import GLASSFISH, JBOSS
from pregon.bench.groups.section_five import measure_section_five
from pregon.bench.groups.state_machine import measure_deliveries, measure_held_back
from pregon.bench.rounds import Run
from pregon.causal.probabilistic import ENTRIES
from pregon.plots import Axis, Line, Mark, Plot, draw

RESULTS = Path("bench-results")


def measure(run: Run) -> None:
    """All of it."""
    measure_section_five(run)
    measure_joining(run)
    measure_control_size(run)
    measure_deliveries(run)
    measure_held_back(run)
    RESULTS.mkdir(exist_ok=True)
    for name, plot in plots_of(run.results).items():
        (RESULTS / f"groups-{name}.svg").write_text(draw(plot), encoding="utf-8")
    figures = {name: value for name, value in run.results.items() if name.startswith("groups_") or name == "machine"}
    (RESULTS / "groups.json").write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    run.out.print(f"plots and figures of groups are in {RESULTS}/\n")


def plots_of(results: dict[str, Any]) -> dict[str, Plot]:
    """The plots of what was measured, by name."""
    return {
        "response": _response(results["groups_section_five_ms"]),
        "increase": _increase(results["groups_section_five"]),
        "control-members": _control_by_members(results["groups_control_by_members"]),
        "control-concurrency": _control_by_under_way(results["groups_control_by_under_way"]),
        "held-back": _held_back(results["groups_held_back_us"]),
    }


def _response(measured: dict[str, dict[str, list[dict[str, float]]]]) -> Plot:
    def line(name: str, way: str, field: str = "response_ms") -> Line:
        points = [
            (float(count), median(one[field] for one in found[way]))
            for count, found in measured.items()
            if way in found
        ]
        return Line(name, points)

    return Plot(
        "Everybody broadcasts at once: until everybody was shown it",
        Axis("processes", least=0),
        Axis("ms"),
        [
            line("without order", "plain"),
            line("causal order", "ordered"),
            line("acknowledged, causal order", "ordered", "acknowledged_ms"),
        ],
    )


def _increase(summary: dict[str, dict[str, Any]]) -> Plot:
    ours = [(float(count), one["increase"]) for count, one in summary.items()]
    return Plot(
        "By how much causal order makes the response longer",
        Axis("processes", least=0),
        Axis("per cent"),
        [
            Line("Pregón", ours),
            Line("the paper, JBoss", [(float(count), value) for count, value in JBOSS.items()]),
            Line("the paper, Glassfish", [(float(count), value) for count, value in GLASSFISH.items()]),
        ],
        [Mark("15 per cent", 15)],
    )


def _control_by_members(by_members: dict[str, dict[str, dict[str, float]]]) -> Plot:
    def line(name: str, way: str, field: str = "bytes") -> Line:
        return Line(name, [(float(count), ways[way][field]) for count, ways in by_members.items()])

    return Plot(
        "Control information of a message by the number of members",
        Axis("members", is_log=True),
        Axis("bytes", is_log=True),
        [
            *(line(f"ours, {one} under way", str(one)) for one in UNDER_WAY_SHOWN),
            line("ours, all at once", "all at once"),
            line("vector clock", "all at once", "vector_bytes"),
            line("(R,K) clock", "all at once", "constant_bytes"),
        ],
    )


def _control_by_under_way(by_under_way: dict[str, dict[str, float]]) -> Plot:
    places = list(map(float, by_under_way))
    return Plot(
        f"Entries of a message by how many are under way at once, {MEMBERS_SHOWN} members",
        Axis("messages under way at once", is_log=True),
        Axis("entries", is_log=True),
        [
            Line("ours, mean", [(float(place), one["entries"]) for place, one in by_under_way.items()]),
            Line("ours, most", [(float(place), one["entries_max"]) for place, one in by_under_way.items()]),
            Line("vector clock", [(place, float(MEMBERS_SHOWN)) for place in places]),
            Line("(R,K) clock", [(place, float(ENTRIES)) for place in places]),
        ],
    )


def _held_back(results: dict[str, dict[str, list[float]]]) -> Plot:
    return Plot(
        "What a delivery costs while others are held back",
        Axis("messages held back", is_log=True),
        Axis("µs for each delivery", is_log=True),
        [
            Line(name, [(float(count), median(values)) for count, values in by_count.items()])
            for name, by_count in results.items()
        ],
    )
