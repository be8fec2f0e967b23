"""What is unusual in the traffic of a topic: far more, far less or nothing, beside what the windows before had.

    expected    the median of the windows before (`windows` of them); those without messages count as 0
    surge       more than `factor` times the expected, and `messages_min` at least
    drop        less than the expected divided by `factor`, where `messages_min` at least were expected
    silence     nothing, where `messages_min` at least were expected

An alert is given when it begins: not again while the windows that follow are of the same kind. A topic that was silent
in more than half of them has nothing to be compared with, and gives none; so does a new one, for as long.

A table of traffic is judged whole (`anomalies`, `alerts`). A stream is judged batch by batch, by windows that have
closed (`alerts_of_batch`), with a small table of the windows before, which `next_baseline` makes for the next batch.
Who keeps that table, one for each length of window, and writes the alerts to their topic, is left to `alerting`.

Promises:
- Batch by batch or as a whole, the same windows give the same alerts, under the same ids: repeats are dropped by id.
- A window that is not over is not judged: of a table that is one that ends after its last message, or after `until`.
- Silence of everything is only seen with `until`: a stream in which nothing is published at all closes no window.
- There are no alerts about the topic of alerts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from pregon.errors import BadRequest
from pregon.model.names import check_name
from pregon.spark.pipelines.traffic import interval_us

SILENCE, SURGE, DROP = "silence", "surge", "drop"
COLUMNS = ("topic", "window_start", "window_end", "kind", "count", "expected", "factor")
BASELINE_COLUMNS = ("topic", "window_start", "window_end", "messages")
CONTENT_TYPE = "application/json"
WINDOWS_MAX = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRules:
    """When something is unusual, and in which topic that is told; raises BadRequest and BadName."""

    factor: float = 3.0
    windows: int = 10
    """How many windows before are looked at."""
    messages_min: int = 10
    """Less than this is no news, whatever was before."""
    topic: str = "pregon.alerts"
    slide: str | None = None
    """How often a window begins, if traffic was made with a slide."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.factor) and self.factor > 1):
            raise BadRequest(f"{self.factor} is no factor: give how many times more is unusual, more than 1")
        if not 2 <= self.windows <= WINDOWS_MAX:
            raise BadRequest(f"{self.windows} windows cannot be looked at: give 2 to {WINDOWS_MAX}")
        if self.messages_min < 1:
            raise BadRequest(f"{self.messages_min} messages are never too few: give a messages_min of 1 at least")
        check_name("topic", self.topic)
        if self.slide is not None:
            interval_us(self.slide, "slide")


def anomalies(traffic: DataFrame, rules: AlertRules = AlertRules(), *, until: datetime | None = None) -> DataFrame:
    """What is unusual in a table of traffic: COLUMNS; raises BadRequest."""
    if until is not None and until.tzinfo is None:
        raise BadRequest("say in which time zone `until` is: datetime(..., tzinfo=UTC)")
    end = f.max("last_at") if until is None else f.max(f.lit(until))
    horizon = traffic.agg(end.alias("until"))
    return _within(_judged(traffic, rules), horizon)


def alerts(traffic: DataFrame, rules: AlertRules = AlertRules(), *, until: datetime | None = None) -> DataFrame:
    """The same as messages to be written with `format("pregon")`: topic, key, id, body, content_type."""
    return as_messages(anomalies(traffic, rules, until=until), rules)


def alerts_of_batch(closed: DataFrame, baseline: DataFrame | None, rules: AlertRules = AlertRules()) -> DataFrame:
    """Messages about the windows that have closed since the baseline; without one, since ever."""
    together = _together(closed, baseline)
    found = _within(_judged(together, rules), together.agg(f.max("window_end").alias("until")))
    if baseline is not None:
        known = baseline.agg(f.max("window_end").alias("known"))
        is_new = f.col("known").isNull() | (f.col("window_end") > f.col("known"))
        found = found.crossJoin(f.broadcast(known)).where(is_new)
    return as_messages(found, rules)


def next_baseline(closed: DataFrame, baseline: DataFrame | None, rules: AlertRules = AlertRules()) -> DataFrame:
    """What the next batch is to be given: BASELINE_COLUMNS, of each topic the last windows and one more."""
    placed = _together(closed, baseline).withColumn("place", _place(rules))
    newest = placed.agg(f.max("place").alias("newest"))
    # One more: to know whether the last window was of the same kind as the next.
    kept = placed.crossJoin(f.broadcast(newest)).where(f.col("place") >= f.col("newest") - rules.windows)
    return kept.select(*BASELINE_COLUMNS)


