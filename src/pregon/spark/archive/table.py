"""One table across the seam: history from the archive, and what came since from the hub.

    table(spark, "fallecidos", archive="hdfs://…/archive").groupBy("producer").count()

The archive says up to which number it has everything; the hub is asked for what is from there up to its newest message
now. So there is no gap and no overlap, however often the archive is written or compacted meanwhile. A topic that was
deleted and made again is shown as it is now; `View.since` shows an earlier life, if it was archived.

Promises:
- A DataFrame shows the table as it was when it was made, or ends with DataLost: what the hub forgot since, because it
  was archived since, or a topic that was made again since, does not go unnoticed.
- Rows that are neither archived nor at the hub any more are an error, unless the option failOnDataLoss is false.
- When everything is archived, the hub takes no part in the query.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pregon.errors import BadRequest, DataLost, NotFound
from pregon.spark.archive.commits import File, Life, State
from pregon.spark.archive.files import files_of
from pregon.spark.archive.layout import Kept, require_kept
from pregon.spark.archive.log import CommitLog
from pregon.spark.archive.reading import read_files
from pregon.spark.logs import Logs
from pregon.spark.offsets import Ends
from pregon.spark.options import SourceOptions, read_options
from pregon.spark.schemas import MESSAGES, SUBSCRIPTIONS, schema_of

ARCHIVE_VARIABLE = "PREGON_ARCHIVE"
"""Where the archive is, unless it is said."""
_LOOKS_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What of a table to show."""

    after: datetime | None = None
    before: datetime | None = None
    """Rows from the one time on, up to and without the other; files of other times are not even opened."""
    since: int | None = None
    """An earlier life of the topic, by when it was made (microseconds); from the archive only."""
    is_archive_only: bool = False
    """Leave the hub out."""

    def __post_init__(self) -> None:
        if any(time is not None and time.tzinfo is None for time in (self.after, self.before)):
            raise BadRequest("a time without a zone is not known: use datetime(…, tzinfo=UTC)")

    def may_have(self, file: File) -> bool:
        """Whether a file may have rows of the period."""
        is_later = self.before is not None and file.first_us >= _us_of(self.before)
        return not (is_later or (self.after is not None and file.last_us < _us_of(self.after)))

    def rows(self, frame: DataFrame, kept: Kept) -> DataFrame:
        """The rows of the period."""
        if self.after is not None:
            frame = frame.where(f.col(kept.time) >= f.lit(self.after))
        return frame if self.before is None else frame.where(f.col(kept.time) < f.lit(self.before))


class Archived(NamedTuple):
    """What an archive has of a topic, or of a table without topics."""

    topic: str
    since: int
    first: int
    next: int
    """It has the numbers from `first` up to, and without, this one."""
    rows: int
    files: int
    bytes: int


def table(
    spark: SparkSession,
    topic: str | Sequence[str],
    *,
    hub: str | None = None,
    key: str | None = None,
    archive: str | None = None,
    source: Mapping[str, str] | None = None,
    view: View | None = None,
) -> DataFrame:
    """The messages of a topic, or of several: all that were ever archived, and all that the hub has since.

    `source` are further options of `format("pregon")`. Raises DataLost, NotFound.
    """
    topics = [topic] if isinstance(topic, str) else list(topic)
    options = {**(source or {}), **_given(hub=hub, key=key), "subscribe": ",".join(topics)}
    return _Seam(spark, MESSAGES, options, archive, view or View()).frame()


def system_table(
    spark: SparkSession,
    name: str,
    *,
    hub: str | None = None,
    key: str | None = None,
    archive: str | None = None,
    source: Mapping[str, str] | None = None,
    view: View | None = None,
) -> DataFrame:
    """The traces, the requests, the deliveries of groups, or the subscriptions (which are as they are now)."""
    options = {**(source or {}), **_given(hub=hub, key=key), "table": name}
    if name == SUBSCRIPTIONS:
        return spark.read.format("pregon").options(**options).load()
    return _Seam(spark, name, options, archive, view or View()).frame()


def archived(spark: SparkSession, archive: str, name: str = MESSAGES) -> list[Archived]:
    """What an archive has of a table, topic by topic, the earlier life of a topic before the later one."""
    kept = require_kept(name)
    state = CommitLog(files_of(spark, archive), kept).load()
    count: dict[Life, int] = {}
    size: dict[Life, int] = {}
    for file in state.files.values():
        life = (file.topic, file.since)
        count[life] = count.get(life, 0) + 1
        size[life] = size.get(life, 0) + file.bytes
    return [
        Archived(*life, one.first, one.next, one.rows, count.get(life, 0), size.get(life, 0))
        for life, one in sorted(state.positions.items())
    ]


class Tail(NamedTuple):
    """What the hub adds to a log that was made at `since`: the numbers from `first` up to, and without, `end`."""

    first: int
    end: int
    since: int


