"""The examples in Node: PGS/1 and the plain form, without a library of ours."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import zmq

from pregon.wire.services import CANCEL, REQUEST, encode_head

from ..hub_process import wait_until
from .broker_process import BrokerProcess
from .conftest import EXAMPLES, PROJECT, MakeBroker, StartProgram
from .program import Program

CLIENT, WORKER = "examples/client.mjs", "examples/worker.mjs"
SLOTS = 4
QUICK_BEATS = ("--beat-ms", "300", "--patience", "3")
LONG_MS = "60000"


@pytest.fixture
def broker(start_broker: MakeBroker) -> BrokerProcess:
    return start_broker(*QUICK_BEATS)


@pytest.fixture
def worker(broker: BrokerProcess, node: StartProgram) -> Program:
    """The example, which the broker has welcomed."""
    worker = node(WORKER, broker.back)
    worker.wait_for_line("serving sqrt@2, sleep")
    return worker


@contextmanager
def dealer(address: str) -> Iterator[zmq.Socket[bytes]]:
    """A client's bare socket."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.connect(address)
        yield socket


def test_the_client_shows_each_answer(broker: BrokerProcess, worker: Program, node: StartProgram) -> None:
    inputs = [str(number * number) for number in range(200)]

    client = node(CLIENT, "--front", broker.front, "--priority", "7", "--version", "2", "sqrt", *inputs)

    assert sorted(client.finish()) == sorted(f"sqrt {number * number} = {number}" for number in range(200))


def test_the_client_shows_why_there_is_no_answer(broker: BrokerProcess, worker: Program, node: StartProgram) -> None:
    ask = (CLIENT, "--front", broker.front)

    failed = node(*ask, "sqrt", "4", "Ana").finish(1)
    of_no_version = node(*ask, "--version", "3", "sqrt", "4").finish(1)
    too_late = node(*ask, "--deadline-ms", "400", "sleep", LONG_MS).finish(1)

    assert sorted(failed) == ["sqrt 4 = 2", "sqrt Ana: error service_failed: Ana has no square root"]
    assert of_no_version[0].startswith("sqrt 4: error version_unserved: no worker serves version 3 of sqrt")
    assert too_late[0].startswith(f"sleep {LONG_MS}: error deadline_passed: ")


def test_the_higher_priority_goes_first(broker: BrokerProcess, node: StartProgram) -> None:
    worker = node("worker.cjs", broker.back, "Ana", "hold", "cola")
    ask = (CLIENT, "--front", broker.front, "--deadline-ms", LONG_MS)
    clients = [node(*ask, "cola", "first")]
    worker.wait_for_line("given first")

    for count, (priority, name) in enumerate((("1", "low"), ("5", "usual"), ("9", "high")), start=1):
        clients.append(node(*ask, "--priority", priority, "cola", name))
        broker.wait_for("waiting", count, "cola")
    for name in ("first", "high", "usual", "low"):
        worker.wait_for_line(f"given {name}")
        worker.tell("answer")

    assert [client.finish() for client in clients] == [
        [f"cola {name} = {name} by Ana"] for name in ("first", "low", "usual", "high")
    ]
    assert worker.told("given ") == ["first", "high", "usual", "low"]


def test_the_worker_takes_as_many_at_once_as_it_has_slots(
    broker: BrokerProcess, worker: Program, node: StartProgram
) -> None:
    ask = (CLIENT, "--front", broker.front, "--deadline-ms", LONG_MS)

    node(*ask, "sleep", *[LONG_MS] * (SLOTS - 1))
    broker.wait_for("in_hand", SLOTS - 1, "sleep")
    beside = node(*ask, "sqrt", "81").finish()
    node(*ask, "sleep", *[LONG_MS] * 3)
    broker.wait_for("waiting", 2, "sleep")

    assert beside == ["sqrt 81 = 9"]
    assert broker.show("in_hand", "sleep") == SLOTS


def test_the_worker_stops_working_on_what_nobody_waits_for(broker: BrokerProcess, worker: Program) -> None:
    with dealer(broker.front) as client:
        client.send_multipart([encode_head(REQUEST, b"12345678", b"sleep"), LONG_MS.encode()])
        broker.wait_for("in_hand", 1, "sleep")

        client.send(encode_head(CANCEL, b"12345678"))

        broker.wait_for("in_hand", 0, "sleep")
    assert broker.show("free", "sleep") == SLOTS


