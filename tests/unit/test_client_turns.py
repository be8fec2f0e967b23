"""Whose turn it is over HTTP, and who is told what."""

from __future__ import annotations

import pytest

from pregon.client.http_talk import Asking
from pregon.client.turns import WAITING_MAX, Turns
from pregon.errors import HubBusy
from pregon.wire.frames import ANSWER_BIT, ERROR, Answer


def asking(number: int) -> Asking:
    return Asking(number, b"", 1)


def good(number: int) -> Answer:
    return Answer(ANSWER_BIT | 1, number, b"", ())


def bad(number: int) -> Answer:
    return Answer(ERROR, number, b"why", ())


def filled(*, is_ordered: bool) -> Turns:
    """Three that wait."""
    turns = Turns(is_ordered=is_ordered)
    for number in (1, 2, 3):
        turns.add(asking(number))
    return turns


def taken(turns: Turns) -> Asking:
    """The next one, which there is."""
    one = turns.next()
    assert one is not None
    return one


def test_turns_come_in_the_order_of_asking() -> None:
    turns = filled(is_ordered=True)

    order = [turns.next() for _ in range(4)]

    assert [one.request_id if one else None for one in order] == [1, 2, 3, None]


def test_an_answer_is_told_to_who_asked_and_an_error_concerns_nobody_else() -> None:
    turns = filled(is_ordered=False)
    first, second = taken(turns), taken(turns)

    told = [turns.answered(second, good(2)), turns.answered(first, bad(1))]

    assert told == [[good(2)], [bad(1)]]
    assert turns.waiting == 1


def test_in_order_an_error_also_answers_what_waits_behind() -> None:
    turns = filled(is_ordered=True)

    told = turns.answered(taken(turns), bad(1))

    assert told == [bad(1), bad(2), bad(3)]
    assert turns.next() is None


def test_what_was_forgotten_is_not_answered_nor_sent() -> None:
    turns = filled(is_ordered=False)
    first = taken(turns)

    cut = [turns.forget(1), turns.forget(2), turns.forget(9)]

    assert cut == [first, None, None]
    assert first.is_forgotten
    assert turns.answered(first, good(1)) == []
    assert taken(turns).request_id == 3


def test_not_more_wait_than_may() -> None:
    turns = Turns(is_ordered=False)
    for number in range(WAITING_MAX):
        turns.add(asking(number))

    with pytest.raises(HubBusy):
        turns.add(asking(WAITING_MAX))

    assert turns.waiting == WAITING_MAX
