"""Deliveries: one row for each message and subscription, made of traces that are ranges."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pregon.model import trace as kinds
from pregon.spark.pipelines.deliveries import RESULTS, deliveries
from pregon.spark.pipelines.ranges import BLOCK, CODES

from .trace_rows import (
    NAME,
    TOPIC,
    Told,
    accepted,
    moment,
    numbers,
    read_one_by_one,
    subscription,
    subscriptions_of,
    traces_of,
)

RESULTS_BY_STORY = {
    "pulled": "pending",
    "pulled acknowledged": "acknowledged",
    "delivered": "acknowledged",
    "failed deferred": "pending",
    "parked": "parked",
    "parked unparked": "pending",
    "parked unparked acknowledged": "acknowledged",
    "parked delivered": "acknowledged",
    "acknowledged replayed": "pending",
    "acknowledged replayed acknowledged": "acknowledged",
    "delivered replayed": "pending",
    "delivered replayed delivered": "acknowledged",
    "filtered": "filtered",
    "filtered replayed": "pending",
    "filtered replayed filtered": "filtered",
    "filtered delivered": "acknowledged",
    "expired": "expired",
    "expired delivered": "expired",
    "expired replayed": "pending",
    "expired removed": "expired",
    "cancelled": "cancelled",
    "parked cancelled": "cancelled",
    "cancelled delivered": "cancelled",
    "cancelled replayed delivered": "acknowledged",
    "acknowledged delivered": "acknowledged",
    "acknowledged replayed late": "pending",
    "acknowledged replayed late delivered": "acknowledged",
}


def tell(story: str) -> list[Told]:
    """The story of message 1 of a topic of its own, in words."""
    topic = story.replace(" ", "-")
    happened = [accepted(1, 1, topic)]
    for word in story.split():
        if word == "late":
            happened.append(Told(kinds.DELIVERED, 1, 1, topic, detail="before a replay: does not count"))
        else:
            happened.append(Told(word, 1, 1, topic, "" if word == kinds.REMOVED else NAME))
    return happened


@pytest.fixture(scope="module")
def results(spark: SparkSession) -> dict[str, str]:
    """How each of the stories ends."""
    told = [one for story in RESULTS_BY_STORY for one in tell(story)]
    return {row.topic.replace("-", " "): row.result for row in deliveries(traces_of(spark, told)).collect()}


@pytest.mark.parametrize("story", RESULTS_BY_STORY)
def test_the_result_is_what_the_hub_counts_the_message_as(results: dict[str, str], story: str) -> None:
    expected = RESULTS_BY_STORY[story]

    result = results[story]

    assert result == expected


def test_a_row_tells_when_what_happened_and_how_often(spark: SparkSession) -> None:
    told = [
        accepted(1, 3),
        Told(kinds.FAILED, 2, 2, at_s=1),
        Told(kinds.FAILED, 2, 2, at_s=5),
        Told(kinds.DELIVERED, 1, 2, at_s=7.25),
        Told(kinds.REPLAYED, 1, 1, at_s=8),
        Told(kinds.PULLED, 1, 1, at_s=9),
        Told(kinds.ACKNOWLEDGED, 1, 1, at_s=10),
        Told(kinds.PARKED, 3, 3, at_s=11),
    ]

    rows = deliveries(traces_of(spark, told)).orderBy("seq").drop("topic", "subscriber").collect()

    assert [tuple(row) for row in rows] == [
        (1, *at(0, 7.25, 7.25, 7.25, 7.25), 2, 0, 7_250.0, "acknowledged"),
        (2, *at(0, 1, 7.25, 7.25, 7.25), 3, 2, 7_250.0, "acknowledged"),
        (3, *at(0, None, None, None, 11), 0, 0, 11_000.0, "parked"),
    ]


def at(*seconds: float | None) -> list[Any]:
    """Times as Spark gives them: without a zone, of UTC."""
    return [None if one is None else moment(one).replace(tzinfo=None) for one in seconds]


def test_ranges_of_any_length_become_each_of_their_messages_once(spark: SparkSession) -> None:
    last = 3 * BLOCK + 5
    told = [
        accepted(1, 2 * BLOCK),
        accepted(2 * BLOCK + 1, last),
        Told(kinds.ACKNOWLEDGED, BLOCK - 2, 2 * BLOCK + 2),
        Told(kinds.ACKNOWLEDGED, 1, BLOCK - 3),
    ]

    rows = deliveries(traces_of(spark, told)).select("seq", "result", "accepted_at").collect()

    assert sorted(row.seq for row in rows) == list(range(1, last + 1))
    assert all(row.accepted_at is not None for row in rows)
    assert {row.seq for row in rows if row.result == "acknowledged"} == set(range(1, 2 * BLOCK + 3))
    assert {row.result for row in rows if row.seq > 2 * BLOCK + 2} == {"pending"}


def test_of_a_topic_made_again_only_the_new_messages_are_told(spark: SparkSession) -> None:
    told = [
        accepted(1, 5),
        Told(kinds.ACKNOWLEDGED, 1, 5),
        accepted(1, 2),
        accepted(3, 4),
        Told(kinds.PULLED, 2, 2),
    ]

    rows = deliveries(traces_of(spark, told)).select("seq", "result", "attempts").orderBy("seq").collect()

    assert [tuple(row) for row in rows] == [(2, "pending", 1), (3, "pending", 0), (4, "pending", 0)]


def test_with_the_subscriptions_it_is_their_messages_and_their_moment(spark: SparkSession) -> None:
    told = [
        accepted(1, 5),
        Told(kinds.ACKNOWLEDGED, 1, 3),
        Told(kinds.ACKNOWLEDGED, 1, 2, subscriber="gone"),
        Told(kinds.ACKNOWLEDGED, 2, 2),
        Told(kinds.ACKNOWLEDGED, 3, 3),
        accepted(6, 6),
    ]
    made_again = subscription(as_of=4, head_seq=5, first_seq=2, created_at=moment(2.5))
    silent = subscription(as_of=4, head_seq=5, first_seq=4, subscriber="silent")

    table = deliveries(traces_of(spark, told), subscriptions_of(spark, made_again, silent))

    found = {(row.subscriber, row.seq): row.result for row in table.collect()}
    assert found == {
        (NAME, 2): "acknowledged",
        **{(NAME, seq): "pending" for seq in (3, 4, 5)},
        **{("silent", seq): "pending" for seq in (4, 5)},
    }


def history(chance: random.Random, topic: str, count: int) -> list[Told]:
    """Anything may happen to messages that were accepted before, whether it makes sense or not."""
    happened = [accepted(1, count // 2, topic), accepted(count // 2 + 1, count, topic)]
    for _ in range(150):
        kind = chance.choice([one for one in CODES if one != kinds.ACCEPTED])
        first = chance.randint(1, count)
        detail = "before a replay" if kind == kinds.DELIVERED and chance.random() < 0.2 else ""
        last = min(count, first + chance.choice([0, 0, 3, 30]))
        happened.append(Told(kind, first, last, topic, chance.choice(["bank", "registry", "court"]), detail))
    return happened


def test_whatever_happens_it_is_what_reading_trace_by_trace_gives(spark: SparkSession) -> None:
    chance = random.Random(20)
    told = [one for topic in (TOPIC, "deaths") for one in history(chance, topic, 120)]

    rows = deliveries(traces_of(spark, told)).collect()

    found = {(row.topic, row.subscriber, row.seq): row.result for row in rows}
    assert len(rows) == len(found)
    assert found == read_one_by_one(told)
    assert set(found.values()) == set(RESULTS)
    attempts = sum(len(numbers(one)) for one in told if one.kind in ("delivered", "failed", "pulled"))
    assert sum(row.attempts for row in rows) == attempts
