"""Find topics, producers, subscribers and subscriptions by a part of their names, in any order: lists for people.

What `catalog` lists by name, page after page, is for programs; these lists are for who looks for something. A page is
counted from the beginning, so that it costs as much as the rows before it: catalogues are small beside the log.

Promises:
- At most `LIST_ROWS_MAX` rows, and nothing of private conversations for who may not see them.
- What waits for a subscription is exact in `pending`; the list is sorted by what the cursor has not passed, which is
  the same but for messages set aside or not wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, case, func, or_, select

from pregon.errors import BadRequest
from pregon.limits import LIST_ROWS_MAX
from pregon.model.catalog import PUSH, Producer, Subscriber, Subscription, Topic
from pregon.store import catalog
from pregon.store.cursors import find_accounting
from pregon.store.schema import access_key, parked, producer, producer_topic, subscriber, subscription, topic

OFFSET_MAX = 1_000_000


class ListQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows: those with a text in their names or description, sorted by a column, from one on."""

    q: str = ""
    sort: str = "name"
    descending: bool = False
    offset: int = 0
    rows: int = 50
    topic: str = ""
    """Of subscriptions: only of this topic. Of producers: only those that were granted it."""
    subscriber: str = ""
    """Of subscriptions: only of this subscriber."""
    state: str = ""
    """Of subscriptions: `failing`, `waiting`, `paused`, `parked`; empty for all."""
    without_prefix: str = ""
    """Topics that are not to be seen begin with this."""


class TopicRow(msgspec.Struct, frozen=True, kw_only=True):
    """A topic in a list."""

    topic: Topic
    accepted_us: int
    subscriptions: int


class ProducerRow(msgspec.Struct, frozen=True, kw_only=True):
    """A producer in a list."""

    producer: Producer
    keys: int


class SubscriberRow(msgspec.Struct, frozen=True, kw_only=True):
    """A subscriber in a list."""

    subscriber: Subscriber
    keys: int
    subscriptions: int
    failing: int


class SubscriptionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A subscription in a list, and how it goes."""

    subscription: Subscription
    mode: str
    enabled: bool
    pending: int
    parked: int
    head_seq: int
    attempts: int
    next_try_us: int
    failing_since_us: int
    last_failure: str

    @property
    def is_failing(self) -> bool:
        """Whether something waits to be pushed, and could not be."""
        is_pushed = self.mode == PUSH and self.enabled and not self.subscription.paused
        return bool(self.failing_since_us) and is_pushed and self.pending > 0


def _contains(query: ListQuery, *columns: Any) -> list[ColumnElement[bool]]:
    if not query.q:
        return []
    return [or_(*(column.icontains(query.q, autoescape=True) for column in columns))]


def _paged(statement: Select[Any], query: ListQuery, columns: dict[str, Any], tie: Sequence[Any]) -> Select[Any]:
    if query.sort not in columns:
        raise BadRequest(f"the list is sorted by one of {', '.join(columns)}, not by {query.sort[:40]!r}")
    by = columns[query.sort]
    rows = max(1, min(query.rows, LIST_ROWS_MAX))
    offset = max(0, min(query.offset, OFFSET_MAX))
    return statement.order_by(by.desc() if query.descending else by.asc(), *tie).limit(rows).offset(offset)


def _visible(query: ListQuery) -> list[ColumnElement[bool]]:
    hidden = [] if not query.without_prefix else [~topic.c.name.startswith(query.without_prefix, autoescape=True)]
    return [~topic.c.deleted, *hidden]


def _keys_of(kind: str, name: Any) -> Any:
    return (
        select(func.count())
        .where(access_key.c.kind == kind, access_key.c.owner == name)
        .correlate_except(access_key)
        .scalar_subquery()
    )


def search_topics(connection: Connection, query: ListQuery) -> list[TopicRow]:
    """Topics, by name, messages, bytes, newest or subscriptions."""
    count = (
        select(func.count())
        .where(subscription.c.topic_id == topic.c.id)
        .correlate_except(subscription)
        .scalar_subquery()
        .label("subscriptions")
    )
    columns = {
        "name": topic.c.name,
        "messages": topic.c.head_seq - topic.c.tail_seq,
        "bytes": topic.c.bytes,
        "newest": topic.c.accepted_us,
        "subscriptions": count,
    }
    statement = select(topic, count).where(*_visible(query), *_contains(query, topic.c.name, topic.c.description))
    rows = connection.execute(_paged(statement, query, columns, [topic.c.name])).all()
    return [
        TopicRow(topic=catalog.topic_of(row), accepted_us=row.accepted_us, subscriptions=row.subscriptions)
        for row in rows
    ]


def search_producers(connection: Connection, query: ListQuery) -> list[ProducerRow]:
    """Producers, by name, created or grants."""
    grants = (
        select(func.count())
        .where(producer_topic.c.producer_id == producer.c.id)
        .correlate_except(producer_topic)
        .scalar_subquery()
    )
    columns = {"name": producer.c.name, "created": producer.c.created_us, "grants": grants}
    statement = select(producer.c.name, _keys_of("producer", producer.c.name).label("keys")).where(
        *_contains(query, producer.c.name, producer.c.description)
    )
    if query.topic:
        granted = producer_topic.join(topic, topic.c.id == producer_topic.c.topic_id)
        mine = select(producer_topic.c.producer_id).select_from(granted).where(topic.c.name == query.topic)
        statement = statement.where(producer.c.id.in_(mine))
    rows = connection.execute(_paged(statement, query, columns, [producer.c.name])).all()
    return [ProducerRow(producer=catalog.list_producers(connection, "", 1, row.name)[0], keys=row.keys) for row in rows]


def search_subscribers(connection: Connection, query: ListQuery) -> list[SubscriberRow]:
    """Subscribers, by name, mode, created or subscriptions."""
    mine = subscription.c.subscriber_id == subscriber.c.id
    count = select(func.count()).where(mine).correlate_except(subscription).scalar_subquery().label("subscriptions")
    failing = (
        select(func.count())
        .select_from(subscription.join(topic, topic.c.id == subscription.c.topic_id))
        .where(
            mine,
            subscription.c.failing_since_us > 0,
            ~subscription.c.paused,
            topic.c.head_seq > subscription.c.acked_seq,
        )
        .correlate_except(subscription, topic)
        .scalar_subquery()
    )
    is_pushed = (subscriber.c.mode == PUSH) & subscriber.c.enabled
    columns = {
        "name": subscriber.c.name,
        "mode": subscriber.c.mode,
        "created": subscriber.c.created_us,
        "subscriptions": count,
        "failing": case((is_pushed, failing), else_=0),
    }
    statement = select(
        subscriber.c.name,
        count,
        columns["failing"].label("failing"),
        _keys_of("subscriber", subscriber.c.name).label("keys"),
    ).where(*_contains(query, subscriber.c.name, subscriber.c.description, subscriber.c.endpoint))
    rows = connection.execute(_paged(statement, query, columns, [subscriber.c.name])).all()
    return [
        SubscriberRow(
            subscriber=catalog.list_subscribers(connection, "", 1, row.name)[0],
            keys=row.keys,
            subscriptions=row.subscriptions,
            failing=row.failing,
        )
        for row in rows
    ]


def search_subscriptions(connection: Connection, query: ListQuery) -> list[SubscriptionRow]:
    """Subscriptions, by topic (`name`), subscriber, pending, parked or failing; or only those in one state."""
    behind = (topic.c.head_seq - subscription.c.acked_seq).label("behind")
    aside = (
        select(func.count())
        .where(parked.c.subscription_id == subscription.c.id, ~parked.c.returned, ~parked.c.done)
        .correlate_except(parked)
        .scalar_subquery()
    )
    is_pushed = (subscriber.c.mode == PUSH) & subscriber.c.enabled & ~subscription.c.paused
    failing = (subscription.c.failing_since_us > 0) & is_pushed & (behind > 0)
    columns: dict[str, Any] = {
        "name": topic.c.name,
        "subscriber": subscriber.c.name,
        "pending": behind,
        "parked": aside,
        # Those that have failed for the longest time come first when it descends.
        "failing": case((failing, -subscription.c.failing_since_us), else_=-(2**62)),
    }
    states = {"failing": failing, "waiting": behind > 0, "paused": subscription.c.paused, "parked": aside > 0}
    if query.state and query.state not in states:
        raise BadRequest(f"a subscription is {', '.join(states)}, not {query.state[:40]!r}")
    statement = (
        select(
            subscription,
            topic.c.name.label("topic"),
            subscriber.c.name.label("subscriber"),
            subscriber.c.mode,
            subscriber.c.enabled,
        )
        .select_from(
            subscription.join(topic, topic.c.id == subscription.c.topic_id).join(
                subscriber, subscriber.c.id == subscription.c.subscriber_id
            )
        )
        .where(*_visible(query), *_contains(query, topic.c.name, subscriber.c.name))
    )
    for wanted in (
        [topic.c.name == query.topic] if query.topic else [],
        [subscriber.c.name == query.subscriber] if query.subscriber else [],
        [states[query.state]] if query.state else [],
    ):
        statement = statement.where(*wanted)
    rows = connection.execute(_paged(statement, query, columns, [topic.c.name, subscriber.c.name])).all()
    return [_subscription_row(connection, row) for row in rows]


def _subscription_row(connection: Connection, row: Any) -> SubscriptionRow:
    accounting = find_accounting(connection, row.topic, row.subscriber)
    assert accounting is not None
    return SubscriptionRow(
        subscription=catalog.subscription_of(row),
        mode=row.mode,
        enabled=bool(row.enabled),
        pending=accounting.pending,
        parked=accounting.parked,
        head_seq=accounting.head_seq,
        attempts=row.attempts,
        next_try_us=row.next_try_us,
        failing_since_us=row.failing_since_us,
        last_failure=row.last_failure,
    )
