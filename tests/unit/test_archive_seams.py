"""Which rows of a batch an archive has not, and which rows of the hub a table adds to it."""

from __future__ import annotations

from pregon.spark.archive.appending import due, new_rows
from pregon.spark.archive.commits import APPEND, Position, State, commit_after
from pregon.spark.archive.layout import KEPT
from pregon.spark.archive.table import Tail, tail_options
from pregon.spark.offsets import Offset, Place
from pregon.spark.options import Numbers, read_options

from .archive_words import KEPT_MESSAGES

MADE, MADE_AGAIN = 7, 9


def archive_with(**nexts: int) -> State:
    """An archive that has each topic up to, and without, a number."""
    positions = [Position(first=1, next=end, rows=end - 1, topic=topic, since=MADE) for topic, end in nexts.items()]
    return State().after([commit_after(State(), APPEND, 1, positions=positions)])


def wanted(state: State, start: Offset, end: Offset) -> dict[str, int] | None:
    return new_rows(KEPT_MESSAGES, start, end, due(KEPT_MESSAGES, state, end))


def test_a_batch_that_follows_the_archive_is_taken_as_it_is() -> None:
    state = archive_with(a=11, b=21)
    start = {"a": Place(11, MADE), "b": Place(21, MADE)}

    found = wanted(state, start, {"a": Place(16, MADE), "b": Place(21, MADE), "c": Place(6, MADE, 1)})

    assert found is None


def test_of_a_batch_that_comes_again_only_what_is_new_is_taken() -> None:
    state = archive_with(a=11)

    assert wanted(state, {}, {"a": Place(16, MADE, 1)}) == {"a": 11}


def test_of_a_topic_that_is_archived_beyond_the_batch_nothing_is_taken() -> None:
    state = archive_with(a=11, b=101)

    found = wanted(state, {}, {"a": Place(16, MADE, 1), "b": Place(51, MADE, 1), "c": Place(6, MADE, 1)})

    assert found == {"a": 11, "c": 0}


def test_of_a_topic_that_was_made_again_all_is_taken() -> None:
    state = archive_with(a=11, b=21)
    start = {"a": Place(11, MADE), "b": Place(21, MADE)}

    found = wanted(state, start, {"a": Place(6, MADE_AGAIN, 1), "b": Place(31, MADE)})

    assert found is None


def test_a_table_without_topics_goes_on_where_it_was() -> None:
    traces = KEPT["traces"]
    state = State().after([commit_after(State(), APPEND, 1, positions=[Position(first=1, next=11, rows=10)])])
    end = {"traces": Place(16, 0, 1)}

    assert new_rows(traces, {}, end, due(traces, state, end)) == {"": 11}
    assert new_rows(traces, {"traces": Place(11, 0)}, end, due(traces, state, end)) is None


def test_the_hub_is_asked_for_the_numbers_of_the_topic_that_was_looked_at() -> None:
    options = read_options({"subscribe": "a,b", **tail_options({"a": Tail(11, 21, MADE), "b": Tail(1, 6, MADE_AGAIN)})})

    assert isinstance(options.starting, Numbers)
    assert isinstance(options.ending, Numbers)
    assert (options.starting, options.ending) == ({"a": 11, "b": 1}, {"a": 21, "b": 6})
    assert options.starting.sinces == options.ending.sinces == {"a": MADE, "b": MADE_AGAIN}
