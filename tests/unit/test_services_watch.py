"""Time: beats and silence, answers that take too long, deadlines, in each of the three ways to watch a worker."""

from __future__ import annotations

import pytest
from property.stage import Stage

from pregon.services.options import ANSWERS, BEATS, BEATS_WHEN_BUSY, LIVENESS
from pregon.services.worker import LOST, READY
from pregon.wire import services as wire
from pregon.wire.services import decode_welcome

OPTIONS = {"beat_ms": 100, "patience": 3, "answer_ms": 1_000}


def stage_of(liveness: str) -> Stage:
    stage = Stage({**OPTIONS, "liveness": liveness})
    stage.hello(b"w", "A")
    return stage


def beats(stage: Stage) -> int:
    """How often the worker was asked whether it is there, since it was last looked."""
    return [heard.kind for heard in stage.heard(b"w")].count("B")


def state(stage: Stage) -> str:
    return stage.broker.workers[b"w"].state


@pytest.mark.parametrize(("liveness", "told"), [(BEATS, (100, 300)), (BEATS_WHEN_BUSY, (100, 300)), (ANSWERS, (0, 0))])
def test_a_worker_is_told_how_it_is_watched(liveness: str, told: tuple[int, int]) -> None:
    stage = stage_of(liveness)

    (heard,) = stage.heard(b"w")

    welcome = decode_welcome(heard.tail)
    assert (heard.kind, welcome.beat_ms, welcome.patience_ms) == ("W", *told)


def test_with_beats_an_idle_worker_is_asked_and_given_up_when_it_stays_silent() -> None:
    stage = stage_of(BEATS)

    for _ in range(2):
        stage.wait(100)
    asked, before = beats(stage), state(stage)
    stage.wait(100)

    assert (asked, before, state(stage)) == (2, READY, LOST)


def test_a_worker_that_speaks_by_itself_is_not_asked() -> None:
    stage = stage_of(BEATS)

    for _ in range(10):
        stage.wait(60)
        stage.say(b"w", wire.BEAT)
        stage.wait(40)

    assert (beats(stage), state(stage)) == (0, READY)


def test_with_beats_when_busy_only_who_owes_an_answer_is_asked() -> None:
    stage = stage_of(BEATS_WHEN_BUSY)
    for _ in range(10):
        stage.wait(100)
    idle = beats(stage)

    stage.ask(b"c", 1, "A")
    stage.wait(100)
    stage.wait(100)

    assert (idle, beats(stage), state(stage)) == (0, 2, READY)
    stage.wait(100)
    assert state(stage) == LOST


def test_with_beats_when_busy_an_overdue_answer_is_owed_too() -> None:
    stage = Stage({**OPTIONS, "liveness": BEATS_WHEN_BUSY, "answer_ms": 150})
    stage.hello(b"w", "A")
    stage.ask(b"c", 1, "A")
    for _ in range(2):
        stage.wait(100)
        stage.say(b"w", wire.BEAT)
    assert stage.broker.workers[b"w"].overdue

    for _ in range(4):
        stage.wait(100)

    assert state(stage) == LOST


def test_with_answers_nobody_is_asked_and_who_does_not_answer_in_time_is_given_up() -> None:
    stage = stage_of(ANSWERS)
    stage.ask(b"c", 1, "A")

    for _ in range(9):
        stage.wait(100)
    asked, before = beats(stage), state(stage)
    stage.wait(100)

    assert (asked, before, state(stage)) == (0, READY, LOST)
    assert stage.broker.lines[b"A"].waiting.count == 1


def test_a_plain_worker_is_watched_by_its_answers_whatever_the_way() -> None:
    stage = Stage({**OPTIONS, "liveness": BEATS})
    stage.register(b"w")
    for _ in range(20):
        stage.wait(100)
    idle = state(stage)

    stage.front(b"c", b"", b"m")
    for _ in range(10):
        stage.wait(100)

    assert (idle, state(stage)) == (READY, LOST)
    assert stage.at_back[b"w"] == [[b"", b"c", b"", b"m"]]


@pytest.mark.parametrize("liveness", [BEATS, BEATS_WHEN_BUSY])
def test_a_live_worker_that_takes_too_long_loses_the_request_and_that_slot_until_it_answers(liveness: str) -> None:
    stage = stage_of(liveness)
    stage.hello(b"other", "A", load=0.0)
    stage.ask(b"c", 1, "A", b"slow")
    late = stage.work(b"w")[-1].id

    for _ in range(10):
        stage.wait(100)
        stage.say(b"w", wire.BEAT)
        stage.say(b"other", wire.BEAT)
    worker = stage.broker.workers[b"w"]
    before = (worker.state, worker.free, stage.given(b"other"))
    stage.say(b"w", wire.ANSWER, late, b"late")

    assert before == (READY, 0, [b"slow"])
    assert worker.free == 1
    assert stage.broker.counts.answers_late == 1
    assert stage.told(b"c") == []


