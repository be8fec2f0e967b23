"""A table of the hub streamed into an archive, exactly once.

    query = archive_stream(spark, "hdfs://…/archive", {"hub": "http://hub:5580", "subscribePattern": ".*"})
    query.awaitTermination()

Where the stream is, Spark keeps in the archive, beside the commits. What is archived is acknowledged to the hub as the
subscriber `pregon-archive` (traces: under that mark), so that the hub's retention waits for it.

Promises:
- Killed at any moment and started again, it goes on where it was: no row is lost and none is there twice.
- Of a topic that a pattern found and that is deleted, the archive keeps what it has; one that is made again is another.
- Small files are joined and what is of no use is removed while it runs, a bounded piece of work after a batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pregon.errors import BadRequest, WrittenMeanwhile
from pregon.spark.archive.acknowledging import Acknowledger, is_gone
from pregon.spark.archive.appending import Appender
from pregon.spark.archive.cleaning import GRACE_MS, check_grace, clean_files
from pregon.spark.archive.compaction import compact_once
from pregon.spark.archive.layout import checkpoint_folder
from pregon.spark.archive.writing import ArchiveTable, open_table
from pregon.spark.offsets import Place
from pregon.spark.options import read_options
from pregon.spark.pipelines.failing import batch_errors_as_ours
from pregon.spark.schemas import MESSAGES, TRACES

ARCHIVIST = "pregon-archive"
"""Who acknowledges what is archived, unless the options say another."""
ROWS_PER_BATCH = 1_000_000
_COMPACT_EVERY = 8
_CLEAN_EVERY = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSettings:
    """How an archive is written."""

    compression: str = "zstd"
    compact_files: int = 32
    """Join small files when a topic's day has so many in a row; 0 for never while the stream runs."""
    grace_ms: int = GRACE_MS
    """How long files are kept that others took the place of."""

    def __post_init__(self) -> None:
        check_grace(self.grace_ms)
        if self.compact_files and not 2 <= self.compact_files <= 10_000:
            raise BadRequest(f"compact_files is {self.compact_files}: use 2 to 10000, or 0 for never")


def archive_stream(
    spark: SparkSession,
    archive: str,
    source: Mapping[str, str],
    *,
    table: str = MESSAGES,
    every: str | None = None,
    settings: ArchiveSettings | None = None,
) -> StreamingQuery:
    """Start to archive a table; `source` are options of `format("pregon")`.

    It ends when what there is now is archived, unless `every` says how often to look for more ("10 seconds").
    """
    chosen = settings or ArchiveSettings()
    options = options_of(source, table)
    checked = read_options({name.lower(): text for name, text in options.items()})
    opened = open_table(spark, archive, table, chosen.compression)
    acknowledger = Acknowledger(checked)
    # Who asks for whatever there is of a kind has topics come and go; one that was named should be there.
    gone = partial(is_gone, checked) if checked.pattern else None
    appender = Appender(opened, fails_on_data_loss=checked.fails_on_data_loss, is_gone=gone)

    def append(batch: DataFrame, number: int) -> None:
        with batch_errors_as_ours():
            added = appender.append(batch, number)
            acknowledger.acknowledge(added.end)
            if added.is_new:
                tend(opened, added.state.version, chosen)

    # A mark that is not put for long is dropped, and there may be nothing new to archive.
    archived = opened.log.load().find_next(("", 0)) if checked.mark else None
    if archived is not None:
        acknowledger.acknowledge({table: Place(archived, 0)})
    writer = (
        spark.readStream.format("pregon")
        .options(**options)
        .load()
        .writeStream.foreachBatch(append)
        .queryName(f"pregon-archive-{table}")
        .option("checkpointLocation", f"{opened.files.root}/{checkpoint_folder(opened.kept)}")
    )
    return (writer.trigger(availableNow=True) if every is None else writer.trigger(processingTime=every)).start()


def options_of(source: Mapping[str, str], table: str) -> dict[str, str]:
    """The options of the source, with what an archive adds where nothing else is said."""
    given = {name.lower() for name in source}
    added = {
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(ROWS_PER_BATCH),
        "mark" if table == TRACES else "subscriber": ARCHIVIST,
    }
    options = {name: text for name, text in source.items() if text != ""}
    return {**options, "table": table, **{name: text for name, text in added.items() if name.lower() not in given}}


def tend(table: ArchiveTable, version: int, settings: ArchiveSettings) -> None:
    """The housekeeping of a stream after the commit of this version: mostly none."""
    if settings.compact_files and version % _COMPACT_EVERY == 0:
        try:
            compact_once(table, settings.compact_files)
        except WrittenMeanwhile:
            # Somebody else compacts: then there is nothing to do here.
            pass
    if version % _CLEAN_EVERY == 0:
        clean_files(table.files, table.log, table.kept, settings.grace_ms)
