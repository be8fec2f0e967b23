"""Subscriptions with filters, as tests say it: messages with a letter, and who wants which letter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection

from pregon.hub.hub import Hub
from pregon.model.catalog import Subscription
from pregon.model.message import Outgoing
from pregon.store.cursors import find_place

from .verbs import PRODUCER, SUBSCRIBER, TOPIC

NAMES = (TOPIC, SUBSCRIBER)
A = json.dumps({"header": "r", "equals": "a"})
B = json.dumps({"header": "r", "equals": "b"})
NOTHING = json.dumps({"header": "r", "equals": "nothing has this"})
TERMS = ("acknowledged", "pending", "parked", "expired", "filtered")


def say_each(hub: Hub, letters: str) -> None:
    """Publish a message for each letter, which its header r has."""
    tickets = [hub.publish(TOPIC, PRODUCER, Outgoing(one.encode(), headers={"r": one})) for one in letters]
    for ticket in tickets:
        ticket.result()


def is_examined(hub: Hub) -> bool:
    """Whether the filter has looked at everything: what is not wanted was counted, or the cursor is past it."""
    return hub.read(_is_examined).result()


def _is_examined(connection: Connection) -> bool:
    place = find_place(connection, *NAMES)
    assert place is not None
    return place.visible_seq >= place.cursor.head_seq


def examined(hub: Hub) -> None:
    """Wait until the filter has looked at everything."""
    while not is_examined(hub):
        seen = hub.waiting.version(TOPIC)
        if not is_examined(hub):
            hub.wait_for_news(TOPIC, seen, 5_000).result()


def wanting(hub: Hub, filter: str = A, **more: Any) -> None:
    """Subscribe with a filter, which has looked at everything when this returns."""
    hub.create(Subscription(topic=TOPIC, subscriber=SUBSCRIBER, filter=filter, **more)).result()
    examined(hub)


def want(hub: Hub, filter: str, *, is_waited_for: bool = True) -> None:
    """Give the subscription another filter."""
    hub.update("subscription", NAMES, {"filter": filter}).result()
    if is_waited_for:
        examined(hub)


def tally(hub: Hub) -> dict[str, int]:
    """The accounting without what is nothing; that it adds up is checked every time."""
    found = hub.account(*NAMES).result()
    terms = {name: getattr(found, name) for name in TERMS}
    assert min(terms.values()) >= 0, found
    assert sum(terms.values()) == found.accepted, found
    return {name: value for name, value in terms.items() if value}


@contextmanager
def nobody_looks(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In this block no filter looks at anything; at its end they look at everything."""
    with monkeypatch.context() as patched:
        patched.setattr(hub.examining, "_examine_some", lambda *_: False)
        yield
    hub.examining.renew()
