"""Requests that wait: in whose turn, for how long, and which are refused."""

from __future__ import annotations

from property.stage import Stage, error_of, read

from pregon.wire import services as wire


def test_clients_take_turns_however_much_each_has_asked() -> None:
    stage = Stage()
    for number in range(3):
        stage.ask(b"greedy", number, "A", b"greedy %d" % number)
    stage.ask(b"modest", 0, "A", b"modest")

    stage.hello(b"w", "A", slots=4)

    assert stage.given(b"w") == [b"greedy 0", b"modest", b"greedy 1", b"greedy 2"]


def test_clients_behind_one_proxy_take_turns_too() -> None:
    stage = Stage()
    for number in range(2):
        stage.front(b"proxy", b"one", b"", b"one %d" % number)
    stage.front(b"proxy", b"two", b"", b"two")

    stage.hello(b"w", "default", slots=3)

    assert stage.given(b"w") == [b"one 0", b"two", b"one 1"]


def test_the_higher_priority_goes_first() -> None:
    stage = Stage()
    for priority in (5, 0, 9):
        stage.ask(b"c", priority, "A", b"%d" % priority, priority=priority)

    stage.hello(b"w", "A", slots=3)

    assert stage.given(b"w") == [b"9", b"5", b"0"]


def test_what_was_taken_from_a_lost_worker_goes_before_all_that_wait() -> None:
    stage = Stage()
    stage.hello(b"w1", "A", slots=2)
    for number in (1, 2, 3):
        stage.ask(b"c", number, "A", b"%d" % number, priority=number)

    stage.parts.worker_unreachable(b"w1", [])
    stage.hello(b"w2", "A", slots=3)

    assert stage.given(b"w2") == [b"1", b"2", b"3"]


def test_a_full_queue_refuses_and_says_when_to_ask_again() -> None:
    stage = Stage({"queue_max": 2})
    for number in range(3):
        stage.ask(b"c", number, "A")

    (told,) = stage.told(b"c")

    failure = error_of(read(told))
    assert (failure.code, failure.retryable) == ("queue_full", True)
    assert "ask again" in failure.message
    assert stage.broker.lines[b"A"].waiting.count == 2


def test_the_queue_of_one_service_is_not_filled_by_another() -> None:
    stage = Stage({"queue_max": 1})

    stage.ask(b"c", 1, "A")
    stage.ask(b"c", 2, "B")

    assert stage.told(b"c") == []


def test_no_more_bytes_are_held_than_may_be_even_if_workers_have_room() -> None:
    stage = Stage()
    stage.hello(b"w", "A", slots=100)
    large = bytes(8 * 1024 * 1024)

    for number in range(33):
        stage.ask(b"c", number, "A", large)

    # A request weighs more than its body, so that empty ones are bounded too.
    assert stage.errors(b"c") == ["queue_full", "queue_full"]
    assert 31 * len(large) < stage.broker.held_bytes <= 32 * len(large)
    assert len(stage.broker.under_way) == 31


def test_a_request_that_nobody_serves_waits_and_then_hears_so() -> None:
    stage = Stage({"wait_ms": 500})
    stage.ask(b"c", 1, "A")

    stage.wait(499)
    early = stage.told(b"c")
    stage.wait(1)
    (told,) = stage.told(b"c")

    failure = error_of(read(told))
    assert early == []
    assert (failure.code, failure.retryable) == ("service_unserved", True)
    assert "start one" in failure.message


def test_a_request_whose_workers_are_busy_for_too_long_hears_that_instead() -> None:
    stage = Stage({"wait_ms": 500})
    stage.hello(b"w", "A")
    stage.ask(b"c", 1, "A")
    stage.ask(b"c", 2, "A")

    stage.wait(500)

    assert stage.errors(b"c") == ["answer_timeout"]


def test_a_deadline_that_would_be_missed_is_refused_early() -> None:
    stage = Stage()
    stage.hello(b"w", "A")
    for number in range(10):
        stage.ask(b"c", number, "A")
        stage.wait(100)
        stage.answer(b"w")
        stage.told(b"c")
    stage.ask(b"c", 20, "A")

    stage.ask(b"c", 21, "A", deadline_ms=150)
    stage.ask(b"c", 22, "A", deadline_ms=250)

    (told,) = stage.told(b"c")
    failure = error_of(read(told))
    assert (read(told).id[-1], failure.code) == (21, "deadline_passed")
    assert "about 200 ms" in failure.message


def test_only_what_goes_before_counts_against_a_deadline() -> None:
    stage = Stage()
    stage.hello(b"w", "A")
    for number in range(10):
        stage.ask(b"c", number, "A")
        stage.wait(100)
        stage.answer(b"w")
    stage.told(b"c")
    for number in range(20, 25):
        stage.ask(b"c", number, "A")

    stage.ask(b"c", 30, "A", deadline_ms=250, priority=5)
    stage.ask(b"c", 31, "A", deadline_ms=250, priority=6)

    assert stage.errors(b"c") == ["deadline_passed"]


def test_a_deadline_that_passes_while_waiting_ends_the_request() -> None:
    stage = Stage()
    stage.ask(b"c", 1, "A", deadline_ms=300)

    stage.wait(300)
    stage.hello(b"w", "A")

    assert stage.errors(b"c") == ["deadline_passed"]
    assert stage.given(b"w") == []


def test_a_client_that_is_gone_leaves_nothing_waiting() -> None:
    stage = Stage()
    stage.hello(b"w", "A")
    for number in range(3):
        stage.ask(b"gone", number, "A", b"gone")
    stage.ask(b"here", 1, "A", b"here")
    stage.unreachable.add(b"gone")

    stage.answer(b"w")
    stage.answer(b"w")

    assert stage.given(b"w") == [b"gone", b"gone", b"here"]
    assert stage.broker.counts.answers_undeliverable == 2
    assert stage.broker.counts.cancelled == 1


def test_a_client_that_is_gone_leaves_nothing_that_was_taken_from_a_lost_worker_either() -> None:
    stage = Stage()
    stage.hello(b"w", "A")
    stage.ask(b"gone", 1, "A")
    stage.say(b"w", wire.GIVE_BACK, stage.work(b"w")[-1].id)

    stage.broker.client_gone(b"gone")

    assert stage.broker.lines[b"A"].waiting.count == 0
    assert stage.broker.held_bytes == 0
