"""Tables read at full speed while somebody publishes: they rest for it, and lose nothing by that."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families

from pregon.client.outbox import ProducerOptions
from pregon.testing import RunningHub

from .conftest import MakeHub
from .rest import rest_hub

MANY = 60_000
PARTS = "pregon_table_parts_total"
BODY = b"x" * 500


def numbers(http: httpx.Client, topic: str) -> list[int]:
    """The numbers of the messages that a topic as a table has."""
    answer = http.get(f"/v1/topics/{topic}/batches")
    assert answer.status_code == 200, answer.text
    found: list[int] = pa.ipc.open_stream(answer.content).read_all().column("seq").to_pylist()
    return found


def metric(http: httpx.Client, name: str) -> float:
    """A number of the hub."""
    families = text_string_to_metric_families(http.get("/metrics").text)
    return next(one.value for family in families for one in family.samples if one.name == name)


@contextmanager
def publishing(hub: RunningHub) -> Iterator[None]:
    """Somebody publishes all the time to a topic of its own."""
    stop, begun = threading.Event(), threading.Event()

    def publish() -> None:
        with hub.client() as client:
            while not stop.is_set():
                client.publish("news", b"x")
                begun.set()

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        assert begun.wait(30)
        yield
    finally:
        stop.set()
        thread.join()


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[RunningHub, httpx.Client]]:
    """A hub with a topic of many parts."""
    with rest_hub(tables_share_percent=20) as (hub, http):
        with hub.client() as client, client.producer("long", ProducerOptions(batch_messages=500)) as out:
            out.send_many([BODY] * MANY)
        yield hub, http


def test_a_table_rests_for_who_publishes_and_is_whole(running: tuple[RunningHub, httpx.Client]) -> None:
    hub, http = running
    rested_before, parts_before = (
        metric(http, "pregon_table_rest_seconds_total"),
        metric(http, PARTS),
    )

    with publishing(hub):
        found = numbers(http, "long")

    assert found == list(range(1, MANY + 1))
    assert metric(http, PARTS) - parts_before > 5
    assert metric(http, "pregon_table_rest_seconds_total") > rested_before
    assert metric(http, "pregon_table_parts_waiting") == 0


def test_several_tables_at_once_are_all_served_whole(running: tuple[RunningHub, httpx.Client]) -> None:
    hub, http = running
    found: list[list[int]] = []

    def read() -> None:
        with httpx.Client(base_url=hub.http, timeout=60.0) as own:
            found.append(numbers(own, "long"))

    readers = [threading.Thread(target=read) for _ in range(6)]
    with publishing(hub):
        for one in readers:
            one.start()
        for one in readers:
            one.join()

    assert found == [list(range(1, MANY + 1))] * 6
    assert metric(http, "pregon_table_parts_waiting") == 0


def test_what_readers_that_have_left_would_get_is_not_read(running: tuple[RunningHub, httpx.Client]) -> None:
    _, http = running
    before = metric(http, PARTS)
    numbers(http, "long")
    parts = metric(http, PARTS) - before

    for _ in range(5):
        with http.stream("GET", "/v1/topics/long/batches") as answer:
            next(answer.iter_raw(1_000))
    numbers(http, "long")

    assert parts > 25
    assert metric(http, PARTS) - before < 5 * parts


def test_a_hub_that_stops_cuts_tables_and_finds_no_fault_in_itself(make_hub: MakeHub) -> None:
    hub = make_hub(tables_share_percent="1").start()
    with hub.client() as client, client.producer("long", ProducerOptions(batch_messages=500)) as out:
        out.send_many([BODY] * MANY)
    address = f"http://{hub.addresses.http}/v1/topics/long/batches"

    with httpx.stream("GET", address, timeout=60.0) as answer:
        chunks = answer.iter_raw()
        next(chunks)
        status = hub.stop()
        with pytest.raises(httpx.RemoteProtocolError):
            list(chunks)

    assert status == 0
    assert hub.bugs() == []
