"""What the page of the pipeline says of each step: one sentence, whether that is good, and a plot of its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup
from msgspec.structs import fields, replace

from pregon.edges.admin.bars import Bar, Bars
from pregon.edges.admin.charts import DURATION_TICKS, Chart, Series
from pregon.edges.admin.formats import duration, number, short_number, size
from pregon.edges.admin.pipeline_files import Result, parse_instant
from pregon.edges.admin.visit import Visit
from pregon.edges.admin.words import Words
from pregon.hub.private_topics import PREFIX as PRIVATE_TOPICS
from pregon.model import pipeline_figures as f
from pregon.model.group import PRIVATE_PREFIX

GOOD, BAD, PLAIN = "good", "bad", "plain"
ROWS = 10
"""Rows of each table on the page; the report has all of them."""
_LOOKS = ("first", "second", "third")
_TWO = _LOOKS[:2]
_POINTS_MAX = 240
_POINTS_MIN = 2
"""Of one point no line is drawn: the table says it."""
_VALUE_MAX = 1e15
_PART_WORDS = {
    "accepted": "accepted",
    "acknowledged": "acknowledged",
    "pending": "waiting",
    "parked": "set aside",
    "filtered": "filtered",
    "expired": "expired",
    "cancelled": "cancelled",
    "expired_or_cancelled": "expired or cancelled",
}


@dataclass(frozen=True, slots=True)
class Section:
    """A step that ran."""

    result: Result
    mood: str
    answer: Markup
    chart: Chart | Bars | None = None

    @property
    def figures(self) -> f.Figures | None:
        """What the tables show."""
        return self.result.figures


def describe(visit: Visit, result: Result) -> Section | None:
    """What to say of a result; None if there is none that can be shown."""
    say, figures = visit.say, without_private(result.figures, visit.may_administer)
    if figures is None:
        return None
    shown = Result(result.step, result.made, figures)
    if isinstance(figures, f.ServiceLevelsFigures):
        mood = BAD if figures.unacceptable_count else GOOD if figures.subscriptions_count else PLAIN
        return Section(shown, mood, _served(figures, say), _latency(visit, figures))
    if isinstance(figures, f.ReconciliationFigures):
        is_sure = figures.subscriptions and not figures.unverifiable_count
        mood = BAD if figures.discrepancies_count else GOOD if is_sure else PLAIN
        return Section(shown, mood, _adds_up(figures, say), _totals(figures, say))
    if isinstance(figures, f.CausalityFigures):
        mood = BAD if figures.violations_count else GOOD if figures.deliveries else PLAIN
        return Section(shown, mood, _in_order(figures, say), _control(figures, say))
    if isinstance(figures, f.TrafficFigures):
        return Section(shown, PLAIN, _flowed(figures, say), _traffic(visit, figures))
    if isinstance(figures, f.ArchiveFigures):
        behind = sum(max(0, one.head - one.through) for one in figures.archived if one.head is not None)
        if behind:
            return Section(shown, PLAIN, say("{count} rows are not archived yet", count=number(behind)))
        return Section(shown, GOOD, say("Everything is archived"))
    return Section(shown, PLAIN, _delivered(figures, say), _outcomes(figures, say))


def without_private(figures: f.Figures | None, may_administer: bool) -> f.Figures | None:
    """The figures without rows of private conversations, for who does not administer; sums stay as they are."""
    if figures is None or may_administer:
        return figures
    changes = {}
    for field in fields(figures):
        rows = getattr(figures, field.name)
        if isinstance(rows, list):
            changes[field.name] = [row for row in rows if not _is_private(row)]
    return replace(figures, **changes)


def _is_private(row: object) -> bool:
    topic, group = getattr(row, "topic", ""), getattr(row, "group", "")
    return topic.startswith(PRIVATE_TOPICS) or group.startswith(PRIVATE_PREFIX)


def name_part(part: str, say: Words) -> Markup:
    """A part of an accounting for people; one that is not known stays as it is."""
    return say(_PART_WORDS[part]) if part in _PART_WORDS else Markup.escape(part)


# Sentences.


def _served(figures: f.ServiceLevelsFigures, say: Words) -> Markup:
    total, late = number(figures.subscriptions_count), figures.unacceptable_count
    if not figures.subscriptions_count:
        return say("Nothing was accepted for anybody")
    if late:
        return say.count(
            late,
            "{count} of {total} subscriptions was served unacceptably late",
            "{count} of {total} subscriptions were served unacceptably late",
            total=total,
        )
    return say("None of {total} subscriptions was served unacceptably late", total=total)


def _adds_up(figures: f.ReconciliationFigures, say: Words) -> Markup:
    total = number(figures.subscriptions)
    if figures.discrepancies_count:
        return say.count(
            figures.discrepancies_count,
            "{count} of {total} subscriptions does not add up",
            "{count} of {total} subscriptions do not add up",
            total=total,
        )
    if figures.unverifiable_count:
        return say(
            "{verified} of {total} subscriptions add up; {count} cannot be checked",
            verified=number(figures.verified),
            total=total,
            count=number(figures.unverifiable_count),
        )
    if not figures.subscriptions:
        return say("There are no subscriptions")
    return say.count(figures.subscriptions, "The one subscription adds up", "All {count} subscriptions add up")


def _in_order(figures: f.CausalityFigures, say: Words) -> Markup:
    total = number(figures.deliveries)
    if figures.violations_count:
        return say.count(
            figures.violations_count,
            "{count} of {total} deliveries in groups came out of order",
            "{count} of {total} deliveries in groups came out of order",
            total=total,
        )
    if figures.deliveries:
        return say("All {total} deliveries in groups came in causal order", total=total)
    return say("No member of a group has said what it was shown")


def _flowed(figures: f.TrafficFigures, say: Words) -> Markup:
    unusual = (
        say.count(figures.alerts_count, "{count} unusual window", "{count} unusual windows")
        if figures.alerts_count
        else say("nothing unusual")
    )
    return say(
        "{messages} messages in {topics} topics; {unusual}",
        messages=number(figures.messages),
        topics=number(figures.topics_count),
        unusual=unusual,
    )


def _delivered(figures: f.DeliveriesFigures, say: Words) -> Markup:
    return say(
        "{deliveries} deliveries of {topics} topics to {subscribers} subscribers",
        deliveries=number(figures.deliveries),
        topics=number(figures.topics),
        subscribers=number(figures.subscribers),
    )


# Plots.


def _sound(value: float | None) -> float | None:
    """A value that can be drawn; figures are another program's."""
    return value if value is not None and 0 <= value < _VALUE_MAX else None


