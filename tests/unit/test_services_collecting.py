"""Durable requests: who waits for results and who no longer does; what is held of poison; what is old."""

from __future__ import annotations

from typing import NoReturn
from unittest.mock import patch

import pytest

from pregon.errors import LimitReached
from pregon.services.durables import FORGET_AT_ONCE
from pregon.services.view import list_poison
from pregon.wire import services as wire

from .durable_stage import Desk

# Who waits for results.


def waiting_clients(desk: Desk) -> int:
    """Those who wait for a result."""
    return len(desk.parts.durables._collectors)


def test_who_wants_a_result_twice_with_one_number_waits_once_and_is_told_once() -> None:
    desk = Desk()
    desk.hello(b"w", "A")
    desk.submit(1, key="k")
    for _ in range(3):
        desk.collect(b"c2", 7, "k", 60_000)
    desk.write()
    waiting = waiting_clients(desk)

    desk.answer(b"w", b"r")
    desk.write()

    assert waiting == 1
    assert desk.answers(b"c2") == [[b"r"]]
    assert waiting_clients(desk) == 0


def test_the_same_number_for_another_result_is_told_of_that_one_alone() -> None:
    desk = Desk()
    desk.hello(b"w", "A", slots=2)
    desk.submit(1, key="k1")
    desk.submit(2, key="k2")
    desk.collect(b"c2", 7, "k1", 60_000)
    desk.collect(b"c2", 7, "k2", 60_000)

    for work, said in zip(desk.work(b"w"), (b"first", b"second"), strict=True):
        desk.say(b"w", wire.ANSWER, work.id, said)
    desk.write()

    assert desk.answers(b"c2") == [[b"second"]]


def test_who_cancels_or_is_gone_does_not_wait_for_a_result_any_more() -> None:
    desk = Desk()
    desk.hello(b"w", "A")
    desk.submit(1, key="k")
    for client in (b"c2", b"c3", b"c4"):
        desk.collect(client, 7, "k", 60_000)
    desk.write()

    desk.cancel(b"c2", 7)
    desk.broker.client_gone(b"c3")
    waiting = waiting_clients(desk)
    desk.answer(b"w", b"r")
    desk.write()

    assert waiting == 1
    assert [desk.told(client) for client in (b"c2", b"c3")] == [[], []]
    assert desk.answers(b"c4") == [[b"r"]]


def test_no_client_ends_the_waiting_of_somebody_inside_the_hub() -> None:
    desk = Desk()
    desk.submit(1, key="k")
    desk.parts.collect("k", 60_000, lambda _: None)

    desk.broker.client_gone(b"hub")
    desk.cancel(b"hub", 1)

    assert waiting_clients(desk) == 1


def test_who_fails_when_it_is_told_keeps_nobody_else_from_being_told() -> None:
    def fail(_: object) -> NoReturn:
        raise RuntimeError("a bug of who is told")

    desk = Desk()
    desk.hello(b"w", "A")
    desk.submit(1, key="k")
    told: list[object] = []
    for tell in (fail, told.append, fail):
        desk.parts.collect("k", 60_000, tell)
    for tell in (told.append, fail, told.append):
        desk.parts.collect("k", 100, tell)
    desk.write()

    desk.wait(100)
    late = len(told)
    desk.answer(b"w", b"r")
    desk.write()

    assert (late, told[late:]) == (2, [[b"r"]])
    assert (waiting_clients(desk), desk.parts.durables.count) == (0, 0)


def test_a_request_is_worked_on_though_who_handed_it_in_fails_when_it_is_told_yes() -> None:
    def fail(_: object) -> NoReturn:
        raise RuntimeError("a bug of who is told")

    desk = Desk()
    desk.hello(b"w", "A")
    desk.parts.ask("A", [b"body"], wire.RequestOptions(durable=True), fail)

    with pytest.raises(RuntimeError):
        desk.write()
    desk.bring()

    assert desk.given(b"w") == [b"body"]


# What is set aside, and what is old.


def poison(desk: Desk, *body: bytes, key: str = "k") -> None:
    """A durable request is set aside."""
    desk.ask(b"c", 1, "A", *body, durable=True, key=key)
    desk.write()
    desk.hello(b"w", "A")
    desk.broker.give_up(desk.broker.workers[b"w"], "it fell silent")
    desk.write()


def test_of_a_durable_request_that_is_set_aside_only_the_beginning_is_held() -> None:
    desk = Desk(attempts_max=1)

    poison(desk, b"begin" + bytes(10_000), bytes(10_000), *[b"frame"] * 50)

    (kept,) = desk.broker.poison
    (row,) = list_poison(desk.broker)
    assert sum(map(len, kept.request.body)) == 500
    assert len(kept.request.body) == 10
    assert (kept.size, row["body"][0][:5]) == (20_255, "begin")
    assert desk.broker.held_bytes == 0


def test_durable_requests_push_nothing_from_the_shelf_by_their_bytes() -> None:
    desk = Desk(attempts_max=1)
    with patch("pregon.services.poison.SERVICE_POISON_BYTES_MAX", 1_000):
        for key in ("k1", "k2", "k3"):
            poison(desk, bytes(900), key=key)

    assert [row["durable_id"] for row in list_poison(desk.broker)] == ["k1", "k2", "k3"]
    assert [desk.broker.poison.number_of(key) for key in ("k1", "k3", "k4")] == [1, 3, 0]


def test_old_results_are_forgotten_without_a_pause_while_there_are_more() -> None:
    desk = Desk()
    desk.journal.old = 2 * FORGET_AT_ONCE + 1
    forgotten = []

    for _ in range(5):
        desk.wait(50)
        desk.write()
        forgotten.append(desk.journal.forgotten)
    desk.wait(30_000)

    assert forgotten == [1, 2, 3, 3, 3]
    assert desk.journal.forgotten == 4


def test_a_journal_that_fails_to_forget_is_not_asked_without_a_pause() -> None:
    desk = Desk()
    desk.journal.is_failing = True

    for _ in range(5):
        desk.wait(50)
        desk.write()

    assert desk.journal.forgotten == 1


def test_nothing_is_released_while_as_many_as_may_be_are_worked_on() -> None:
    desk = Desk()
    desk.submit(1, key="k")

    with (
        patch("pregon.services.durables.SERVICE_DURABLE_MAX", 1),
        pytest.raises(LimitReached, match="release it later"),
    ):
        desk.parts.durables.require_room_again()
