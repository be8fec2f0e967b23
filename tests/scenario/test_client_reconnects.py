"""The client against a hub that is busy, dies or comes back: nothing is lost, nothing is there twice."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import zmq

from pregon.client.outbox import ProducerOptions
from pregon.limits import COMMIT_QUEUE_OPERATIONS_MAX
from pregon.wire.commands import Command

from .both_clients import open_client
from .conftest import MakeHub
from .hub_process import HubProcess, wait_until
from .raw_peer import connected, header, prelude
from .wire_cutter import wire_to

TOPIC = "novedades"
KINDS = pytest.mark.parametrize("kind", ["sync", "async"])


@contextmanager
def doing(work: Callable[[], Any]) -> Iterator[list[Any]]:
    """Work done in a thread meanwhile; its result is in the list when the block is left."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    yield results
    thread.join(40)
    assert not thread.is_alive(), "it did not end"
    assert results, "it failed"


def texts(hub: HubProcess, topic: str = TOPIC) -> list[str]:
    """Every message of a topic."""
    with hub.client() as client:
        return [message.text[:20] for message in client.follow(topic, "auditor", max=1_000, until_empty=True)]


def bytes_waiting(hub: HubProcess) -> int:
    """How much has been sent to the fast lane that it has not taken from the system yet."""
    port = int(hub.url.rpartition(":")[2])
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(int(row[4].partition(":")[2], 16) for row in rows if row[1].endswith(f":{port:04X}"))