def _latency(visit: Visit, figures: f.ServiceLevelsFigures) -> Chart | None:
    say = visit.say
    hours = [one for one in figures.hours if parse_instant(one.hour)][-_POINTS_MAX:]
    if sum(_sound(one.p50_ms) is not None for one in hours) < _POINTS_MIN:
        return None
    return Chart(
        say("From accepted to settled, hour by hour"),
        [
            Series(say("half of them (p50)"), "first", [_sound(one.p50_ms) for one in hours]),
            Series(say("95 of 100 (p95)"), "second", [_sound(one.p95_ms) for one in hours]),
            Series(say("99 of 100 (p99)"), "third", [_sound(one.p99_ms) for one in hours]),
        ],
        [parse_instant(one.hour) for one in hours],
        visit.zone,
        write=duration,
        ticks=DURATION_TICKS,
    )


def _traffic(visit: Visit, figures: f.TrafficFigures) -> Chart | None:
    """The busiest topics, window by window; a window without a message of a topic is a zero."""
    topics = [one.topic for one in figures.topics[: len(_LOOKS)]]
    counts: dict[str, dict[int, float]] = {topic: {} for topic in topics}
    for window in figures.windows:
        at_us = parse_instant(window.start)
        if window.topic in counts and at_us:
            counts[window.topic][at_us] = min(float(window.messages), _VALUE_MAX)
    times = fill_times(sorted({at_us for found in counts.values() for at_us in found}), figures.window_s * 1_000_000)
    if len(times) < _POINTS_MIN:
        return None
    series = [
        Series(topic, look, [found.get(at_us, 0.0) for at_us in times])
        for look, (topic, found) in zip(_LOOKS, counts.items(), strict=False)
        if found
    ]
    label = visit.say("Messages in each {window}", window=duration(figures.window_s * 1_000))
    return Chart(label, series, times, visit.zone, write=short_number)


def fill_times(times_us: Sequence[int], step_us: int) -> list[int]:
    """The times with those between them that are missing, while they are not too many; the newest of them."""
    if step_us <= 0 or len(times_us) < 2:
        return list(times_us)[-_POINTS_MAX:]
    if (times_us[-1] - times_us[0]) // step_us >= _POINTS_MAX or any(
        (later - earlier) % step_us for earlier, later in pairwise(times_us)
    ):
        return list(times_us)[-_POINTS_MAX:]
    return list(range(times_us[0], times_us[-1] + 1, step_us))


def _totals(figures: f.ReconciliationFigures, say: Words) -> Bars | None:
    events, hub = say("the events say"), say("the hub says")
    bars = [
        Bar(
            name_part(part, say), [(look, float(min(one, _VALUE_MAX))) for look, one in zip(_LOOKS, pair, strict=False)]
        )
        for part, pair in list(figures.totals.items())[:ROWS]
        if any(pair)
    ]
    label = say("Messages of all subscriptions, counted from the events and by the hub")
    return Bars(label, bars, [("first", events), ("second", hub)]) if bars else None


def _control(figures: f.CausalityFigures, say: Words) -> Bars | None:
    bars = [
        Bar(one.group, [("first", _sound(one.control_bytes) or 0.0), ("second", _sound(one.vector_bytes) or 0.0)])
        for one in figures.groups[:ROWS]
    ]
    label = say("What a message carries to keep its order, on average")
    keys = [("first", say("ours")), ("second", say("a vector clock"))]
    return Bars(label, bars, keys, write=size) if bars else None


def _outcomes(figures: f.DeliveriesFigures, say: Words) -> Bars | None:
    bars = [
        Bar(name_part(one.result, say), [("first", float(min(one.count, _VALUE_MAX)))])
        for one in figures.outcomes[:ROWS]
    ]
    return Bars(say("What became of them"), bars) if bars else None