def as_messages(found: DataFrame, rules: AlertRules = AlertRules()) -> DataFrame:
    """Anomalies as messages; the id names the topic, the window and the kind."""
    window = (f.unix_micros("window_start").cast("string"), f.unix_micros("window_end").cast("string"))
    return found.select(
        f.lit(rules.topic).alias("topic"),
        f.col("topic").alias("key"),
        f.sha2(f.concat_ws(" ", "topic", *window, "kind"), 256).alias("id"),
        f.to_json(f.struct(*COLUMNS)).alias("body"),
        f.lit(CONTENT_TYPE).alias("content_type"),
    )


def _together(closed: DataFrame, baseline: DataFrame | None) -> DataFrame:
    windows = closed.select(*BASELINE_COLUMNS)
    return windows if baseline is None else baseline.select(*BASELINE_COLUMNS).union(windows)


def _within(judged: DataFrame, horizon: DataFrame) -> DataFrame:
    """Without the windows that are not over."""
    over = judged.crossJoin(f.broadcast(horizon)).where(f.col("window_end") <= f.col("until"))
    return over.select(*COLUMNS)


def _judged(traffic: DataFrame, rules: AlertRules) -> DataFrame:
    """COLUMNS of the windows where something unusual begins."""
    windows = _with_first_silence(traffic.where(f.col("topic") != rules.topic), rules)
    of_topic = Window.partitionBy("topic").orderBy("place")
    before = f.collect_list("messages").over(of_topic.rangeBetween(-rules.windows, -1))
    expected = windows.withColumn("expected", _median(before, rules.windows))
    judged = expected.withColumn("kind", _kind(rules))
    # What stands before it may be a window of long ago.
    is_next = f.lag("place").over(of_topic) == f.col("place") - 1
    goes_on = is_next & (f.lag("kind").over(of_topic) == f.col("kind"))
    begun = judged.withColumn("goes_on", f.coalesce(goes_on, f.lit(False)))
    return begun.where(f.col("kind").isNotNull() & ~f.col("goes_on")).select(
        *("topic", "window_start", "window_end", "kind"),
        f.col("messages").alias("count"),
        "expected",
        (f.col("messages") / f.col("expected")).alias("factor"),
    )


def _with_first_silence(traffic: DataFrame, rules: AlertRules) -> DataFrame:
    """Windows with their place in time, and after each the next one, with 0 messages unless it has some."""
    placed = traffic.select(*BASELINE_COLUMNS, _step_us(rules).alias("step_us")).withColumn("place", _place(rules))

    def later(column: str) -> Column:
        return f.timestamp_micros(f.unix_micros(column) + f.col("step_us")).alias(column)

    silent = placed.select(
        "topic",
        later("window_start"),
        later("window_end"),
        f.lit(0).cast("bigint").alias("messages"),
        (f.col("place") + 1).alias("place"),
    )
    both = placed.drop("step_us").union(silent)
    return both.groupBy("topic", "window_start", "window_end", "place").agg(f.max("messages").alias("messages"))


def _step_us(rules: AlertRules) -> Column:
    if rules.slide is not None:
        return f.lit(interval_us(rules.slide, "slide")).cast("bigint")
    return f.unix_micros("window_end") - f.unix_micros("window_start")


def _place(rules: AlertRules) -> Column:
    """Which window it is, counted from 1970 on."""
    return f.floor(f.unix_micros("window_start") / _step_us(rules))


def _median(counts: Column, windows: int) -> Column:
    """Of so many windows, of which those that are not among these had nothing."""
    zeros = f.array_repeat(f.lit(0).cast("bigint"), f.lit(windows) - f.size(counts))
    all_ = f.sort_array(f.concat(zeros, counts))
    return (f.get(all_, f.lit((windows - 1) // 2)) + f.get(all_, f.lit(windows // 2))) / 2


def _kind(rules: AlertRules) -> Column:
    count, expected = f.col("messages"), f.col("expected")
    was_busy = expected >= rules.messages_min
    is_surge = (count >= rules.messages_min) & (expected > 0) & (count > expected * rules.factor)
    return (
        f.when(was_busy & (count == 0), SILENCE)
        .when(was_busy & (count < expected / rules.factor), DROP)
        .when(is_surge, SURGE)
    )