@KINDS
def test_a_publication_under_way_when_the_hub_dies_is_stored_once(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub().start()
    with open_client(kind, hub.url, timeout_ms=30_000) as client:
        client.publish(TOPIC, "before")
        os.kill(hub.pid, signal.SIGSTOP)
        with doing(lambda: client.publish(TOPIC, "under way")) as published:
            wait_until(lambda: bytes_waiting(hub) > 0, "the request is on its way")

            hub.kill()
            hub.start()

    assert (published[0].seq, published[0].duplicate) == (2, False)
    assert texts(hub) == ["before", "under way"]


@KINDS
def test_calls_made_while_there_is_no_hub_are_answered_when_there_is_one(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub()
    with open_client(kind, hub.url, timeout_ms=30_000) as client:
        with doing(lambda: client.publish(TOPIC, "early")) as published:
            hub.start()

    assert published[0].seq == 1


@KINDS
def test_a_long_poll_goes_on_with_the_next_hub(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub().start()
    with open_client(kind, hub.url, timeout_ms=20_000) as client, hub.client(timeout_ms=20_000) as other:
        client.pull(TOPIC, "bps")
        with doing(lambda: client.pull(TOPIC, "bps", wait_ms=20_000)) as pulled:
            wait_until(lambda: other.status()["waiting"] == 1, "it waits")

            hub.kill()
            hub.start()
            wait_until(lambda: other.status()["waiting"] == 1, "it waits again")
            other.publish(TOPIC, "news")

    assert [message.text for message in pulled[0]] == ["news"]


@KINDS
def test_batches_under_way_when_the_hub_dies_are_stored_once_and_in_order(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub().start()
    with open_client(kind, hub.url) as client:
        with client.producer(TOPIC, ProducerOptions(batch_messages=10, linger_ms=1)) as out:
            for number in range(5):
                out.send(str(number))
            out.flush()
            os.kill(hub.pid, signal.SIGSTOP)
            for number in range(5, 40):
                out.send(str(number))
            wait_until(lambda: bytes_waiting(hub) > 2_000, "the batches are on their way")

            hub.kill()
            hub.start()
            for number in range(40, 100):
                out.send(str(number))

    assert texts(hub) == [str(number) for number in range(100)]


@KINDS
def test_the_first_batches_of_a_session_may_be_lost_on_the_wire(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub().start()
    texts_sent = [f"{number:<20}" for number in range(40)]
    with hub.client() as warm, warm.producer("warm-up") as out:
        out.send("so that the hub answers the next batches at once")
    with wire_to(hub.url) as wire, open_client(kind, wire.url, timeout_ms=20_000) as client:
        with client.producer(TOPIC, ProducerOptions(batch_messages=2, linger_ms=5_000, in_flight_max=60)) as out:
            wait_until(lambda: wire.connections == 2, "the producer is connected")
            for _ in range(20):
                client.ping()
            wire.hold()
            # The first ones are more than the wire takes: they are lost with it, later ones are still to be sent.
            for number, text in enumerate(texts_sent):
                out.send(text + "x" * (1_000_000 if number < 10 else 0))

            wire.cut()
            out.flush()

    assert texts(hub) == texts_sent


@KINDS
def test_a_wire_that_is_cut_again_and_again_loses_and_repeats_nothing(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub().start()
    with wire_to(hub.url) as wire, open_client(kind, wire.url, producer="single", timeout_ms=20_000) as client:
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


@KINDS
def test_a_follower_goes_on_where_it_was(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub().start()
    seen: list[int] = []
    with open_client(kind, hub.url, timeout_ms=20_000) as client, hub.client(timeout_ms=20_000) as other:
        other.publish(TOPIC, "1")
        for message in client.follow(TOPIC, "bps", max=3, wait_ms=200):
            seen.append(message.seq)
            if message.seq % 5 == 0:
                hub.kill()
                hub.start()
            if message.seq == 12:
                break
            for _ in range(2):
                other.publish(TOPIC, "more")
        account = other.account(TOPIC, "bps")

    assert list(dict.fromkeys(seen)) == list(range(1, 13)), "in order, but for what comes again after a kill"
    assert account.acked_seq == 11


# A hub that has too much to do.


@contextmanager
def stuck(hub: HubProcess) -> Iterator[None]:
    """The hub cannot write, and its queue is full; at the end it can again."""

    def queued() -> float:
        with urllib.request.urlopen(f"http://{hub.addresses.http}/metrics", timeout=10) as answer:
            found = re.search(r"^pregon_commit_queue (\S+)", answer.read().decode(), re.MULTILINE)
        assert found is not None
        return float(found[1])

    with (
        closing(sqlite3.connect(hub.data / "pregon.db", isolation_level=None)) as database,
        zmq.Context() as context,
        context.socket(zmq.PUSH) as push,
        connected(hub.url, sndhwm=0, rcvhwm=0) as flooder,
    ):
        database.execute("BEGIN IMMEDIATE")
        push.connect(hub.addresses.ingest)

        def is_stuck() -> bool:
            push.send_multipart([b"ballast", b""])
            return min(queued(), queued()) >= 1

        wait_until(is_stuck, "the committer waits for the database", 5)
        for number in range(COMMIT_QUEUE_OPERATIONS_MAX + 1):
            fields = header(topic="ballast", producer="flooder", id=str(number))
            flooder.send(prelude(Command.PUBLISH, number), fields, b"")
        refused = flooder.receive()
        assert (refused.code, refused.header["retryable"]) == ("hub_busy", True)
        yield
        database.execute("ROLLBACK")


@KINDS
def test_a_busy_hub_is_asked_again_until_it_is_not(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub().start()
    with open_client(kind, hub.url, timeout_ms=20_000) as client, hub.client() as other:
        other.publish("ballast", "")
        with stuck(hub):
            before = other.status()["counters"]["requests_failed"]
            publishing = doing(lambda: client.publish(TOPIC, "patient"))
            published = publishing.__enter__()
            wait_until(
                lambda: other.status()["counters"]["requests_failed"] >= before + 2, "it was refused, and asked again"
            )
        publishing.__exit__(None, None, None)

    assert published[0].seq == 1
    assert texts(hub) == ["patient"]


@KINDS
def test_batches_that_a_busy_hub_refuses_are_sent_again_in_order(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub().start()
    options = ProducerOptions(batch_messages=3, in_flight_max=8, linger_ms=1)
    with open_client(kind, hub.url) as client, client.producer(TOPIC, options) as out, hub.client() as other:
        other.publish("ballast", "")
        with stuck(hub):
            before = other.status()["counters"]["requests_failed"]
            for number in range(20):
                out.send(str(number))
            wait_until(lambda: other.status()["counters"]["requests_failed"] >= before + 7, "they were refused")
        for number in range(20, 50):
            out.send(str(number))

    assert texts(hub) == [str(number) for number in range(50)]
