"""A hub that pushes, in this process, and what a test does with it and its subscriber: short, with the usual names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.hub.pull import Pulled, PullRequest
from pregon.model.catalog import PUSH, RAW, PushOptions, Subscriber, Subscription
from pregon.model.message import Outgoing
from pregon.model.subscription import Accounting
from pregon.model.trace import Trace, TraceQuery
from pregon.store.database import SqliteDatabase
from pregon.testing import run_hub

from ..hub_process import wait_until
from .receiver import Answer, Station

TOPIC = "fallecidos"
BPS = "bps"
QUICK = {"delay_ms_first": 20, "delay_ms_max": 100, "time_limit_ms": 5_000}
"""Options of pushes with which a test need not wait long."""
FINE, BUSY, NO, GONE = Answer(), Answer(503), Answer(422), Answer(410)


@contextmanager
def pushing(data: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Hub]:
    """A hub with its pusher, in which the test must not meet with a bug."""
    with run_hub(data, push_allow="127.0.0.1", feed="", ingest="", http="") as running:
        yield running.server.hub
    assert [record.message for record in caplog.get_records("call") if record.exc_info] == []


def register(
    hub: Hub,
    station: Station,
    *topics: str,
    name: str = BPS,
    filter: str = "",
    format: str = RAW,
    **options: Any,
) -> None:
    """A subscriber at the station, subscribed to topics; options of its pushes."""
    push = PushOptions(**{**QUICK, **options})
    entry = Subscriber(name=name, mode=PUSH, endpoint=station.url(f"/{name}"), format=format, push=push)
    hub.create(entry).result()
    for topic in topics or (TOPIC,):
        hub.create(Subscription(topic=topic, subscriber=name, filter=filter)).result()


def say(hub: Hub, count: int, *, topic: str = TOPIC, keys: str = "", **more: Any) -> None:
    """Publish so many messages, with the keys in turn."""
    tickets = [
        hub.publish(topic, "dgrec", Outgoing(b"x", key=keys[number % len(keys)] if keys else None, **more))
        for number in range(count)
    ]
    for ticket in tickets:
        ticket.result()


def change(hub: Hub, *, name: str = BPS, **values: Any) -> None:
    """Change the subscriber."""
    hub.update("subscriber", (name,), values).result()


def account(hub: Hub, topic: str = TOPIC, name: str = BPS) -> Accounting:
    """Where every message is; that it adds up is checked every time."""
    found = hub.account(topic, name).result()
    terms = (found.acknowledged, found.pending, found.parked, found.expired, found.filtered)
    assert min(terms) >= 0, found
    assert sum(terms) == found.accepted, found
    return found


def settled(hub: Hub, topic: str = TOPIC, name: str = BPS) -> Accounting:
    """The accounting when nothing is pending any more."""
    wait_until(lambda: account(hub, topic, name).pending == 0, f"nothing is pending in {topic} for {name}")
    return account(hub, topic, name)


def ask(hub: Hub, **more: Any) -> Pulled:
    """The answer to a pull."""
    return hub.pull(PullRequest(topic=TOPIC, subscriber=BPS, **more)).result()


def pull(hub: Hub, **more: Any) -> list[int]:
    """What a pull gives."""
    return seqs_of(ask(hub, **more))


def seqs_of(pulled: Pulled) -> list[int]:
    """The numbers of an answer, in order."""
    return [seq for batch in pulled.batches for seq in range(batch.base_seq, batch.last_seq + 1)]


def traces(hub: Hub, kind: str, topic: str = TOPIC) -> list[Trace]:
    """The traces of a kind, oldest first."""
    return list(hub.traces(TraceQuery(topic=topic, kind=kind, max=1_000)).result())[::-1]


def ranges(hub: Hub, kind: str, topic: str = TOPIC) -> list[tuple[int, int]]:
    """Their ranges."""
    return [(one.first_seq, one.last_seq) for one in traces(hub, kind, topic)]


def shown(hub: Hub) -> Subscriber:
    """The subscriber's entry."""
    found = hub.show("subscriber", (BPS,)).result()
    assert isinstance(found, Subscriber)
    return found


@contextmanager
def registry(data: Path) -> Iterator[Hub]:
    """The hub of a data directory in this process, without doors or pusher, to set it up."""
    hub = Hub(SqliteDatabase(data), HubOptions(push_allow="127.0.0.1"))
    hub.start()
    try:
        yield hub
    finally:
        hub.stop()
