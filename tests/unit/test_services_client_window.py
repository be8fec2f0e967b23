"""A window over many inputs: how many at once, and in which order they come out."""

from __future__ import annotations

import random

import pytest

from pregon.client.services.ask import Ask
from pregon.client.services.mapping import Mapping, result_of
from pregon.client.services.window import AHEAD
from pregon.errors import BadRequest, PregonError, ServiceFailed


def make_mapping(count: int, in_flight: int) -> Mapping:
    return Mapping("sqrt", range(count), in_flight, 1_000, {})


def taken(mapping: Mapping) -> list[object]:
    """The results that are there, in order."""
    found = []
    while (ask := mapping.window.take()) is not None:
        found.append(ask.result())
    return found


def test_so_many_are_asked_at_once_and_one_more_for_each_that_is_answered() -> None:
    mapping = make_mapping(10, in_flight=3)
    first = mapping.next_asks()

    first[1].finish([b"1"])
    second = mapping.next_asks()

    assert [ask.body for ask in first] == [[b"0"], [b"1"], [b"2"]]
    assert [ask.body for ask in second] == [[b"3"]]
    assert mapping.next_asks() == []


def test_results_come_in_the_order_of_the_inputs() -> None:
    mapping = make_mapping(3, in_flight=3)
    first, second, third = mapping.next_asks()

    third.finish([b"30"])
    second.finish([b"20"])
    before = taken(mapping)
    first.finish([b"10"])
    after = taken(mapping)

    assert before == []
    assert after == [10, 20, 30]


def test_results_that_wait_for_their_turn_are_bounded() -> None:
    mapping = make_mapping(1_000, in_flight=2)
    slow, *others = mapping.next_asks()

    asked = 1 + len(others)
    while others:
        for ask in others:
            ask.finish([b"0"])
        others = mapping.next_asks()
        asked += len(others)

    assert not slow.is_done
    assert asked == AHEAD * 2


def test_after_results_have_waited_for_a_slow_one_more_are_asked() -> None:
    mapping = make_mapping(1_000, in_flight=2)
    slow, *others = mapping.next_asks()
    while others:
        for ask in others:
            ask.finish([b"0"])
        others = mapping.next_asks()

    slow.finish([b"0"])
    before = mapping.next_asks()
    taken(mapping)

    assert before == []
    assert mapping.is_ready
    assert len(mapping.next_asks()) == 2


def test_it_is_over_when_all_was_asked_and_taken() -> None:
    mapping = make_mapping(2, in_flight=5)
    asks = mapping.next_asks()

    states = [mapping.is_over]
    for ask in asks:
        ask.finish([b"0"])
    states.append(mapping.is_over)
    taken(mapping)
    states.append(mapping.is_over)

    assert states == [False, False, True]


@pytest.mark.parametrize("seed", range(30))
def test_whatever_the_order_of_the_answers_a_map_never_stands_still(seed: int) -> None:
    chance = random.Random(seed)
    mapping = make_mapping(200, in_flight=chance.randint(1, 8))

    under_way: list[Ask] = []
    found: list[object] = []
    while not mapping.is_over:
        under_way += mapping.next_asks()
        found += taken(mapping)
        assert under_way or mapping.is_ready or mapping.is_over
        if under_way:
            ask = under_way.pop(chance.randrange(len(under_way)))
            ask.finish(ask.body)

    assert found == list(range(200))


def test_a_tuple_is_the_arguments_of_one_request() -> None:
    mapping = Mapping("pow", [(2, 3), "x"], 5, 1_000, {})

    bodies = [ask.body for ask in mapping.next_asks()]

    assert bodies == [[b"2", b"3"], [b"x"]]


def test_what_is_left_when_a_map_is_left_is_what_has_no_answer() -> None:
    mapping = make_mapping(3, in_flight=3)
    first, second, third = mapping.next_asks()
    second.finish([b"1"])

    rest = mapping.window.rest()

    assert rest == [first, third]
    assert len(mapping.window) == 0


def test_an_error_is_raised_or_stands_in_its_place() -> None:
    ask = Ask(ord("R"), b"sqrt", [b"1"], 1_000, 3)
    error: PregonError = ServiceFailed("no")
    ask.fail(error)

    given = result_of(ask, None, return_errors=True)

    assert given is error
    with pytest.raises(ServiceFailed):
        result_of(ask, None, return_errors=False)


@pytest.mark.parametrize("in_flight", [0, -1, 10_001])
def test_how_many_at_once_has_a_limit(in_flight: int) -> None:
    with pytest.raises(BadRequest, match="in_flight"):
        make_mapping(1, in_flight)
