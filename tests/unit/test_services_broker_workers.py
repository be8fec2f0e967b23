"""Workers come, leave, are lost and come back: what each is given, and what becomes of what it had."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from property.stage import Stage, error_of

from pregon.services.worker import LEAVING, LOST, READY
from pregon.wire import services as wire


class ByName:
    """Rights: everybody may do what is called as they are, and `boss` may do everything."""

    def may_ask(self, user: str, job_type: str) -> bool:
        """Whether the type is the user's own."""
        return user in (job_type, "boss")

    def may_serve(self, user: str, job_type: str) -> bool:
        """The same."""
        return user in (job_type, "boss")


def test_a_worker_is_given_as_many_requests_as_it_has_slots() -> None:
    stage = Stage()
    stage.hello(b"w", "A", slots=3)

    for number in range(5):
        stage.ask(b"c", number, "A")

    assert len(stage.work(b"w")) == 3
    assert stage.broker.lines[b"A"].waiting.count == 2


def test_a_plain_worker_may_name_types_and_its_load() -> None:
    stage = Stage({"policy": "least-loaded"})
    stage.register(b"w1", b"A, B@2", b"0.4")
    stage.register(b"w2", b"A", b"0.3")

    stage.ask(b"c", 1, "A", b"1")
    stage.ask(b"c", 2, "B", b"2", version="2")

    assert stage.at_back[b"w2"] == [[b"", b"c", b"", b"1"]]
    assert stage.at_back[b"w1"] == [[b"", b"c", b"", b"2"]]
    assert stage.broker.workers[b"w1"].load == 0.4


def test_a_plain_worker_that_registers_again_serves_what_it_says_now() -> None:
    stage = Stage()
    stage.register(b"w", b"A")
    stage.ask(b"c", 1, "A", b"m")
    stage.hello(b"other", "A")

    stage.register(b"w", b"B")
    stage.ask(b"c", 2, "B", b"n")

    assert stage.given(b"other") == [b"m"]
    assert stage.at_back[b"w"][-1] == [b"", b"c", b"", b"n"]


def test_an_identity_that_turns_from_one_form_to_the_other_keeps_nothing() -> None:
    stage = Stage()
    stage.hello(b"w", "A", slots=2)
    stage.ask(b"c", 1, "A", b"m")

    stage.register(b"w", b"B")
    stage.hello(b"other", "A")

    assert stage.given(b"other") == [b"m"]
    assert [worker.is_plain for worker in stage.broker.workers.values()] == [True, False]
    assert len(stage.broker.lines[b"A"].workers) == 1


def test_a_plain_worker_that_nobody_knows_is_taken_for_a_new_one_and_its_answer_dropped() -> None:
    stage = Stage()
    stage.front(b"c", b"", b"m")

    stage.back(b"w", b"", b"c", b"", b"of before the restart")

    assert stage.told(b"c") == []
    assert stage.at_back[b"w"] == [[b"", b"c", b"", b"m"]]
    assert stage.broker.counts.answers_unknown == 1


@pytest.mark.parametrize("kind", [wire.ANSWER, wire.BEAT, wire.ERROR, wire.GIVE_BACK, wire.GOODBYE])
def test_a_worker_that_nobody_knows_is_asked_to_say_hello(kind: int) -> None:
    stage = Stage()

    stage.say(b"w", kind, b"12345678", b"r")

    assert stage.heard(b"w") == [("H", wire.NO_ID, b"", [])]
    assert stage.broker.workers == {}


def test_a_worker_that_says_hello_again_has_nothing_of_what_it_had() -> None:
    stage = Stage()
    stage.hello(b"w", "A")
    stage.ask(b"c", 1, "A", b"m")
    late = stage.work(b"w")[-1].id

    stage.hello(b"w", "A", slots=2)
    stage.say(b"w", wire.ANSWER, late, b"of before")
    stage.answer(b"w", b"of now")

    assert stage.given(b"w") == [b"m", b"m"]
    assert stage.answers(b"c") == [[b"of now"]]
    assert stage.broker.counts.answers_late == 1
    assert stage.broker.workers[b"w"].free == 2


