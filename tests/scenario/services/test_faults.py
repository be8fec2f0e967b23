"""Workers that are worse than dead: silent, late, twice, for somebody else, frozen; and requests that kill them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ..hub_process import wait_until
from .asking import DEFAULT_TYPE, RawClient
from .broker_process import BrokerProcess
from .program import PATIENCE_S
from .shared_broker import Options, shared_broker
from .staff import Staff
from .workers import PLAIN, RICH

QUICK = {"beat_ms": 100, "patience": 3}
"""For workers that are silent on purpose, where the others may be held up too without harm."""
SERVICES: dict[str, Options] = {
    "silent-beats": {"liveness": "beats", **QUICK},
    "silent-busy": {"liveness": "beats-when-busy", **QUICK},
    "owes-nothing": {"liveness": "beats-when-busy", **QUICK},
    "stuck": {"answer_ms": 1_000},
    "late": {"liveness": "answers", "answer_ms": 1_000},
    "twice": {"attempts_max": 100},
    "sum": {"attempts_max": 1},
    "frozen": {"beat_ms": 200, "patience": 4, "answer_ms": 1_000},
    "poison": {"attempts_max": 3, "beat_ms": 150, "patience": 4, "answer_ms": 1_000},
}
"""Each is also there for plain workers, with their form before its name."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    services = {**SERVICES, **{f"{PLAIN}-{name}": options for name, options in SERVICES.items()}}
    with shared_broker(tmp_path_factory.mktemp("broker"), services) as broker:
        yield broker


def service_of(name: str, form: str) -> str:
    """The service of a test for workers of this form."""
    return f"{PLAIN}-{name}" if form == PLAIN else name


def require_answer(client: RawClient, number: int, by: str) -> None:
    """The next thing that a client is told is this answer."""
    reply = client.require(number)
    assert (reply.kind, reply.body) == ("A", [str(number).encode(), by.encode()]), reply


# Silent.


@pytest.mark.parametrize("service", ["silent-beats", "silent-busy"])
def test_a_worker_that_is_alive_but_silent_loses_its_work_to_another(
    broker: BrokerProcess, tmp_path: Path, service: str
) -> None:
    with Staff(broker.back, tmp_path, service) as staff, RawClient(broker.front, service=service) as client:
        silent = staff.hire("silent", "--manner", "mute", "--never-beats")
        client.ask(1)
        silent.wait_for_line("given 1")

        staff.hire("good")
        require_answer(client, 1, by="good")
        client.ask(2)
        require_answer(client, 2, by="good")

        assert silent.is_alive
    assert (broker.show("redispatched", service), broker.show("failed", service)) == (1, 0)


@pytest.mark.parametrize("form", [PLAIN, RICH])
def test_a_worker_that_beats_but_never_answers_loses_its_work_after_the_time_of_an_answer(
    broker: BrokerProcess, tmp_path: Path, form: str
) -> None:
    service = service_of("stuck", form)
    with Staff(broker.back, tmp_path, service) as staff, RawClient(broker.front, service=service) as client:
        stuck = staff.hire("stuck", "--manner", "mute", form=form)
        client.ask(1)
        stuck.wait_for_line("given 1")

        staff.hire("good", form=form)
        require_answer(client, 1, by="good")

        assert stuck.is_alive
    assert broker.show("redispatched", service) >= 1


