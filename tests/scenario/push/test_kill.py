"""The hub is killed and stopped while it pushes: every message arrives, in order.

What is answered 2xx and not yet written when the hub is killed comes again, with the same id: that is the only way to
come twice.
"""

from __future__ import annotations

import itertools
import threading
import time
from contextlib import ExitStack
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest

from pregon.limits import PUSHES_WRITTEN_TOGETHER
from pregon.model.catalog import SOAP
from pregon.model.message import Outgoing

from ..conftest import MakeHub
from ..hub_process import HubProcess, open_hub, wait_until
from .receiver import Answer, Arrival, Station, first_times
from .subscriber_hub import TOPIC, register, registry

KILLS = 15
SPACES = {"wsa": "http://www.w3.org/2005/08/addressing", "ps": "http://ps.agesic.gub.uy"}


def soap_identity(arrival: Arrival) -> tuple[int, str]:
    """The number and the id of a push as an envelope."""
    root = ElementTree.fromstring(arrival.body)
    number, identity = root.findtext(".//ps:notificationId", "", SPACES), root.findtext(".//wsa:MessageID", "", SPACES)
    return int(number), identity


def raw_identity(arrival: Arrival) -> tuple[int, str]:
    """The same of a push in the raw format."""
    return arrival.seq, arrival.headers["webhook-id"]


# Killed.


class Publisher:
    """Publishes one message after another, with ids of its own, until it is told to stop."""

    def __init__(self, hub: HubProcess) -> None:
        self._hub = hub
        self._stopping = threading.Event()
        self.accepted: set[int] = set()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Publisher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        with self._hub.client(timeout_ms=60_000) as client:
            for number in itertools.count():
                if self._stopping.wait(0.002):
                    return
                key = "abcdefgh"[number % 8]
                self.accepted.add(client.publish(TOPIC, str(number), id=f"id-{number}", key=key).seq)


def test_a_hub_killed_again_and_again_while_it_pushes_loses_nothing_and_keeps_the_order(make_hub: MakeHub) -> None:
    chance = Random(11)
    hub = make_hub(push_allow="127.0.0.1")
    with ExitStack() as stack:
        stations = {name: stack.enter_context(Station()) for name in ("plain", "soap", "parallel", "flaky")}
        with registry(hub.data) as opened:
            register(opened, stations["plain"], name="plain")
            register(opened, stations["soap"], name="soap", format=SOAP)
            register(opened, stations["parallel"], name="parallel", parallel=6)
            register(opened, stations["flaky"], name="flaky")
        stations["plain"].answer = lambda _: Answer(wait_s=0.001)
        stations["parallel"].answer = lambda arrival: Answer(wait_s=0.001 * (arrival.seq % 5))
        stations["flaky"].answer = lambda _: chance.choice([Answer()] * 8 + [Answer(503), Answer(is_cut=True)])
        hub.start()

        with Publisher(hub) as publisher:
            for _ in range(KILLS):
                progress = len(publisher.accepted) + 20
                wait_until(lambda enough=progress: len(publisher.accepted) >= enough, "the hub works again")
                time.sleep(chance.random() * 0.2)
                hub.kill()
                hub.start()
        head = max(publisher.accepted)
        assert publisher.accepted == set(range(1, head + 1))

        for name, station in stations.items():
            identity = soap_identity if name == "soap" else raw_identity
            wait_until(
                lambda station=station, identity=identity: _has_all(station, identity, head), f"{name} has everything"
            )
        assert hub.bugs() == []
        assert hub.stop() == 0

        for name, station in stations.items():
            _check(station, soap_identity if name == "soap" else raw_identity, head, is_parallel=name == "parallel")
    with open_hub(hub.data) as opened:
        for name in stations:
            found = opened.account(TOPIC, name).result()
            assert (found.accepted, found.acknowledged, found.pending, found.parked) == (head, head, 0, 0)


def _has_all(station: Station, identity: Any, head: int) -> bool:
    return len({identity(one)[0] for one in list(station.arrivals) if one.is_taken}) >= head


def _check(station: Station, identity: Any, head: int, *, is_parallel: bool) -> None:
    """Everything came, in order but for what is repeated, and what is repeated has the same id."""
    took = sorted((one for one in station.arrivals if one.is_taken), key=lambda one: one.answered_s)
    seqs = first_times([identity(one)[0] for one in took])
    for key in range(8 if is_parallel else 1):
        mine = [seq for seq in seqs if not is_parallel or (int(seq) - 1) % 8 == key]
        assert mine == sorted(mine)
    assert sorted(seqs) == list(range(1, head + 1))
    ids: dict[int, set[str]] = {}
    for one in station.arrivals:
        seq, name = identity(one)
        ids.setdefault(seq, set()).add(name)
    assert all(len(names) == 1 for names in ids.values())
    assert len(set.union(*ids.values())) == len(ids)
    # At each kill what was answered and not written: what gathers for a commit, and what the last one had.
    assert len(took) - head <= (KILLS + 1) * 2 * PUSHES_WRITTEN_TOGETHER


