"""Durable requests: yes only when they are on disk, one result each, collected by whom it concerns."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from property.stage import error_of, number, read

from pregon.model.service import ANSWERED, FAILED, PARKED, Entry
from pregon.services.view import list_poison
from pregon.wire import services as wire

from .durable_stage import Desk


def test_yes_is_said_when_the_request_is_on_disk_and_not_before() -> None:
    desk = Desk()
    desk.ask(b"c", 1, "A", b"body", durable=True, key="k")
    before = desk.told(b"c")

    desk.write()

    assert before == []
    assert desk.told(b"c") == [[b"PGS1Y" + number(1) + b"k"]]
    assert desk.journal.entries["k"].body == [b"body"]


def test_a_request_without_a_key_is_given_an_id() -> None:
    desk = Desk()

    desk.submit()

    (heard,) = map(read, desk.told(b"c"))
    assert heard.tail.decode() in desk.journal.entries


def test_a_disk_that_fails_is_told_and_nothing_is_worked_on() -> None:
    desk = Desk()
    desk.hello(b"w", "A")
    desk.journal.is_failing = True

    desk.submit()

    assert desk.errors(b"c") == ["store_failed"]
    assert desk.given(b"w") == []
    assert desk.parts.durables.count == 0


def test_the_same_key_again_is_the_same_request() -> None:
    desk = Desk()
    desk.hello(b"w", "A", slots=5)

    desk.submit(1, key="k")
    desk.submit(2, key="k")

    assert [read(told).kind for told in desk.told(b"c")] == ["Y", "Y"]
    assert len(desk.given(b"w")) == 1


@pytest.mark.parametrize(
    ("name", "body", "user"), [("A", b"another", ""), ("B", b"body", ""), ("A", b"body", "eva")], ids=str
)
def test_the_key_of_another_request_is_refused_and_nothing_is_worked_on(name: str, body: bytes, user: str) -> None:
    desk = Desk()
    desk.hello(b"w", "A", "B", slots=5)
    desk.submit(1, key="k")
    desk.told(b"c")

    desk.ask(b"c", 2, name, body, user=user, durable=True, key="k")
    desk.write()

    assert desk.errors(b"c") == ["already_exists"]
    assert desk.given(b"w") == [b"body"]


@pytest.mark.parametrize("key", ["x" * 201, "a\nb", "ñ" * 150, "a/b"])
def test_a_key_that_is_none_is_refused(key: str) -> None:
    desk = Desk()

    desk.submit(1, key=key)

    assert desk.errors(b"c") == ["bad_request"]
    assert desk.journal.entries == {}


def test_a_result_is_told_when_it_is_on_disk_to_all_who_wait_and_to_who_comes_later() -> None:
    desk = Desk()
    desk.hello(b"w", "A")
    desk.submit(1, key="k")
    desk.collect(b"c1", 1, "k", 1_000)
    desk.collect(b"c2", 2, "k", 1_000)
    desk.write()
    desk.answer(b"w", b"r")
    before = desk.told(b"c1")

    desk.write()
    desk.collect(b"c3", 3, "k")
    desk.write()

    assert before == []
    assert [desk.answers(client) for client in (b"c1", b"c2", b"c3")] == [[[b"r"]]] * 3
    assert desk.journal.results["k"].state == ANSWERED


def test_who_collects_without_waiting_hears_that_it_is_not_there_yet() -> None:
    desk = Desk()
    desk.submit(1, key="k")
    desk.told(b"c")

    desk.collect(b"c", 2, "k")
    desk.write()

    assert desk.errors(b"c") == ["answer_timeout"]


def test_who_waits_long_enough_hears_the_same() -> None:
    desk = Desk()
    desk.submit(1, key="k")
    desk.told(b"c")
    desk.collect(b"c", 2, "k", 500)
    desk.write()

    desk.wait(499)
    before = desk.told(b"c")
    desk.wait(1)
    desk.wait(1)

    assert before == []
    assert desk.errors(b"c") == ["answer_timeout"]


@pytest.mark.parametrize("wait_ms", [0, 1_000])
def test_what_nobody_handed_in_is_not_found_at_once(wait_ms: int) -> None:
    desk = Desk()

    desk.collect(b"c", 1, "k", wait_ms)
    desk.write()

    assert desk.errors(b"c") == ["not_found"]


@pytest.mark.parametrize("wait_ms", [0, 1_000])
def test_the_request_of_one_user_is_not_there_for_another(wait_ms: int) -> None:
    desk = Desk()
    desk.ask(b"c", 1, "A", durable=True, key="k", user="ana")
    desk.write()

    desk.collect(b"other", 1, "k", wait_ms, user="eva")
    desk.write()

    assert desk.errors(b"other") == ["not_found"]


def test_a_failure_is_a_result_too() -> None:
    desk = Desk()
    desk.hello(b"w", "A")
    desk.submit(1, key="k")

    desk.say(b"w", wire.ERROR, desk.work(b"w")[-1].id, tail=b'{"message": "it broke"}')
    desk.write()
    desk.collect(b"c2", 2, "k")
    desk.write()

    assert desk.journal.results["k"].state == FAILED
    assert desk.errors(b"c2") == ["service_failed"]


def test_a_result_that_cannot_be_stored_is_stored_later_and_told_then() -> None:
    desk = Desk()
    desk.hello(b"w", "A")
    desk.submit(1, key="k")
    desk.collect(b"c2", 2, "k", 60_000)
    desk.write()
    desk.journal.is_failing = True
    desk.answer(b"w", b"r")
    desk.write()
    desk.wait(1_000)
    desk.write()
    before = (desk.told(b"c2"), desk.parts.durables.count)

    desk.journal.is_failing = False
    desk.wait(1_000)
    desk.write()

    assert before == ([], 1)
    assert desk.answers(b"c2") == [[b"r"]]
    assert desk.parts.durables.count == 0


def test_results_that_cannot_be_stored_count_against_the_limit() -> None:
    desk = Desk()
    desk.hello(b"w", "A", slots=5)
    with patch("pregon.services.durables.SERVICE_DURABLE_MAX", 2):
        desk.submit(1)
        desk.submit(2)
        desk.journal.is_failing = True
        for work in desk.work(b"w"):
            desk.say(b"w", wire.ANSWER, work.id, b"r")
        desk.write()
        desk.journal.is_failing = False
        desk.told(b"c")

        desk.submit(3)

    assert desk.errors(b"c") == ["limit_reached"]


def test_answers_that_cannot_be_stored_count_among_the_bytes_that_are_held() -> None:
    desk = Desk()
    desk.hello(b"w", "A")
    desk.submit(1)
    desk.journal.is_failing = True
    desk.answer(b"w", bytes(1_000))
    desk.write()
    desk.told(b"c")

    with patch("pregon.services.durables.SERVICE_QUEUED_BYTES_MAX", 1_000):
        desk.submit(2)

    assert desk.errors(b"c") == ["queue_full"]


def test_what_is_being_stored_counts_against_the_queue_of_its_own_service_alone() -> None:
    desk = Desk(queue_max=1)

    desk.ask(b"c", 1, "A", durable=True)
    desk.ask(b"c", 2, "B", durable=True)
    desk.ask(b"c", 3, "A", durable=True)

    assert desk.errors(b"c") == ["queue_full"]


def test_of_two_results_the_first_is_kept_and_told() -> None:
    desk = Desk()
    desk.hello(b"w", "A", slots=2)
    desk.submit(1, key="k")
    desk.parts.durables.resume(Entry(id="k", service="A", body=[b"body"], priority=5))
    desk.bring()
    desk.collect(b"c2", 2, "k", 1_000)
    first, second = (work.id for work in desk.work(b"w"))

    desk.say(b"w", wire.ANSWER, first, b"first")
    desk.say(b"w", wire.ANSWER, second, b"second")
    desk.write()

    assert desk.journal.stored == {"k": 1}
    assert desk.answers(b"c2") == [[b"first"]]


def test_a_durable_request_waits_for_ever() -> None:
    desk = Desk(wait_ms=100)
    desk.submit(1, key="k")

    desk.wait(60 * 60 * 1_000)
    desk.hello(b"w", "A")

    assert desk.given(b"w") == [b"body"]


def test_a_durable_request_outlives_its_client_and_is_not_cancelled_with_it() -> None:
    desk = Desk()
    desk.submit(1, key="k")

    desk.broker.client_gone(b"c")
    desk.cancel(b"c", 1)
    desk.hello(b"w", "A")

    assert desk.given(b"w") == [b"body"]


def test_attempts_are_remembered_and_poison_is_parked_and_can_be_worked_on_again() -> None:
    desk = Desk(attempts_max=2)
    desk.submit(1, key="k")
    desk.collect(b"c2", 2, "k", 1_000)
    for name in (b"w1", b"w2"):
        desk.hello(name, "A")
        desk.broker.give_up(desk.broker.workers[name], "it fell silent")
        desk.write()
    parked, attempts = desk.journal.results.pop("k"), desk.journal.entries["k"].attempts

    (row,) = list_poison(desk.broker)
    desk.parts.resume_poison(row["number"], desk.journal.entries["k"])
    desk.hello(b"w3", "A")
    desk.answer(b"w3", b"r")
    desk.write()

    assert (parked.state, attempts) == (PARKED, 1)
    assert desk.errors(b"c2") == ["poison_request"]
    assert desk.journal.results["k"].body == [b"r"]
    assert list_poison(desk.broker) == []


def test_what_was_set_aside_before_a_restart_is_shown_again() -> None:
    desk = Desk()

    desk.parts.durables.shelve(Entry(id="k", service="A", body=[b"body"], priority=5, attempts=3), "it fell silent")

    (row,) = list_poison(desk.broker)
    assert (row["durable_id"], row["reason"], row["body"]) == ("k", "it fell silent", ["body"])
    assert desk.parts.require_durable_poison(row["number"]).number == row["number"]


def test_a_service_that_keeps_nothing_says_so() -> None:
    desk = Desk()
    desk.set_options("A", durable=False)

    desk.submit(1)

    (heard,) = map(read, desk.told(b"c"))
    assert error_of(heard).code == "bad_request"
    assert "not durable" in error_of(heard).message


def test_there_is_a_limit_to_those_who_wait_for_results() -> None:
    desk = Desk()
    desk.submit(1, key="k")
    with patch("pregon.services.durables.SERVICE_COLLECTORS_MAX", 1):
        desk.collect(b"c1", 1, "k", 100)

        desk.collect(b"c2", 2, "k", 100)
        desk.wait(100)
        desk.collect(b"c2", 3, "k", 100)

    assert desk.errors(b"c2") == ["hub_busy"]


def test_a_deadline_ends_a_durable_request_too() -> None:
    desk = Desk()
    desk.submit(1, key="k", deadline_ms=100)

    desk.wait(100)
    desk.write()

    assert desk.journal.results["k"].code == "deadline_passed"
    assert desk.broker.held_bytes == 0
