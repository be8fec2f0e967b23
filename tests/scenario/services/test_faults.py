"""Workers that are worse than dead: silent, late, twice, for somebody else, frozen; and requests that kill them."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from ..hub_process import wait_until
from .asking import RawClient
from .broker_process import BrokerProcess
from .conftest import MakeBroker
from .program import PATIENCE_S
from .staff import Staff
from .workers import PLAIN, RICH

QUICK = ("--beat-ms", "100", "--patience", "3")
"""For workers that are silent on purpose, where the others may be held up too without harm."""


def require_answer(client: RawClient, number: int, by: str) -> None:
    """The next thing that a client is told is this answer."""
    reply = client.require(number)
    assert (reply.kind, reply.body) == ("A", [str(number).encode(), by.encode()]), reply


def wait_for_workers(broker: BrokerProcess, count: int) -> None:
    """Wait until so many take work."""
    wait_until(lambda: broker.show("workers") == count, f"{count} workers take work", PATIENCE_S)


# Silent.


@pytest.mark.parametrize("liveness", ["beats", "beats-when-busy"])
def test_a_worker_that_is_alive_but_silent_loses_its_work_to_another(
    start_broker: MakeBroker, tmp_path: Path, liveness: str
) -> None:
    broker = start_broker("--liveness", liveness, *QUICK)
    with Staff(broker.back, tmp_path) as staff, RawClient(broker.front) as client:
        silent = staff.hire("silent", "--manner", "mute", "--never-beats")
        client.ask(1)
        silent.wait_for_line("given 1")

        staff.hire("good")
        require_answer(client, 1, by="good")
        client.ask(2)
        require_answer(client, 2, by="good")

        assert silent.is_alive
    assert (broker.show("redispatched"), broker.show("failed")) == (1, 0)


@pytest.mark.parametrize("form", [PLAIN, RICH])
def test_a_worker_that_beats_but_never_answers_loses_its_work_after_the_time_of_an_answer(
    start_broker: MakeBroker, tmp_path: Path, form: str
) -> None:
    broker = start_broker("--answer-ms", "1500")
    with Staff(broker.back, tmp_path) as staff, RawClient(broker.front) as client:
        stuck = staff.hire("stuck", "--manner", "mute", form=form)
        client.ask(1)
        stuck.wait_for_line("given 1")

        staff.hire("good", form=form)
        require_answer(client, 1, by="good")

        assert stuck.is_alive
    assert broker.show("redispatched") == 1


def test_a_worker_that_owes_nothing_may_be_silent_when_only_the_busy_are_asked(
    start_broker: MakeBroker, tmp_path: Path
) -> None:
    broker = start_broker("--liveness", "beats-when-busy", *QUICK)
    with Staff(broker.back, tmp_path) as staff, RawClient(broker.front) as client:
        staff.hire("quiet", "--never-beats", "--types", "quiet")
        # Somebody else is lost meanwhile by the same clock, so that the time has passed for both.
        lost = staff.hire("lost", "--manner", "mute", "--never-beats")
        client.ask(1)
        lost.wait_for_line("given 1")
        wait_for_workers(broker, 0)

        client.ask(2, service="quiet")
        require_answer(client, 2, by="quiet")

    assert broker.show("redispatched", "quiet") == 0


# Late, twice, for somebody else.


@pytest.mark.parametrize("form", [PLAIN, RICH])
def test_a_late_answer_is_dropped_and_its_worker_taken_back(
    start_broker: MakeBroker, tmp_path: Path, form: str
) -> None:
    broker = start_broker("--liveness", "answers", "--answer-ms", "1500")
    with Staff(broker.back, tmp_path) as staff, RawClient(broker.front) as client:
        late = staff.hire("late", "--manner", "hold", "--times", "1", form=form)
        client.ask(1)
        late.wait_for_line("given 1")
        good = staff.hire("good", form=form)
        require_answer(client, 1, by="good")

        late.tell("answer")
        wait_for_workers(broker, 2)
        good.kill()
        client.ask(2)
        require_answer(client, 2, by="late")
        client.hear_the_rest()

    assert [reply.number for reply in client.replies] == [1, 2], "the late answer reached nobody"
    assert (broker.show("answered"), broker.show("failed")) == (2, 0)


@pytest.mark.parametrize("form", [PLAIN, RICH])
def test_a_worker_that_answers_twice_is_heard_once(start_broker: MakeBroker, tmp_path: Path, form: str) -> None:
    broker = start_broker()
    with Staff(broker.back, tmp_path) as staff, RawClient(broker.front) as client:
        staff.hire("twice", "--manner", "twice", form=form)
        for number in range(20):
            client.ask(number)

        client.hear_until(20)
        client.hear_the_rest()

    assert [reply.number for reply in client.replies] == list(range(20))
    assert client.counted() == dict.fromkeys((str(number).encode() for number in range(20)), 1)
    assert (broker.show("answered"), broker.show("in_hand")) == (20, 0)


def test_an_answer_for_somebody_else_reaches_nobody(start_broker: MakeBroker, tmp_path: Path) -> None:
    broker = start_broker()
    with (
        Staff(broker.back, tmp_path) as staff,
        RawClient(broker.front, "somebody-else") as victim,
        RawClient(broker.front) as client,
    ):
        held = staff.hire("held", "--manner", "hold")
        victim.ask(7)
        held.wait_for_line("given 7")

        staff.hire("liar", "--manner", "elsewhere")
        client.ask(1)
        require_answer(client, 1, by="liar")
        victim.hear_the_rest()
        told_before = list(victim.replies)
        held.tell("answer")
        require_answer(victim, 7, by="held")

    assert told_before == []
    assert (broker.show("answered"), broker.show("redispatched")) == (2, 0)


def test_a_plain_worker_that_answers_somebody_else_has_its_work_given_again(
    start_broker: MakeBroker, tmp_path: Path
) -> None:
    broker = start_broker()
    with (
        Staff(broker.back, tmp_path) as staff,
        RawClient(broker.front, "somebody-else") as victim,
        RawClient(broker.front) as client,
    ):
        staff.hire("liar", "--manner", "elsewhere", "--times", "1", form=PLAIN)
        client.ask_plainly(b"mine")

        reply = client.require()
        victim.hear_the_rest()

    assert reply.body == [b"mine", b"liar"], "it was given it again, and did as it should"
    assert victim.replies == []
    assert broker.show("redispatched") == 1


def test_a_worker_that_fails_or_gives_back_is_no_worker_lost(start_broker: MakeBroker, tmp_path: Path) -> None:
    broker = start_broker("--attempts", "1")
    with Staff(broker.back, tmp_path) as staff, RawClient(broker.front) as client:
        staff.hire("fails", "--manner", "fail", "--types", "division")
        full = staff.hire("full", "--manner", "return", "--types", "sum")
        client.ask(1, service="division")
        failed = client.require(1)

        client.ask(2, service="sum")
        full.wait_for_line("given 2")
        staff.hire("free", "--types", "sum")
        require_answer(client, 2, by="free")

    assert (failed.code, failed.message) == ("service_failed", "nobody divides by zero")
    assert broker.show("redispatched", "sum") == 0


# Frozen.


@pytest.mark.parametrize("form", [PLAIN, RICH])
def test_a_frozen_worker_is_replaced_and_taken_back_when_it_wakes(
    start_broker: MakeBroker, tmp_path: Path, form: str
) -> None:
    broker = start_broker("--beat-ms", "200", "--patience", "5", "--answer-ms", "1500")
    with Staff(broker.back, tmp_path) as staff, RawClient(broker.front) as client:
        frozen = staff.hire("frozen", "--manner", "hold", "--times", "1", form=form)
        client.ask(1)
        frozen.wait_for_line("given 1")
        frozen.running.send_signal(signal.SIGSTOP)
        good = staff.hire("good", form=form)
        require_answer(client, 1, by="good")
        assert broker.show("workers") == 1, "the frozen one is given up"

        frozen.tell("answer")
        frozen.running.send_signal(signal.SIGCONT)
        wait_for_workers(broker, 2)
        good.kill()
        client.ask(2)
        require_answer(client, 2, by="frozen")
        client.hear_the_rest()

    assert [reply.number for reply in client.replies] == [1, 2]


# Poison.


@pytest.mark.parametrize("form", [PLAIN, RICH])
def test_a_request_that_kills_worker_after_worker_is_set_aside_and_the_others_are_served(
    start_broker: MakeBroker, tmp_path: Path, form: str
) -> None:
    broker = start_broker("--attempts", "3", "--beat-ms", "150", "--patience", "4", "--answer-ms", "1000")
    with Staff(broker.back, tmp_path) as staff, RawClient(broker.front) as client:
        for name in ("Ana", "Eva", "Leo"):
            staff.hire(name, "--dies-of", "poison", form=form)
        wait_for_workers(broker, 3)

        client.ask(1, b"poison")
        for number in range(2, 32):
            client.ask(number)
        wait_until(lambda: not staff.alive, "all three are dead", PATIENCE_S)
        staff.hire("Sol", "--dies-of", "poison", form=form)
        client.hear_until(31)
        client.hear_the_rest()

        assert [worker.name for worker in staff.alive] == ["Sol"], "she was not given it"
    (error,) = [reply for reply in client.replies if reply.kind == "E"]
    assert (error.number, error.code) == (1, "poison_request")
    assert all(name in error.message for name in ("Ana", "Eva", "Leo", "3 workers were lost"))
    assert client.counted() == dict.fromkeys((str(number).encode() for number in range(2, 32)), 1)
    assert (broker.show("answered"), broker.show("failed"), broker.show("redispatched")) == (30, 1, 2)
