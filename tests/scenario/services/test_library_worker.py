"""Workers of our library in processes of their own: what is too slow, what dies, who leaves and who comes back."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pregon import ServiceClient, Worker, service
from pregon.errors import ServiceFailed

from ..hub_process import wait_until
from .broker_process import BrokerProcess
from .library import StartWorker, workers

WATCHFUL = ("--beat-ms", "100", "--patience", "5")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker that notices soon when a worker is lost."""
    broker = BrokerProcess(tmp_path_factory.mktemp("workers"), *WATCHFUL)
    try:
        broker.start()
        yield broker
        assert broker.bugs() == []
    finally:
        broker.end()


@pytest.fixture
def start(broker: BrokerProcess, tmp_path: Path) -> Iterator[StartWorker]:
    with workers(tmp_path, broker.back) as start:
        yield start


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[ServiceClient]:
    with ServiceClient(broker.front, timeout_ms=60_000) as client:
        yield client


def test_a_thread_that_takes_too_long_is_answered_for_and_its_slot_comes_back_when_it_ends(
    start: StartWorker, client: ServiceClient
) -> None:
    start("ana", "limited")

    with pytest.raises(ServiceFailed, match="time limit of 200 ms"):
        client.request("limited", 1.0)
    after = client.request("limited", 0.0)

    assert after == "ana"


def test_a_coroutine_that_takes_too_long_is_cancelled(start: StartWorker, client: ServiceClient) -> None:
    worker = start("ana", "patient")

    with pytest.raises(ServiceFailed, match="time limit of 2000 ms"):
        client.request("patient", 60.0)

    worker.wait_for_line("cancelled 60.0")


def test_what_its_client_gives_up_is_cancelled_in_the_worker(start: StartWorker, broker: BrokerProcess) -> None:
    worker = start("ana", "patient")

    with ServiceClient(broker.front, timeout_ms=60_000) as client:
        results = client.map("patient", [1.5], in_flight=1)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(next, results)
            worker.wait_for_line("began 1.5")
            client.close()

    worker.wait_for_line("cancelled 1.5")


def test_a_process_that_dies_fails_its_own_request_and_is_replaced(start: StartWorker, client: ServiceClient) -> None:
    start("ana", "apart")

    with ThreadPoolExecutor(1) as pool:
        beside = pool.submit(client.request, "apart", "pid", 0.3)
        with pytest.raises(ServiceFailed, match="SIGKILL"):
            client.request("apart", "die")
        other = beside.result(60)

    def both() -> set[int]:
        return set(client.map("apart", [("pid", 0.3), ("pid", 0.3)]))

    assert other > 0
    wait_until(lambda: len(both()) == 2, "two processes work again")


def test_a_process_that_takes_too_long_is_killed_and_replaced(start: StartWorker, client: ServiceClient) -> None:
    start("ana", "apart")

    with pytest.raises(ServiceFailed, match="time limit of 1500 ms"):
        client.request("apart", "pid", 60.0)
    after = client.request("apart", "pid")

    assert after > 0


def test_beats_are_answered_while_the_function_works(
    start: StartWorker, client: ServiceClient, broker: BrokerProcess
) -> None:
    worker = start("ana", "who")
    before = broker.show("redispatched", "who")

    who = client.request("who", 2.5)

    assert who == "ana"
    assert broker.show("redispatched", "who") == before
    assert worker.told("began ") == ["2.5"]


