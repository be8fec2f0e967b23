"""Many at once: a thousand clients, ten thousand requests that wait, and one more than may."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import zmq

from .asking import RawClient
from .broker_process import BrokerProcess
from .program import PATIENCE_S
from .resident import resident_mib
from .shared_broker import Options, shared_broker
from .staff import Staff
from .workers import PLAIN

CLIENTS = 1_000
QUEUED = 10_000
SERVICES: dict[str, Options] = {
    "late": {"queue_max": 20_000},
    "narrow": {"queue_max": 100},
    "fair": {"queue_max": 20_000},
    "unserved": {"wait_ms": 300},
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with shared_broker(tmp_path_factory.mktemp("broker"), SERVICES) as broker:
        yield broker


def test_a_thousand_clients_at_once_are_each_answered_with_their_own(broker: BrokerProcess, tmp_path: Path) -> None:
    with ExitStack() as held, Staff(broker.back, tmp_path) as staff, zmq.Context() as context:
        context.set(zmq.MAX_SOCKETS, CLIENTS + 10)
        clients = [held.enter_context(context.socket(zmq.REQ)) for _ in range(CLIENTS)]
        for client in clients:
            client.setsockopt(zmq.LINGER, 0)
            client.connect(broker.front)
        staff.hire("plain", form=PLAIN)
        staff.hire("rich", "--slots", "50")

        for number, client in enumerate(clients):
            client.send(f"of {number}".encode())
        told: list[bytes] = []
        for client in clients:
            assert client.poll(int(PATIENCE_S * 1_000)), f"{len(told)} of {CLIENTS} were answered"
            told.append(client.recv_multipart()[0])
        held.close()

    assert told == [f"of {number}".encode() for number in range(CLIENTS)]
    assert (broker.show("answered"), broker.show("failed")) == (CLIENTS, 0)


def test_ten_thousand_requests_wait_for_workers_that_come_late(broker: BrokerProcess, tmp_path: Path) -> None:
    with Staff(broker.back, tmp_path, "late") as staff, RawClient(broker.front, service="late") as client:
        for number in range(QUEUED):
            client.ask(number)
        broker.wait_for("waiting", QUEUED, "late")
        waited_mib = resident_mib(broker.running.pid)

        staff.call_in("plain", form=PLAIN)
        staff.call_in("rich", "--slots", "20")
        client.hear_until(QUEUED)
        client.hear_the_rest()

    assert Counter(reply.number for reply in client.replies) == dict.fromkeys(range(QUEUED), 1)
    assert all(reply.kind == "A" and reply.body[0] == str(reply.number).encode() for reply in client.replies)
    assert (broker.show("answered", "late"), broker.show("waiting", "late")) == (QUEUED, 0)
    assert waited_mib < 300, "about a kilobyte each"


def test_one_request_more_than_may_wait_is_refused_and_the_others_are_answered(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    with Staff(broker.back, tmp_path, "narrow") as staff, RawClient(broker.front, service="narrow") as client:
        for number in range(150):
            client.ask(number)
        client.hear_until(50)
        refused = list(client.replies)

        staff.hire("narrow")
        client.hear_until(150)
        client.hear_the_rest()

    assert [(reply.number, reply.code) for reply in refused] == [(number, "queue_full") for number in range(100, 150)]
    assert json.loads(refused[0].tail)["retryable"] is True
    assert "ask again after a pause" in refused[0].message
    assert sorted(int(body) for body in client.counted()) == list(range(100))
    assert (broker.show("refused", "narrow"), broker.show("answered", "narrow")) == (50, 100)


def test_a_client_with_thousands_of_requests_does_not_keep_another_waiting(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    with (
        Staff(broker.back, tmp_path, "fair") as staff,
        RawClient(broker.front, service="fair") as greedy,
        RawClient(broker.front, service="fair") as modest,
    ):
        for number in range(5_000):
            greedy.ask(number)
        broker.wait_for("waiting", 5_000, "fair")
        for number in range(10):
            modest.ask(number)
        broker.wait_for("waiting", 5_010, "fair")

        staff.call_in("fair", "--work-ms", "1")
        modest.hear_until(10)
        before_it = int(broker.show("answered", "fair"))

    assert sorted(modest.counted()) == [str(number).encode() for number in range(10)]
    assert before_it < 2_500, "they took turns"


def test_requests_that_nobody_serves_end_with_an_error_that_says_so(broker: BrokerProcess) -> None:
    with RawClient(broker.front, service="unserved") as client:
        for number in range(100):
            client.ask(number)

        client.hear_until(100)
        client.hear_the_rest()

    assert Counter((reply.number, reply.code) for reply in client.replies) == dict.fromkeys(
        ((number, "service_unserved") for number in range(100)), 1
    )
    assert broker.show("failed", "unserved") == 100
