"""Streams that go on until they are stopped: the archive, and alerts about unusual traffic.

Starting them and looking at them; who stops them, and when, is left to the caller (`is_stopping`).

Promises:
- A stream that is stopped ends between two batches, unless its batch takes longer than `BATCH_MS_MAX` more.
- When one of several ends by itself, the others are stopped, and what it failed with is raised.
- How far each is, is on disk after each look, for `status`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pregon.clock import monotonic_ms
from pregon.errors import BadRequest
from pregon.model.pipeline_figures import ARCHIVE, Count, Text
from pregon.spark.archive.layout import KEPT
from pregon.spark.pipelines.alerting import TRAFFIC_ALERTS, start_traffic_alerts
from pregon.spark.pipelines.archiving import start_archive
from pregon.spark.pipelines.failing import find_cause
from pregon.spark.pipelines.inputs import Place
from pregon.spark.pipelines.results import Results, write_whole

STREAMS = (ARCHIVE, TRAFFIC_ALERTS)
STREAMS_FOLDER = "streams"
BATCH_MS_MAX = 60_000
_LOOK_S = 1
_STATE_BYTES_MAX = 1024 * 1024


class Progress(Struct, frozen=True, kw_only=True):
    """How far a query is."""

    query: Text
    batch: int = -1
    """The last that had rows; -1: it has not read anything yet."""
    at: Text = ""
    rows: Count = 0
    """Of all batches since it was started."""
    rows_per_s: float = 0.0
    behind: Count | None = None
    """Rows that the hub has and the query has not read; None: it is not known."""


def check_stream(name: str, place: Place) -> None:
    """Raises BadRequest for what cannot be started."""
    if name not in STREAMS:
        raise BadRequest(f"there is no stream {name[:40]!r}: there are {', '.join(STREAMS)}")
    if name == ARCHIVE and not place.archive:
        raise BadRequest("say where the archive is to be: --archive DIR")


def start_streams(
    spark: SparkSession, place: Place, results: Results, name: str, *, every_s: int, window_s: int
) -> list[StreamingQuery]:
    """Start what a name stands for; raises BadRequest."""
    check_stream(name, place)
    if name == TRAFFIC_ALERTS:
        return [start_traffic_alerts(spark, place, results.root, every_s=every_s, window_s=window_s)]
    started: list[StreamingQuery] = []
    try:
        for table in KEPT:
            started.append(start_archive(spark, place, table, every=f"{every_s} seconds"))
    # Whatever ended it, an interruption too: nobody would hold the queries that did start.
    except BaseException:
        stop_streams(started)
        raise
    return started


def follow_streams(
    queries: Sequence[StreamingQuery],
    is_stopping: Callable[[], bool],
    tell: Callable[[list[Progress]], None],
) -> list[Progress]:
    """Look at queries until they are to stop; how far they were then. Raises what one of them failed with."""
    counted = {query.name: Counted() for query in queries}

    def look() -> list[Progress]:
        found = [counted[query.name].look(query.name, query.recentProgress) for query in queries]
        tell(found)
        return found

    try:
        while not is_stopping():
            queries[0].awaitTermination(_LOOK_S)
            look()
            if not all(query.isActive for query in queries):
                break
        _wait_between_batches(queries)
        # The batches that ended meanwhile are told of too.
        seen = look()
    finally:
        stop_streams(queries)
    for query in queries:
        failure = query.exception()
        if failure is not None:
            raise find_cause(str(failure)) from failure
    return seen


def _wait_between_batches(queries: Sequence[StreamingQuery]) -> None:
    """Give batches that are under way the time to end."""
    until_ms = monotonic_ms() + BATCH_MS_MAX
    for query in queries:
        while query.isActive and query.status["isTriggerActive"] and monotonic_ms() < until_ms:
            query.awaitTermination(_LOOK_S)


def stop_streams(queries: Sequence[StreamingQuery]) -> None:
    """Stop all of them."""
    for query in queries:
        query.stop()


class Counted:
    """The batches of a query, each counted once."""

    def __init__(self) -> None:
        self._last = -1
        self._rows = 0

    def look(self, name: str, recent: Sequence[Any]) -> Progress:
        """How far the query is, by what Spark told of its last batches."""
        for batch in recent:
            number, rows = int(batch["batchId"]), int(batch["numInputRows"])
            # While it is idle Spark tells of no rows under the number of the batch that is yet to come.
            if rows > 0 and number > self._last:
                self._last, self._rows = number, self._rows + rows
        if not recent:
            return Progress(query=name)
        last = recent[-1]
        return Progress(
            query=name,
            batch=self._last,
            at=str(last["timestamp"]),
            rows=self._rows,
            rows_per_s=round(_finite(last.get("processedRowsPerSecond")), 1),
            behind=_behind(last["sources"]),
        )


def _finite(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e15 else 0.0


def _behind(sources: Sequence[Mapping[str, Any]]) -> int | None:
    """How many rows are between what was read and what there is, over all logs of all sources."""
    total = 0
    for source in sources:
        read, there = _places(source.get("endOffset")), _places(source.get("latestOffset"))
        if there is None:
            return None
        total += sum(max(0, place - (read or {}).get(log, 1)) for log, place in there.items())
    return total


def _places(offset: Any) -> dict[str, int] | None:
    """The next number of each log, as an offset of ours says it."""
    if isinstance(offset, str):
        try:
            offset = json.loads(offset)
        except ValueError:
            return None
    if not isinstance(offset, Mapping):
        return None
    return {str(log): int(place["next"]) for log, place in offset.items()}


def save_progress(results: Results, name: str, seen: Sequence[Progress]) -> None:
    """Leave how far a stream is for `status`; raises BadRequest."""
    path = _state_path(results.root, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadRequest(f"{path.parent} cannot be made: {error.strerror or error}") from error
    write_whole(path, msgspec.json.encode(list(seen)) + b"\n")


def find_progress(results: Results, name: str) -> list[Progress] | None:
    """How far a stream was when it last said so; None if it never ran. Raises BadRequest."""
    path = _state_path(results.root, name)
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(_STATE_BYTES_MAX), type=list[Progress])
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"{path} cannot be read ({error}): remove it") from error


def _state_path(root: Path, name: str) -> Path:
    return root / STREAMS_FOLDER / f"{name}.json"