@pytest.mark.parametrize("said", [wire.BEAT, wire.ANSWER])
def test_a_lost_worker_is_taken_back_when_it_speaks(said: int) -> None:
    stage = Stage()
    stage.hello(b"w", "A", slots=2)
    stage.ask(b"c", 1, "A")
    stage.ask(b"c", 2, "A")
    stage.broker.give_up(stage.broker.workers[b"w"], "it fell silent")

    stage.say(b"w", said, stage.work(b"w")[0].id, b"late")

    worker = stage.broker.workers[b"w"]
    assert (worker.state, worker.free, len(worker.in_hand)) == (READY, 0, 2)
    assert stage.told(b"c") == []


def test_a_lost_plain_worker_is_taken_back_with_its_late_answer() -> None:
    stage = Stage({"answer_ms": 100})
    stage.register(b"w")
    stage.front(b"c", b"", b"m")
    stage.wait(100)
    assert stage.broker.workers[b"w"].state == LOST

    stage.back(b"w", b"", b"c", b"", b"late")

    assert stage.told(b"c") == []
    assert stage.broker.counts.answers_late == 1
    assert stage.broker.workers[b"w"].state == READY
    assert len(stage.at_back[b"w"]) == 2


def test_what_is_given_back_goes_to_another_and_is_no_attempt() -> None:
    stage = Stage({"attempts_max": 1})
    stage.hello(b"w1", "A", slots=2)
    stage.ask(b"c", 1, "A", b"m")
    stage.hello(b"w2", "A")

    stage.say(b"w1", wire.GIVE_BACK, stage.work(b"w1")[-1].id)

    assert stage.given(b"w2") == [b"m"]
    assert stage.told(b"c") == []


def test_who_gives_back_is_given_no_more_until_it_answers() -> None:
    stage = Stage()
    stage.hello(b"w", "A", slots=3)
    stage.ask(b"c", 1, "A", b"1")
    stage.ask(b"c", 2, "A", b"2")

    stage.say(b"w", wire.GIVE_BACK, stage.work(b"w")[1].id)
    before = stage.given(b"w")
    stage.say(b"w", wire.ANSWER, next(iter(stage.broker.workers[b"w"].in_hand)), b"r")

    assert before == [b"1", b"2"]
    assert stage.given(b"w") == [b"2"]
    assert stage.broker.workers[b"w"].free == 2


def test_who_gives_back_all_it_has_is_given_more_after_its_next_sign_of_life() -> None:
    stage = Stage()
    stage.hello(b"w", "A", slots=2)
    stage.ask(b"c", 1, "A", b"m")

    stage.say(b"w", wire.GIVE_BACK, stage.work(b"w")[-1].id)
    before = stage.given(b"w")
    stage.say(b"w", wire.BEAT)

    assert before == [b"m"]
    assert stage.given(b"w") == [b"m"]


def test_what_is_overdue_may_be_given_back_and_frees_its_slot() -> None:
    stage = Stage({"answer_ms": 100})
    stage.hello(b"w", "A")
    stage.ask(b"c", 1, "A")
    late = stage.work(b"w")[-1].id
    stage.wait(100)

    stage.say(b"w", wire.GIVE_BACK, late)

    worker = stage.broker.workers[b"w"]
    assert (len(worker.overdue), len(worker.in_hand)) == (0, 1)


def test_slots_that_are_overdue_and_withheld_are_not_counted_twice() -> None:
    stage = Stage({"answer_ms": 100})
    stage.hello(b"w", "A", slots=2)
    stage.ask(b"c", 1, "A")
    stage.ask(b"c", 2, "A")
    first, second = (work.id for work in stage.work(b"w"))

    stage.say(b"w", wire.GIVE_BACK, first)
    stage.wait(100)
    stage.say(b"w", wire.BEAT)

    worker = stage.broker.workers[b"w"]
    assert [*worker.overdue] == [second]
    assert (worker.state, worker.free, len(worker.in_hand)) == (READY, 0, 1)


def test_a_request_that_is_given_back_for_ever_ends() -> None:
    stage = Stage({"wait_ms": 1_000, "answer_ms": 1_000, "beat_ms": 100})
    stage.hello(b"w", "A")
    stage.ask(b"c", 1, "A")

    for _ in range(30):
        stage.say(b"w", wire.GIVE_BACK, stage.work(b"w")[-1].id)
        stage.wait(100)
        stage.say(b"w", wire.BEAT)

    assert stage.errors(b"c") == ["answer_timeout"]


