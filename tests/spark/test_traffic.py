"""Traffic in windows, what is unusual in it, and the way back into a topic."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from scenario.hub_process import HubProcess

from pregon.errors import BadName, BadRequest
from pregon.spark.pipelines.alerts import AlertRules, alerts, alerts_of_batch, anomalies, next_baseline
from pregon.spark.pipelines.traffic import traffic
from pregon.spark.schemas import MESSAGES, schema_of

TEN = datetime(2026, 11, 16, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
RULES = AlertRules(windows=4, messages_min=5)
WINDOWS = "topic STRING, window_start TIMESTAMP, window_end TIMESTAMP, messages BIGINT, last_at TIMESTAMP"


def published(topic: str, second: float, body: bytes | None = b"12345", producer: str = "ana") -> tuple[object, ...]:
    """A row of `messages`."""
    at = TEN + timedelta(seconds=second)
    return (topic, 1, None, None, "text/plain", {}, body, producer, at, at)


def windows(spark: SparkSession, counts: dict[str, Sequence[int]]) -> DataFrame:
    """Traffic of some topics, minute by minute; minutes without messages have no row."""
    rows = [
        (topic, TEN + place * MINUTE, TEN + (place + 1) * MINUTE, count, TEN + (place + 1) * MINUTE)
        for topic, values in counts.items()
        for place, count in enumerate(values)
        if count
    ]
    return spark.createDataFrame(rows, WINDOWS)


def told(rows: Sequence[Row]) -> set[tuple[str, int, str, int, float]]:
    """Topic, minute, kind, count and what was expected, of each."""
    return {
        (row.topic, (row.window_start.replace(tzinfo=UTC) - TEN) // MINUTE, row.kind, row.count_, row.expected)
        for row in rows
    }


def judged(table: DataFrame, rules: AlertRules = RULES, **more: datetime) -> set[tuple[str, int, str, int, float]]:
    """What is unusual."""
    return told(anomalies(table, rules, **more).withColumnRenamed("count", "count_").collect())


def test_messages_are_counted_by_topic_and_window(spark: SparkSession) -> None:
    rows = [
        published("a", 0),
        published("a", 59.9, b"1", "luis"),
        published("a", 60),
        published("b", 5, None),
        published("b", 6, producer="ana"),
    ]

    found = traffic(spark.createDataFrame(rows, schema_of(MESSAGES))).collect()

    seen = {(row.topic, row.window_start.minute): (row.messages, row.bytes, row.producers) for row in found}
    assert seen == {("a", 0): (2, 6, 2), ("a", 1): (1, 5, 1), ("b", 0): (2, 5, 1)}
    assert {row.window_end - row.window_start for row in found} == {MINUTE}
    assert {(row.topic, row.window_start.minute): row.last_at.second for row in found}["a", 0] == 59


def test_windows_that_slide_count_a_message_in_each_that_holds_it(spark: SparkSession) -> None:
    table = spark.createDataFrame([published("a", 61)], schema_of(MESSAGES))

    found = traffic(table, window="1 minute", slide="20 seconds").collect()

    starts = {(row.window_start.replace(tzinfo=UTC) - TEN).total_seconds() for row in found}
    assert starts == {20, 40, 60}


@pytest.mark.parametrize(
    "options",
    [
        {"window": "soon"},
        {"window": "0 minutes"},
        {"window": "32 days"},
        {"window": "1 minute", "slide": "2 minutes"},
        {"window": "1 hour", "slide": "1 second"},
        {"late": "-1 minute"},
    ],
)
def test_windows_that_cannot_be_are_refused(spark: SparkSession, options: dict[str, str]) -> None:
    table = spark.createDataFrame([], schema_of(MESSAGES))

    with pytest.raises(BadRequest, match=r"such as 1 minute|do not fit"):
        traffic(table, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"factor": 1.0}, BadRequest),
        ({"factor": float("nan")}, BadRequest),
        ({"windows": 1}, BadRequest),
        ({"messages_min": 0}, BadRequest),
        ({"topic": "no topic"}, BadName),
        ({"slide": "often"}, BadRequest),
    ],
)
def test_rules_that_cannot_be_are_refused(options: dict[str, object], refused: type[Exception]) -> None:
    with pytest.raises(refused):
        AlertRules(**options)  # type: ignore[arg-type]


def test_far_more_far_less_and_nothing_are_unusual_when_they_begin(spark: SparkSession) -> None:
    table = windows(
        spark,
        {
            "surge": [10, 12, 8, 10, 31, 40, 10, 10],
            "not quite": [10, 10, 10, 10, 30, 4, 10, 10],
            "drop": [10, 10, 10, 10, 3, 3, 10, 2],
            "silence": [10, 12, 8, 10, 0, 0, 0, 0],
            "few": [1, 1, 1, 1, 4, 1, 0, 1],
            "some": [1, 1, 1, 1, 5, 1, 0, 1],
            "mostly quiet": [0, 0, 9, 0, 0, 99, 0, 9],
            "new": [0, 0, 0, 0, 0, 0, 10, 99],
            "pregon.alerts": [10, 10, 10, 10, 99, 10, 10, 10],
        },
    )

    found = judged(table)

    assert found == {
        ("surge", 4, "surge", 31, 10.0),
        ("drop", 4, "drop", 3, 10.0),
        ("drop", 7, "drop", 2, 6.5),
        ("silence", 4, "silence", 0, 10.0),
        ("some", 4, "surge", 5, 1.0),
    }


def test_a_window_that_is_not_over_is_not_judged(spark: SparkSession) -> None:
    table = windows(spark, {"a": [10, 10, 10, 10]})
    half = spark.createDataFrame([("b", TEN + 4 * MINUTE, TEN + 5 * MINUTE, 2, TEN + 4.5 * MINUTE)], WINDOWS)

    early = judged(table.union(half))
    later = judged(table.union(half), until=TEN + 5 * MINUTE)

    assert early == set()
    assert later == {("a", 4, "silence", 0, 10.0)}
    with pytest.raises(BadRequest, match="time zone"):
        judged(table, until=datetime(2026, 11, 16, 10, 5))


def test_batch_by_batch_the_alerts_are_those_of_the_whole(spark: SparkSession) -> None:
    chance = Random(5)
    levels = (0, 0, 5, 10, 10, 10, 11, 12, 40)
    counts = {f"topic-{one}": [chance.choice(levels) for _ in range(60)] for one in range(8)}
    counts["always"] = [10] * 60
    counts["ends"] = [10] * 20
    counts["comes back"] = [10] * 10 + [0] * 30 + [10] * 6 + [50] * 14
    whole = alerts(windows(spark, counts), RULES).collect()
    ends = [0, *sorted(chance.sample(range(1, 60), 4)), 60]

    found, baseline = list[Row](), None
    for first, last in pairwise(ends):
        closed = windows(spark, {topic: [0] * first + [*values[first:last]] for topic, values in counts.items()})
        found += alerts_of_batch(closed, baseline, RULES).collect()
        kept = next_baseline(closed, baseline, RULES).collect()
        baseline = spark.createDataFrame(
            kept, "topic STRING, window_start TIMESTAMP, window_end TIMESTAMP, messages BIGINT"
        )

    assert len(whole) > 20
    assert sorted(found) == sorted(whole)
    assert len({row.id for row in whole}) == len(whole)
    assert len(kept) <= len(counts) * (RULES.windows + 1)


def test_a_stream_tells_each_window_once_when_it_has_closed(spark: SparkSession, tmp_path: Path) -> None:
    for part, seconds in enumerate([(0, 30, 70), (20, 130), (131, 200, 280)]):
        rows = spark.createDataFrame([published("a", second) for second in seconds], schema_of(MESSAGES))
        rows.coalesce(1).write.parquet(str(tmp_path / f"part={part}"))
    stream = spark.readStream.schema(schema_of(MESSAGES)).option("maxFilesPerTrigger", 1).parquet(f"{tmp_path}/part=*")
    closed: list[Row] = []

    windowed = traffic(stream, late="30 seconds").writeStream.outputMode("append")
    query = windowed.foreachBatch(lambda batch, _: closed.extend(batch.collect())).trigger(availableNow=True)
    running = query.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    running.awaitTermination(120)

    assert running.exception() is None
    # The last message was accepted at 280 s: windows that end up to 250 s have closed, and 20 s was not too late.
    assert sorted((row.window_start.minute, row.messages) for row in closed) == [(0, 3), (1, 1), (2, 2), (3, 1)]


def test_alerts_written_back_twice_are_in_their_topic_once(spark: SparkSession, hub: HubProcess) -> None:
    table = windows(spark, {"orders": [10, 12, 8, 10, 31], "bills": [10, 12, 8, 10, 0]})
    door = {"hub": f"http://{hub.addresses.http}"}

    for _ in range(2):
        found = alerts(table, RULES, until=TEN + 5 * MINUTE)
        found.write.format("pregon").mode("append").options(**door, producer="watch", idempotence="id").save()
    stored = spark.read.format("pregon").options(**door, subscribe=RULES.topic).load().collect()

    assert {row.key: json.loads(row.body) for row in stored} == {
        "orders": {
            "topic": "orders",
            "window_start": "2026-11-16T10:04:00.000Z",
            "window_end": "2026-11-16T10:05:00.000Z",
            "kind": "surge",
            "count": 31,
            "expected": 10.0,
            "factor": 3.1,
        },
        "bills": {
            "topic": "bills",
            "window_start": "2026-11-16T10:04:00.000Z",
            "window_end": "2026-11-16T10:05:00.000Z",
            "kind": "silence",
            "count": 0,
            "expected": 10.0,
            "factor": 0.0,
        },
    }
    assert len(stored) == 2
    assert {row.content_type for row in stored} == {"application/json"}