def test_a_worker_that_owes_nothing_may_be_silent_when_only_the_busy_are_asked(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    service = "owes-nothing"
    with Staff(broker.back, tmp_path, service) as staff, RawClient(broker.front, service=service) as client:
        lost = staff.hire("lost", "--manner", "mute", "--never-beats")
        client.ask(1)
        lost.wait_for_line("given 1")
        staff.hire("quiet", "--never-beats")
        require_answer(client, 1, by="quiet")

        # So long may one be silent who owes an answer, and as long again.
        threading.Event().wait(0.6)
        client.ask(2)
        require_answer(client, 2, by="quiet")

    assert broker.show("redispatched", service) == 1


# Late, twice, for somebody else.


@pytest.mark.parametrize("form", [PLAIN, RICH])
def test_a_late_answer_is_dropped_and_its_worker_taken_back(broker: BrokerProcess, tmp_path: Path, form: str) -> None:
    service = service_of("late", form)
    with Staff(broker.back, tmp_path, service) as staff, RawClient(broker.front, service=service) as client:
        late = staff.hire("late", "--manner", "hold", "--times", "1", form=form)
        client.ask(1)
        late.wait_for_line("given 1")
        good = staff.hire("good", form=form)
        require_answer(client, 1, by="good")

        late.tell("answer")
        broker.wait_for("workers", 2, service)
        good.kill()
        client.ask(2)
        require_answer(client, 2, by="late")
        client.hear_the_rest()

    assert [reply.number for reply in client.replies] == [1, 2], "the late answer reached nobody"
    assert (broker.show("answered", service), broker.show("failed", service)) == (2, 0)


@pytest.mark.parametrize("form", [PLAIN, RICH])
def test_a_worker_that_answers_twice_is_heard_once(broker: BrokerProcess, tmp_path: Path, form: str) -> None:
    service = service_of("twice", form)
    with Staff(broker.back, tmp_path, service) as staff, ExitStack() as open_clients:
        # Of a client each: a plain answer says for whom it is, and no more.
        clients = [open_clients.enter_context(RawClient(broker.front, service=service)) for _ in range(10)]
        staff.hire("twice", "--manner", "twice", "--times", "3", form=form)

        for number, client in enumerate(clients):
            client.ask(number)
        for client in clients:
            client.hear_until(1)
        for client in clients:
            client.hear_the_rest()

    told = [[(reply.number, reply.body[0]) for reply in client.replies] for client in clients]
    assert told == [[(number, str(number).encode())] for number in range(10)]
    assert (broker.show("answered", service), broker.show("in_hand", service)) == (10, 0)


def test_an_answer_for_somebody_else_reaches_nobody(broker: BrokerProcess, tmp_path: Path) -> None:
    service = "elsewhere"
    with (
        Staff(broker.back, tmp_path, service) as staff,
        RawClient(broker.front, "somebody-else", service=service) as victim,
        RawClient(broker.front, service=service) as client,
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
    assert (broker.show("answered", service), broker.show("redispatched", service)) == (2, 0)


def test_a_plain_worker_that_answers_somebody_else_has_its_work_given_again(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    with (
        Staff(broker.back, tmp_path, DEFAULT_TYPE) as staff,
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


def test_a_worker_that_fails_or_gives_back_is_no_worker_lost(broker: BrokerProcess, tmp_path: Path) -> None:
    with Staff(broker.back, tmp_path, "sum") as staff, RawClient(broker.front, service="sum") as client:
        fails = staff.hire("fails", "--manner", "fail")
        client.ask(1)
        failed = client.require(1)
        fails.kill()

        full = staff.hire("full", "--manner", "return")
        client.ask(2)
        full.wait_for_line("given 2")
        staff.hire("free")
        require_answer(client, 2, by="free")

    assert (failed.code, failed.message) == ("service_failed", "nobody divides by zero")
    assert broker.show("redispatched", "sum") == 0


def test_a_plain_worker_that_is_started_anew_serves_what_it_says_then(broker: BrokerProcess, tmp_path: Path) -> None:
    with Staff(broker.back, tmp_path, "before") as staff, RawClient(broker.front, service="after") as client:
        first = staff.hire("Ana", form=PLAIN)
        broker.wait_for("workers", 1, "before")
        first.kill()

        staff.hire("Ana", "--types", "after", form=PLAIN)
        client.ask(1)
        require_answer(client, 1, by="Ana")

    assert broker.show("workers", "before") == 0


# Frozen.


@pytest.mark.parametrize("form", [PLAIN, RICH])
def test_a_frozen_worker_is_replaced_and_taken_back_when_it_wakes(
    broker: BrokerProcess, tmp_path: Path, form: str
) -> None:
    service = service_of("frozen", form)
    with Staff(broker.back, tmp_path, service) as staff, RawClient(broker.front, service=service) as client:
        frozen = staff.hire("frozen", "--manner", "hold", "--times", "1", form=form)
        client.ask(1)
        frozen.wait_for_line("given 1")
        frozen.running.send_signal(signal.SIGSTOP)
        good = staff.hire("good", form=form)
        require_answer(client, 1, by="good")

        frozen.tell("answer")
        frozen.running.send_signal(signal.SIGCONT)
        broker.wait_for("workers", 2, service)
        good.kill()
        client.ask(2)
        require_answer(client, 2, by="frozen")
        client.hear_the_rest()

    assert [reply.number for reply in client.replies] == [1, 2]
    assert broker.show("answered", service) == 2


# Poison.


@pytest.mark.parametrize("form", [PLAIN, RICH])
def test_a_request_that_kills_worker_after_worker_is_set_aside_and_the_others_are_served(
    broker: BrokerProcess, tmp_path: Path, form: str
) -> None:
    service = service_of("poison", form)
    with Staff(broker.back, tmp_path, service) as staff, RawClient(broker.front, service=service) as client:
        for name in ("Ana", "Eva", "Leo"):
            staff.hire(name, "--dies-of", "poison", form=form)
        broker.wait_for("workers", 3, service)

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
    figures = ("answered", "failed", "redispatched")
    assert [broker.show(figure, service) for figure in figures] == [30, 1, 2]