def test_who_says_goodbye_is_given_no_more_and_answers_what_it_has() -> None:
    stage = Stage()
    stage.hello(b"w", "A", slots=2)
    stage.ask(b"c", 1, "A", b"1")

    stage.say(b"w", wire.GOODBYE)
    stage.ask(b"c", 2, "A", b"2")
    state = stage.broker.workers[b"w"].state
    stage.answer(b"w", b"r")

    assert state == LEAVING
    assert stage.given(b"w") == [b"1"]
    assert stage.answers(b"c") == [[b"r"]]
    assert stage.broker.workers == {}


def test_who_says_goodbye_and_gives_the_rest_back_is_gone() -> None:
    stage = Stage()
    stage.hello(b"w", "A")
    stage.ask(b"c", 1, "A", b"m")
    stage.say(b"w", wire.GOODBYE)

    stage.say(b"w", wire.GIVE_BACK, stage.work(b"w")[-1].id)
    stage.say(b"w", wire.BEAT)

    assert stage.broker.workers == {}
    assert stage.given(b"w") == [b"m"]
    assert stage.broker.lines[b"A"].waiting.count == 1


def test_who_says_goodbye_and_is_then_lost_is_not_taken_back() -> None:
    stage = Stage()
    stage.hello(b"w", "A")
    stage.ask(b"c", 1, "A", b"m")
    stage.say(b"w", wire.GOODBYE)

    stage.broker.give_up(stage.broker.workers[b"w"], "it fell silent")
    stage.answer(b"w")

    assert stage.broker.workers == {}
    assert stage.broker.lines[b"A"].waiting.count == 1


def test_who_says_goodbye_and_takes_too_long_is_gone() -> None:
    stage = Stage({"answer_ms": 100})
    stage.hello(b"w", "A")
    stage.ask(b"c", 1, "A")
    stage.say(b"w", wire.GOODBYE)

    stage.wait(100)

    assert stage.broker.workers == {}
    assert stage.broker.lines[b"A"].waiting.count == 1


def test_there_is_a_limit_to_workers_and_the_lost_make_room() -> None:
    with patch("pregon.services.back.SERVICE_WORKERS_MAX", 2):
        stage = Stage()
        stage.hello(b"w1", "A")
        stage.hello(b"w2", "A")
        stage.hello(b"w3", "A")
        stage.register(b"w4")
        refused = [error_of(heard).code for heard in stage.heard(b"w3")]
        stage.parts.worker_unreachable(b"w1", [])

        stage.hello(b"w3", "A")

    assert refused == ["limit_reached"]
    assert set(stage.broker.workers) == {b"w2", b"w3"}


def test_requests_and_workers_without_a_right_are_refused_and_leave_nothing() -> None:
    stage = Stage(rights=ByName())

    stage.ask(b"c", 1, "A", user="B")
    stage.ask(b"c", 2, "A", user="B", version="1")
    stage.ask(b"c", 3, "A", user="B", durable=True)
    stage.front(b"c", b"", b"plain", user="B")
    stage.hello(b"w", "A", user="B")
    stage.register(b"r", b"A", user="B")

    assert stage.errors(b"c") == ["forbidden"] * 4
    assert error_of(stage.heard(b"w")[0]).code == "forbidden"
    assert set(stage.broker.lines) == {b"default"}
    assert stage.broker.workers == {}


def test_who_comes_with_the_identity_of_another_has_nothing_of_its_work_or_its_rights() -> None:
    stage = Stage(rights=ByName())
    stage.hello(b"w", "A", user="A")
    stage.ask(b"c", 1, "A", b"m", user="A")
    work_id = stage.work(b"w")[-1].id

    stage.back(b"w", b"PGS1A" + work_id, b"forged", user="B")
    stage.hello(b"other", "A", user="A")

    assert stage.given(b"other") == [b"m"]
    assert stage.told(b"c") == []
    assert set(stage.broker.workers) == {b"other"}


def test_workers_whose_right_was_taken_away_are_given_nothing_any_more() -> None:
    rights = ByName()
    stage = Stage(rights=rights)
    stage.hello(b"w", "A", user="A")
    stage.hello(b"boss", "A", user="boss")
    stage.ask(b"c", 1, "A", b"m", user="A")

    with patch.object(ByName, "may_serve", lambda _self, user, _type: user == "boss"):
        stage.parts.dismiss_without_right()
    stage.bring()

    assert set(stage.broker.workers) == {b"boss"}
    assert stage.given(b"boss") == [b"m"]