def test_a_worker_of_several_services_is_watched_in_the_strictest_way() -> None:
    stage = Stage(OPTIONS)
    stage.set_options("A", liveness=ANSWERS)
    stage.set_options("B", liveness=BEATS)
    stage.hello(b"w", "A", "B")

    stage.wait(100)

    assert beats(stage) == 1


def test_options_that_are_set_hold_for_workers_that_are_there() -> None:
    stage = Stage({"beat_ms": 60 * 60 * 1_000})
    stage.hello(b"w", "A")

    stage.set_options("A", beat_ms=100)
    for _ in range(4):
        stage.wait(100)

    assert state(stage) == LOST


@pytest.mark.parametrize("liveness", LIVENESS)
def test_a_lost_worker_is_asked_now_and_then_and_forgotten_after_ten_minutes(liveness: str) -> None:
    stage = stage_of(liveness)
    stage.heard(b"w")
    stage.parts.worker_unreachable(b"w", [])

    stage.wait(100)
    asked = beats(stage)
    stage.wait(10 * 60 * 1_000)
    stage.wait(100)

    assert asked == 1
    assert stage.broker.workers == {}


def test_a_deadline_that_passes_in_the_hands_of_a_worker_is_told_and_the_answer_dropped() -> None:
    stage = stage_of(BEATS)
    stage.ask(b"c", 1, "A", deadline_ms=150)

    stage.wait(150)
    errors = stage.errors(b"c")
    stage.answer(b"w")

    assert errors == ["deadline_passed"]
    assert stage.told(b"c") == []
    assert stage.broker.workers[b"w"].free == 1


def test_many_deadlines_that_were_kept_are_not_remembered() -> None:
    stage = stage_of(BEATS)

    for number in range(5_000):
        stage.ask(b"c", number, "A", deadline_ms=60_000)
        stage.answer(b"w")
        stage.heard(b"w")
        if number % 100 == 0:
            stage.wait(1)
    stage.wait(1)

    assert len(stage.parts.watch._deadlines) < 3_000


def test_a_worker_that_says_hello_for_ever_is_looked_at_once() -> None:
    stage = Stage({"beat_ms": 60 * 60 * 1_000})

    for _ in range(5_000):
        stage.hello(b"w", "A")

    assert len(stage.parts.watch._looks) < 2_000


def test_many_that_are_overdue_at_once_are_all_taken_away() -> None:
    stage = Stage({**OPTIONS, "liveness": ANSWERS, "attempts_max": 100})
    for number in range(20):
        stage.hello(b"w%d" % number, "A", slots=10)
    for number in range(200):
        stage.ask(b"c", number, "A")

    stage.wait(1_000)

    assert stage.broker.lines[b"A"].waiting.count == 200
    assert {worker.state for worker in stage.broker.workers.values()} == {LOST}


def test_a_slot_whose_answer_was_lost_on_the_way_is_free_again_after_another_answers_time() -> None:
    stage = stage_of(BEATS)
    stage.ask(b"c", 1, "A")
    for _ in range(10):
        stage.wait(100)
        stage.say(b"w", wire.BEAT)
    owed = len(stage.broker.workers[b"w"].overdue)

    for _ in range(11):
        stage.wait(100)
        stage.say(b"w", wire.BEAT)

    worker = stage.broker.workers[b"w"]
    assert (owed, len(worker.overdue)) == (1, 0)
    assert worker.in_hand or worker.free == worker.slots


def test_who_works_on_what_is_taken_away_or_too_late_is_told() -> None:
    stage = stage_of(BEATS)
    stage.hello(b"v", "B")
    stage.ask(b"c", 1, "A")
    stage.ask(b"c", 2, "B", deadline_ms=300)

    for _ in range(10):
        stage.wait(100)
        stage.say(b"w", wire.BEAT)
        stage.say(b"v", wire.BEAT)

    assert "X" in [heard.kind for heard in stage.heard(b"w")]
    assert "X" in [heard.kind for heard in stage.heard(b"v")]
    assert stage.errors(b"c") == ["deadline_passed"]


@pytest.mark.parametrize("liveness", [BEATS, BEATS_WHEN_BUSY])
def test_with_a_patience_of_one_beat_a_worker_that_answers_each_is_not_lost(liveness: str) -> None:
    stage = Stage({**OPTIONS, "patience": 1, "liveness": liveness})
    stage.hello(b"w", "A")
    stage.ask(b"c", 1, "A")

    for _ in range(9):
        stage.wait(100)
        if beats(stage):
            stage.say(b"w", wire.BEAT)

    assert (state(stage), stage.broker.counts.workers_lost) == (READY, 0)


def test_a_broker_that_stood_still_itself_blames_nobody() -> None:
    stage = stage_of(BEATS)
    stage.ask(b"c", 1, "A")

    stage.now_ms += 60_000
    stage.broker.at(stage.now_ms)
    stage.parts.was_paused(60_000)
    stage.wait(10)

    assert (state(stage), stage.broker.counts.workers_lost) == (READY, 0)
    assert len(stage.broker.workers[b"w"].in_hand) == 1
