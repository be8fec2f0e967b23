"""What a client of the services' benchmark sends, when it stops, and what it does not let pass."""

from __future__ import annotations

import pytest

from pregon.bench.peers import PeerFailed
from pregon.bench.services.asking import Ask, Window, percentile

LONG_S = 3_600.0


def number(body: bytes) -> int:
    """Which request a body is of."""
    return int.from_bytes(body, "big")


def test_as_many_are_sent_at_once_as_may_be_in_flight() -> None:
    window = Window(Ask(seconds=LONG_S, in_flight=5))

    bodies = window.open()

    assert [number(body) for body in bodies] == [0, 1, 2, 3, 4]
    assert not window.is_over


def test_an_answer_makes_room_for_the_next_request() -> None:
    window = Window(Ask(seconds=LONG_S, in_flight=2))
    first, second = window.open()

    following = [window.answered(second), window.answered(first)]

    assert [number(body) for body in following if body is not None] == [2, 3]


def test_when_the_time_is_over_nothing_is_sent_and_what_is_in_flight_is_awaited() -> None:
    window = Window(Ask(seconds=0.0, in_flight=2))
    first, second = window.open()

    sent_after = [window.answered(first)]
    was_over = window.is_over
    sent_after.append(window.answered(second))

    assert sent_after == [None, None]
    assert not was_over
    assert window.is_over
    assert window.tell().requests == 2


@pytest.mark.parametrize("answers", [(0, 0), (0,), (0, 7)], ids=["twice", "missing", "somebody else's"])
def test_a_client_that_was_not_answered_exactly_fails(answers: tuple[int, ...]) -> None:
    window = Window(Ask(seconds=0.0, in_flight=2))
    window.open()

    for answer in answers:
        window.note(answer.to_bytes(4, "big"))

    with pytest.raises(PeerFailed, match="2 requests"):
        window.tell()


def test_the_time_of_one_is_told_where_only_one_is_in_flight() -> None:
    one, many = Window(Ask(seconds=0.0, in_flight=1)), Window(Ask(seconds=0.0, in_flight=2))

    for window in (one, many):
        for body in window.open():
            window.note(body)

    assert 0 < one.tell().p50_us <= one.tell().p99_us
    assert many.tell().p50_us == 0


def test_a_percentile_of_few_values_is_one_of_them() -> None:
    assert percentile([1.0, 2.0, 3.0], 50) == 2.0
    assert percentile([1.0, 2.0, 3.0], 99) == 3.0
    assert percentile([1.0], 50) == 1.0
