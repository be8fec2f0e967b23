"""The life of a request: types and versions, answers, attempts, poison, cancels."""

from __future__ import annotations

import msgspec
import pytest
from property.stage import Stage, error_of, number, read

from pregon.errors import BadRequest, NotFound
from pregon.limits import SERVICE_POISON_BYTES_MAX, SERVICES_MAX
from pregon.services.poison import PoisonShelf
from pregon.services.request import Asker, Request
from pregon.services.view import list_poison, list_recent, list_requests, list_services
from pregon.wire import services as wire


def test_a_request_goes_to_a_worker_of_its_type() -> None:
    stage = Stage()
    stage.hello(b"a", "A")
    stage.hello(b"ab", "A", "B")

    stage.ask(b"c", 1, "B", b"for B")
    stage.ask(b"c", 2, "A", b"for A")

    assert stage.given(b"ab") == [b"for B"]
    assert stage.given(b"a") == [b"for A"]


def test_a_plain_request_is_of_the_default_type() -> None:
    stage = Stage()
    stage.register(b"w1", b"A,B")
    stage.register(b"w2")

    stage.front(b"c", b"", b"m")

    assert stage.at_back == {b"w2": [[b"", b"c", b"", b"m"]]}


def test_the_types_of_a_worker_take_turns() -> None:
    stage = Stage()
    for number_ in range(4):
        stage.ask(b"c", number_, "A", b"A")
    stage.ask(b"c", 10, "B", b"B")

    stage.hello(b"w", "A", "B")
    stage.answer(b"w")
    stage.answer(b"w")

    assert b"B" in stage.given(b"w")[:2]


def test_a_worker_of_a_version_serves_that_version_and_its_type() -> None:
    stage = Stage()
    stage.hello(b"w1", "A@1")
    stage.hello(b"w2", "A@2", slots=2)

    stage.ask(b"c", 1, "A", b"of version 2", version="2")
    stage.ask(b"c", 2, "A", b"of any")
    stage.ask(b"c", 3, "A", b"of any")

    assert stage.work(b"w2")[0].tail == b"A@2"
    assert stage.given(b"w2") == [b"of version 2", b"of any"]
    assert stage.given(b"w1") == [b"of any"]


def test_a_version_that_nobody_serves_is_refused_at_once_with_those_that_are() -> None:
    stage = Stage()
    stage.hello(b"w1", "A@1")
    stage.hello(b"w3", "A@3")

    stage.ask(b"c", 1, "A", version="2")

    (heard,) = map(read, stage.told(b"c"))
    assert error_of(heard).code == "version_unserved"
    assert error_of(heard).message.endswith("served now: 1, 3")


def test_a_version_whose_workers_are_lost_is_served_no_more() -> None:
    stage = Stage()
    stage.hello(b"w", "A@1")
    stage.parts.worker_unreachable(b"w", [])

    stage.ask(b"c", 1, "A", version="1")

    assert stage.errors(b"c") == ["version_unserved"]


def test_there_is_a_limit_to_the_types_that_are_known_and_those_in_use_stay() -> None:
    stage = Stage()
    stage.hello(b"w", "kept")
    for number_ in range(SERVICES_MAX + 50):
        stage.ask(b"c", 1, f"t{number_}", version="none")

    for number_ in range(SERVICES_MAX):
        stage.ask(b"c", number_, f"u{number_}")

    assert len(stage.broker.lines) == SERVICES_MAX
    assert {"version_unserved", "limit_reached"} == set(stage.errors(b"c"))
    stage.ask(b"c", SERVICES_MAX + 1, "kept", b"m")
    assert stage.given(b"w") == [b"m"]


def test_a_type_more_than_may_be_known_is_taken_as_soon_as_another_is_of_no_use() -> None:
    stage = Stage({"wait_ms": 100})
    for number_ in range(SERVICES_MAX + 150):
        stage.ask(b"c", number_, f"t{number_}")
    stage.wait(100)
    stage.told(b"c")

    stage.ask(b"c", 2_000, "one-more")

    assert stage.told(b"c") == []
    assert stage.broker.lines[b"one-more"].waiting.count == 1


