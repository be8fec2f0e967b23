"""A data directory for measuring pushes: who is pushed to, where, in which topics, and a backlog if one is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.hub.signing import ShownSecret
from pregon.model.catalog import LATEST, PUSH, Subscriber, Subscription
from pregon.model.message import Outgoing
from pregon.store.database import SqliteDatabase
from pregon.store.ticket import Ticket


@dataclass(frozen=True, slots=True)
class PushedTo:
    """One subscriber."""

    name: str
    topics: tuple[str, ...]
    endpoint: str
    format: str


@dataclass(frozen=True, slots=True)
class Site:
    """All of them."""

    pushed_to: Sequence[PushedTo]
    backlog: Mapping[str, Sequence[bytes]] = field(default_factory=dict)
    """What is in topics before the subscriptions begin, so that a replay pushes it."""
    secrets: dict[str, str] = field(default_factory=dict)
    """The signing secret of each, once they are prepared."""


def prepare(directory: Path, site: Site) -> None:
    """Write it all to a directory in which no hub runs yet."""
    hub = Hub(SqliteDatabase(directory), HubOptions(push_allow="127.0.0.1"))
    hub.start()
    tickets: list[Ticket[Any]] = []
    secrets: dict[str, Ticket[ShownSecret]] = {}
    try:
        # All asked for at once: they are carried out in this order, many in one transaction.
        for topic, bodies in site.backlog.items():
            tickets.append(hub.publish_many(topic, "bench", [Outgoing(body) for body in bodies]))
        for one in site.pushed_to:
            entry = Subscriber(name=one.name, mode=PUSH, endpoint=one.endpoint, format=one.format)
            tickets.append(hub.create(entry))
            secrets[one.name] = hub.create_secret(one.name)
            for topic in one.topics:
                place = Subscription(topic=topic, subscriber=one.name, start=LATEST)
                tickets.append(hub.create(place))
        for ticket in tickets:
            ticket.result()
        site.secrets.update((name, ticket.result().secret) for name, ticket in secrets.items())
    finally:
        hub.stop()
