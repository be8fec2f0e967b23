"""What the tests of the archive share: archiving all there is, and what is in an archive then."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from scenario.hub_process import HubProcess

from pregon.spark.archive import ArchiveSettings, View, archive_stream, table

from .tables import address

NO_HUB = View(is_archive_only=True)
QUIET = ArchiveSettings(compact_files=0)


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


def archive_all(spark: SparkSession, hub: HubProcess, archive: Path | str, **options: str) -> None:
    """Archive what the hub has now; raises what ends the stream."""
    kept = options.pop("table", "messages")
    source = {"hub": address(hub), **options}
    query = archive_stream(spark, str(archive), source, table=kept, settings=QUIET)
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