def test_the_type_of_a_lost_worker_is_not_forgotten_while_it_may_come_back() -> None:
    stage = Stage()
    stage.hello(b"w", "A")
    stage.parts.worker_unreachable(b"w", [])
    for number_ in range(SERVICES_MAX + 50):
        stage.ask(b"c", 1, f"t{number_}", version="none")

    stage.say(b"w", wire.BEAT)
    stage.ask(b"c", 2, "A", b"m")

    assert stage.given(b"w") == [b"m"]


def test_an_answer_of_one_that_does_not_have_the_work_is_dropped_and_counted() -> None:
    stage = Stage()
    stage.hello(b"w", "A")
    stage.hello(b"thief", "A")
    stage.ask(b"c", 1, "A")

    stage.say(b"thief", wire.ANSWER, stage.work(b"w")[-1].id, b"forged")

    assert stage.told(b"c") == []
    assert stage.broker.counts.answers_unknown == 1
    assert stage.broker.workers[b"thief"].free == 1


def test_a_second_answer_is_dropped_and_counted() -> None:
    stage = Stage()
    stage.hello(b"w", "A")
    stage.ask(b"c", 1, "A")

    stage.answer(b"w", b"first")
    stage.answer(b"w", b"second")

    assert stage.answers(b"c") == [[b"first"]]
    assert stage.broker.counts.answers_unknown == 1
    assert stage.broker.workers[b"w"].free == 1


def test_a_plain_workers_answer_to_somebody_else_is_dropped_and_its_work_goes_to_another() -> None:
    stage = Stage()
    stage.register(b"w")
    stage.front(b"c", b"", b"m")
    stage.hello(b"other", "default")

    stage.back(b"w", b"", b"somebody", b"", b"r")

    assert stage.at_front == {}
    assert stage.given(b"other") == [b"m"]
    assert stage.broker.counts.answers_unknown == 1
    assert stage.broker.workers[b"w"].free == 1


def test_a_lost_workers_request_goes_to_another_and_its_own_answer_is_dropped() -> None:
    stage = Stage()
    stage.hello(b"w1", "A")
    stage.ask(b"c", 1, "A", b"m")
    stage.broker.give_up(stage.broker.workers[b"w1"], "it fell silent")

    stage.hello(b"w2", "A")
    stage.answer(b"w1", b"late")
    stage.answer(b"w2", b"in time")

    assert stage.answers(b"c") == [[b"in time"]]
    assert stage.broker.counts.answers_late == 1
    assert stage.broker.counts.redispatched == 1


def test_what_worker_after_worker_is_lost_with_is_set_aside_and_its_client_told() -> None:
    stage = Stage({"attempts_max": 2})
    for name in (b"w1", b"w2", b"w3"):
        stage.hello(name, "A")
    stage.ask(b"c", 1, "A", b"killer")

    for name in (b"w1", b"w2"):
        stage.broker.give_up(stage.broker.workers[name], "it fell silent")
    stage.bring()

    (heard,) = map(read, stage.told(b"c"))
    (row,) = list_poison(stage.broker)
    assert error_of(heard).code == "poison_request"
    assert "number 1" in error_of(heard).message
    assert (row["lost_workers"], row["reason"], row["body"]) == (["w1", "w2"], "it fell silent", ["killer"])
    assert stage.given(b"w3") == []
    assert stage.broker.held_bytes == 0


def test_a_worker_that_was_never_reached_is_not_to_blame() -> None:
    stage = Stage({"attempts_max": 1})
    stage.hello(b"w", "A")
    stage.unreachable.add(b"w")

    stage.ask(b"c", 1, "A", b"m")
    stage.hello(b"other", "A")

    assert stage.told(b"c") == []
    assert stage.given(b"other") == [b"m"]


