"""Streams: how far they are, by what Spark tells of their batches; and what of it is kept on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from pregon.errors import BadRequest
from pregon.spark.pipelines.inputs import Place
from pregon.spark.pipelines.results import Results
from pregon.spark.pipelines.streaming import (
    Counted,
    Progress,
    check_stream,
    find_progress,
    follow_streams,
    save_progress,
)


def batch(number: int, rows: int, read: dict[str, int], there: dict[str, int] | None) -> dict[str, Any]:
    """What Spark tells of a batch."""

    def offset(places: dict[str, int]) -> str:
        return json.dumps({log: {"next": place, "since": 1} for log, place in places.items()})

    source = {"endOffset": offset(read), "latestOffset": None if there is None else offset(there)}
    return {
        "batchId": number,
        "numInputRows": rows,
        "timestamp": "2026-11-16T20:00:00.000Z",
        "processedRowsPerSecond": 123.456,
        "sources": [source],
    }


class Query:
    """A query whose first batch ends while it is being stopped."""

    name = "archive"

    def __init__(self) -> None:
        self.isActive = True
        self.status = {"isTriggerActive": True}
        self.recentProgress: list[dict[str, Any]] = []

    def awaitTermination(self, _timeout_s: int) -> bool:
        """Wait for the batch."""
        self.status["isTriggerActive"] = False
        self.recentProgress = [batch(0, 10, {"a": 11}, {"a": 11})]
        return False

    def stop(self) -> None:
        """Stop."""
        self.isActive = False

    def exception(self) -> None:
        """It has not failed."""


def test_a_batch_that_ends_while_the_stream_is_being_stopped_is_told_of() -> None:
    query = Query()
    told: list[list[Progress]] = []

    seen = follow_streams([cast(Any, query)], lambda: True, told.append)

    assert [one.rows for one in seen] == [10]
    assert told == [seen]
    assert not query.isActive


def test_rows_of_a_batch_that_is_told_again_are_counted_once() -> None:
    counted = Counted()
    counted.look("archive", [batch(0, 10, {"a": 11}, {"a": 11}), batch(1, 5, {"a": 16}, {"a": 16})])

    seen = counted.look("archive", [batch(1, 5, {"a": 16}, {"a": 16}), batch(2, 7, {"a": 23}, {"a": 23})])

    assert (seen.batch, seen.rows, seen.rows_per_s) == (2, 22, 123.5)


def test_a_batch_that_comes_after_idle_looks_of_its_number_is_counted() -> None:
    counted = Counted()
    first, idle = batch(0, 10, {"a": 11}, {"a": 11}), batch(1, 0, {"a": 11}, {"a": 11})
    waiting = counted.look("archive", [first, idle, idle])

    seen = counted.look("archive", [first, idle, idle, batch(1, 7, {"a": 18}, {"a": 18})])

    assert (waiting.batch, waiting.rows) == (0, 10)
    assert (seen.batch, seen.rows) == (1, 17)


def test_a_stream_that_found_nothing_yet_has_no_batch() -> None:
    seen = Counted().look("archive", [batch(0, 0, {"a": 11}, {"a": 11})])

    assert (seen.batch, seen.rows, seen.behind) == (-1, 0, 0)


def test_behind_is_what_all_logs_have_that_was_not_read_new_ones_too() -> None:
    last = batch(0, 10, {"a": 11, "b": 5}, {"a": 31, "b": 5, "c": 8})

    seen = Counted().look("archive", [last])

    assert seen.behind == 20 + 7


def test_behind_is_not_known_when_spark_does_not_say_what_there_is() -> None:
    assert Counted().look("archive", [batch(0, 10, {"a": 11}, None)]).behind is None
    assert Counted().look("archive", []) == Progress(query="archive")


def test_a_rate_that_is_no_number_is_none() -> None:
    last = {**batch(0, 0, {"a": 1}, {"a": 1}), "processedRowsPerSecond": float("nan")}

    assert Counted().look("archive", [last]).rows_per_s == 0


def test_how_far_a_stream_was_is_found_again(tmp_path: Path) -> None:
    results = Results(tmp_path / "new")
    seen = [Counted().look("archive", [batch(3, 10, {"a": 11}, {"a": 12})])]

    save_progress(results, "archive", seen)

    assert find_progress(results, "archive") == seen
    assert find_progress(results, "traffic-alerts") is None


def test_what_is_not_the_progress_of_a_stream_is_refused(tmp_path: Path) -> None:
    results = Results(tmp_path)
    save_progress(results, "archive", [])
    (tmp_path / "streams" / "archive.json").write_text('[{"query": 1}]')

    with pytest.raises(BadRequest, match="remove it"):
        find_progress(results, "archive")


@pytest.mark.parametrize(("name", "said"), [("alerts", "traffic-alerts"), ("archive", "--archive DIR")])
def test_a_stream_that_cannot_be_started_is_refused_with_what_to_write(name: str, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        check_stream(name, Place(source={}))
