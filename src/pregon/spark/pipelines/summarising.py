"""From the tables of a step to its figures: what is counted, what is kept, in which order.

Everything that is collected is bounded: Spark sorts and cuts, and only what is shown comes to this process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pregon.model import pipeline_figures as figures
from pregon.model.pipeline_figures import tidy_ms, tidy_text
from pregon.spark.pipelines.causality import DUPLICATE
from pregon.spark.pipelines.service_levels import UNACCEPTABLE, service_levels

_PLOTTED_TOPICS = 6
_PARTS = ("accepted", "acknowledged", "pending", "parked", "filtered")
_CANCELLED_TOO = "expired_or_cancelled"
"""The hub counts what was cancelled as expired."""


def summarise_deliveries(deliveries: DataFrame) -> figures.DeliveriesFigures:
    """How many, and how they stand."""
    totals = deliveries.agg(f.count_distinct("topic"), f.count_distinct("subscriber")).head()
    results = deliveries.groupBy("result").count().orderBy(f.desc("count")).limit(100).collect()
    outcomes = [figures.Outcome(result=tidy_text(row["result"]), count=row["count"]) for row in results]
    topics, subscribers = totals if totals is not None else (0, 0)
    return figures.DeliveriesFigures(
        deliveries=sum(one.count for one in outcomes), topics=topics, subscribers=subscribers, outcomes=outcomes
    )


def summarise_levels(deliveries: DataFrame, by_hour: DataFrame) -> figures.ServiceLevelsFigures:
    """The slowest subscriptions, the last hours of all together, and how many hours were of each class."""
    # All hours as one, and all subscriptions as one: the same rules as hour by hour.
    at_once = deliveries.withColumn(
        "settled_at", f.when(f.col("settled_at").isNotNull(), f.timestamp_seconds(f.lit(0)))
    )
    whole = service_levels(
        at_once.withColumn("accepted_at", f.when(f.col("accepted_at").isNotNull(), f.timestamp_seconds(f.lit(0))))
    )
    together = service_levels(deliveries.withColumn("topic", f.lit("")).withColumn("subscriber", f.lit("")))
    counts = {row["class"]: row["count"] for row in whole.groupBy("class").count().collect()}
    slowest = (
        whole.orderBy(f.desc_nulls_last("p95_ms"), "topic", "subscriber").limit(figures.SUBSCRIPTIONS_MAX).collect()
    )
    came = together.where(f.col("accepted") > 0)
    hours = came.orderBy(f.desc("hour")).limit(figures.HOURS_MAX).collect()
    classes = by_hour.where(f.col("accepted") > 0).groupBy("class").count().collect()
    return figures.ServiceLevelsFigures(
        subscriptions_count=sum(counts.values()),
        unacceptable_count=counts.get(UNACCEPTABLE, 0),
        subscriptions=[_level(row.asDict()) for row in slowest],
        hours_count=came.count(),
        hours=[_hour(row.asDict()) for row in reversed(hours)],
        classes={tidy_text(row["class"]): row["count"] for row in classes},
    )


def _level(row: Mapping[str, Any]) -> figures.Level:
    return figures.Level(
        topic=tidy_text(row["topic"]),
        subscriber=tidy_text(row["subscriber"]),
        accepted=row["accepted"],
        settled=row["settled"],
        failures=row["failures"] or 0,
        backlog=max(0, row["backlog"]),
        p50_ms=tidy_ms(row["p50_ms"]),
        p95_ms=tidy_ms(row["p95_ms"]),
        p99_ms=tidy_ms(row["p99_ms"]),
        max_ms=tidy_ms(row["max_ms"]),
        class_=tidy_text(row["class"]),
    )


def _hour(row: Mapping[str, Any]) -> figures.Hour:
    return figures.Hour(
        hour=write_instant(row["hour"]),
        accepted=row["accepted"],
        settled=row["settled"],
        failures=row["failures"] or 0,
        p50_ms=tidy_ms(row["p50_ms"]),
        p95_ms=tidy_ms(row["p95_ms"]),
        p99_ms=tidy_ms(row["p99_ms"]),
    )


def summarise_reconciliation(rows: DataFrame) -> figures.ReconciliationFigures:
    """Every discrepancy, every subscription that cannot be checked, and the sums of those that can."""
    is_wrong, is_sure = f.col("discrepancy") != "", f.col("is_verifiable")
    events = {part: f.col(f"events_{part}") for part in _PARTS}
    events[_CANCELLED_TOO] = f.col("events_expired") + f.col("events_cancelled")
    hub = {**{part: f.col(part) for part in _PARTS}, _CANCELLED_TOO: f.col("expired")}
    counted = rows.agg(
        f.count("*").alias("all"),
        f.count(f.when(is_wrong, True)).alias("wrong"),
        f.count(f.when(~is_sure & ~is_wrong, True)).alias("unsure"),
        *(f.coalesce(f.sum(f.when(is_sure, events[part])), f.lit(0)).alias(f"events {part}") for part in events),
        *(f.coalesce(f.sum(f.when(is_sure, hub[part])), f.lit(0)).alias(f"hub {part}") for part in hub),
    ).collect()[0]
    wrong = rows.where(is_wrong).orderBy("topic", "subscriber").limit(figures.DISCREPANCIES_MAX).collect()
    unsure = rows.where(~is_sure & ~is_wrong).orderBy("topic", "subscriber").limit(figures.DISCREPANCIES_MAX).collect()
    return figures.ReconciliationFigures(
        subscriptions=counted["all"],
        verified=counted["all"] - counted["wrong"] - counted["unsure"],
        discrepancies_count=counted["wrong"],
        discrepancies=[_discrepancy(row.asDict()) for row in wrong],
        unverifiable_count=counted["unsure"],
        unverifiable=[
            figures.Discrepancy(
                topic=tidy_text(row["topic"]), subscriber=tidy_text(row["subscriber"]), reason=tidy_text(row["reason"])
            )
            for row in unsure
        ],
        totals={part: (counted[f"events {part}"], counted[f"hub {part}"]) for part in events},
    )


def _discrepancy(row: Mapping[str, Any]) -> figures.Discrepancy:
    """A row that differs, with both figures of each part that does."""
    pairs = {part: (row[f"events_{part}"], row[part]) for part in _PARTS}
    pairs[_CANCELLED_TOO] = (row["events_expired"] + row["events_cancelled"], row["expired"])
    differing = {part: pair for part, pair in pairs.items() if pair[0] != pair[1]} if row["is_verifiable"] else {}
    parts_sum = sum(row[part] for part in (*_PARTS[1:], "expired"))
    if parts_sum != row["accepted"]:
        differing[figures.PARTS_SUM] = (parts_sum, row["accepted"])
    return figures.Discrepancy(
        topic=tidy_text(row["topic"]),
        subscriber=tidy_text(row["subscriber"]),
        reason=tidy_text(row["discrepancy"]),
        parts=differing,
    )


def summarise_causality(violations: DataFrame, summary: DataFrame) -> figures.CausalityFigures:
    """Every violation, and the groups: those with violations first, then the largest.

    What was shown again is in the table of the step and is no violation here: a member with two windows is shown all
    of it twice, in order.
    """
    violations = violations.where(f.col("kind") != DUPLICATE)
    groups = summary.orderBy(f.desc("violations"), f.desc("deliveries"), "group").limit(figures.GROUPS_MAX).collect()
    totals = summary.agg(f.count("*"), f.sum("messages"), f.sum("deliveries")).collect()[0]
    named = violations.orderBy("group", "delivered_at", "member", "message").limit(figures.VIOLATIONS_MAX).collect()
    return figures.CausalityFigures(
        groups_count=totals[0],
        groups=[_group(row.asDict()) for row in groups],
        messages=totals[1] or 0,
        deliveries=totals[2] or 0,
        violations_count=violations.count(),
        violations=[_violation(row.asDict()) for row in named],
    )


def _group(row: Mapping[str, Any]) -> figures.Group:
    return figures.Group(
        group=tidy_text(row["group"]),
        messages=row["messages"] or 0,
        deliveries=row["deliveries"] or 0,
        members=row["members"] or 0,
        violations=row["violations"] or 0,
        unreported=row["unreported"] or 0,
        held_back=row["held_back"] or 0,
        after_mean=round(row["after_mean"] or 0.0, 3),
        after_max=row["after_max"] or 0,
        control_bytes=round(row["control_bytes"] or 0.0, 3),
        vector_bytes=round(row["vector_bytes"] or 0.0, 3),
    )


def _violation(row: Mapping[str, Any]) -> figures.Violation:
    return figures.Violation(
        group=tidy_text(row["group"]),
        member=row["member"],
        name=tidy_text(row["name"]),
        message=tidy_text(row["message"]),
        missing=tidy_text(row["missing"]),
        kind=tidy_text(row["kind"]),
        delivered_at=write_instant(row["delivered_at"]),
    )


def summarise_traffic(traffic: DataFrame, anomalies: DataFrame, window_s: int) -> figures.TrafficFigures:
    """The busiest topics, the last windows of those that are drawn, and what was unusual, the newest first."""
    topics = traffic.groupBy("topic").agg(
        f.sum("messages").alias("messages"),
        f.sum("bytes").alias("bytes"),
        f.count("*").alias("windows"),
        f.max("messages").alias("peak"),
        f.max("last_at").alias("last_at"),
    )
    totals = topics.agg(f.count("*"), f.sum("messages")).collect()[0]
    busiest = topics.orderBy(f.desc("messages"), "topic").limit(figures.TOPICS_MAX).collect()
    drawn = [row["topic"] for row in busiest[:_PLOTTED_TOPICS]]
    windows = (
        traffic.where(f.col("topic").isin(drawn)).orderBy(f.desc("window_start"), "topic").limit(figures.WINDOWS_MAX)
    )
    unusual = anomalies.orderBy(f.desc("window_start"), "topic").limit(figures.ALERTS_MAX).collect()
    return figures.TrafficFigures(
        window_s=window_s,
        messages=totals[1] or 0,
        topics_count=totals[0],
        topics=[_topic(row.asDict()) for row in busiest],
        windows=[_window(row.asDict()) for row in reversed(windows.collect())] if drawn else [],
        alerts_count=anomalies.count(),
        alerts=[_alert(row.asDict()) for row in unusual],
    )


def _topic(row: Mapping[str, Any]) -> figures.TopicTraffic:
    return figures.TopicTraffic(
        topic=tidy_text(row["topic"]),
        messages=row["messages"],
        bytes=row["bytes"] or 0,
        windows=row["windows"],
        peak_messages=row["peak"],
        last_at=write_instant(row["last_at"]),
    )


def _window(row: Mapping[str, Any]) -> figures.Window:
    return figures.Window(
        topic=tidy_text(row["topic"]),
        start=write_instant(row["window_start"]),
        messages=row["messages"],
        bytes=row["bytes"] or 0,
    )


def _alert(row: Mapping[str, Any]) -> figures.Alert:
    return figures.Alert(
        topic=tidy_text(row["topic"]),
        start=write_instant(row["window_start"]),
        end=write_instant(row["window_end"]),
        kind=tidy_text(row["kind"]),
        count=row["count"],
        expected=round(row["expected"] or 0.0, 3),
    )


def summarise_archive(archive: str, rows: Sequence[figures.Archived], files: int, size: int) -> figures.ArchiveFigures:
    """What is furthest behind first."""

    def order(one: figures.Archived) -> tuple[int, str, str]:
        return one.through - (one.head if one.head is not None else one.through), one.table, one.topic

    shown = sorted(rows, key=order)[: figures.ARCHIVED_MAX]
    return figures.ArchiveFigures(
        archive=tidy_text(archive), archived_count=len(rows), archived=shown, files=files, bytes=size
    )


def write_instant(value: datetime | None) -> str:
    """An instant of Spark's as JSON has it; PySpark gives it in the zone of this process, without saying so."""
    return "" if value is None else value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
