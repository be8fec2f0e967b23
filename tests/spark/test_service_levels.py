"""Service levels: counts, percentiles, backlog and the class by G.1010, of each subscription and hour."""

from __future__ import annotations

import math
import random
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from pregon.spark.pipelines.service_levels import service_levels

from .trace_rows import NAME, TOPIC, moment

HOUR_S = 3_600
COLUMNS = "topic STRING, subscriber STRING, accepted_at TIMESTAMP, settled_at TIMESTAMP, failures INT, result STRING"
ACKNOWLEDGED = "acknowledged"


def delivery(
    at_s: float | None, latency_ms: float | None, *, result: str = ACKNOWLEDGED, failures: int = 0, name: str = NAME
) -> tuple[Any, ...]:
    """A message that was accepted so long after the beginning, which is ten o'clock."""
    settled = None if latency_ms is None else moment(at_s or 0) + timedelta(milliseconds=latency_ms)
    accepted = None if at_s is None else moment(at_s)
    return (TOPIC, name, accepted, settled, failures, result, latency_ms if at_s is not None else None)


def levels_of(spark: SparkSession, *rows: tuple[Any, ...]) -> dict[tuple[str, int], Row]:
    """The levels by subscriber and hours since the beginning."""
    table = service_levels(spark.createDataFrame(list(rows), f"{COLUMNS}, latency_ms DOUBLE"))
    began = moment(0).replace(tzinfo=None)
    return {(row.subscriber, round((row.hour - began) / timedelta(hours=1))): row for row in table.collect()}


@pytest.fixture(scope="module")
def measured(spark: SparkSession) -> tuple[dict[str, list[float]], dict[tuple[str, int], Row]]:
    """Many latencies of three subscribers, from under a millisecond to hours, and the levels."""
    chance = random.Random(7)
    latencies = {
        "quick": [round(chance.uniform(0, 3), 3) for _ in range(999)],
        "broad": [round(chance.lognormvariate(6, 2), 3) for _ in range(1_000)],
        "few": [0.0, 17.5, 3_600_000.0],
    }
    rows = [
        delivery(one % HOUR_S, ms, name=name) for name, all_ms in latencies.items() for one, ms in enumerate(all_ms)
    ]
    return latencies, levels_of(spark, *rows)


@pytest.mark.parametrize("name", ["quick", "broad", "few"])
def test_a_percentile_is_a_measured_latency_at_most_1_1_per_cent_above_the_exact_one(measured: Any, name: str) -> None:
    latencies, levels = measured[0][name], measured[1]
    in_order = sorted(latencies)

    level = levels[name, 0]

    for column, share in (("p50_ms", 0.5), ("p95_ms", 0.95), ("p99_ms", 0.99)):
        exact = in_order[math.ceil(len(in_order) * share) - 1]
        assert level[column] in latencies
        assert exact <= level[column] <= exact * 2 ** (1 / 64) or level[column] <= 0.001
    assert level.max_ms == in_order[-1]
    assert (level.accepted, level.settled) == (len(latencies), len(latencies))


BOUNDS = {
    0.0: "preferred",
    1_999.999: "preferred",
    2_000.0: "preferred",
    2_000.001: "acceptable",
    3_999.999: "acceptable",
    4_000.0: "acceptable",
    4_000.001: "unacceptable",
    90_000_000.0: "unacceptable",
}


def test_the_class_changes_exactly_at_two_and_four_seconds_of_the_95th_percentile(spark: SparkSession) -> None:
    # Of twenty the nineteenth is the 95th percentile: the slowest does not count.
    names = {latency_ms: f"at {latency_ms}" for latency_ms in BOUNDS}
    rows = [
        delivery(one, ms, name=name) for ms, name in names.items() for one, ms in enumerate([ms] * 19 + [ms + 60_000])
    ]

    levels = levels_of(spark, *rows)

    assert {ms: levels[name, 0]["class"] for ms, name in names.items()} == BOUNDS


def test_percentiles_are_of_what_was_acknowledged_and_the_rest_is_counted(spark: SparkSession) -> None:
    rows = [
        delivery(1, 100.0),
        delivery(2, 300.0, failures=2),
        delivery(3, None, result="pending", failures=5),
        delivery(4, 9_000_000.0, result="expired"),
        delivery(5, 8_000.0, result="parked", failures=1),
        delivery(6, 9_000.0, result="filtered"),
        delivery(None, 9_000.0),
        delivery(7, None, result="pending", name="silent"),
    ]

    levels = levels_of(spark, *rows)

    assert (levels[NAME, 0].accepted, levels[NAME, 0].settled, levels[NAME, 0].failures) == (6, 5, 8)
    assert (levels[NAME, 0].p50_ms, levels[NAME, 0].p99_ms, levels[NAME, 0].max_ms) == (100.0, 300.0, 300.0)
    silent = levels["silent", 0]
    assert (silent.accepted, silent.settled, silent.p95_ms, silent.max_ms, silent["class"]) == (1, 0, None, None, "")


def test_percentiles_and_class_are_exact_whatever_was_not_acknowledged(spark: SparkSession) -> None:
    latencies = {"fast": [10.0 * one for one in range(1, 101)], "slow": [3_000.0 + 30 * one for one in range(1, 101)]}
    others = {"pending": None, "parked": 5.0, "filtered": 0.0, "expired": 7_000_000.0, "cancelled": 1.0}
    rows = [delivery(1, ms, name=name) for name, all_ms in latencies.items() for ms in all_ms]
    for result, ms in others.items():
        rows += [delivery(2, ms, result=result, name=name) for name in latencies for _ in range(900)]

    levels = levels_of(spark, *rows)

    for name, all_ms in latencies.items():
        level = levels[name, 0]
        for column, exact in (("p50_ms", all_ms[49]), ("p95_ms", all_ms[94]), ("p99_ms", all_ms[98])):
            assert level[column] in all_ms
            assert exact <= level[column] <= exact * 2 ** (1 / 64)
        assert level.max_ms == all_ms[-1]
        assert (level.accepted, level.settled) == (100 + 5 * 900, 100 + 4 * 900)
    assert (levels["fast", 0]["class"], levels["slow", 0]["class"]) == ("preferred", "unacceptable")


def test_the_backlog_is_what_was_accepted_and_not_settled_when_the_hour_ended(spark: SparkSession) -> None:
    rows = [
        delivery(10, 1_000.0),
        delivery(20, 2 * HOUR_S * 1_000.0),
        delivery(30, 4 * HOUR_S * 1_000.0, result="expired"),
        delivery(HOUR_S + 10, None, result="pending"),
    ]

    levels = levels_of(spark, *rows)

    assert {hour: level.backlog for (_, hour), level in levels.items()} == {0: 2, 1: 3, 2: 2, 4: 1}
    assert {hour: level.accepted for (_, hour), level in levels.items()} == {0: 3, 1: 1, 2: 0, 4: 0}
    assert [levels[NAME, hour]["class"] for hour in (0, 1, 2, 4)] == ["unacceptable", "", "", ""]
