"""A batch of the stream becomes part of the archive: once, whatever is repeated.

The archive itself says how far it is, number by number and life by life of each topic. So a batch that Spark gives
again after a kill is known and skipped; a stream that lost its checkpoint reads from the oldest message again and adds
what is new; and what is missing between the archive and a batch is noticed, not written over.

Promises:
- After a commit, the archive has every row of the batch and no row twice.
- Every message between where a topic was and where it is now is counted in the files before they are committed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
from msgspec.structs import replace
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pregon.clock import wall_us
from pregon.errors import DataLost, StoreCorrupt, WrittenMeanwhile
from pregon.spark.archive.commits import APPEND, Commit, File, Life, Position, State, check_room, commit_after
from pregon.spark.archive.layout import DATE, TOPIC, Kept, checkpoint_folder
from pregon.spark.archive.writing import ArchiveTable, Written, day_of, place, rows_of, take_settings, write
from pregon.spark.offsets import Offset, Place, decode_offset, spans_between

log = logging.getLogger("pregon.spark")


@dataclass(frozen=True, slots=True)
class Due:
    """What a batch adds to a life of a topic: the numbers from `begin` on, up to and without `end`."""

    life: Life
    begin: int | None
    """None when the archive has nothing of it yet: then it begins with the first row that comes."""
    end: int


class Added(NamedTuple):
    """What the archive has now, and where the batch ended; `is_new` is false if it was there already."""

    state: State
    end: Offset
    is_new: bool


class Appender:
    """What `foreachBatch` calls."""

    def __init__(
        self, table: ArchiveTable, *, fails_on_data_loss: bool = True, is_gone: Callable[[Life], bool] | None = None
    ) -> None:
        """`is_gone` says whether a topic whose rows did not come was deleted: then that stops nobody."""
        self._table = table
        self._fails_on_data_loss = fails_on_data_loss
        self._is_gone = is_gone

    def append(self, batch: DataFrame, number: int) -> Added:
        """Add a batch, unless it is there already."""
        kept = self._table.kept
        state = self._table.log.load()
        start, end = self._offset(number - 1), self._offset(number)
        if end is None:
            raise StoreCorrupt(f"batch {number} is not in the stream's checkpoint: begin with another checkpoint")
        dues = due(kept, state, end)
        if not dues:
            return Added(state, end, is_new=False)
        self._check_joint(start or {}, dues)
        rows = self._only_new(batch, start or {}, end, dues)
        take_settings(rows.sparkSession)
        written = write(self._table, rows.withColumn(DATE, day_of(kept)))
        self._check_whole(dues, written.files)
        lives = dict(one.life for one in dues)
        of_lives = [replace(file, since=lives[file.topic]) for file in written.files]
        files = place(self._table, Written(written.folder, written.name, of_lives), number)

        def make(now: State) -> Commit:
            if any(now.find_next(one.life) != one.begin for one in dues):
                raise WrittenMeanwhile("another stream has added to the archive: let one stream write a table of it")
            check_room(now, len(files), len(dues))
            positions = [_position_after(now, one, files) for one in dues]
            return commit_after(now, APPEND, wall_us(), batch=number, adds=files, positions=positions)

        return Added(self._table.log.commit(make), end, is_new=True)

    def _offset(self, number: int) -> Offset | None:
        """Where a batch ends, as Spark wrote it before it began; None if it did not."""
        path = f"{checkpoint_folder(self._table.kept)}/offsets/{number}"
        try:
            text = self._table.files.read(path)
        except FileNotFoundError:
            return None
        # The form's version, a line of Spark's own, and a line for each source.
        lines = text.decode(errors="replace").splitlines()
        try:
            if len(lines) != 3 or lines[0] != "v1":
                raise ValueError("it is of another form")
            return decode_offset(msgspec.json.decode(lines[2], type=dict[str, dict[str, int]]))
        except (msgspec.DecodeError, ValueError) as error:
            raise StoreCorrupt(f"{path} cannot be read ({error}): begin with another checkpoint") from error

    def _check_joint(self, start: Offset, dues: Sequence[Due]) -> None:
        """Raises DataLost when the stream goes on later than the archive ends."""
        for one in dues:
            topic, since = one.life
            begun = start.get(topic if self._table.kept.has_topics else self._table.kept.table)
            if begun is None or begun.since != since:
                continue
            if one.begin is None or one.begin < begun.next:
                self._lose(
                    f"the stream goes on at {begun.next} of {topic or self._table.kept.table}, but the archive ends "
                    f"before {one.begin or 'its first row'}: remove {checkpoint_folder(self._table.kept)} from it to "
                    "read again what the hub still has"
                )

    def _only_new(self, batch: DataFrame, start: Offset, end: Offset, dues: Sequence[Due]) -> DataFrame:
        """The rows that the archive does not have."""
        kept = self._table.kept
        wanted = new_rows(kept, start, end, dues)
        if wanted is None:
            return batch
        if not kept.has_topics:
            return batch.where(f.col(kept.number) >= wanted[""])
        pairs = [f.lit(value) for pair in wanted.items() for value in pair]
        # Of a topic that is not named nothing is wanted: a comparison with null is not true.
        return batch.where(f.col(kept.number) >= f.element_at(f.create_map(*pairs), f.col(TOPIC)))

    def _check_whole(self, dues: Sequence[Due], files: Sequence[File]) -> None:
        """Raises DataLost when rows are missing, or came that were not asked for."""
        of_topic: dict[str, list[File]] = {}
        for file in files:
            of_topic.setdefault(file.topic, []).append(file)
        for one in dues:
            mine = of_topic.pop(one.life[0], [])
            first = min((file.first for file in mine), default=one.end)
            last = max((file.last for file in mine), default=one.end - 1)
            begin = first if one.begin is None else one.begin
            if last >= one.end or first < begin:
                raise StoreCorrupt(f"the batch has {first} to {last} of {one.life[0]}, not {begin} to {one.end - 1}")
            if self._table.kept.is_whole and rows_of(mine) != one.end - begin:
                self._miss(
                    one.life, f"{one.end - begin} messages of {one.life[0]} were to be archived, {rows_of(mine)} came"
                )
        if of_topic:
            raise StoreCorrupt(f"the batch has rows of {', '.join(sorted(of_topic))[:200]}, which it should not have")

    def _miss(self, life: Life, what: str) -> None:
        if self._is_gone is not None and self._is_gone(life):
            log.warning("%s: it was deleted meanwhile, and the archive keeps what it has of it", what)
        else:
            self._lose(what)

    def _lose(self, what: str) -> None:
        if self._fails_on_data_loss:
            raise DataLost(f"{what}. To go on without what is missing, set the option failOnDataLoss to false")
        log.warning("%s; the archive goes on because failOnDataLoss is false", what)


def due(kept: Kept, state: State, end: Mapping[str, Place]) -> list[Due]:
    """What the archive has not, of what ends there."""
    dues = []
    for name, place_ in sorted(end.items()):
        life = (name if kept.has_topics else "", place_.since)
        begin = state.find_next(life)
        if begin is None or begin < place_.next:
            dues.append(Due(life, begin, place_.next))
    return dues


def new_rows(kept: Kept, start: Offset, end: Offset, dues: Sequence[Due]) -> dict[str, int] | None:
    """Of each topic that the archive goes on with, from which number on; None when that is all that is in the batch."""
    has_all = {one.life[0]: _has_all(start.get(one.life[0] if kept.has_topics else kept.table), one) for one in dues}
    # What is archived beyond the batch already, of a stream that lost its checkpoint, comes once more.
    again = {span.log if kept.has_topics else "" for span in spans_between(start, end)} - has_all.keys()
    if all(has_all.values()) and not again:
        return None
    return {one.life[0]: one.begin or 0 for one in dues}


def _has_all(begun: Place | None, one: Due) -> bool:
    """Whether a batch that begins there has nothing of a topic that the archive has already."""
    return one.begin is None or (begun is not None and begun.since == one.life[1] and begun.next == one.begin)


def _position_after(state: State, one: Due, files: Sequence[File]) -> Position:
    topic, since = one.life
    mine = [file for file in files if file.topic == topic]
    before = state.positions.get(one.life)
    first = before.first if before else min((file.first for file in mine), default=one.end)
    rows = rows_of(mine) + (before.rows if before else 0)
    return Position(first=first, next=one.end, rows=rows, topic=topic, since=since)
