"""What the tests of the source share: messages to read, tables of a hub, streams that read all there is."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from scenario.hub_process import HubProcess, end, wait_until

from pregon import Client
from pregon.client.outbox import ProducerOptions


@contextmanager
def hub_in(folder: Path, **settings: str) -> Iterator[HubProcess]:
    """A hub whose data is in a folder, while this lasts."""
    hub = HubProcess(folder / "data", **settings).start()
    try:
        yield hub
    finally:
        end(hub)


def address(hub: HubProcess) -> str:
    """Where the source finds a hub."""
    return f"http://{hub.addresses.http}"


def read(spark: SparkSession, hub: HubProcess, **options: str) -> DataFrame:
    """A table of the hub, made anew: a DataFrame stays as it was when it was first run."""
    return spark.read.format("pregon").options(hub=address(hub), **options).load()


def publish(client: Client, topic: str, count: int, first: int = 1) -> None:
    """Messages whose bodies are their numbers."""
    with client.producer(topic, ProducerOptions(batch_messages=97)) as producer:
        for number in range(first, first + count):
            producer.send(b"%d" % number)


def refusal(caught: pytest.ExceptionInfo[PySparkException]) -> str:
    """What Spark says that the source said."""
    return str(caught.value)


class Reading:
    """A streaming query that is run again and again over its checkpoint, each time until it has read all there is."""

    def __init__(self, spark: SparkSession, hub: HubProcess, folder: Path, **options: str) -> None:
        self._spark = spark
        self._options = {"hub": address(hub), "startingOffsets": "earliest", **options}
        self._checkpoint = str(folder / "checkpoint")
        self.batches: list[list[Any]] = []
        """The rows of each batch that had any."""

    def run(self) -> list[Any]:
        """Read all there is; the rows of this run."""
        before = len(self.batches)

        def keep(rows: DataFrame, _batch: int) -> None:
            self.batches.append(rows.select("topic", "seq", "body").collect())

        query = (
            self._spark.readStream.format("pregon")
            .options(**self._options)
            .load()
            .writeStream.foreachBatch(keep)
            .option("checkpointLocation", self._checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return [row for batch in self.batches[before:] for row in batch]


class Following:
    """A streaming query that goes on while this lasts; `seen` are the topics and numbers that it has read, as read."""

    def __init__(self, spark: SparkSession, hub: HubProcess, folder: Path, **options: str) -> None:
        self.seen: list[tuple[str, int]] = []
        self._query = (
            spark.readStream.format("pregon")
            .options(hub=address(hub), startingOffsets="earliest", **options)
            .load()
            .writeStream.foreachBatch(self._keep)
            .option("checkpointLocation", str(folder / "checkpoint"))
            .start()
        )

    def _keep(self, rows: DataFrame, _batch: int) -> None:
        self.seen += [(row.topic, row.seq) for row in rows.select("topic", "seq").collect()]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._query.stop()

    def wait_for(self, *rows: tuple[str, int]) -> None:
        """Wait until it has read these."""

        def has_read() -> bool:
            assert self._query.isActive, self._query.exception()
            return set(rows) <= set(self.seen)

        wait_until(has_read, f"{rows} were read", 120)


def checkpoint_at(folder: Path, offset: Any) -> Path:
    """A checkpoint whose first batch is done and ended there."""
    for part, lines in (("offsets", ['{"batchWatermarkMs":0}', json.dumps(offset)]), ("commits", ["{}"])):
        (folder / part).mkdir(parents=True)
        (folder / part / "0").write_text("\n".join(["v1", *lines]))
    (folder / "metadata").write_text(json.dumps({"id": str(uuid.uuid4())}))
    return folder


def place_in(client: Client, topic: str, next_seq: int) -> dict[str, int]:
    """What an offset says of a topic that was read up to a message."""
    return {"next": next_seq, "since": client.show("topic", topic)["created_us"]}


def forget_some(client: Client, topic: str) -> int:
    """Have retention remove the oldest messages; the oldest that is left."""
    client.update("topic", topic, retention={"bytes_max": 30_000})

    def tail() -> int:
        found = int(client.show("topic", topic)["tail_seq"])
        return found if found > 1 else 0

    return wait_until(tail, "some were removed")
