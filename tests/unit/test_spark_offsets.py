"""How far a query has read, and how what is next is cut into tasks."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregon.errors import SettingsInvalid
from pregon.spark.offsets import (
    Ends,
    Place,
    Span,
    advance,
    cut,
    decode_offset,
    encode_offset,
    lost,
    made_again,
    spans_between,
)

places = st.dictionaries(st.sampled_from("abcd"), st.builds(Place, st.integers(1, 50), st.just(7)))
ends_of_logs = st.dictionaries(
    st.sampled_from("abcd"),
    st.builds(lambda tail, count: Ends(7, tail, tail + count - 1), st.integers(1, 60), st.integers(0, 60)),
)


def test_an_offset_is_one_text_whatever_the_order_in_which_it_was_made() -> None:
    one = {"b": Place(3, 1), "a": Place(2, 1, 2)}
    other = {"a": Place(2, 1, 2), "b": Place(3, 1)}

    texts = {json.dumps(encode_offset(offset)) for offset in (one, other)}

    assert texts == {'{"a": {"next": 2, "since": 1, "first": 2}, "b": {"next": 3, "since": 1}}'}
    assert decode_offset(json.loads(texts.pop())) == one


@pytest.mark.parametrize(
    "wrong", [{"a": 3}, {"a": {"0": 3}}, {"a": {"next": "3"}}, {"a": {"next": -1}}, {"a": []}, 7, [], "a"]
)
def test_a_checkpoint_of_something_else_is_refused(wrong: object) -> None:
    with pytest.raises(SettingsInvalid, match="begin with another location"):
        decode_offset(wrong)


@given(places, ends_of_logs, st.none() | st.integers(1, 100))
def test_a_batch_takes_what_it_may_of_what_there_is(
    start: dict[str, Place], ends: dict[str, Ends], rows_max: int | None
) -> None:
    start = {name: place for name, place in start.items() if name not in ends or place.next <= ends[name].head + 1}

    found = advance(start, ends, rows_max)

    assert found.keys() == ends.keys()
    begins = {name: max(start[name].next, end.tail) if name in start else end.tail for name, end in ends.items()}
    waiting = sum(end.head + 1 - begins[name] for name, end in ends.items())
    taken = sum(found[name].next - begins[name] for name in ends)
    assert taken == waiting if rows_max is None else taken == min(waiting, rows_max)
    assert all(begins[name] <= found[name].next <= ends[name].head + 1 for name in ends)


@given(places, ends_of_logs)
def test_nothing_new_is_the_same_offset(start: dict[str, Place], ends: dict[str, Ends]) -> None:
    once = advance(start, ends, None)

    assert advance(once, ends, None) == once


@given(places, ends_of_logs, st.integers(1, 9), st.integers(1, 30))
def test_tasks_have_every_row_once_in_order_and_none_is_too_long(
    start: dict[str, Place], ends: dict[str, Ends], tasks_min: int, rows_per_task: int
) -> None:
    start = {name: place for name, place in start.items() if name in ends and place.next >= ends[name].tail}
    end = advance(start, ends, None)
    spans = spans_between(start, end)

    tasks = cut(spans, tasks_min, rows_per_task)

    rows = [(task.log, seq) for task in tasks for seq in range(task.first, task.last + 1)]
    wanted = [
        (name, seq)
        for name in sorted(end)
        for seq in range(start[name].next if name in start else ends[name].tail, end[name].next)
    ]
    assert rows == wanted
    assert all(0 < task.rows <= rows_per_task for task in tasks)
    assert len(tasks) >= min(tasks_min, len(rows)) if rows else not tasks
    assert all(before.last < after.first for before, after in pairwise(tasks) if before.log == after.log)


def test_what_is_gone_is_said_in_words() -> None:
    start = {"a": Place(5, 1), "b": Place(5, 1), "c": Place(5, 1), "d": Place(5, 1), "e": Place(5, 1)}
    ends = {"a": Ends(1, 9, 20), "b": Ends(2, 1, 20), "c": Ends(1, 1, 2), "d": Ends(1, 5, 4)}

    found = lost(start, ends)

    assert found == [
        "5 to 8 of a were removed by its retention",
        "c ends at 2, before 4, where it was to go on: was its store put back?",
    ]
    assert made_again(start, ends) == ["b was deleted and made again: what was after 4 in the old one is gone"]


def test_a_topic_that_was_made_again_is_read_from_its_oldest_message() -> None:
    start = {"a": Place(50, 1)}

    end = advance(start, {"a": Ends(2, 4, 9)}, None)

    assert spans_between(start, end) == [Span("a", 4, 9, 2)]
    assert spans_between(end, advance(end, {"a": Ends(2, 4, 12)}, None)) == [Span("a", 10, 12, 2)]
