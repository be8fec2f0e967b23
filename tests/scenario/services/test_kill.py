"""Workers are killed at random while clients ask: every request is answered exactly once, and the broker knows it."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from .asking import RawClient
from .conftest import MakeBroker
from .staff import Staff
from .workers import PLAIN, RICH

REQUESTS = 150
"""Of each client."""
KILLS = 5
FORGIVING = ("--attempts", "100", "--beat-ms", "150", "--patience", "4", "--answer-ms", "1000")
"""A worker that is dead is known for it soon; one that a busy machine holds up is taken back, and nothing is poison."""


def kill_one(staff: Staff, rng: Random, form: str) -> None:
    """Kill somebody who is at work, and have somebody new come."""
    rng.choice([worker for worker in staff.alive if worker.told("given ")]).kill()
    staff.call_in(f"worker-{len(staff.all)}", "--work-ms", "4", form=form)


@pytest.mark.parametrize("liveness", ["beats", "beats-when-busy", "answers"])
@pytest.mark.parametrize("form", [PLAIN, RICH])
def test_every_request_is_answered_once_while_workers_are_killed(
    start_broker: MakeBroker, tmp_path: Path, form: str, liveness: str
) -> None:
    broker = start_broker("--liveness", liveness, *FORGIVING)
    rng = Random(f"{form} {liveness}")
    with (
        Staff(broker.back, tmp_path) as staff,
        RawClient(broker.front) as rich,
        RawClient(broker.front) as plain,
    ):
        for number in range(4):
            staff.call_in(f"worker-{number}", "--work-ms", "4", form=form)
        broker.wait_for("workers", 4)

        for number in range(REQUESTS):
            rich.ask(number)
            plain.ask_plainly(f"plain-{number}".encode())
        for kill in range(KILLS):
            rich.hear_until((kill + 1) * 15 + rng.randrange(10))
            kill_one(staff, rng, form)
        rich.hear_until(REQUESTS)
        plain.hear_until(REQUESTS)
        rich.hear_the_rest()
        plain.hear_the_rest()

    assert rich.counted() == dict.fromkeys((str(number).encode() for number in range(REQUESTS)), 1)
    assert sorted(reply.number for reply in rich.replies) == list(range(REQUESTS))
    assert plain.counted() == dict.fromkeys((f"plain-{number}".encode() for number in range(REQUESTS)), 1)
    assert (broker.show("answered"), broker.show("failed")) == (2 * REQUESTS, 0)
    assert broker.show("redispatched") >= KILLS, "each of them had something in hand"
    assert (broker.show("waiting"), broker.show("in_hand")) == (0, 0)


def test_workers_of_both_forms_that_die_together_lose_nothing(start_broker: MakeBroker, tmp_path: Path) -> None:
    broker = start_broker(*FORGIVING)
    with Staff(broker.back, tmp_path) as staff, RawClient(broker.front) as client:
        for number, form in enumerate((PLAIN, RICH, PLAIN, RICH)):
            staff.call_in(f"first-{number}", "--work-ms", "4", form=form)
        broker.wait_for("workers", 4)
        for number in range(REQUESTS):
            client.ask(number)
        client.hear_until(10)

        for worker in staff.alive:
            worker.kill()
        staff.hire("plain-again", form=PLAIN)
        staff.hire("rich-again", "--slots", "5")
        client.hear_until(REQUESTS)
        client.hear_the_rest()

    assert client.counted() == dict.fromkeys((str(number).encode() for number in range(REQUESTS)), 1)
    assert broker.show("redispatched") >= 4
    assert (broker.show("answered"), broker.show("failed")) == (REQUESTS, 0)


@pytest.mark.parametrize("form", [PLAIN, RICH])
def test_a_request_is_not_blamed_for_workers_that_died_before_they_were_given_it(
    start_broker: MakeBroker, tmp_path: Path, form: str
) -> None:
    broker = start_broker("--attempts", "2", "--beat-ms", "60000")
    with Staff(broker.back, tmp_path) as staff, RawClient(broker.front) as client:
        for number in range(4):
            staff.hire(f"idle-{number}", form=form)
        broker.wait_for("workers", 4)
        for worker in staff.alive:
            worker.kill()

        client.ask(1)
        staff.hire("alive", form=form)
        reply = client.require(1)

    assert (reply.kind, reply.body) == ("A", [b"1", b"alive"]), reply