def tail_options(tails: Mapping[str, Tail]) -> dict[str, str]:
    """The options that ask for exactly that: the hub is asked when the rows are needed, and may have others by then."""
    offsets = {
        "startingOffsets": {name: {"next": tail.first, "since": tail.since} for name, tail in tails.items()},
        "endingOffsets": {name: {"next": tail.end, "since": tail.since} for name, tail in tails.items()},
    }
    return {name: msgspec.json.encode(places).decode() for name, places in offsets.items()}


class _Seam:
    """Where the archive ends and the hub begins, log by log."""

    def __init__(
        self, spark: SparkSession, name: str, options: Mapping[str, str], archive: str | None, view: View
    ) -> None:
        self._spark, self._kept, self._view = spark, require_kept(name), view
        self._options = dict(options)
        self._checked: SourceOptions = read_options({name.lower(): text for name, text in options.items()})
        place = archive or os.environ.get(ARCHIVE_VARIABLE, "")
        self._files = files_of(spark, place) if place else None
        if self._files is None and (view.is_archive_only or view.since is not None):
            raise BadRequest(f"say where the archive is: archive=…, or the variable {ARCHIVE_VARIABLE}")
        self._names = list(self._checked.topics) if self._kept.has_topics else [name]

    def frame(self) -> DataFrame:
        """The table."""
        is_alone = self._view.is_archive_only or self._view.since is not None
        state, ends = self._look(is_alone)
        lives = {name: self._life(state, name, ends.get(name)) for name in self._names}
        tails = {} if is_alone else self._tails(state, lives, ends)
        wanted = set(lives.values())
        files = [
            file for file in state.files.values() if (file.topic, file.since) in wanted and self._view.may_have(file)
        ]
        columns = schema_of(self._kept.table).names
        root = self._files.root if self._files is not None else ""
        parts = [read_files(self._spark, root, self._kept, files).select(*columns)] if files or not tails else []
        if tails:
            parts.append(self._tail_frame(tails))
        whole = parts[0] if len(parts) == 1 else parts[0].unionByName(parts[1])
        return self._view.rows(whole, self._kept)

    def _look(self, is_alone: bool) -> tuple[State, dict[str, Ends]]:
        """What the archive has, and then what the hub has.

        The hub may forget what was archived between the two looks: then the archive, looked at again, has it.
        """
        commits = CommitLog(self._files, self._kept) if self._files is not None else None
        state = commits.load() if commits is not None else State()
        if is_alone:
            return state, {}
        logs = Logs(self._checked)
        try:
            for _ in range(_LOOKS_MAX):
                ends = logs.ends()
                missing = self._missing(state, ends)
                if not missing or commits is None:
                    break
                again = commits.load()
                if again.version == state.version:
                    break
                state = again
        finally:
            logs.close()
        if missing and self._checked.fails_on_data_loss:
            raise DataLost(f"{missing[0]}. To read the rest, set the option failOnDataLoss to false")
        return state, ends

    def _missing(self, state: State, ends: Mapping[str, Ends]) -> list[str]:
        found = []
        for name, end in sorted(ends.items()):
            seam = state.find_next(self._life_of(name, end.since))
            if seam is not None and seam < end.tail:
                found.append(f"{seam} to {end.tail - 1} of {name} are neither archived nor at the hub any more")
            elif seam is not None and seam > end.head + 1:
                found.append(f"{name} ends at {end.head} at the hub, but is archived to {seam - 1}: is it another hub?")
        return found

    def _life_of(self, name: str, since: int) -> Life:
        return (name if self._kept.has_topics else "", since)

    def _life(self, state: State, name: str, end: Ends | None) -> Life:
        """Which life of a log to show; raises NotFound when there is none."""
        topic = name if self._kept.has_topics else ""
        lives = state.lives_of(topic)
        since = self._view.since
        if since is not None and since not in lives:
            raise NotFound(f"the archive has no {name} that was made at {since}: it has {lives[-10:]}")
        if since is None and end is not None:
            return topic, end.since
        if since is None and not lives and self._kept.has_topics:
            where = "in the archive" if self._view.is_archive_only else "at the hub, nor in the archive"
            raise NotFound(f"there is no topic {name} {where}: create it, or publish to it first")
        if since is None and not self._view.is_archive_only and self._kept.has_topics:
            raise NotFound(f"the topic {name} is not at the hub any more: View(is_archive_only=True) shows what it was")
        return topic, since if since is not None else max(lives, default=0)

    def _tails(self, state: State, lives: Mapping[str, Life], ends: Mapping[str, Ends]) -> dict[str, Tail]:
        found = {}
        for name, life in lives.items():
            end = ends.get(name)
            if end is None:
                continue
            first = max(state.find_next(life) or end.tail, end.tail)
            if first <= end.head:
                found[name] = Tail(first, end.head + 1, end.since)
        return found

    def _tail_frame(self, tails: Mapping[str, Tail]) -> DataFrame:
        options = dict(self._options)
        if self._kept.has_topics:
            options["subscribe"] = ",".join(tails)
        options |= tail_options(tails)
        return self._spark.read.format("pregon").options(**options).load()


def _given(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


def _us_of(time: datetime) -> int:
    return round(time.timestamp() * 1_000_000)
