"""A hub that is asked to stop ends at once, tells those who wait, and has written what it acknowledged."""

from __future__ import annotations

import signal
from threading import Event, Thread

import pytest

from pregon.client.outbox import ProducerOptions, Receipt

from . import audit
from .conftest import MakeHub
from .hub_process import open_hub, wait_until

TOPIC = "novedades"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_hub_stopped_under_load_ends_at_once_with_everything_acknowledged(
    make_hub: MakeHub, number: signal.Signals
) -> None:
    hub = make_hub().start()
    receipts: list[Receipt] = []
    stopping = Event()

    def produce() -> None:
        options = ProducerOptions(batch_messages=50, on_receipt=receipts.append, timeout_ms=60_000)
        with hub.client() as client, client.producer(TOPIC, options) as out:
            while not stopping.is_set():
                out.send("x" * 200)

    thread = Thread(target=produce)
    thread.start()
    wait_until(lambda: len(receipts) > 100, "the load has begun")

    with hub.client() as waiting:
        follower = Thread(target=lambda: waiting.pull("quiet", "bps", wait_ms=30_000))
        follower.start()
        wait_until(lambda: hub.status()["waiting"] == 1, "somebody waits in a long poll")
        status = hub.stop(number, deadline_s=10)
        acknowledged = sum(receipt.count for receipt in receipts)
        follower.join(5)
    with open_hub(hub.data) as opened:
        stored = len(audit.read_topic(opened, TOPIC))
        problems = audit.find_problems(opened)
    # The producer goes on with the next hub, and ends.
    hub.start()
    stopping.set()
    thread.join(30)

    assert status == 0
    assert [event["took_ms"] < 2_000 for event in hub.history() if event["event"] == "hub stopped"] == [True]
    assert acknowledged <= stored
    assert problems == []
    assert not thread.is_alive()
    assert not follower.is_alive()


def test_a_hub_that_is_told_to_stop_many_times_at_once_stops(make_hub: MakeHub) -> None:
    hub = make_hub().start()

    for _ in range(200):
        hub.running.send_signal(signal.SIGTERM)
    status = hub.stop(deadline_s=10)

    assert status == 0
