"""Hostility on the fast lane: whatever the frames are, their sender is told and everybody else is served.

The tests share one hub, which must outlive them all without a bug in its log. After each of them a good client
publishes and pulls.
"""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import zmq

from pregon.client import Client
from pregon.wire.commands import Command

from .hub_process import HubProcess, wait_until
from .raw_peer import RawPeer, connected, header, prelude


@pytest.fixture
def peer(hub: HubProcess) -> Iterator[RawPeer]:
    with connected(hub.url) as peer:
        yield peer


@pytest.fixture(autouse=True)
def served_afterwards(hub: HubProcess, client: Client, topic: str) -> Iterator[None]:
    """A good client is served after the test, whatever the test did."""
    yield
    published = client.publish(f"after-{topic}", "still here")
    (pulled,) = client.pull(f"after-{topic}", "good", max=1, wait_ms=5_000)
    assert (pulled.seq, pulled.text) == (published.seq, "still here")


PING = header()

MALFORMED: dict[str, tuple[list[bytes], str, int]] = {
    "wrong magic": ([prelude(1, magic=b"GET"), PING], "bad_request", 7),
    "wrong version": ([prelude(1, version=2), PING], "version_unknown", 7),
    "short prelude": ([prelude(1)[:15], PING], "bad_request", 0),
    "long prelude": ([prelude(1) + b"\0", PING], "bad_request", 7),
    "empty prelude": ([b"", PING], "bad_request", 0),
    "one frame": ([prelude(1)], "bad_request", 7),
    "one empty frame": ([b""], "bad_request", 0),
    "four frames": ([prelude(1), PING, b"", b""], "bad_request", 7),
    "a thousand frames": ([prelude(1), PING, *[b"x"] * 1_000], "bad_request", 7),
    "a header that is too long": ([prelude(1), header(x="x" * 65_536)], "bad_request", 7),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_frames_that_are_not_pregon_are_answered_and_counted(hub: HubProcess, peer: RawPeer, name: str) -> None:
    frames, code, request_id = MALFORMED[name]
    before = hub.counters()

    peer.send(*frames)
    answer = peer.receive()

    assert (answer.code, answer.id) == (code, request_id)
    assert answer.header["message"]
    assert hub.counters()["frames_malformed"] == before["frames_malformed"] + 1


HEADERS: dict[str, tuple[int, bytes]] = {
    "no msgpack": (Command.PUBLISH, b"\xc1\xc1\xc1"),
    "random": (Command.PULL, random.Random(1).randbytes(500)),
    "empty": (Command.PUBLISH, b""),
    "cut short": (Command.PUBLISH, header(topic="a", producer="b", id="c")[:-1]),
    "too long": (Command.PUBLISH, header(topic="a", producer="b", id="c") + b"\0"),
    "a list": (Command.PUBLISH, msgspec.msgpack.encode(["a", "b", "c"])),
    "nothing required": (Command.PUBLISH, header()),
    "wrong types": (Command.PUBLISH, header(topic=1, producer=[], id=None)),
    "wrong types inside": (Command.PUBLISH, header(topic="a", producer="b", id="c", headers={"x": 1})),
    "text that is no UTF-8": (Command.SHOW, b"\x82\xa4kind\xa2\xff\xfe\xa5names\x91\xa1a"),
    "nested beyond reason": (Command.CREATE, b"\x82\xa4kind\xa5topic\xa5entry\x81\xa1x" + b"\x91" * 60_000 + b"\0"),
    "no kind": (Command.CREATE, header(kind="x" * 60_000, entry={})),
    "no name": (Command.SHOW, header(kind="topic", names=[])),
    "too many names": (Command.SHOW, header(kind="topic", names=["a"] * 1_000)),
    "no payload": (Command.PUBLISH, header(topic="a", producer="b", id="c")),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_cannot_be_read_is_answered_and_counted(hub: HubProcess, peer: RawPeer, name: str) -> None:
    command, content = HEADERS[name]
    before = hub.counters()

    peer.send(prelude(command, 2**64 - 1), content)
    answer = peer.receive()

    assert (answer.code, answer.id) == ("bad_request", 2**64 - 1)
    assert len(answer.header["message"]) < 500
    assert hub.counters()["requests_failed"] == before["requests_failed"] + 1


@pytest.mark.parametrize("depth", [10, 100, 900, 20_000])
def test_a_value_nested_beyond_reason_is_refused(client: Client, peer: RawPeer, topic: str, depth: int) -> None:
    client.publish(topic, "x")
    names = header(kind="topic", names=[topic])
    before = b"\x83" + names[1:] + b"\xa6values\x81\xabdescription"

    peer.send(prelude(Command.UPDATE), before + b"\x91" * depth + b"\0")
    answer = peer.receive()

    assert answer.code == "bad_request"
    assert len(answer.header["message"]) < 500


@pytest.mark.parametrize("command", [0, max(Command) + 1, 127, 128, 129, 255])
def test_an_unknown_command_is_answered(peer: RawPeer, command: int) -> None:
    answer = peer.ask(command, {})

    assert answer.code == "bad_request"
    assert str(command) in answer.header["message"]


HUGE = 2**64 - 1
OUT_OF_RANGE: dict[str, tuple[int, dict[str, Any]]] = {
    "read": (Command.READ, {"topic": "range", "first_seq": HUGE}),
    "read from below": (Command.READ, {"topic": "range", "first_seq": -(2**63), "last_seq": HUGE, "max": -1}),
    "ack": (Command.ACK, {"topic": "range", "subscriber": "s", "seq": HUGE}),
    "ack below": (Command.ACK, {"topic": "range", "subscriber": "s", "seq": -(2**63)}),
    "pull": (Command.PULL, {"topic": "range", "subscriber": "s", "ack": HUGE}),
    "pull epoch": (Command.PULL, {"topic": "range", "subscriber": "s", "ack": 1, "epoch": HUGE}),
    "pull nothing": (Command.PULL, {"topic": "range", "subscriber": "s", "max": 0, "wait_ms": -1}),
    "park": (Command.PARK, {"topic": "range", "subscriber": "s", "seqs": [HUGE, 0, -1]}),
    "park much": (Command.PARK, {"topic": "range", "subscriber": "s", "seqs": list(range(1, 20_000))}),
    "unpark": (Command.UNPARK, {"topic": "range", "subscriber": "s", "seqs": [HUGE]}),
    "parked": (Command.PARKED, {"topic": "range", "subscriber": "s", "after_seq": HUGE}),
    "replay": (Command.REPLAY, {"topic": "range", "subscriber": "s", "from_seq": HUGE}),
    "replay to a time": (Command.REPLAY, {"topic": "range", "subscriber": "s", "from_us": HUGE}),
    "replay to both": (Command.REPLAY, {"topic": "range", "subscriber": "s", "from_seq": 1, "from_us": 1}),
    "traces": (Command.TRACES, {"query": {"topic": "range", "seq": HUGE}}),
    "traces since": (Command.TRACES, {"query": {"since_us": HUGE, "until_us": HUGE, "before": HUGE}}),
    "list": (Command.LIST, {"kind": "topic", "max": HUGE}),
    "retention": (Command.CREATE, {"kind": "topic", "entry": {"name": "r", "retention": {"age_ms": HUGE}}}),
    "pending": (
        Command.CREATE,
        {"kind": "subscription", "entry": {"topic": "range", "subscriber": "p", "pending_max": HUGE}},
    ),
    "start": (
        Command.CREATE,
        {"kind": "subscription", "entry": {"topic": "range", "subscriber": "q", "start": "9" * 5_000}},
    ),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_a_number_out_of_range_is_no_bug(client: Client, peer: RawPeer, name: str) -> None:
    client.publish("range", "one")
    client.pull("range", "s")
    command, fields = OUT_OF_RANGE[name]

    answer = peer.ask(command, fields)

    assert answer.code in ("", "bad_request", "ack_beyond_head", "not_pending")


@pytest.mark.parametrize("published_us", [2**62, -(2**62), 2**64 - 1])
def test_a_time_of_publication_beyond_the_calendar_harms_nobody(
    hub: HubProcess, client: Client, peer: RawPeer, topic: str, published_us: int
) -> None:
    with zmq.Context() as context, context.socket(zmq.SUB) as feed:
        feed.setsockopt(zmq.SUBSCRIBE, topic.encode())
        feed.connect(hub.addresses.feed)
        wait_until(lambda: client.publish(topic, "x") and feed.poll(50), "the feed shows the topic", 5)

        fields = {"topic": topic, "producer": "p", "id": "far", "published_us": published_us}
        answer = peer.ask(Command.PUBLISH, fields, [b"far"])
        client.publish(topic, "last")
        shown = wait_until(lambda: feed.poll(50) and feed.recv_multipart()[2] == b"last", "the last is shown", 5)

    assert answer.code in ("", "bad_request")
    assert shown


def test_garbage_that_is_not_even_zeromq_is_ignored(hub: HubProcess) -> None:
    host, _, port = hub.url.removeprefix("tcp://").rpartition(":")
    garbage = [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", random.Random(2).randbytes(100_000), b"\xff" + bytes(63), b""]

    held = []
    for one in garbage * 25:
        connection = socket.create_connection((host, int(port)))
        connection.settimeout(5)
        try:
            connection.sendall(one)
        except OSError:
            pass
        held.append(connection)

    try:
        assert hub.is_alive
        assert hub.status()["version"]
    finally:
        for connection in held:
            connection.close()


def test_a_client_that_floods_and_never_reads_delays_nobody_for_long(hub: HubProcess, client: Client) -> None:
    before = hub.counters()["requests"]

    with connected(hub.url, sndhwm=0, rcvhwm=1) as flooder:
        for number in range(20_000):
            flooder.send(prelude(Command.PING, number), PING)
        meanwhile = client.ping()
        wait_until(lambda: hub.counters()["requests"] >= before + 20_000, "the flood was taken")

    assert meanwhile.version


def test_a_client_that_asks_for_much_and_never_reads_does_not_fill_the_memory(
    hub: HubProcess, client: Client, topic: str
) -> None:
    for _ in range(8):
        client.publish(topic, bytes(1024 * 1024))
    before = hub.counters()["requests"]

    with connected(hub.url, sndhwm=0, rcvhwm=1) as flooder, hub.client(timeout_ms=60_000) as patient:
        for number in range(400):
            flooder.send(prelude(Command.READ, number), header(topic=topic, first_seq=1))
        wait_until(lambda: patient.status()["counters"]["requests"] >= before + 400, "all was asked for")
        served = patient.read(topic, 8)
        used_mib = resident_mib(hub.pid)

    assert len(served) == 1
    assert used_mib < 1_024


def resident_mib(pid: int) -> float:
    """The memory that a process has in use."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        (line,) = [line for line in status if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def test_a_hundred_peers_that_come_and_go_leave_nothing_behind(hub: HubProcess) -> None:
    def come_and_go() -> None:
        with connected(hub.url) as one:
            one.send(prelude(Command.PULL), header(topic="quiet", subscriber="s", wait_ms=200))

    threads = [threading.Thread(target=come_and_go) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    wait_until(lambda: hub.status()["waiting"] == 0, "those who left are not waited for")
