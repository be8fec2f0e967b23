"""The disk is full or the store is busy while deliveries are written: nothing is lost, and nothing comes twice."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pregon.errors import HubBusy, StoreFull
from pregon.model.message import Outgoing
from pregon.model.trace import TraceQuery
from pregon.testing import run_hub

from .. import test_faults
from ..hub_process import HubProcess, wait_until
from .receiver import Answer, Station, first_times
from .subscriber_hub import TOPIC, register, registry

small_disk = test_faults.small_disk


def test_on_a_full_disk_pushes_go_on_or_wait_and_nothing_is_lost(small_disk: Path) -> None:
    hub = HubProcess(small_disk / "data", log_level="info", push_allow="127.0.0.1")
    try:
        with Station() as station:
            with registry(hub.data) as opened:
                register(opened, station, name="bps")
            hub.start()
            with hub.client() as client:
                client.publish(TOPIC, "before")
                station.wait_for_taken(1)
                station.answer = lambda _: Answer(503)
                # Room for some messages; what is freed later is much more than those took.
                ballast = test_faults.fill(small_disk)
                os.truncate(ballast, ballast.stat().st_size - 4 * test_faults.MIB)
                accepted = 1
                try:
                    while accepted < 100:
                        accepted = client.publish(TOPIC, bytes(test_faults.MIB)).seq
                except StoreFull:
                    pass
                station.answer = lambda _: Answer()
                station.wait_for_taken(2)
                time.sleep(2)

                ballast.unlink()

                station.wait_for_taken(accepted, deadline_s=60)
                wait_until(lambda: client.account(TOPIC, "bps").pending == 0, "all of it is written", 60)
                assert client.account(TOPIC, "bps").acknowledged == accepted
            assert first_times(station.taken()) == list(range(1, accepted + 1))
            assert hub.bugs() == []
            assert hub.stop() == 0
    finally:
        test_faults.end(hub)


@pytest.mark.parametrize("parallel", [1, 6])
def test_while_the_store_is_busy_nothing_is_pushed_twice_nor_forgotten(
    tmp_path: Path, parallel: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The committer refuses every other operation of the pusher for a while, as it does when its queue is full."""
    chance = Random(5)
    with Station() as station, run_hub(tmp_path, push_allow="127.0.0.1", feed="", ingest="", http="") as running:
        hub = running.server.hub
        register(hub, station, name="bps", parallel=parallel, delay_ms_first=10, delay_ms_max=20)
        submit, is_busy = hub.committer.submit, threading.Event()

        def submit_sometimes(operation: Any) -> None:
            if is_busy.is_set() and threading.current_thread().name == "pregon-push" and chance.random() < 0.5:
                raise HubBusy("the hub has more to write than it can queue")
            submit(operation)

        monkeypatch.setattr(hub.committer, "submit", submit_sometimes)
        station.answer = lambda arrival: Answer(422 if arrival.seq % 10 == 0 and arrival.attempt < 2 else 200)
        is_busy.set()

        for number in range(60):
            hub.publish(TOPIC, "dgrec", Outgoing(b"x", key=str(number % 11))).result()
        station.wait_for_taken(20)
        time.sleep(2)
        is_busy.clear()

        wait_until(lambda: hub.account(TOPIC, "bps").result().pending == 0, "nothing is pending")
        assert sorted(station.taken()) == list(range(1, 61))
        for key in range(11):
            mine = [seq for seq in station.taken() if (seq - 1) % 11 == key]
            assert mine == sorted(mine)


def test_a_store_that_fails_for_a_while_gets_every_delivery_when_it_works_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Station() as station, run_hub(tmp_path, push_allow="127.0.0.1", feed="", ingest="", http="") as running:
        hub = running.server.hub
        register(hub, station, name="bps")
        for _ in range(40):
            hub.publish(TOPIC, "dgrec", Outgoing(b"x")).result()
        wait_until(lambda: hub.account(TOPIC, "bps").result().pending == 0, "nothing is pending")
        commit, is_broken = hub.database.commit, threading.Event()

        def break_sometimes(connection: Any) -> None:
            if is_broken.is_set():
                raise StoreFull("the disk is full: free space")
            commit(connection)

        monkeypatch.setattr(hub.database, "commit", break_sometimes)
        station.hold()
        for _ in range(40):
            hub.publish(TOPIC, "dgrec", Outgoing(b"x")).result()
        station.wait_for(41)

        is_broken.set()
        station.let_go()
        time.sleep(1.2)
        is_broken.clear()

        wait_until(lambda: hub.account(TOPIC, "bps").result().pending == 0, "nothing is pending")
        assert station.taken() == list(range(1, 81))
        delivered = [
            seq
            for one in hub.traces(TraceQuery(topic=TOPIC, kind="delivered", max=1_000)).result()[::-1]
            for seq in range(one.first_seq, one.last_seq + 1)
        ]
        assert delivered == list(range(1, 81))
