"""The overview: how the hub is, understood in five seconds; live, with what flowed in the last hour or day.

It is made once for all who look at it in the same language and zone, and for a second or two: twenty open pages cost
the hub what one does.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pregon.clock import monotonic_ms
from pregon.delivery.activity import Span
from pregon.edges.admin.charts import DURATION_TICKS, Chart, Series
from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.failures import plain_words
from pregon.edges.admin.formats import duration, short_number
from pregon.edges.admin.rendering import render
from pregon.edges.admin.routes import Page
from pregon.edges.admin.visit import Visit
from pregon.hub.private_topics import PREFIX as PRIVATE
from pregon.model.activity import Point
from pregon.store.backlogs import Backlog
from pregon.store.catalog_search import ListQuery, SubscriptionRow

_KEPT_MS = 2_000.0
_KEPT_MAX = 64
_ROWS = 8
_SPAN_S_MIN = 5.0
GOOD, WARN, BAD, PLAIN = "good", "warn", "bad", "plain"


@dataclass(frozen=True, slots=True)
class State:
    """How everything is, in one word and one sentence."""

    kind: str
    failing: int
    waiting: int
    parked: int
    is_new: bool


def judge(backlogs: Sequence[Backlog], *, has_topics: bool) -> State:
    """How everything is, by what waits for each subscription."""
    failing = sum(one.is_failing for one in backlogs)
    parked = sum(one.parked for one in backlogs)
    waiting = sum(one.pending for one in backlogs)
    is_new = not has_topics
    kind = BAD if failing else WARN if parked else PLAIN if is_new else GOOD
    return State(kind, failing, waiting, parked, is_new)


def show_overview(visit: Visit) -> AdminAnswer:
    """The page."""
    return visit.page("overview.html", span=_span(visit), live=_live_part(visit))


def show_live(visit: Visit) -> AdminAnswer:
    """The part of it that is live."""
    return AdminAnswer(_live_part(visit).encode(), headers=visit.cookie_headers())


def _span(visit: Visit) -> Span:
    return "day" if visit.query.get("span") == "day" else "hour"


class _Kept:
    """Parts of the page that were just made, by who can see the same."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.parts: dict[tuple[Any, ...], tuple[float, str]] = {}


def _live_part(visit: Visit) -> str:
    kept: _Kept = visit.desk.remembered.setdefault("overview", _Kept())
    key = (visit.say.language, visit.zone.key, _span(visit), visit.may_administer)
    # One makes it, and the others who came meanwhile take the same.
    with kept.lock:
        made_ms, part = kept.parts.get(key, (float("-inf"), ""))
        if monotonic_ms() - made_ms < _KEPT_MS:
            return part
        part = _make_live_part(visit)
        if len(kept.parts) >= _KEPT_MAX:
            kept.parts.clear()
        kept.parts[key] = (monotonic_ms(), part)
        return part


def _make_live_part(visit: Visit) -> str:
    activity, say, gate = visit.desk.activity, visit.say, visit.desk.gate
    now, backlogs = activity.now(), activity.backlogs()
    if not visit.may_administer:
        backlogs = [one for one in backlogs if not one.topic.startswith(PRIVATE)]
    has_topics = bool(gate.lists.topics(visit.caller, ListQuery(rows=1)).result())
    state = judge(backlogs, has_topics=has_topics)
    waiting = sorted((one for one in backlogs if one.pending), key=lambda one: -one.pending)
    values = {
        **visit.values(),
        "state": state,
        "now": now,
        "failing": _find_failing(visit) if state.failing else [],
        "waiting": waiting[:_ROWS],
        "waiting_more": max(0, len(waiting) - _ROWS),
        "topics": [one for one in now.topics if visit.may_administer or not one.topic.startswith(PRIVATE)][:_ROWS],
        "charts": _charts(visit),
        "plain_words": lambda text: plain_words(text, say),
        "status": visit.desk.status(),
        "is_open": gate.rules.is_open,
    }
    return render("overview_live.html", values).decode()


def _find_failing(visit: Visit) -> list[SubscriptionRow]:
    query = ListQuery(sort="failing", descending=True, state="failing", rows=_ROWS)
    return visit.desk.gate.lists.subscriptions(visit.caller, query).result()


def _charts(visit: Visit) -> list[tuple[Any, Chart]]:
    """What flowed, how long it took, and what waited."""
    say, points = visit.say, visit.desk.activity.series(_span(visit))
    times_us = [one.at_us for one in points]
    step_s = (times_us[1] - times_us[0]) / 1e6
    # The last stretch is not over yet: what came in it came in less time.
    spans_s = [step_s] * (len(points) - 1) + [min(step_s, max(_SPAN_S_MIN, (visit.now_us - times_us[-1]) / 1e6))]

    def chart(label: str, lines: list[Series], **more: Any) -> tuple[Any, Chart]:
        return say(label), Chart(say(label), lines, times_us, visit.zone, **more)

    return [
        chart(
            "Messages a second",
            [
                Series(
                    say("in"), "first", [one.accepted / span_s for one, span_s in zip(points, spans_s, strict=True)]
                ),
                Series(say("out"), "second", [one.out / span_s for one, span_s in zip(points, spans_s, strict=True)]),
            ],
            write=short_number,
        ),
        chart(
            "From accepted to delivered",
            [
                Series(say("half of them (p50)"), "first", [one.p50_ms for one in points]),
                Series(say("95 of 100 (p95)"), "second", [one.p95_ms for one in points]),
                Series(say("99 of 100 (p99)"), "third", [one.p99_ms for one in points]),
            ],
            write=duration,
            ticks=DURATION_TICKS,
        ),
        chart("Pushes that failed", [Series(say("failed"), "first", [one.failed for one in points])]),
        chart("Messages that wait", [Series(say("waiting"), "first", _pending(points))]),
    ]


def _pending(points: Sequence[Point]) -> list[int | None]:
    """What waited at each point; nothing is said of times when something waited before and nobody looked."""
    found: list[int | None] = []
    last = 0
    for one in points:
        last = one.pending if one.is_known else last
        found.append(one.pending if one.is_known or not last else None)
    return found


PAGES = [
    Page("GET", "", show_overview),
    Page("GET", "live/overview", show_live, is_live=True),
]