def test_the_shelf_is_bounded_in_number_and_in_bytes() -> None:
    line = Stage().broker.lines.default
    shelf = PoisonShelf()

    for _ in range(1_100):
        shelf.add(Request(Asker(b"c"), number(1), line, [b"m"], 0.0), 0.0, "")
    many = len(shelf)
    for _ in range(5):
        shelf.add(Request(Asker(b"c"), number(1), line, [bytes(SERVICE_POISON_BYTES_MAX // 2 - 1_000)], 0.0), 0.0, "")

    assert many == 1_000
    assert [one.number for one in shelf] == [1_104, 1_105]
    assert shelf.take(1_105) is not None and shelf.take(1_105) is None


def test_only_durable_poison_can_be_worked_on_again() -> None:
    stage = Stage({"attempts_max": 1})
    stage.hello(b"w", "A")
    stage.ask(b"c", 1, "A")
    stage.broker.give_up(stage.broker.workers[b"w"], "it fell silent")

    with pytest.raises(BadRequest):
        stage.parts.require_durable_poison(1)
    with pytest.raises(NotFound):
        stage.parts.require_durable_poison(2)
    assert stage.parts.take_poison(1).number == 1
    with pytest.raises(NotFound):
        stage.parts.take_poison(1)


def test_a_cancelled_request_that_waits_is_never_worked_on() -> None:
    stage = Stage()
    stage.ask(b"c", 1, "A")

    stage.cancel(b"c", 1)
    stage.hello(b"w", "A")

    assert stage.given(b"w") == []
    assert stage.told(b"c") == []
    assert stage.broker.held_bytes == 0


def test_who_works_on_a_cancelled_request_is_told_and_its_answer_dropped() -> None:
    stage = Stage()
    stage.hello(b"w", "A")
    stage.ask(b"c", 1, "A")
    work_id = stage.work(b"w")[-1].id

    stage.cancel(b"c", 1)
    stage.answer(b"w")

    assert stage.heard(b"w")[-1] == ("X", work_id, b"", [])
    assert stage.told(b"c") == []
    assert stage.broker.workers[b"w"].free == 1


def test_a_plain_worker_is_not_told_of_a_cancel() -> None:
    stage = Stage()
    stage.register(b"w")
    stage.ask(b"c", 1, "default", b"m")

    stage.cancel(b"c", 1)

    assert stage.at_back[b"w"] == [[b"", b"c", b"", b"m"]]


def test_nobody_cancels_what_is_not_theirs() -> None:
    stage = Stage()
    stage.ask(b"c", 1, "A")

    stage.cancel(b"other", 1)
    stage.cancel(b"c", 2)

    assert stage.broker.lines[b"A"].waiting.count == 1


def test_a_request_from_inside_the_hub_is_told_once_and_can_be_cancelled() -> None:
    stage = Stage()
    stage.hello(b"w", "A", slots=2)
    told: list[object] = []
    stage.parts.ask("A", [b"m"], wire.RequestOptions(), told.append)
    cancelled = stage.parts.ask("A", [b"n"], wire.RequestOptions(), told.append)
    stage.bring()

    stage.parts.cancel(cancelled)
    for work in stage.work(b"w"):
        stage.say(b"w", wire.ANSWER, work.id, b"r")

    assert told == [[b"r"]]
    stage.parts.ask("no name!", [b"m"], wire.RequestOptions(), told.append)
    assert getattr(told[-1], "code", "") == "bad_name"


@pytest.mark.parametrize(
    "values", [{"policy": "random"}, {"beat_ms": 0}, {"attempts_max": 0}, {"queue_max": 10**9}, {"unheard_of": 1}]
)
def test_options_that_make_no_sense_are_refused_and_change_nothing(values: dict[str, object]) -> None:
    stage = Stage()

    with pytest.raises(BadRequest):
        stage.set_options("A", **values)

    assert stage.broker.lines.own_options == {}


def test_what_is_under_way_and_how_it_ended_can_be_seen() -> None:
    stage = Stage()
    stage.hello(b"w", "A")
    stage.ask(b"c", 1, "A", b"1")
    stage.ask(b"c", 2, "A", b"2")

    requests = list_requests(stage.broker, 10)
    services = {row["type"]: row for row in list_services(stage.broker)}
    stage.wait(20)
    stage.answer(b"w")
    (recent,) = list_recent(stage.broker, 10)

    assert [row["state"] for row in requests] == ["in hand", "waiting"]
    assert (services["A"]["in_hand"], services["A"]["waiting"], services["A"]["free"]) == (1, 1, 0)
    assert (recent["outcome"], recent["worker"], recent["worked_ms"]) == ("answered", "w", 20.0)
    assert msgspec.json.encode(services)
