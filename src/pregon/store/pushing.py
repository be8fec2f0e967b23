"""Which subscriptions are pushed, where to and how, and how that goes."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, exists, or_, select

from pregon.model.catalog import PUSH, PushOptions, PushState
from pregon.store.schema import parked, subscriber, subscription, topic

_decode_push = msgspec.json.Decoder(PushOptions).decode
_FROM = subscription.join(topic, topic.c.id == subscription.c.topic_id).join(
    subscriber, subscriber.c.id == subscription.c.subscriber_id
)


@dataclass(frozen=True, slots=True)
class PushedSubscriber:
    """A subscriber to which messages are pushed."""

    name: str
    endpoint: str
    format: str
    push: PushOptions


@dataclass(frozen=True, slots=True)
class PushedSubscription:
    """A subscription that is pushed, with what is remembered of its failures."""

    id: int
    topic: str
    subscriber: str
    has_pending: bool
    attempts: int
    refusals: int
    next_try_us: int
    failing_since_us: int


def list_pushed_subscribers(connection: Connection) -> list[PushedSubscriber]:
    """Every subscriber in mode push that is enabled."""
    statement = select(subscriber).where(subscriber.c.mode == PUSH, subscriber.c.enabled)
    return [
        PushedSubscriber(row.name, row.endpoint, row.format, _decode_push(row.push))
        for row in connection.execute(statement)
    ]


def list_pushed(connection: Connection) -> list[PushedSubscription]:
    """Every subscription of those that is not paused."""
    is_returned = exists().where(parked.c.subscription_id == subscription.c.id, parked.c.returned)
    statement = (
        select(
            subscription.c.id,
            topic.c.name,
            subscriber.c.name,
            or_(topic.c.head_seq > subscription.c.acked_seq, is_returned),
            subscription.c.attempts,
            subscription.c.refusals,
            subscription.c.next_try_us,
            subscription.c.failing_since_us,
        )
        .select_from(_FROM)
        .where(subscriber.c.mode == PUSH, subscriber.c.enabled, ~subscription.c.paused, ~topic.c.deleted)
    )
    return [
        PushedSubscription(id_, topic_name, name, bool(has_pending), *rest)
        for id_, topic_name, name, has_pending, *rest in connection.execute(statement)
    ]


def find_push_state(connection: Connection, topic_name: str, subscriber_name: str) -> PushState | None:
    """How pushing a subscription goes; None if there is no such subscription."""
    columns = ("paused", "attempts", "next_try_us", "failing_since_us", "last_failure")
    row = (
        connection.execute(
            select(subscriber.c.mode, subscriber.c.enabled, *(subscription.c[name] for name in columns))
            .select_from(_FROM)
            .where(topic.c.name == topic_name, subscriber.c.name == subscriber_name)
        )
        .mappings()
        .first()
    )
    return None if row is None else PushState(topic=topic_name, subscriber=subscriber_name, **row)


@dataclass(frozen=True, slots=True)
class FilteredSubscription:
    """A subscription with a filter."""

    topic: str
    subscriber: str
    filter: str


def list_filtered(connection: Connection) -> list[FilteredSubscription]:
    """Every subscription with a filter."""
    statement = (
        select(topic.c.name, subscriber.c.name, subscription.c.filter)
        .select_from(_FROM)
        .where(subscription.c.filter != "", ~topic.c.deleted)
    )
    return [FilteredSubscription(*row) for row in connection.execute(statement)]
