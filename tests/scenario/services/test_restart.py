"""The broker is killed and started again on the same addresses, or asked to stop: who waits finds the next one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import httpx
import pytest

from ..conftest import MakeHub
from ..hub_process import wait_until
from .asking import RawClient
from .broker_process import BrokerProcess
from .conftest import MakeBroker
from .program import PATIENCE_S
from .staff import Staff
from .workers import PLAIN

REQUESTS = 300
KILLS = 2
STOPPED_MS_MAX = 2_000


@pytest.fixture(scope="module")
def module_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    options = ("--beat-ms", "200", "--patience", "10", "--attempts", "100")
    broker = BrokerProcess(tmp_path_factory.mktemp("broker"), *options)
    broker.start()
    yield broker
    broker.end()


@pytest.fixture
def broker(module_broker: BrokerProcess) -> Iterator[BrokerProcess]:
    """A broker that may be killed and started again, and must be there at the end."""
    yield module_broker
    assert module_broker.is_alive, f"the broker ended:\n{module_broker.said()}"
    assert module_broker.bugs() == []


def ask_what_is_open(client: RawClient, numbers: range) -> None:
    """Send everything again that is not answered, as a client does that may have lost its broker."""
    told = {reply.number for reply in client.replies}
    for number in numbers:
        if number not in told:
            client.ask(number)


def hear_all(client: RawClient, numbers: range) -> None:
    """Ask again, every second, until everything is answered."""
    last = time.monotonic() + 2 * PATIENCE_S
    while set(numbers) - {reply.number for reply in client.replies}:
        assert time.monotonic() < last, f"{len(client.replies)} of {len(numbers)} answers came"
        if client.hear(1.0) is None:
            ask_what_is_open(client, numbers)


def count_requests(http: str) -> int:
    """What the workers of a hub have, and what waits."""
    return len(httpx.get(f"http://{http}/v1/requests", params={"max": 1_000}).json()["items"])


def restart(broker: BrokerProcess) -> None:
    """Kill it, and start it again where it was."""
    broker.kill()
    broker.start()


def test_workers_and_clients_find_the_broker_that_comes_after_the_one_that_was_killed(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    rng = Random(5)
    with Staff(broker.back, tmp_path, "load") as staff, RawClient(broker.front, "fixed", "load") as client:
        workers = [staff.hire(f"worker-{number}", "--work-ms", "3", "--slots", "4") for number in range(3)]
        ask_what_is_open(client, range(REQUESTS))

        for kill in range(KILLS):
            heard = len(client.replies)
            wait_until(lambda heard=heard: client.hear(0.1) and len(client.replies) > heard + 20, "it works")  # type: ignore[misc]
            time.sleep(rng.uniform(0, 0.05))
            restart(broker)
            ask_what_is_open(client, range(REQUESTS))
            assert broker.bugs() == [], kill
        hear_all(client, range(REQUESTS))
        broker.wait_for("workers", 3, "load")

        assert all(worker.is_alive and worker.lines().count("ready") > 1 for worker in workers)
    assert {reply.tail for reply in client.replies if reply.kind != "A"} == set()
    assert {reply.number: reply.body[0] for reply in client.replies} == {
        number: str(number).encode() for number in range(REQUESTS)
    }


def test_a_plain_worker_that_was_busy_when_the_broker_died_is_taken_in_by_the_next(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    with Staff(broker.back, tmp_path) as staff, RawClient(broker.front) as client:
        worker = staff.hire("Ana", "--manner", "hold", "--times", "1", form=PLAIN)
        client.ask_plainly(b"before")
        worker.wait_for_line("given before")

        restart(broker)
        worker.tell("answer")
        broker.wait_for("workers", 1)
        client.ask_plainly(b"after")
        reply = client.require()

    assert reply.body == [b"after", b"Ana"], "and nobody was told what nobody had asked this broker"


def test_the_answer_to_a_request_of_the_broker_before_is_told_to_no_wrong_client(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    with (
        Staff(broker.back, tmp_path, "secrets") as staff,
        RawClient(broker.front, "first", "secrets") as first,
        RawClient(broker.front, "second", "secrets") as second,
    ):
        worker = staff.hire("Eva", "--manner", "hold", "--slots", "2")
        first.ask(1, b"secret of the first")
        worker.wait_for_line("given secret of the first")
        restart(broker)
        broker.wait_for("workers", 1, "secrets")
        second.ask(2, b"of the second")
        worker.wait_for_line("given of the second")

        worker.tell("answer both")
        reply = second.require(2)

    assert reply.body == [b"of the second", b"Eva"]


def test_a_worker_that_the_broker_does_not_know_is_asked_once_who_it_is_however_much_it_says(
    broker: BrokerProcess,
) -> None:
    with RawClient(broker.back, "talkative") as worker, RawClient(broker.front, service="talk") as client:
        for number in range(20):
            # What was waiting for the broker to come back: beats, and answers to the one before.
            worker.say("B" if number % 2 else "A", number, body=[b"x"] if number % 2 == 0 else ())
        worker.say("H", tail=b'{"types": ["talk"]}')
        asked = 0
        while (told := worker.require()).kind == "H":
            asked += 1

        client.ask(1)
        work = worker.hear()
        assert work is not None
        worker.say("A", work.number, body=work.body)
        answer = client.require(1)

    assert (told.kind, asked) == ("W", 1)
    assert answer.kind == "A"
    assert broker.show("redispatched", "talk") == 0


# Asked to stop.


def test_a_broker_stops_at_once_with_requests_under_way(make_broker: MakeBroker, tmp_path: Path) -> None:
    broker = make_broker()
    broker.start()
    with Staff(broker.back, tmp_path) as staff, RawClient(broker.front) as client:
        worker = staff.hire("Ana", "--manner", "mute")
        for number in range(100):
            client.ask(number)
        worker.wait_for_line("given 0")

        began = time.monotonic()
        status = broker.stop()
        took_ms = (time.monotonic() - began) * 1_000

    assert status == 0
    assert took_ms < STOPPED_MS_MAX
    assert broker.events()[-1]["event"] == "services stopped"
    assert broker.bugs() == []


def test_a_hub_stops_at_once_with_requests_under_way_and_tells_who_waits(make_hub: MakeHub, tmp_path: Path) -> None:
    hub = make_hub().start()
    where = hub.addresses
    base = f"http://{where.http}/v1/services/default/requests"
    with Staff(where.services_back, tmp_path) as staff, RawClient(where.services_front) as client:
        worker = staff.hire("Ana", "--manner", "mute")
        for number in range(100):
            client.ask(number, durable=number % 2 == 1)
        worker.wait_for_line("given 0")
        with ThreadPoolExecutor(2) as pool:
            waiting = [
                pool.submit(httpx.post, base, params=query, content=b"x", timeout=60)
                for query in ({"durable": "false"}, {"wait_ms": "60000"})
            ]
            wait_until(lambda: count_requests(where.http) >= 102, "all is under way")

            status = hub.stop(deadline_s=10)
            answers = [one.result() for one in waiting]

    assert status == 0
    assert [event["took_ms"] < STOPPED_MS_MAX for event in hub.events() if event["event"] == "hub stopped"] == [True]
    assert [answer.json()["code"] for answer in answers] == ["hub_stopping", "hub_stopping"]
    assert hub.bugs() == []
