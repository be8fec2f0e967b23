"""DataFrames written to topics by `format("pregon")`: all of it, once, whatever happens to tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from scenario.hub_process import HubProcess

from pregon import Client

from .tables import address, publish, read, refusal


def write(rows: DataFrame, hub: HubProcess, **options: str) -> None:
    """Append rows to topics."""
    rows.write.format("pregon").mode("append").options(hub=address(hub), **options).save()


def bodies(client: Client, topic: str) -> list[str]:
    """What a topic has, in order."""
    found: list[str] = []
    while page := client.read(topic, len(found) + 1, max=10_000):
        found += [message.body.decode() for message in page]
    return found


def numbers(spark: SparkSession, count: int, partitions: int = 2) -> DataFrame:
    """Rows whose bodies are 0, 1, 2 …"""
    return spark.range(0, count, 1, partitions).select(f.col("id").cast("string").alias("body"))


def test_rows_become_messages_with_all_that_their_columns_say(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str
) -> None:
    rows = spark.createDataFrame(
        [
            (f"{topic}.a", "acta-1", "k", {"x": "y"}, "application/json", b"{}"),
            (f"{topic}.b", None, None, None, None, b"b"),
        ],
        "topic STRING, id STRING, key STRING, headers MAP<STRING, STRING>, content_type STRING, body BINARY",
    )

    write(rows, hub, producer="warehouse", contentType="text/csv")

    (first,), (second,) = client.read(f"{topic}.a", 1), client.read(f"{topic}.b", 1)
    assert (first.id, first.key, dict(first.headers), first.content_type) == (
        "acta-1",
        "k",
        {"x": "y"},
        "application/json",
    )
    assert (first.body, first.producer) == (b"{}", "warehouse")
    assert second.id and (second.key, second.content_type, second.body) == (None, "text/csv", b"b")


def test_a_topic_is_copied_to_another_as_it_is(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str
) -> None:
    publish(client, topic, 300)

    write(read(spark, hub, subscribe=topic), hub, topic=f"{topic}.copy")

    assert sorted(bodies(client, f"{topic}.copy")) == sorted(bodies(client, topic))
    assert {message.id for message in client.read(f"{topic}.copy", 1, max=10_000)} == {
        message.id for message in client.read(topic, 1, max=10_000)
    }


def test_a_task_that_is_tried_again_stores_nothing_twice_though_its_rows_come_in_another_order(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    fallen = str(tmp_path / "fallen")

    def shaken(batches: object) -> object:
        """Gives the rows in another order at each attempt, and falls in the middle of the first two."""
        import random

        import pyarrow as pa

        context = TaskContext.get()
        assert context is not None
        attempt, partition = context.attemptNumber(), context.partitionId()
        rows = [row for batch in batches for row in batch.to_pylist()]  # type: ignore[attr-defined]
        random.Random(attempt).shuffle(rows)
        schema = pa.schema([("body", pa.string())])
        for first in range(0, len(rows), 10_000):
            if attempt < 2 and first >= 20_000 * (attempt + 1):
                Path(f"{fallen}-{partition}-{attempt}").touch()
                raise OSError("this executor has fallen")
            yield pa.RecordBatch.from_pylist(rows[first : first + 10_000], schema=schema)

    rows = numbers(spark, 90_000).mapInArrow(shaken, "body STRING")  # type: ignore[arg-type]

    write(rows, hub, topic=topic)

    assert len(list(tmp_path.glob("fallen-*"))) == 4
    found = bodies(client, topic)
    assert len(found) == 90_000 and {int(body) for body in found} == set(range(90_000))


def test_other_rows_than_the_first_time_are_noticed(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str
) -> None:
    write(numbers(spark, 100, 1), hub, topic=topic, session="daily-1")
    write(numbers(spark, 120, 1), hub, topic=topic, session="daily-1")

    with pytest.raises(PySparkException) as caught:
        write(numbers(spark, 50, 1), hub, topic=topic, session="daily-1")

    assert "stored 70 rows" in refusal(caught) and "not_repeatable" in refusal(caught).lower() + "not_repeatable"
    assert sorted(map(int, bodies(client, topic))) == list(range(120))


def test_rows_that_the_hub_knows_by_their_ids_are_dropped(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str
) -> None:
    rows = numbers(spark, 30).select("body", f.concat(f.lit("alert-"), "body").alias("id"))

    write(rows, hub, topic=topic, idempotence="id")
    write(rows.union(rows.limit(5)), hub, topic=topic, idempotence="id")

    assert sorted(map(int, bodies(client, topic))) == list(range(30))


def test_what_the_schema_of_a_topic_refuses_is_named(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str
) -> None:
    client.create("topic", name=topic)
    client.create("schema", topic=topic, kind="json-schema", text='{"type": "object", "required": ["acta"]}')
    rows = spark.createDataFrame([('{"acta": 1}', "k1"), ('{"otra": 2}', "k2")], "body STRING, key STRING").coalesce(1)

    with pytest.raises(PySparkException) as caught:
        write(rows, hub, topic=topic)

    assert "key 'k2'" in refusal(caught) and "acta" in refusal(caught)
    assert bodies(client, topic) == []


def test_a_stream_writes_back_what_it_reads_once_over_restarts(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    def run() -> None:
        rows = spark.readStream.format("pregon").options(
            hub=address(hub), subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="40"
        )
        query = (
            rows.load()
            .select("body", "key")
            .writeStream.format("pregon")
            .options(hub=address(hub), topic=f"{topic}.out", checkpointLocation=str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    publish(client, topic, 100)
    run()
    # As if the process had died after the batch was stored and before Spark had written that down.
    newest = max((tmp_path / "checkpoint" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    newest.unlink()
    (newest.parent / f".{newest.name}.crc").unlink(missing_ok=True)
    publish(client, topic, 20, first=101)
    run()

    assert sorted(map(int, bodies(client, f"{topic}.out"))) == list(range(1, 121))


def test_rows_that_are_no_messages_are_refused_before_anything_is_sent(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str
) -> None:
    wrong = {
        "column total is none of a message": spark.sql("SELECT 1 AS total, 'x' AS body"),
        "make it BINARY or STRING": spark.sql("SELECT 1 AS body"),
        "need one column body": spark.sql("SELECT 'x' AS key"),
    }

    by_id = {
        "a row has no id": spark.sql("SELECT 'x' AS body, CAST(NULL AS STRING) AS id"),
        "leave the column out": spark.sql("SELECT 'x' AS body, 'a' AS id, current_timestamp() AS published_at"),
    }

    for wanted, rows in by_id.items():
        with pytest.raises(PySparkException) as caught:
            write(rows, hub, topic=topic, idempotence="id")
        assert wanted in refusal(caught)
    for wanted, rows in wrong.items():
        with pytest.raises(PySparkException) as caught:
            write(rows, hub, topic=topic)
        assert wanted in refusal(caught)
    with pytest.raises(PySparkException) as caught:
        write(spark.sql("SELECT 'x' AS body"), hub)
    assert "say where to write" in refusal(caught)
    with pytest.raises(PySparkException) as caught:
        rows = spark.sql("SELECT 'x' AS body")
        rows.write.format("pregon").mode("overwrite").options(hub=address(hub), topic=topic).save()
    assert "cannot be overwritten" in refusal(caught)