def test_an_idle_worker_is_kept_by_its_beats(broker: BrokerProcess, worker: Program, node: StartProgram) -> None:
    patience_ms = 900
    with dealer(broker.front) as nobody:
        nobody.poll(patience_ms * 3)  # Nothing comes: it is only time that passes.

    answers = node(CLIENT, "--front", broker.front, "sqrt", "4").finish()

    assert answers == ["sqrt 4 = 2"]


def test_what_a_silent_worker_had_is_done_by_another_and_it_is_taken_back(
    broker: BrokerProcess, worker: Program, node: StartProgram
) -> None:
    client = node(CLIENT, "--front", broker.front, "--deadline-ms", LONG_MS, "sleep", "1500")
    broker.wait_for("in_hand", 1, "sleep")

    worker.running.send_signal(signal.SIGSTOP)
    broker.wait_for("workers", 0, "sleep")
    node(WORKER, broker.back).wait_for_line("serving sqrt@2, sleep")
    answers = client.finish()
    worker.running.send_signal(signal.SIGCONT)
    broker.wait_for("workers", 2, "sleep")

    assert answers == ["sleep 1500 = slept 1500 ms"]
    assert (broker.show("answered", "sleep"), broker.show("redispatched", "sleep")) == (1, 1)


def test_what_a_killed_worker_had_is_done_by_another(
    broker: BrokerProcess, worker: Program, node: StartProgram
) -> None:
    client = node(CLIENT, "--front", broker.front, "--deadline-ms", LONG_MS, "sleep", "500", "500", "500")
    broker.wait_for("in_hand", 3, "sleep")

    worker.kill()
    node(WORKER, broker.back)

    assert client.finish() == ["sleep 500 = slept 500 ms"] * 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_says_goodbye_answers_what_it_has_and_takes_no_more(
    broker: BrokerProcess, worker: Program, node: StartProgram, number: int
) -> None:
    ask = (CLIENT, "--front", broker.front, "--deadline-ms", LONG_MS)
    client = node(*ask, "sleep", "1500", "1500")
    broker.wait_for("in_hand", 2, "sleep")

    worker.running.send_signal(number)
    broker.wait_for("workers", 0, "sleep")
    after = node(*ask, "sqrt", "4")
    answers = client.finish()
    worker.finish()
    node(WORKER, broker.back)

    assert answers == ["sleep 1500 = slept 1500 ms"] * 2
    assert after.finish() == ["sqrt 4 = 2"]
    assert broker.show("redispatched", "sleep") == 0


def test_worker_and_client_go_on_when_the_broker_was_killed(
    broker: BrokerProcess, worker: Program, node: StartProgram
) -> None:
    ask = (CLIENT, "--front", broker.front, "--deadline-ms", LONG_MS)
    under_way = node(*ask, "sleep", "1000")
    broker.wait_for("in_hand", 1, "sleep")

    broker.kill()
    meanwhile = node(*ask, "sqrt", "4", "9")
    broker.start()

    assert sorted(meanwhile.finish()) == ["sqrt 4 = 2", "sqrt 9 = 3"]
    assert under_way.finish() == ["sleep 1000 = slept 1000 ms"]
    wait_until(lambda: worker.lines() == ["serving sqrt@2, sleep"] * 2, "the worker was welcomed once more")


def test_the_plain_examples_greet(broker: BrokerProcess, node: StartProgram) -> None:
    worker = node("examples/plain_worker.cjs", broker.back)

    client = node("examples/plain_client.cjs", "Ana", broker.front)

    assert client.finish() == ["Hola, Ana"]
    worker.wait_for_line("asked by Ana")


def test_the_lock_of_the_npm_project_names_no_registry() -> None:
    lock = json.loads((PROJECT / "package-lock.json").read_text())

    packages = [one for path, one in lock["packages"].items() if path]

    assert len(packages) >= 3
    assert [one for one in packages if "resolved" in one or "integrity" not in one] == []


def test_the_examples_need_what_the_tests_run_them_with() -> None:
    projects = [json.loads((place / "package.json").read_text()) for place in (EXAMPLES, PROJECT)]

    needed = [project["dependencies"] for project in projects]

    assert needed[0] == needed[1]