def test_a_worker_that_is_killed_is_replaced_without_its_client_noticing(
    start: StartWorker, client: ServiceClient
) -> None:
    doomed = start("ana", "who")

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(client.request, "who", 1.0)
        doomed.wait_for_line("began 1.0")
        doomed.kill()
        start("eva", "who")
        who = asked.result(60)

    assert who == "eva"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_who_is_asked_to_leave_finishes_what_it_has_and_takes_no_more(
    start: StartWorker, client: ServiceClient, broker: BrokerProcess, number: int
) -> None:
    leaving = start("ana", "who")

    with ThreadPoolExecutor(2) as pool:
        asked = pool.submit(client.request, "who", 2.0)
        leaving.wait_for_line("began 2.0")
        leaving.running.send_signal(number)
        wait_until(lambda: " leaves, " in leaving.err.read_text(), "the worker leaves")
        start("eva", "who")
        after = client.request("who", 0.0)
        before = asked.result(60)

    assert (before, after) == ("ana", "eva")
    leaving.finish(status=0)


def test_what_it_cannot_finish_in_time_goes_to_another(start: StartWorker, client: ServiceClient) -> None:
    leaving = start("ana", "who", "--drain-ms", "200")

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(client.request, "who", 3.0)
        leaving.wait_for_line("began 3.0")
        status = leaving.stop()
        start("eva", "who")
        who = asked.result(60)

    assert (status, who) == (0, "eva")


def test_a_second_signal_ends_it_at_once(start: StartWorker, client: ServiceClient) -> None:
    leaving = start("ana", "who", "apart")

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(client.request, "who", 6.0, timeout_ms=60_000)
        leaving.wait_for_line("began 6.0")
        leaving.running.send_signal(signal.SIGTERM)
        wait_until(lambda: " leaves, " in leaving.err.read_text(), "the worker leaves")
        status = leaving.stop()
        start("eva", "who")
        who = asked.result(60)

    assert (status, who) == (0, "eva")


def test_an_idle_worker_comes_back_to_a_broker_that_was_started_again(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path, *WATCHFUL)
    try:
        broker.start()
        with workers(tmp_path, broker.back) as start:
            start("ana", "echo", "apart", "patient")
            broker.kill()
            broker.start()

            broker.wait_for("workers", 1, "echo")
            with ServiceClient(broker.front, timeout_ms=60_000) as client:
                found = client.request("echo", 5), client.request("patient", 0.0), client.request("apart", "pid") > 0
    finally:
        broker.end()

    assert found == (5, "ana", True)


def test_several_versions_live_in_one_worker(broker: BrokerProcess) -> None:
    @service("greet", version="1")
    def greet(name: str) -> str:
        return f"Hola, {name}"

    @service("greet", version="2", slots=2)
    async def greet_better(name: str) -> tuple[str, int]:
        return f"Buenas, {name}", 2

    with Worker(greet, greet_better, back=broker.back) as worker, ServiceClient(broker.front) as client:
        worker.wait_until_ready(30)
        found = client.request("greet", "Ana", version="1"), client.request("greet", "Ana", version="2")

    assert found == ("Hola, Ana", ("Buenas, Ana", 2))


def test_workers_killed_at_random_under_load_lose_nothing(start: StartWorker, client: ServiceClient) -> None:
    team = [start(name, "echo") for name in ("ana", "eva", "luz")]
    results = client.map("echo", range(20_000), in_flight=100, timeout_ms=120_000)

    found = []
    for result in results:
        found.append(result)
        if len(found) % 4_000 == 0:
            worker = team[len(found) // 4_000 % len(team)]
            worker.kill()
            worker.start()

    assert found == list(range(20_000))


def test_two_workers_share_what_is_asked(start: StartWorker, client: ServiceClient) -> None:
    for name in ("ana", "eva"):
        start(name, "who")

    found = list(client.map("who", [0.05] * 20, in_flight=4))

    assert set(found) == {"ana", "eva"}


def test_a_worker_in_this_program_ends_with_its_block(broker: BrokerProcess) -> None:
    @service("here")
    def here() -> str:
        return "here"

    with Worker(here, back=broker.back, load=lambda: 1 / 0) as worker, ServiceClient(broker.front) as client:
        worker.wait_until_ready(30)
        found = client.request("here")

    assert found == "here"
    assert (worker.answered, worker.failed) == (1, 0)
    broker.wait_for("workers", 0, "here")
