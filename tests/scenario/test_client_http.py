"""The clients over HTTP: every scenario of the clients over ZeroMQ, and what only HTTP has.

The scenarios of `test_client` and `test_client_reconnects` run here again, against hubs whose address is that of
their HTTP door; those that need a ZeroMQ wire are written again below.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pregon.client import AsyncClient, Client
from pregon.client.outbox import ProducerOptions
from pregon.errors import HubStopping, HubUnreachable

from . import test_client, test_client_reconnects
from .both_clients import KINDS, WAYS, address_of, open_client
from .conftest import MakeHub
from .hub_process import HubProcess, end, find_port, wait_until
from .test_client_reconnects import TOPIC, doing, stuck, texts
from .wire_cutter import Wire, wire_to

ONLY_ZEROMQ = {
    "test_what_is_no_address_is_refused_at_once",
    "test_without_a_hub_a_call_ends_in_time_and_says_where_it_looked",
    "test_many_tasks_share_one_connection_and_each_gets_its_own_answer",
    "test_batches_under_way_when_the_hub_dies_are_stored_once_and_in_order",
    "test_the_first_batches_of_a_session_may_be_lost_on_the_wire",
    "test_a_wire_that_is_cut_again_and_again_loses_and_repeats_nothing",
    "test_a_busy_hub_is_asked_again_until_it_is_not",
    "test_batches_that_a_busy_hub_refuses_are_sent_again_in_order",
}
either = test_client.either
for scenarios in (test_client, test_client_reconnects):
    here = {name: test for name, test in vars(scenarios).items() if name.startswith("test_")}
    globals().update({name: test for name, test in here.items() if name not in ONLY_ZEROMQ})

BOTH = pytest.mark.parametrize("kind", KINDS)
EVERY_WAY = pytest.mark.parametrize("way", WAYS)


class HttpHub(HubProcess):
    """A hub that is found over HTTP by whoever asks for its address."""

    @property
    def url(self) -> str:
        """The address of its HTTP door."""
        return address_of(self, "http")


@pytest.fixture
def make_hub(tmp_path: Path) -> Iterator[MakeHub]:
    made: list[HttpHub] = []

    def make(name: str = "data", **settings: str) -> HttpHub:
        made.append(HttpHub(tmp_path / name, **settings))
        return made[-1]

    yield make
    for hub in made:
        end(hub)


@pytest.fixture(scope="module")
def module_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    shared = HttpHub(tmp_path_factory.mktemp("hub") / "data").start()
    try:
        yield shared
        assert shared.is_alive, "a test of this module ended the hub"
        assert shared.stop() == 0
    finally:
        end(shared)


def over_http(wire: Wire) -> str:
    """The address of a wire for a client over HTTP."""
    return wire.url.replace("tcp://", "http://")


def wired(hub: HubProcess) -> Any:
    """A wire to the HTTP door of a hub."""
    return wire_to(f"tcp://{hub.addresses.http}")


# Connections.


@BOTH
def test_calls_one_after_another_use_one_connection(hub: HubProcess, topic: str, kind: str) -> None:
    with wired(hub) as wire, open_client(kind, over_http(wire)) as client:
        for number in range(20):
            client.publish(topic, str(number))

        assert wire.connections == 1


def test_more_tasks_than_connections_each_get_their_own_answer(hub: HubProcess, topic: str) -> None:
    async def publish_all(address: str) -> dict[str, int]:
        async with AsyncClient(address) as client:
            published = await asyncio.gather(*(client.publish(topic, str(number)) for number in range(300)))
            return {str(number): one.seq for number, one in enumerate(published)}

    with wired(hub) as wire:
        told = asyncio.run(publish_all(over_http(wire)))

    with hub.client() as client:
        assert {message.text: message.seq for message in client.pull(topic, "reader")} == told
    assert sorted(told.values()) == list(range(1, 301))
    assert wire.connections <= 100


def test_a_call_does_not_wait_for_the_long_polls_of_other_tasks(hub: HubProcess, topic: str) -> None:
    async def ask(address: str) -> float:
        async with AsyncClient(address) as client:
            polls = [
                asyncio.create_task(client.pull(topic, f"reader-{number}", wait_ms=20_000)) for number in range(20)
            ]
            while (await client.status())["waiting"] < 20:
                await asyncio.sleep(0.01)
            begun = time.monotonic()
            await client.publish(topic, "news")
            assert [len(one) for one in await asyncio.gather(*polls)] == [1] * 20
            return time.monotonic() - begun

    took_s = asyncio.run(ask(hub.url))

    assert took_s < 10


@EVERY_WAY
def test_closing_does_not_wait_for_a_long_poll_in_another_thread(hub: HubProcess, topic: str, way: str) -> None:
    client = Client(address_of(hub, way))
    client.pull(topic, "reader")
    met: list[HubStopping] = []

    def poll() -> None:
        with pytest.raises(HubStopping, match="closed") as raised:
            client.pull(topic, "reader", wait_ms=30_000)
        met.append(raised.value)

    polling = threading.Thread(target=poll)
    with hub.client() as other:
        before = other.status()["waiting"]
        polling.start()
        wait_until(lambda: other.status()["waiting"] > before, "it waits")
    begun = time.monotonic()
    client.close()
    polling.join(20)

    assert met
    assert time.monotonic() - begun < 10
    with pytest.raises(HubStopping, match="make another"):
        client.ping()


@EVERY_WAY
def test_a_task_that_is_cancelled_leaves_the_client_as_it_was(hub: HubProcess, topic: str, way: str) -> None:
    async def ask() -> int:
        async with AsyncClient(address_of(hub, way)) as client:
            await client.pull(topic, "reader")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await client.pull(topic, "reader", wait_ms=30_000)
            return (await client.publish(topic, "after")).seq

    seq = asyncio.run(ask())

    assert seq == 1


def test_follow_batches_gives_answers_of_at_most_so_many_messages(either: Any, topic: str) -> None:
    with either.producer(topic, ProducerOptions(batch_messages=50)) as out:
        out.send_many([b"x"] * 1_000)

    pulled = list(either.follow_batches(topic, "reader", max=300, until_empty=True))

    assert sum(len(one) for one in pulled) == 1_000
    assert all(len(one) <= 300 for one in pulled)
    assert either.account(topic, "reader").pending == 0


@BOTH
def test_a_message_as_large_as_a_hub_takes_comes_and_goes(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub(body_bytes_max=str(3 * 1024 * 1024)).start()
    body = bytes(range(256)) * 4 * 1024 * 3

    with open_client(kind, hub.url) as client:
        for _ in range(4):
            client.publish(TOPIC, body)
        pulled = client.pull(TOPIC, "reader")

    assert [message.body for message in pulled] in ([body] * 2, [body] * 3, [body] * 4)


# A hub that is not there, goes away, or has too much to do.


@BOTH
def test_without_a_hub_the_error_says_where_it_looked_and_why(kind: str) -> None:
    nowhere = f"http://127.0.0.1:{find_port()}"

    with open_client(kind, nowhere, timeout_ms=300) as client:
        with pytest.raises(HubUnreachable, match=rf"{nowhere} \(.*refused") as raised:
            client.ping()
        with pytest.raises(HubUnreachable, match=nowhere), client.producer("t", ProducerOptions(timeout_ms=300)) as out:
            out.send("x")

    assert raised.value.is_retryable


@BOTH
def test_a_hub_that_takes_the_request_and_says_nothing_is_given_up_in_time(hub: HubProcess, kind: str) -> None:
    with wired(hub) as wire, open_client(kind, over_http(wire), timeout_ms=500) as client:
        client.ping()
        wire.hold()
        begun = time.monotonic()

        with pytest.raises(HubUnreachable, match="500 ms"):
            client.ping()
        took_s = time.monotonic() - begun
        wire.cut()

        assert 0.4 < took_s < 5
        assert client.ping().version


@BOTH
def test_batches_under_way_when_the_hub_is_killed_are_stored_once_and_in_order(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub().start()
    with open_client(kind, hub.url) as client:
        with client.producer(TOPIC, ProducerOptions(batch_messages=10, linger_ms=1)) as out:
            for number in range(300):
                out.send(str(number))
                if number % 100 == 50:
                    hub.kill()
                    hub.start()

    assert texts(hub) == [str(number) for number in range(300)]


@BOTH
def test_a_wire_that_is_held_and_cut_loses_and_repeats_no_batch(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub().start()
    texts_sent = [f"{number:<20}" for number in range(40)]
    with wired(hub) as wire, open_client(kind, over_http(wire), timeout_ms=20_000) as client:
        with client.producer(TOPIC, ProducerOptions(batch_messages=2, linger_ms=5_000, in_flight_max=60)) as out:
            out.send(texts_sent[0])
            out.flush()
            wire.hold()
            for number, text in enumerate(texts_sent[1:]):
                out.send(text + "x" * (1_000_000 if number < 10 else 0))

            wire.cut()
            out.flush()

    assert texts(hub) == texts_sent


@BOTH
def test_a_wire_that_is_cut_while_it_carries_loses_and_repeats_nothing(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub().start()
    with wired(hub) as wire, open_client(kind, over_http(wire), producer="single", timeout_ms=20_000) as client:
        with client.producer("batched", ProducerOptions(batch_messages=7, linger_ms=1)) as out:
            for number in range(300):
                out.send(str(number))
                if number % 3 == 0:
                    client.publish(TOPIC, str(number))
                if number % 30 == 29:
                    wire.cut()

    assert texts(hub) == [str(number) for number in range(0, 300, 3)]
    assert texts(hub, "batched") == [str(number) for number in range(300)]
    assert wire.connections > 10


@BOTH
def test_a_busy_hub_is_asked_again_over_http_until_it_is_not(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub().start()
    zmq_side: Any = SimpleNamespace(url=hub.addresses.zmq, data=hub.data, addresses=hub.addresses)
    options = ProducerOptions(batch_messages=3, in_flight_max=8, linger_ms=1)
    with (
        open_client(kind, hub.url, timeout_ms=20_000) as client,
        client.producer("batched", options) as out,
        hub.client() as other,
    ):
        other.publish("ballast", "")
        with stuck(zmq_side):
            before = other.status()["counters"]["requests_failed"]
            for number in range(20):
                out.send(str(number))
            publishing = doing(lambda: client.publish(TOPIC, "patient"))
            published = publishing.__enter__()
            wait_until(lambda: other.status()["counters"]["requests_failed"] >= before + 7, "they were refused")
        publishing.__exit__(None, None, None)
        for number in range(20, 50):
            out.send(str(number))

    assert published[0].seq == 1
    assert texts(hub) == ["patient"]
    assert texts(hub, "batched") == [str(number) for number in range(50)]
