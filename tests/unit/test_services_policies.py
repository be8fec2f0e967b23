"""Which worker gets the next request, by the three policies, and when one policy is changed for another."""

from __future__ import annotations

import pytest
from property.stage import Stage

from pregon.services.line import Line
from pregon.services.options import LEAST_LOADED, LONGEST_IDLE, POLICIES, ROUND_ROBIN, ServiceOptions
from pregon.services.policies import ByLoad, InTurn
from pregon.services.worker import Worker
from pregon.wire import services as wire

LINE = Line("A", ServiceOptions())


def stage_of(policy: str) -> Stage:
    return Stage({"policy": policy})


def ask(stage: Stage, count: int) -> list[bytes]:
    """The workers that so many requests go to, in order."""
    chosen: list[bytes] = []
    for _ in range(count):
        before = {identity: len(worker.in_hand) for identity, worker in stage.broker.workers.items()}
        stage.ask(b"c", stage.broker.counts.requests + 1, "A")
        chosen += [
            identity for identity, worker in stage.broker.workers.items() if len(worker.in_hand) > before[identity]
        ]
    return chosen


def test_round_robin_gives_each_worker_one_in_turn_whatever_slots_it_has() -> None:
    stage = stage_of(ROUND_ROBIN)
    stage.hello(b"w1", "A", slots=3)
    stage.hello(b"w2", "A", slots=2)

    chosen = ask(stage, 5)

    assert chosen == [b"w1", b"w2", b"w1", b"w2", b"w1"]


def test_longest_idle_gives_to_the_slot_that_has_been_free_for_longest() -> None:
    stage = stage_of(LONGEST_IDLE)
    stage.hello(b"w1", "A", slots=2)
    stage.hello(b"w2", "A", slots=1)

    first = ask(stage, 3)
    stage.answer(b"w2")
    stage.answer(b"w1")
    again = ask(stage, 2)

    assert first == [b"w1", b"w1", b"w2"]
    assert again == [b"w2", b"w1"]


def test_least_loaded_goes_by_the_load_that_hellos_tell() -> None:
    stage = stage_of(LEAST_LOADED)
    for name, load in ((b"w1", 0.9), (b"w2", 0.2), (b"w3", 0.5)):
        stage.hello(name, "A", load=load)

    chosen = ask(stage, 3)

    assert chosen == [b"w2", b"w3", b"w1"]


def test_least_loaded_goes_by_the_load_that_answers_and_failures_tell() -> None:
    stage = stage_of(LEAST_LOADED)
    stage.hello(b"w1", "A", load=0.1)
    stage.hello(b"w2", "A", load=0.2)
    stage.hello(b"w3", "A", load=0.3)
    ask(stage, 3)

    stage.answer(b"w1", tail=b"0.9")
    stage.say(b"w2", wire.ERROR, stage.work(b"w2")[-1].id, tail=b'{"message": "no", "load": 0.8}')
    stage.answer(b"w3")
    chosen = ask(stage, 3)

    assert chosen == [b"w3", b"w2", b"w1"]


def test_least_loaded_goes_by_the_load_that_beats_tell() -> None:
    stage = stage_of(LEAST_LOADED)
    stage.hello(b"w1", "A", load=0.1)
    stage.hello(b"w2", "A", load=0.2)

    stage.say(b"w1", wire.BEAT, tail=b"0.7")
    chosen = ask(stage, 2)

    assert chosen == [b"w2", b"w1"]


def test_equal_loads_go_to_who_has_been_idle_for_longest() -> None:
    stage = stage_of(LEAST_LOADED)
    for name in (b"w1", b"w2", b"w3"):
        stage.hello(name, "A", load=0.5)

    first = ask(stage, 3)
    for name in (b"w2", b"w3", b"w1"):
        stage.answer(name)
    again = ask(stage, 3)

    assert first == [b"w1", b"w2", b"w3"]
    assert again == [b"w2", b"w3", b"w1"]


