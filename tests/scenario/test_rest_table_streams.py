"""Tables while they are on their way: what changes meanwhile, clients that leave, and clients that take nothing."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx
import pyarrow as pa
import pytest
from sqlalchemy import Connection

from pregon import limits
from pregon.edges.http import app, door, protocol, table_stream
from pregon.edges.http.routes import Desk
from pregon.hub import hub as hub_module
from pregon.hub import table_gate
from pregon.hub.hub import Hub
from pregon.hub.options import LogRead
from pregon.hub.reading import LogQuery
from pregon.model.batch import END_OF_STREAM
from pregon.store.log import find_ends, remove_through
from pregon.store.ticket import Ticket
from pregon.store.traces import forget_traces
from pregon.store.transaction import Transaction
from pregon.testing import RunningHub

from .hub_process import wait_until
from .rest import publish, rest_hub
from .test_rest_hub_tables import DETAIL, MANY, ManyTraces, table_of

TOPIC = "births"
PATH = f"/v1/topics/{TOPIC}/batches"


@pytest.fixture
def running() -> Iterator[tuple[RunningHub, httpx.Client]]:
    with rest_hub() as both:
        yield both


class Change:
    """Something written to the store in one transaction."""

    size_bytes = 100
    is_durable = False

    def __init__(self, write: Callable[[Connection, int], object]) -> None:
        self.ticket: Ticket[None] = Ticket()
        self._write = write

    def apply(self, transaction: Transaction) -> None:
        self._write(transaction.connection, transaction.now_us)
        transaction.results.append((self.ticket, None))


def change(hub: Hub, write: Callable[[Connection, int], object]) -> None:
    hub.submit(Change(write)).result()


def desk_of(running: RunningHub) -> Desk:
    assert running.server.http is not None
    return running.server.http._app.desk


def in_small_parts(monkeypatch: pytest.MonkeyPatch, before: Callable[[LogQuery], None]) -> None:
    """Each part of a topic is one batch, and something happens before it is read."""
    read: Callable[..., LogRead] = hub_module.read_log

    def read_log(connection: Connection, wanted: LogQuery) -> LogRead:
        before(wanted)
        return read(connection, wanted)

    monkeypatch.setattr(limits, "STREAM_RANGE_BYTES_MAX", 1)
    monkeypatch.setattr(hub_module, "read_log", read_log)


def read_until_cut(http: httpx.Client, path: str) -> list[Any]:
    """The rows of a stream that is cut."""
    got = b""
    with pytest.raises(httpx.RemoteProtocolError), http.stream("GET", path) as answer:
        assert answer.status_code == 200
        for chunk in answer.iter_raw():
            got += chunk
    assert not got.endswith(END_OF_STREAM)
    rows: list[Any] = []
    with pa.ipc.open_stream(got) as stream, pytest.raises((StopIteration, pa.ArrowInvalid)):
        while True:
            rows += stream.read_next_batch().to_pylist()
    return rows


@contextmanager
def taking_nothing(running: RunningHub, path: str) -> Iterator[socket.socket]:
    """A client that asks, and takes nothing of what it is sent."""
    parts = urlsplit(running.http)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        yield client


# What changes meanwhile.


def test_a_topic_that_is_made_again_while_it_is_read_is_not_taken_for_the_old_one(
    running: tuple[RunningHub, httpx.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, http = running[0].server.hub, running[1]
    for _ in range(5):
        publish(http, TOPIC, "old")

    def make_again(wanted: LogQuery) -> None:
        if wanted.first_seq == 3:
            hub.delete("topic", (TOPIC,)).result()
            for _ in range(5):
                publish(http, TOPIC, "new")

    in_small_parts(monkeypatch, make_again)
    rows = read_until_cut(http, PATH)

    assert [(row["seq"], row["body"]) for row in rows] == [(1, b"old"), (2, b"old")]


@pytest.mark.parametrize("through_seq", [3, 5])
def test_messages_that_are_removed_while_a_topic_is_read_are_not_passed_over(
    running: tuple[RunningHub, httpx.Client], monkeypatch: pytest.MonkeyPatch, through_seq: int
) -> None:
    hub, http = running[0].server.hub, running[1]
    for _ in range(5):
        publish(http, TOPIC)

    def remove(connection: Connection, _now_us: int) -> None:
        topic_id, _, _ = find_ends(connection, TOPIC) or (0, 0, 0)
        remove_through(connection, topic_id, through_seq, 0)

    in_small_parts(monkeypatch, lambda wanted: change(hub, remove) if wanted.first_seq == 3 else None)
    rows = read_until_cut(http, PATH)
    again = table_of(http.get(PATH))

    assert [row["seq"] for row in rows] == [1, 2]
    assert again["seq"].to_pylist() == list(range(through_seq + 1, 6))


def test_traces_that_are_forgotten_before_the_first_is_read_are_not_missed(
    running: tuple[RunningHub, httpx.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, http = running[0].server.hub, running[1]
    for _ in range(5):
        publish(http, TOPIC)
    begin: Callable[..., Any] = table_gate.begin_traces

    def forget_and_begin(*wanted: Any, **options: Any) -> Any:
        change(hub, lambda connection, now_us: forget_traces(connection, now_us + 1, 3))
        return begin(*wanted, **options)

    monkeypatch.setattr(table_gate, "begin_traces", forget_and_begin)
    answer = http.get("/v1/traces/batches")

    assert table_of(answer)["id"].to_pylist() == [4, 5]
    assert (answer.headers["pregon-tail-id"], answer.headers["pregon-head-id"]) == ("4", "5")


# Clients that leave, and clients that take nothing.


def test_one_part_is_read_at_once_and_who_leaves_gives_its_place_back(
    running: tuple[RunningHub, httpx.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, http = running[0].server.hub, running[1]
    publish(http, TOPIC)
    may_go_on, begun = threading.Event(), []

    def wait(wanted: LogQuery) -> None:
        begun.append(wanted)
        assert may_go_on.wait(60)

    in_small_parts(monkeypatch, wait)
    paths = (PATH, PATH, "/v1/traces/batches", "/v1/subscriptions/batches")
    waiting = []
    try:
        with taking_nothing(running[0], PATH) as first:
            wait_until(lambda: begun, "the first is being read")
            for path in paths:
                waiting.append(taking_nothing(running[0], path))
                waiting[-1].__enter__()
            wait_until(lambda: hub.table_pace.waiting == len(paths), "the others wait")
            read_at_once = len(begun)
            for one in waiting:
                one.__exit__(None, None, None)

            wait_until(lambda: hub.table_pace.waiting == 0, "they have given their places back")
            may_go_on.set()
            answer = first.recv(15)
    finally:
        may_go_on.set()

    assert (read_at_once, answer) == (1, b"HTTP/1.1 200 OK")
    assert len(begun) == 1


def test_a_client_that_takes_nothing_is_hung_up_on(
    running: tuple[RunningHub, httpx.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "STREAM_STALLED_MS_MAX", 50)
    monkeypatch.setattr(app, "BYTES_PER_S_MIN", 10**12)
    monkeypatch.setattr(protocol, "FAREWELL_S_MAX", 0.0)
    monkeypatch.setattr(protocol, "BYTES_PER_S_MIN", 10**12)
    monkeypatch.setattr(door, "_LOOK_EVERY_S", 0.01)
    hub, desk = running[0].server.hub, desk_of(running[0])
    hub.submit(ManyTraces()).result()

    connections = running[0].server.http._server.server_state.connections  # type: ignore[union-attr]

    with taking_nothing(running[0], "/v1/traces/batches") as client:
        wait_until(lambda: hub.table_pace.parts > 1 and not desk.streams, "the stream has begun, and is cut")
        wait_until(lambda: not connections, "the connection is closed, whatever it still has to send")
        got = b""
        with suppress(ConnectionResetError):
            while chunk := client.recv(1_000_000):
                got += chunk

    assert got.startswith(b"HTTP/1.1 200 OK")
    assert len(got) < MANY * len(DETAIL)


def test_in_a_crowd_tables_are_whole(running: tuple[RunningHub, httpx.Client], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_stream, "STREAMS_AHEAD_MAX", 0)
    running[0].server.hub.submit(ManyTraces()).result()

    with taking_nothing(running[0], "/v1/traces/batches"):
        table = table_of(running[1].get("/v1/traces/batches"))

    assert table["first_seq"].to_pylist() == list(range(1, MANY + 1))
    assert len(table["id"].chunks) > 5
