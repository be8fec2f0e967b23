"""Streams of `format("pregon")`: exact offsets, restarts, limits, topics that come and go, what is lost."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from scenario.conftest import MakeHub
from scenario.hub_process import HubProcess, wait_until

from pregon import Client
from pregon.spark.options import read_options
from pregon.spark.schemas import schema_of
from pregon.spark.stream_reader import StreamReader

from .tables import Following, Reading, address, checkpoint_at, forget_some, place_in, publish, refusal


def numbers(rows: list[object]) -> list[int]:
    return sorted(row.seq for row in rows)  # type: ignore[attr-defined]


def test_a_stream_goes_on_where_it_was_and_keeps_its_limit(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 250)
    reading = Reading(spark, hub, tmp_path, subscribe=topic, maxOffsetsPerTrigger="100")

    first = reading.run()
    publish(client, topic, 30, first=251)
    second = reading.run()

    assert numbers(first) == list(range(1, 251))
    assert numbers(second) == list(range(251, 281))
    assert [len(batch) for batch in reading.batches] == [100, 100, 50, 30]


def test_a_pattern_takes_up_new_topics_and_lets_deleted_ones_go_while_it_runs(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    a, b, empty = (f"{topic}.{name}" for name in ("a", "b", "empty"))
    client.create("topic", name=empty)
    publish(client, a, 5)

    with Following(spark, hub, tmp_path, subscribePattern=f"{topic}\\..*", subscriber="warehouse") as following:
        following.wait_for((a, 5))
        publish(client, b, 3)
        following.wait_for((b, 3))
        client.delete("topic", a)
        publish(client, b, 2, first=4)
        following.wait_for((b, 5))
        publish(client, a, 4)
        publish(client, empty, 1)
        following.wait_for((empty, 1))
        wait_until(lambda: len(following.seen) >= 15, "the topic that was made again was read")

    first, second = [(a, seq) for seq in range(1, 6)], [(a, seq) for seq in range(1, 5)]
    assert sorted(following.seen) == sorted([*first, *second, *((b, seq) for seq in range(1, 6)), (empty, 1)])


class Behind(NamedTuple):
    """Two streams that have read the first five messages of a topic: one that must have all, one that need not."""

    strict: Reading
    lenient: Reading


def behind(spark: SparkSession, hub: HubProcess, client: Client, topic: str, folder: Path) -> Behind:
    """The streams, with the messages that they have read."""
    publish(client, topic, 5)
    for name in Behind._fields:
        checkpoint_at(folder / name / "checkpoint", {topic: place_in(client, topic, 6)})
    return Behind(
        Reading(spark, hub, folder / "strict", subscribe=topic),
        Reading(spark, hub, folder / "lenient", subscribe=topic, failOnDataLoss="false"),
    )


def test_a_topic_that_was_made_again_is_not_taken_for_the_old_one(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    strict, lenient = behind(spark, hub, client, topic, tmp_path)

    client.delete("topic", topic)
    publish(client, topic, 8)

    with pytest.raises(PySparkException) as caught:
        strict.run()
    assert "deleted and made again" in refusal(caught)
    assert numbers(lenient.run()) == list(range(1, 9))


def test_what_retention_removed_stops_a_stream_unless_it_may_go_on_and_is_told(
    spark: SparkSession, make_hub: MakeHub, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hub = make_hub(maintenance_every_ms="100").start()
    options = read_options({"hub": address(hub), "subscribe": "t", "failondataloss": "false"})
    with hub.client() as client:
        strict, lenient = behind(spark, hub, client, "t", tmp_path)
        publish(client, "t", 500, first=6)
        tail = forget_some(client, "t")

        with pytest.raises(PySparkException) as caught:
            strict.run()
        rows = lenient.run()
        # What Spark does in a process of its own, whose log is the terminal.
        reader = StreamReader(options, schema_of("messages"))
        reader.latestOffset({"t": place_in(client, "t", 6)}, reader.getDefaultReadLimit())
        reader.stop()

    lost = f"6 to {tail - 1} of t were removed by its retention"
    assert lost in refusal(caught)
    assert numbers(rows) == list(range(tail, 506))
    assert f"{lost}; the query goes on because failOnDataLoss is false" in caplog.text


def test_a_stream_that_reads_as_a_subscriber_is_waited_for_and_accounted(
    spark: SparkSession, make_hub: MakeHub, tmp_path: Path
) -> None:
    hub = make_hub(maintenance_every_ms="100").start()
    with hub.client() as client:
        publish(client, "t", 300)
        reading = Reading(spark, hub, tmp_path, subscribe="t", subscriber="warehouse", maxOffsetsPerTrigger="150")
        reading.run()
        publish(client, "t", 300, first=301)
        account = client.account("t", "warehouse")
        forget_some(client, "t")
        removed_through = client.show("topic", "t")["tail_seq"] - 1
        rest = reading.run()

    assert account.acknowledged in (150, 300) and account.pending == 600 - account.acknowledged
    assert removed_through <= account.acknowledged
    assert numbers(rest) == list(range(301, 601))


def test_a_stream_outlives_a_hub_that_is_killed_and_comes_back(
    spark: SparkSession, make_hub: MakeHub, tmp_path: Path
) -> None:
    hub = make_hub().start()
    with hub.client() as client:
        publish(client, "t", 20)
        with Following(spark, hub, tmp_path, subscribe="t") as following:
            following.wait_for(("t", 20))
            hub.kill()
            hub.start()
            publish(client, "t", 20, first=21)
            following.wait_for(("t", 40))

    assert following.seen == [("t", seq) for seq in range(1, 41)]


def test_an_ending_and_the_accounting_are_not_for_streams(spark: SparkSession, hub: HubProcess, tmp_path: Path) -> None:
    wrong = {
        "a stream has no end": {"subscribe": "a", "endingOffsets": "latest"},
        "is how things are now": {"table": "subscriptions"},
    }

    for wanted, options in wrong.items():
        with pytest.raises(PySparkException) as caught:
            Reading(spark, hub, tmp_path / wanted[:8], **options).run()
        assert wanted in refusal(caught)
