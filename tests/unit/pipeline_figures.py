"""Figures of every step for the tests of the report: names that strangers could choose are as bad as can be."""

from __future__ import annotations

import math

from pregon.model import pipeline_figures as f
from pregon.model.pipeline_results import Made, Source

HOSTILE = "<script>alert('pwned')</script>\"'&</table>"


def levels(*, is_bad: bool = False) -> f.ServiceLevelsFigures:
    """Two days of service; the last subscription is too slow if it is to be."""
    subscriptions = [
        f.Level(
            topic="fallecidos",
            subscriber=name,
            accepted=48_000,
            settled=48_000 - backlog,
            failures=failures,
            backlog=backlog,
            p50_ms=p95_ms / 9,
            p95_ms=p95_ms,
            p99_ms=p95_ms * 1.7,
            max_ms=p95_ms * 4,
            class_=class_,
        )
        for name, p95_ms, class_, backlog, failures in [
            ("CGN", 9_214.0, "unacceptable", 1_204, 77),
            ("IMM", 2_811.2, "acceptable", 3, 4),
            ("BPS", 41.5, "preferred", 0, 0),
        ][0 if is_bad else 1 :]
    ]
    hours = [
        f.Hour(
            hour=f"2026-11-{14 + hour // 24}T{hour % 24:02d}:00:00Z",
            accepted=1_000,
            settled=990,
            failures=2,
            p50_ms=12 + 5 * math.sin(hour / 4),
            p95_ms=180 + 90 * math.sin(hour / 5),
            p99_ms=1_900 + 1_500 * math.sin(hour / 6),
        )
        for hour in range(48)
    ]
    return f.ServiceLevelsFigures(
        subscriptions_count=len(subscriptions) + 7,
        unacceptable_count=int(is_bad),
        subscriptions=subscriptions,
        hours_count=48,
        hours=hours,
        classes={"preferred": 90, "acceptable": 5, "unacceptable": 1},
    )


def reconciled(*, is_right: bool = True) -> f.ReconciliationFigures:
    """All right, or a discrepancy and two that cannot be checked."""
    wrong = f.Discrepancy(
        topic=HOSTILE, subscriber="BPS", reason="", parts={"acknowledged": (17, 16), "pending": (3, 4)}
    )
    unsure = f.Discrepancy(topic="nacidos", subscriber="IMM", reason="traces begin after the subscription")
    return f.ReconciliationFigures(
        subscriptions=12,
        verified=12 if is_right else 10,
        discrepancies_count=0 if is_right else 1,
        discrepancies=[] if is_right else [wrong],
        unverifiable_count=0 if is_right else 1,
        unverifiable=[] if is_right else [unsure],
        totals={"accepted": (576_000, 576_000), "acknowledged": (574_793, 574_793), "pending": (1_207, 1_207)},
    )


def ordered(*, is_right: bool = True) -> f.CausalityFigures:
    """Two groups, in order or with one delivery that was not."""
    groups = [
        f.Group(
            group=name,
            messages=messages,
            deliveries=messages * members,
            members=members,
            violations=0 if is_right else 1,
            unreported=2,
            held_back=messages // 7,
            after_mean=1.4,
            after_max=6,
            control_bytes=11.2,
            vector_bytes=4.0 * members,
        )
        for name, messages, members in [("barrio", 1_200, 41), (HOSTILE, 310, 5)]
    ]
    violation = f.Violation(
        group="barrio", member=3, name=HOSTILE, message="3:17", missing="2:9", kind="causal",
        delivered_at="2026-11-16T10:00:00.000000Z",
    )  # fmt: skip
    return f.CausalityFigures(
        groups_count=2,
        groups=groups,
        messages=1_510,
        deliveries=50_750,
        violations_count=0 if is_right else 501,
        violations=[] if is_right else [violation],
    )


def published() -> f.TrafficFigures:
    """An hour of two topics, one of which fell silent."""
    windows = [
        f.Window(topic=topic, start=f"2026-11-16T19:{minute:02d}:00Z", messages=factor + minute % 7, bytes=9_000)
        for topic, factor, minutes in [("fallecidos", 40, range(60)), (HOSTILE, 12, range(0, 60, 3))]
        for minute in minutes
    ]
    topics = [
        f.TopicTraffic(
            topic=topic, messages=messages, bytes=messages * 213, windows=60, peak_messages=46,
            last_at="2026-11-16T19:59:00Z",
        )
        for topic, messages in [("fallecidos", 2_580), (HOSTILE, 300)]
    ]  # fmt: skip
    alert = f.Alert(
        topic=HOSTILE, start="2026-11-16T19:58:00Z", end="2026-11-16T19:59:00Z", kind="silence", count=0, expected=14.0
    )
    return f.TrafficFigures(
        window_s=60, messages=2_880, topics_count=2, topics=topics, windows=windows, alerts_count=1, alerts=[alert]
    )


def archived(behind: int = 0) -> f.ArchiveFigures:
    """Two topics and the traces."""
    rows = [
        f.Archived(table=table, topic=topic, through=through, head=through + behind, rows=through)
        for table, topic, through in [
            ("messages", "fallecidos", 48_000),
            ("messages", HOSTILE, 310),
            ("traces", "", 99),
        ]
    ]
    return f.ArchiveFigures(archive="/data/archive", archived_count=3, archived=rows, files=17, bytes=12_345_678)


def delivered() -> f.DeliveriesFigures:
    """Nearly everything acknowledged."""
    outcomes = [f.Outcome(result="acknowledged", count=574_793), f.Outcome(result="pending", count=1_207)]
    return f.DeliveriesFigures(deliveries=576_000, topics=2, subscribers=3, outcomes=outcomes)


def made_of(step: str) -> Made:
    """When and of what a step was made."""
    return Made(
        step=step,
        folder="20261116T200000Z-0123abcd",
        made_at="2026-11-16T20:00:00.000000Z",
        took_ms=1_200,
        rows={"rows": 10},
        hub="http://hub.example:5580",
        sources=[Source(table="traces", first=1, last=1_000, rows=1_000)],
    )


def all_figures(*, is_right: bool = True) -> dict[str, tuple[Made, f.Figures]]:
    """Of every step."""
    found: dict[str, f.Figures] = {
        f.ARCHIVE: archived(0 if is_right else 1_000),
        f.DELIVERIES: delivered(),
        f.SERVICE_LEVELS: levels(is_bad=not is_right),
        f.RECONCILIATION: reconciled(is_right=is_right),
        f.CAUSALITY: ordered(is_right=is_right),
        f.TRAFFIC: published(),
    }
    return {step: (made_of(step), figures) for step, figures in found.items()}
