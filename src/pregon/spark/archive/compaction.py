"""Many small files become few large ones: the same rows, in the order of their numbers.

A stream makes a file for each topic and batch. Compaction takes runs of small files of one topic's day, writes their
rows into one, and commits the exchange; who is reading the old files goes on reading them until `cleaning` removes
them.

Promises:
- The exchange is one commit: no reader sees a row twice or not at all, whenever this is killed.
- What was written is counted before it is committed; files of two lives of a topic are never joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pregon.clock import wall_us
from pregon.errors import StoreCorrupt, WrittenMeanwhile
from pregon.limits import MIB
from pregon.spark.archive.commits import COMPACT, Commit, File, State, commit_after
from pregon.spark.archive.layout import Kept
from pregon.spark.archive.reading import read_files
from pregon.spark.archive.writing import ArchiveTable, Written, open_table, place, rows_of, write

FILE_BYTES = 256 * MIB
"""A file is made up to so large."""
SMALL_BYTES = FILE_BYTES // 2
"""A file from this size on is left alone."""
TIERS_BYTES = (1 * MIB, 8 * MIB, SMALL_BYTES)
"""While a stream runs: files below a size are joined with each other, not with larger ones, so that no row is rewritten
again and again."""
_ROUND_BYTES = 1024 * MIB
_ROUND_FILES = 2_000
_ROUNDS_MAX = 10_000


def compact(spark: SparkSession, archive: str, table: str, *, files_min: int = 2) -> int:
    """Join small files wherever a topic's day has at least so many in a row; how many files went into others."""
    opened = open_table(spark, archive, table)
    joined = 0
    for _ in range(_ROUNDS_MAX):
        now = compact_once(opened, files_min, (SMALL_BYTES,))
        joined += now
        if not now:
            break
    return joined


def compact_once(table: ArchiveTable, files_min: int, tiers_bytes: Sequence[int] = TIERS_BYTES) -> int:
    """One round, of bounded size; how many files went into others."""
    runs = one_round(small_runs(table.log.load(), files_min, tiers_bytes))
    if not runs:
        return 0
    old = [file for run in runs for file in run]
    rows = _ordered(table.kept, read_files(table.session, table.files.root, table.kept, old), len(runs))
    written = write(table, rows)
    joined = of_lives(runs, written.files)
    check_same(runs, joined)
    new = place(table, Written(written.folder, written.name, joined), 0)

    def make(now: State) -> Commit:
        if not all(file.path in now.files for file in old):
            raise WrittenMeanwhile("the archive is being compacted by another process too: let one of them do it")
        return commit_after(now, COMPACT, wall_us(), adds=new, removes=[file.path for file in old])

    table.log.commit(make)
    return len(old)


def small_runs(state: State, files_min: int, tiers_bytes: Sequence[int]) -> list[list[File]]:
    """Small files that follow one another in a day of a life of a topic, as many as fit one file; the longest first."""

    def of_day(file: File) -> tuple[str, str, int]:
        return file.topic, file.date, file.since

    ordered = sorted(state.files.values(), key=lambda file: (*of_day(file), file.first))
    runs: list[list[File]] = []
    for _, files in groupby(ordered, of_day):
        day = list(files)
        for tier_bytes in tiers_bytes:
            found = [run for run in _runs_of(day, tier_bytes) if len(run) >= max(2, files_min)]
            if found:
                runs += found
                break
    return sorted(runs, key=len, reverse=True)


def _runs_of(day: Iterable[File], small_bytes: int) -> Iterator[list[File]]:
    run: list[File] = []
    run_bytes = 0
    for file in day:
        is_small = file.bytes < small_bytes
        is_full = run_bytes + file.bytes > FILE_BYTES or len(run) >= _ROUND_FILES
        if run and (is_full or not is_small):
            yield run
            run, run_bytes = [], 0
        if is_small:
            run.append(file)
            run_bytes += file.bytes
    if run:
        yield run


def one_round(runs: Iterable[list[File]]) -> list[list[File]]:
    """Runs that are joined together: of each folder one, because that is how the new files are told apart."""
    chosen: list[list[File]] = []
    folders: set[tuple[str, str]] = set()
    size = files = 0
    for run in runs:
        run_bytes = sum(file.bytes for file in run)
        is_too_much = size + run_bytes > _ROUND_BYTES or files + len(run) > _ROUND_FILES
        if _folder(run[0]) in folders or (chosen and is_too_much):
            continue
        chosen.append(run)
        folders.add(_folder(run[0]))
        size, files = size + run_bytes, files + len(run)
    return chosen


def _ordered(kept: Kept, rows: DataFrame, folders: int) -> DataFrame:
    """Each folder's rows in one task and in order, so that each becomes one file."""
    place_ = [f.col(name) for name in kept.partitions]
    order = [*place_, *(f.col(name) for name in kept.order)]
    return rows.repartition(max(1, folders), *place_).sortWithinPartitions(*order)


def of_lives(runs: Sequence[Sequence[File]], written: Sequence[File]) -> list[File]:
    """What was written, each file as of the life whose rows went into it: of each folder, a round has one."""
    lives = {_folder(run[0]): run[0].since for run in runs}
    return [replace(file, since=lives.get(_folder(file), 0)) for file in written]


def check_same(runs: Sequence[Sequence[File]], joined: Sequence[File]) -> None:
    """Raises StoreCorrupt unless each run became one file with the same rows, of the same life."""
    wanted = sorted(
        (*_folder(run[0]), run[0].since, rows_of(run), min(one.first for one in run), max(one.last for one in run))
        for run in runs
    )
    got = sorted((*_folder(one), one.since, one.rows, one.first, one.last) for one in joined)
    if got != wanted:
        raise StoreCorrupt("compaction wrote other rows than it read: nothing was changed")


def _folder(file: File) -> tuple[str, str]:
    return file.topic, file.date
