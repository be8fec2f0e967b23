"""Parquet files on their way into an archive: written aside by Spark, measured, and moved to where they belong.

Nothing of this is in the archive before a commit names it: a process that ends at any moment leaves files that no
reader sees and that `cleaning` removes.

Promises:
- What is said of a file (rows, numbers, times) was read back from the file.
- Times are written as microseconds, not as INT96, so that readers can skip by them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from msgspec.structs import replace
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from pregon.clock import wall_us
from pregon.errors import BadRequest
from pregon.spark.archive.commits import File
from pregon.spark.archive.files import Files, files_of
from pregon.spark.archive.layout import (
    DATE,
    TOPIC,
    Kept,
    data_folder,
    file_name,
    partition_of,
    require_kept,
    staging_folder,
    staging_name,
)
from pregon.spark.archive.log import CommitLog

COMPRESSIONS = ("zstd", "snappy", "gzip", "none")
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # A task has rows of one topic and few days: as many open files are no burden, and sorting is saved.
    "spark.sql.maxConcurrentOutputFileWriters": "16",
}


@dataclass(frozen=True, slots=True)
class ArchiveTable:
    """A table of an archive, opened for writing."""

    files: Files
    kept: Kept
    log: CommitLog
    session: SparkSession
    """A session of its own, whose settings are nobody else's."""
    compression: str = "zstd"

    @property
    def address(self) -> str:
        """Where its rows are."""
        return f"{self.files.root}/{data_folder(self.kept)}"


@dataclass(frozen=True, slots=True)
class Written:
    """One attempt to write: its files, which are still aside."""

    folder: str
    name: str
    files: list[File] = field(default_factory=list)
    """As they are now; `path` is from `folder`. Of which life of its topic a file is, it does not say itself."""


def open_table(spark: SparkSession, archive: str, table: str, compression: str = "zstd") -> ArchiveTable:
    """Open a table of an archive, new or not."""
    if compression not in COMPRESSIONS:
        raise BadRequest(f"compression {compression[:40]!r} is not known: use one of {', '.join(COMPRESSIONS)}")
    kept = require_kept(table)
    files = files_of(spark, archive)
    session = spark.newSession()
    take_settings(session)
    # For measuring, which has a row for each file.
    session.conf.set("spark.sql.shuffle.partitions", "1")
    return ArchiveTable(files, kept, CommitLog(files, kept), session, compression)


def take_settings(session: SparkSession) -> None:
    """What writing needs; for a session that is not the user's own."""
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)


def day_of(kept: Kept) -> Column:
    """The folder's date of a row."""
    day, today = f.to_date(f.col(kept.time)), f.current_date()
    if kept.days_max:
        # What is null is left out of the comparison, and so would get the day of a limit.
        day = f.when(day.isNotNull(), f.least(f.greatest(day, f.date_sub(today, kept.days_max)), f.date_add(today, 1)))
    return f.coalesce(day, today)


def write(table: ArchiveTable, rows: DataFrame) -> Written:
    """Write rows, which have the column `date`, aside; what came of it."""
    name = uuid.uuid4().hex[:12]
    folder = f"{staging_folder(table.kept)}/{staging_name(wall_us() // 1_000, name)}"
    address = f"{table.files.root}/{folder}"
    rows.write.partitionBy(*table.kept.partitions).option("compression", table.compression).parquet(address)
    return Written(folder, name, _measured(table, address))


def _measured(table: ArchiveTable, address: str) -> list[File]:
    """What the files say themselves, in the order of their topics, days and numbers."""
    kept = table.kept
    topic = f"{TOPIC} STRING, " if kept.has_topics else ""
    read = table.session.read.schema(f"{kept.number} BIGINT, {kept.time} TIMESTAMP, {topic}{DATE} DATE")
    number, time = f.col(kept.number), f.unix_micros(kept.time)
    name, size = f.col("_metadata.file_name").alias("name"), f.col("_metadata.file_size").alias("size")
    found = (
        read.parquet(address)
        .groupBy(*kept.partitions, name, size)
        .agg(
            f.count("*").alias("rows"),
            f.min(number).alias("first"),
            f.max(number).alias("last"),
            f.min(time).alias("first_us"),
            f.max(time).alias("last_us"),
        )
        .collect()
    )
    files = [_file_of(row.asDict()) for row in found]
    return sorted(files, key=lambda file: (file.topic, file.date, file.first))


def _file_of(row: Mapping[str, Any]) -> File:
    topic, day = row.get(TOPIC, ""), row[DATE]
    assert isinstance(day, date)
    return File(
        path=f"{partition_of(topic, day.isoformat())}/{row['name']}",
        rows=row["rows"],
        bytes=row["size"],
        first=row["first"],
        last=row["last"],
        # A time that was not said is no time to skip by: the file is in every period.
        first_us=row["first_us"] if row["first_us"] is not None else 0,
        last_us=row["last_us"] if row["last_us"] is not None else 2**62,
        date=day.isoformat(),
        topic=topic,
    )


def place(table: ArchiveTable, written: Written, batch: int) -> list[File]:
    """Move the files to where they belong; as they are then."""
    placed = []
    for piece, file in enumerate(written.files):
        path = f"{partition_of(file.topic, file.date)}/{file_name(batch, written.name, piece)}"
        table.files.move(f"{written.folder}/{file.path}", f"{data_folder(table.kept)}/{path}")
        placed.append(replace(file, path=path))
    table.files.delete(written.folder)
    return placed


def rows_of(files: Iterable[File]) -> int:
    """How many rows are in some files."""
    return sum(file.rows for file in files)
