"""Nonsense of every kind, as fast as it is taken, on both sockets: honest clients and workers go on all the while."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..hub_process import wait_until
from .asking import RawClient
from .broker_process import BrokerProcess
from .flood import KINDS, STRANGERS
from .program import PATIENCE_S, Program
from .resident import forget_peak, peak_mib, resident_mib
from .shared_broker import shared_broker
from .staff import Staff
from .workers import PLAIN

REQUESTS = 40
LONGEST_S = 5.0
"""Of one honest request on a machine that two floods share; alone it is milliseconds."""
MEMORY_MIB_MAX = 256.0
"""How much more a broker may hold while it is flooded with what is small: what waits to be read is bounded."""
GIANTS_MIB_MAX = 1_500.0
"""The same where each is fifteen."""
_PROGRAM = Path(__file__).with_name("flood.py")
_STALLED = Path(__file__).with_name("stalled.py")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    # What waits in vain is soon forgotten, so that each flood finds the broker as it was before the last.
    services = {"flooded": {"wait_ms": 60_000}}
    with shared_broker(tmp_path_factory.mktemp("broker"), services, "--wait-ms", "1500") as broker:
        yield broker


@pytest.mark.parametrize("kind", [*KINDS, STRANGERS])
def test_honest_clients_and_workers_go_on_while_nonsense_floods_both_sockets(
    broker: BrokerProcess, tmp_path: Path, kind: str
) -> None:
    count = 8 if kind == "giants" else REQUESTS
    command = [sys.executable, str(_PROGRAM), broker.front, broker.back, kind]
    flood = Program("flood", command, tmp_path)
    answered = broker.show("answered", "flooded")
    with Staff(broker.back, tmp_path, "flooded") as staff, RawClient(broker.front, service="flooded") as client:
        staff.hire(f"rich-{kind}", "--slots", "5")
        staff.hire(f"plain-{kind}", form=PLAIN)
        pid = broker.running.pid
        forget_peak(pid)
        before_mib = resident_mib(pid)
        longest_s = 0.0

        flood.start()
        try:
            flood.wait_for_line("begun")
            for number in range(count):
                began = time.monotonic()
                client.ask(number)
                reply = client.require(number)
                longest_s = max(longest_s, time.monotonic() - began)
                assert reply.body[0] == str(number).encode()
        finally:
            flood.end()
        more_mib = peak_mib(pid) - before_mib

    assert broker.show("answered", "flooded") - answered == count
    assert longest_s < LONGEST_S
    assert more_mib < (GIANTS_MIB_MAX if kind == "giants" else MEMORY_MIB_MAX)


def test_a_peer_that_hangs_up_while_what_it_sent_waits_does_not_end_the_process(tmp_path: Path) -> None:
    stalled = Program("stalled", [sys.executable, str(_STALLED)], tmp_path)
    stalled.start()
    try:
        wait_until(lambda: stalled.told("bound "), "it is bound", PATIENCE_S)
        (address,) = stalled.told("bound ")
        flood = Program("flood", [sys.executable, str(_PROGRAM), address, address, "frames"], tmp_path)
        flood.start()
        flood.wait_for_line("begun")
        flood.kill()

        stalled.tell("whoever sent this is gone: wait, then read")

        stalled.finish()
    finally:
        stalled.end()


def test_a_frame_larger_than_any_may_be_ends_its_connection_and_no_other(broker: BrokerProcess, tmp_path: Path) -> None:
    with (
        Staff(broker.back, tmp_path, "large") as staff,
        RawClient(broker.front, "large", service="large") as large,
        RawClient(broker.front, service="large") as small,
    ):
        staff.hire("large")
        large.ask(1, bytes(9 * 1024 * 1024))
        refused = large.require(1)
        pid = broker.running.pid
        forget_peak(pid)
        before_mib = resident_mib(pid)

        large.ask(2, bytes(64 * 1024 * 1024))
        small.ask(3)
        answered = small.require(3)
        more_mib = peak_mib(pid) - before_mib

    assert (refused.code, "at most 8388608 bytes" in refused.message) == ("too_large", True)
    assert answered.body == [b"3", b"large"]
    assert more_mib < 32, "it was not read"


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        ([b"PGS1R" + bytes(8) + b"sqrt"], "bad_request"),
        ([b"PGS1R" + bytes(8) + b"sq rt", b"x"], "bad_name"),
        ([b"PGS1R" + bytes(8) + b"sqrt@2", b"x"], "bad_request"),
        ([b"PGS1R" + bytes(8) + b'sqrt\n{"priority": 10}', b"x"], "bad_request"),
        ([b"PGS1R" + bytes(8) + b"sqrt\n{", b"x"], "bad_request"),
        ([b"PGS1R" + bytes(8) + b"\xff", b"x"], "bad_request"),
        ([b"PGS1R" + bytes(8) + b"x" * 17_000, b"x"], "bad_request"),
        ([b"PGS1R" + bytes(8) + b"sqrt", *[b"x"] * 65], "too_large"),
        ([b"PGS1Z" + bytes(8)], "bad_request"),
        ([b"PGS1R"], "bad_request"),
        ([b"PGS1R" + bytes(8) + b'sqrt\n{"durable": true}', b"x"], "bad_request"),
        ([b"PGS1R" + bytes(8) + b'sqrt\n{"version": "7"}', b"x"], "version_unserved"),
        ([b"PGS1R" + bytes(8) + b'sqrt\n{"durable": true, "key": "a/b"}', b"x"], "bad_request"),
        ([b"PGS1L" + bytes(8) + b"some-id"], "bad_request"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_client_is_told_what_is_wrong_with_what_it_said(
    broker: BrokerProcess, frames: list[bytes], code: str
) -> None:
    with RawClient(broker.front) as client:
        client.socket.send_multipart(frames)
        reply = client.require(0)

    assert (reply.kind, reply.code) == ("E", code)
    assert len(reply.message) > 20


@pytest.mark.parametrize(
    ("tail", "code"),
    [
        (b"", "bad_request"),
        (b"{}", "bad_request"),
        (b'{"types": []}', "bad_request"),
        (b'{"types": ["a b"]}', "bad_name"),
        (b'{"types": ["x"], "slots": 0}', "bad_request"),
        (b'{"types": ["x"], "slots": 1001}', "bad_request"),
        (b'{"types": ["x"], "load": -1}', "bad_request"),
        (json.dumps({"types": [f"t{number}" for number in range(101)]}).encode(), "bad_request"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_worker_whose_hello_is_refused_is_told_why(broker: BrokerProcess, tail: bytes, code: str) -> None:
    with RawClient(broker.back) as worker:
        worker.say("H", tail=tail)
        reply = worker.require(0)

    assert (reply.kind, reply.code) == ("E", code)


def test_a_type_more_than_a_broker_knows_is_refused_until_there_is_room(broker: BrokerProcess) -> None:
    wait_until(lambda: all(row["waiting"] == 0 for row in broker.services()), "nothing waits", PATIENCE_S)
    with RawClient(broker.front) as client:
        for number in range(1_200):
            client.say("R", number, b"type-%d" % number, [b"x"])
        client.hear_until(1_200)
        told = Counter(reply.code for reply in client.replies)

        client.say("R", 2_000, b"one-more\n" + b'{"deadline_ms": 200}', [b"x"])
        after = client.require(2_000)

    assert set(told) == {"limit_reached", "service_unserved"}
    assert 201 <= told["limit_reached"] <= 210, "a few types are in use by others"
    assert after.code == "deadline_passed", "it waited"