def test_what_a_worker_was_given_counts_as_load_before_it_can_tell() -> None:
    stage = stage_of(LEAST_LOADED)
    stage.hello(b"w1", "A", slots=2, load=0.0)
    stage.hello(b"w2", "A", slots=4, load=0.0)

    chosen = ask(stage, 6)

    assert chosen == [b"w1", b"w2", b"w2", b"w1", b"w2", b"w2"]


def test_what_another_service_gave_it_counts_too() -> None:
    stage = stage_of(LEAST_LOADED)
    stage.hello(b"w1", "A", "B", slots=2)
    stage.hello(b"w2", "A", slots=2, load=0.1)
    stage.ask(b"c", 100, "B")

    chosen = ask(stage, 1)

    assert chosen == [b"w2"]


@pytest.mark.parametrize("load", [b"nan", b"inf", b"-1", b"much", b"1" * 40, b"\xff"])
def test_a_load_that_is_none_changes_nothing(load: bytes) -> None:
    stage = stage_of(LEAST_LOADED)
    stage.hello(b"w1", "A", load=0.25)

    stage.say(b"w1", wire.BEAT, tail=load)

    assert stage.broker.workers[b"w1"].load == 0.25


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("before", POLICIES)
def test_a_policy_is_switched_while_workers_have_work_and_none_is_forgotten(before: str, policy: str) -> None:
    stage = stage_of(before)
    stage.hello(b"w1", "A", slots=2)
    stage.hello(b"w2", "A", slots=2)
    ask(stage, 1)

    stage.set_options("A", policy=policy)
    chosen = ask(stage, 3)

    assert len(chosen) == 3
    assert stage.broker.lines[b"A"].waiting.count == 0
    ask(stage, 1)
    assert stage.broker.lines[b"A"].waiting.count == 1


def test_after_a_switch_the_longest_idle_is_still_known() -> None:
    stage = stage_of(ROUND_ROBIN)
    for name in (b"w1", b"w2", b"w3"):
        stage.hello(name, "A")
    ask(stage, 3)
    for name in (b"w3", b"w1", b"w2"):
        stage.answer(name)

    stage.set_options("A", policy=LONGEST_IDLE)

    assert ask(stage, 3) == [b"w3", b"w1", b"w2"]


@pytest.mark.parametrize("policy", [ROUND_ROBIN, LONGEST_IDLE])
def test_a_worker_that_was_lost_and_came_back_is_the_last_in_turn(policy: str) -> None:
    stage = stage_of(policy)
    for name in (b"w1", b"w2", b"w3"):
        stage.hello(name, "A")

    stage.parts.worker_unreachable(b"w1", [])
    stage.say(b"w1", wire.BEAT)

    assert ask(stage, 3) == [b"w2", b"w3", b"w1"]


def test_the_choice_is_traced_with_its_policy_and_the_load() -> None:
    stage = stage_of(LEAST_LOADED)
    stage.hello(b"w1", "A", load=0.5)
    ask(stage, 1)

    stage.answer(b"w1", tail=b"0.9")

    (row,) = stage.broker.replies.take_traces()
    assert (row.worker, row.policy, row.load, row.outcome) == ("w1", LEAST_LOADED, 0.5, "answered")


@pytest.mark.parametrize("pool", [InTurn(is_by_slot=True), InTurn(is_by_slot=False), ByLoad()])
def test_a_pool_stays_small_however_often_workers_come_and_go(pool: InTurn | ByLoad) -> None:
    workers = [Worker(b"%d" % number, [LINE], 3, number / 10, 0.0) for number in range(10)]

    for _ in range(300):
        for worker in workers:
            for _ in range(worker.slots):
                pool.offer(worker)
        for worker in workers:
            pool.forget(worker)

    assert len(pool) <= 2 * 30 + 130
    assert pool.take() is None


@pytest.mark.parametrize("pool", [InTurn(is_by_slot=True), InTurn(is_by_slot=False), ByLoad()])
def test_a_pool_stays_small_when_another_has_the_work(pool: InTurn | ByLoad) -> None:
    worker = Worker(b"w", [LINE], 2, 0.0, 0.0)

    for _ in range(1_000):
        pool.offer(worker)

    assert len(pool) <= 2 * 2 + 64