# Stopped.


def stop_ms(hub: HubProcess) -> int:
    """How long it says that its last stop took."""
    (took_ms,) = [event["took_ms"] for event in hub.events() if event["event"] == "hub stopped"]
    return int(took_ms)


def test_a_hub_that_is_stopped_while_it_pushes_ends_soon_and_repeats_nothing_that_was_answered(
    make_hub: MakeHub,
) -> None:
    hub = make_hub(push_allow="127.0.0.1")
    with Station() as station:
        station.answer = lambda _: Answer(wait_s=0.003)
        with registry(hub.data) as opened:
            register(opened, station, name="one")
            register(opened, station, name="many", parallel=5)
            for number in range(400):
                opened.publish(TOPIC, "dgrec", Outgoing(b"x", key=str(number % 9))).result()

        for _ in range(6):
            hub.start()
            station.wait_for_taken(len(station.taken()) + 20)
            assert hub.stop() == 0
            assert stop_ms(hub) < 2_000
        hub.start()

        station.wait_for_taken(400, path="/one")
        station.wait_for_taken(400, path="/many")
        assert station.taken(path="/one") == list(range(1, 401))
        assert sorted(station.taken(path="/many")) == list(range(1, 401))
        assert hub.stop() == 0


@pytest.mark.parametrize("parallel", [1, 8])
def test_a_hub_that_is_stopped_while_subscribers_hang_ends_soon(make_hub: MakeHub, parallel: int) -> None:
    hub = make_hub(push_allow="127.0.0.1")
    with Station() as station:
        station.hold()
        with registry(hub.data) as opened:
            for number in range(10):
                register(opened, station, name=f"hanging-{number}", parallel=parallel, time_limit_ms=60_000)
            for number in range(20):
                opened.publish(TOPIC, "dgrec", Outgoing(b"x", key=str(number))).result()
        hub.start()
        station.wait_for(10 * parallel)

        status = hub.stop()

        assert status == 0
        assert stop_ms(hub) < 2_000
        assert hub.bugs() == []


def test_an_answer_that_comes_while_the_hub_stops_is_written(make_hub: MakeHub) -> None:
    hub = make_hub(push_allow="127.0.0.1")
    with Station() as station:
        station.answer = lambda _: Answer(wait_s=0.6)
        with registry(hub.data) as opened:
            register(opened, station, name="slow", parallel=3)
            for number in range(9):
                opened.publish(TOPIC, "dgrec", Outgoing(b"x", key=str(number))).result()
        hub.start()
        station.wait_for(3)

        assert hub.stop() == 0

        assert sorted(station.taken()) == [1, 2, 3]
        assert station.sent() == [1, 2, 3]
    with open_hub(hub.data) as opened:
        assert opened.account(TOPIC, "slow").result().acknowledged == 3


def test_a_hub_that_was_off_pushes_what_had_gathered_in_order(make_hub: MakeHub) -> None:
    hub = make_hub(push_allow="127.0.0.1")
    with Station() as station:
        with registry(hub.data) as opened:
            register(opened, station, name="bps")
            for _ in range(600):
                opened.publish(TOPIC, "dgrec", Outgoing(b"x"))
        station.fall()
        hub.start()
        time.sleep(0.5)
        assert hub.stop() == 0
        station.rise()

        hub.start()

        station.wait_for_taken(600)
        assert station.sent() == list(range(1, 601))


def test_what_was_failing_goes_on_waiting_after_a_restart(make_hub: MakeHub) -> None:
    hub = make_hub(push_allow="127.0.0.1")
    with Station() as station:
        station.answer = lambda _: Answer(503)
        with registry(hub.data) as opened:
            register(opened, station, name="bps", delay_ms_first=4_000, delay_ms_max=4_000)
            opened.publish(TOPIC, "dgrec", Outgoing(b"x")).result()
        hub.start()
        station.wait_for(1)
        time.sleep(0.2)
        assert hub.stop() == 0

        hub.start()
        station.wait_for(2)

        first, second = station.arrivals[:2]
        assert second.at_s - first.at_s >= 1.9
        assert (first.attempt, second.attempt) == (1, 2)
