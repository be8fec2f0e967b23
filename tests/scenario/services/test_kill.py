"""Workers are killed at random while clients ask: every request is answered exactly once, and the broker knows it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from ..hub_process import wait_until
from .asking import DEFAULT_TYPE, RawClient
from .broker_process import BrokerProcess
from .program import PATIENCE_S
from .shared_broker import Options, shared_broker
from .staff import Staff
from .workers import PLAIN, RICH

REQUESTS = 200
KILLS = 5
FORGIVING = {"attempts_max": 100, "beat_ms": 150, "patience": 4, "answer_ms": 1_000}
"""A worker that is dead is known for it soon; one that a busy machine holds up is taken back, and nothing is poison."""
WAYS = ("beats", "beats-when-busy", "answers")
SERVICES: dict[str, Options] = {
    DEFAULT_TYPE: FORGIVING,
    **{f"{form}-{way}": {**FORGIVING, "liveness": way} for form in (PLAIN, RICH) for way in WAYS},
    **{f"{form}-idle": {"attempts_max": 2, "beat_ms": 2_000, "answer_ms": 4_000} for form in (PLAIN, RICH)},
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with shared_broker(tmp_path_factory.mktemp("broker"), SERVICES) as broker:
        yield broker


def kill_one(staff: Staff, rng: Random, service: str, form: str) -> None:
    """Kill somebody who is at work, and have somebody new come."""
    at_work = wait_until(lambda: [one for one in staff.alive if one.told("given ")], "somebody works", PATIENCE_S)
    rng.choice(at_work).kill()
    staff.call_in(f"{service}-{len(staff.all)}", "--work-ms", "4", form=form)


@pytest.mark.parametrize("liveness", WAYS)
@pytest.mark.parametrize("form", [PLAIN, RICH])
def test_every_request_is_answered_once_while_workers_are_killed(
    broker: BrokerProcess, tmp_path: Path, form: str, liveness: str
) -> None:
    service = f"{form}-{liveness}"
    rng = Random(service)
    with Staff(broker.back, tmp_path, service) as staff, RawClient(broker.front, service=service) as client:
        for number in range(4):
            staff.call_in(f"{service}-{number}", "--work-ms", "4", form=form)
        broker.wait_for("workers", 4, service)

        for number in range(REQUESTS):
            client.ask(number)
        for kill in range(KILLS):
            client.hear_until((kill + 1) * 20 + rng.randrange(15))
            kill_one(staff, rng, service, form)
        client.hear_until(REQUESTS)
        client.hear_the_rest()

    assert client.counted() == dict.fromkeys((str(number).encode() for number in range(REQUESTS)), 1)
    assert sorted(reply.number for reply in client.replies) == list(range(REQUESTS))
    shown = {figure: broker.show(figure, service) for figure in ("answered", "failed", "waiting", "in_hand")}
    assert shown == {"answered": REQUESTS, "failed": 0, "waiting": 0, "in_hand": 0}
    assert broker.show("redispatched", service) >= 1, "some of them had something in hand"


def test_workers_of_both_forms_that_die_together_lose_nothing_of_clients_of_both_forms(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    with (
        Staff(broker.back, tmp_path) as staff,
        RawClient(broker.front) as rich,
        RawClient(broker.front) as plain,
    ):
        for number, form in enumerate((PLAIN, RICH, PLAIN, RICH)):
            staff.call_in(f"first-{number}", "--work-ms", "4", form=form)
        broker.wait_for("workers", 4)
        for number in range(REQUESTS):
            rich.ask(number)
            plain.ask_plainly(str(number).encode())
        rich.hear_until(10)

        for worker in staff.alive:
            worker.kill()
        staff.hire("plain-again", form=PLAIN)
        staff.hire("rich-again", "--slots", "5")
        for client in (rich, plain):
            client.hear_until(REQUESTS)
            client.hear_the_rest()

    once = dict.fromkeys((str(number).encode() for number in range(REQUESTS)), 1)
    assert (rich.counted(), plain.counted()) == (once, once)
    assert broker.show("redispatched") >= 1
    assert (broker.show("answered"), broker.show("failed")) == (2 * REQUESTS, 0)


@pytest.mark.parametrize("form", [PLAIN, RICH])
def test_a_request_is_not_blamed_for_workers_that_died_before_they_were_given_it(
    broker: BrokerProcess, tmp_path: Path, form: str
) -> None:
    service = f"{form}-idle"
    with Staff(broker.back, tmp_path, service) as staff, RawClient(broker.front, service=service) as client:
        for number in range(4):
            staff.hire(f"{service}-{number}", form=form)
        broker.wait_for("workers", 4, service)
        for worker in staff.alive:
            worker.kill()
        # What is sent before the broker's system has noticed is on its way to somebody, and that is another story.
        threading.Event().wait(0.3)

        client.ask(1)
        staff.hire(f"{service}-alive", form=form)
        reply = client.require(1)

    assert (reply.kind, reply.body) == ("A", [b"1", f"{service}-alive".encode()]), reply
