"""What the tests of the archive share: batches given by hand or by a hub, and what is in an archive then."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from functools import reduce
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from scenario.hub_process import HubProcess

from pregon.spark.archive import ArchiveSettings, View, archive_stream, table
from pregon.spark.archive.appending import Added, Appender
from pregon.spark.archive.commits import Life
from pregon.spark.archive.writing import open_table
from pregon.spark.schemas import schema_of

from .tables import address

NO_HUB = View(is_archive_only=True)
FIRST_LIFE, SECOND_LIFE = 1_700_000_000_000_000, 1_800_000_000_000_000
_QUIET = ArchiveSettings(compact_files=0)
_OF_MESSAGE = {
    "id": "concat('id-', seq)",
    "body": "cast(cast(seq AS STRING) AS BINARY)",
    "accepted_at": "timestamp_micros(1794000000000000 + seq * 1000000)",
}


class Sum(NamedTuple):
    """How many rows, how many numbers, and their sum."""

    rows: int
    numbers: int
    total: int


def sum_to(last: int, first: int = 1) -> Sum:
    """Of the numbers first..last, each once."""
    count = last - first + 1
    return Sum(count, count, (first + last) * count // 2)


def sum_of(frame: DataFrame, number: str = "seq") -> Sum:
    """Of the rows of one topic."""
    row = frame.agg(f.count("*"), f.count_distinct(number), f.sum(number)).collect()[0]
    return Sum(row[0], row[1], row[2] or 0)


class Batches:
    """The batches of a stream of messages, given by hand: what Spark gives, and what it writes into its checkpoint."""

    def __init__(
        self,
        spark: SparkSession,
        archive: Path | str,
        checkpoint: Path | None = None,
        *,
        fails_on_data_loss: bool = True,
        is_gone: Callable[[Life], bool] | None = None,
    ) -> None:
        self._spark = spark
        self._checkpoint = checkpoint or Path(archive) / "_pregon" / "messages" / "checkpoint"
        self._appender = Appender(
            open_table(spark, str(archive), "messages"), fails_on_data_loss=fails_on_data_loss, is_gone=is_gone
        )

    def give(self, number: int, topic: str, first: int, last: int, since: int = FIRST_LIFE) -> Added:
        """A batch with the messages first..last of a topic, a second between each and the next."""
        return self.give_all(number, {topic: (first, last)}, since)

    def give_all(
        self,
        number: int,
        topics: Mapping[str, tuple[int, int]],
        since: int = FIRST_LIFE,
        *,
        missing: Collection[str] = (),
    ) -> Added:
        """The same of several topics, of some of which nothing comes."""
        note_offset(self._checkpoint, number, {topic: last + 1 for topic, (_, last) in topics.items()}, since)
        frames = [self._rows(topic, first, last) for topic, (first, last) in topics.items() if topic not in missing]
        return self._appender.append(reduce(DataFrame.unionByName, frames), number)

    def _rows(self, topic: str, first: int, last: int) -> DataFrame:
        schema = schema_of("messages")
        columns = {"seq": "id", "topic": f"'{topic}'"}
        rows = self._spark.range(first, last + 1).selectExpr(*(f"{sql} AS {name}" for name, sql in columns.items()))
        cells = [
            name
            if name in columns
            else f"cast({_OF_MESSAGE.get(name, 'NULL')} AS {schema[name].dataType.simpleString()})"
            for name in schema.names
        ]
        return rows.selectExpr(*(f"{cell} AS {name}" for cell, name in zip(cells, schema.names, strict=True)))


def note_offset(checkpoint: Path, number: int, nexts: Mapping[str, int], since: int) -> None:
    """What Spark notes before it gives a batch: where the batch ends."""
    offsets = checkpoint / "offsets"
    offsets.mkdir(parents=True, exist_ok=True)
    end = json.dumps({log: {"next": after, "since": since} for log, after in nexts.items()})
    (offsets / str(number)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{end}')


def archive_all(spark: SparkSession, hub: HubProcess, archive: Path | str, **options: str) -> None:
    """Archive what the hub has now; raises what ends the stream."""
    kept = options.pop("table", "messages")
    source = {"hub": address(hub), **options}
    query = archive_stream(spark, str(archive), source, table=kept, settings=_QUIET)
    try:
        query.awaitTermination()
    finally:
        query.stop()


def history(spark: SparkSession, archive: Path | str, topic: str) -> DataFrame:
    """What is archived of a topic."""
    return table(spark, topic, archive=str(archive), view=NO_HUB)


def data_files(archive: Path, kept: str = "messages") -> set[str]:
    """Every file with rows that lies there, in a commit or not."""
    return {path.name for path in (archive / kept).rglob("*.parquet")}


def commits(archive: Path, kept: str = "messages") -> list[Path]:
    """The commits, in order."""
    return sorted((archive / "_pregon" / kept / "commits").glob("0*.json"))


def forget_last_batch(archive: Path, kept: str = "messages") -> None:
    """Leave Spark's checkpoint as a kill leaves it between the archive's commit and Spark's own."""
    folder = archive / "_pregon" / kept / "checkpoint" / "commits"
    last = max(int(path.name) for path in folder.iterdir() if path.name.isdigit())
    (folder / str(last)).unlink()
    (folder / f".{last}.crc").unlink(missing_ok=True)
