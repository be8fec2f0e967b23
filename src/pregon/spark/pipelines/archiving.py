"""The step `archive`: every table into the archive, up to what the hub has now; and how far each is.

How a table is archived is left to `pregon.spark.archive`. `streaming`, which goes on for ever, and `status` use it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pregon.errors import WrittenMeanwhile
from pregon.model.pipeline_figures import Archived, ArchiveFigures
from pregon.model.pipeline_results import SOURCES_MAX, Source
from pregon.spark.archive.cleaning import clean
from pregon.spark.archive.commits import State
from pregon.spark.archive.compaction import compact
from pregon.spark.archive.files import Files
from pregon.spark.archive.layout import KEPT
from pregon.spark.archive.log import CommitLog
from pregon.spark.archive.stream import archive_stream
from pregon.spark.offsets import Ends
from pregon.spark.pipelines.inputs import Place
from pregon.spark.pipelines.steps import Outcome, Run
from pregon.spark.pipelines.summarising import summarise_archive
from pregon.spark.schemas import MESSAGES

_LOOK_S = 1
"""How often waiting looks up, so that Ctrl-C is heard."""


def run_archive(run: Run, files: Files, _folder: Path) -> Outcome:
    """Archive all that there is now, all tables at once: each waits for the hub and for the disk most of its time."""
    queries: list[StreamingQuery] = []
    try:
        for name in KEPT:
            queries.append(start_archive(run.spark, run.place, name))
        for query in queries:
            while not query.awaitTermination(_LOOK_S):
                pass
    finally:
        for query in queries:
            query.stop()
    for name in KEPT:
        _tidy(run.spark, run.place.archive, name)
    figures = archive_figures(files, run.place, heads_of(run.place))
    rows: dict[str, int] = {}
    for one in figures.archived:
        rows[one.table] = rows.get(one.table, 0) + one.rows
    sources = [Source(table=one.table, topic=one.topic, last=one.through, rows=one.rows) for one in figures.archived]
    return Outcome(figures, rows, sources[:SOURCES_MAX])


def _tidy(spark: SparkSession, archive: str, name: str) -> None:
    """Join what run after run left in small files: a stream only does so when it has made many itself."""
    try:
        compact(spark, archive, name)
    except WrittenMeanwhile:
        # A stream that archives the same table does it: then there is nothing to do here.
        pass
    clean(spark, archive, name)


def start_archive(spark: SparkSession, place: Place, name: str, every: str | None = None) -> StreamingQuery:
    """Begin to archive a table: up to now, or looking for more so often."""
    chosen = place.chosen if name == MESSAGES else {}
    return archive_stream(spark, place.archive, {**place.reading, **chosen}, table=name, every=every)


Heads = Mapping[str, Mapping[str, Ends]]
"""Of each table what the hub has of each of its logs."""


def heads_of(place: Place) -> Heads:
    """What the hub has now of everything that is archived."""
    return {name: place.ends(place.chosen if name == MESSAGES else {"table": name}) for name in KEPT}


def archive_figures(files: Files, place: Place, heads: Heads | None) -> ArchiveFigures:
    """How far everything is archived, beside what the hub has if it was asked."""
    states = {name: CommitLog(files, kept).load() for name, kept in KEPT.items()}
    rows = [
        one for name, state in states.items() for one in _archived(name, state, None if heads is None else heads[name])
    ]
    kept = [file for state in states.values() for file in state.files.values()]
    return summarise_archive(place.archive, rows, len(kept), sum(file.bytes for file in kept))


def _archived(name: str, state: State, ends: Mapping[str, Ends] | None) -> Iterable[Archived]:
    """The topics of a table that have something archived, and those of which everything is missing."""
    left = dict(ends or {})
    for (topic, since), position in sorted(state.positions.items()):
        end = left.get(topic or name)
        # A topic that was deleted has no head; nor has the life that it had before it was made again.
        is_now = end is not None and end.since == since
        head = end.head if end is not None and is_now else None
        if is_now:
            del left[topic or name]
        yield Archived(table=name, topic=topic, through=position.next - 1, head=head, rows=position.rows)
    for log, end in sorted(left.items()):
        if end.head:
            yield Archived(table=name, topic=log if name == MESSAGES else "", through=0, head=end.head, rows=0)
