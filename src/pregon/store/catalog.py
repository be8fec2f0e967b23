"""Topics, producers, subscribers and subscriptions: create, find, list, change, delete.

These functions run inside the caller's transaction. What a create means when the name is taken, and
whether things are made on first use, is decided in `hub`.
"""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import Connection, Select, Table, delete, func, insert, select, update

from pregon.errors import LimitReached, NotFound
from pregon.limits import PRODUCERS_MAX, SUBSCRIBERS_MAX, SUBSCRIPTIONS_MAX, TOPICS_MAX
from pregon.model.catalog import Producer, PushOptions, Retention, Subscriber, Subscription, Topic
from pregon.store.log import TOPIC_ID_MAX, batch_sizes, remove_through
from pregon.store.schema import producer, producer_topic, subscriber, subscription, topic

_ROWS_MAX = {
    "topic": TOPICS_MAX,
    "producer": PRODUCERS_MAX,
    "subscriber": SUBSCRIBERS_MAX,
    "subscription": SUBSCRIPTIONS_MAX,
}
_TABLES = {"topic": topic, "producer": producer, "subscriber": subscriber}


def require_room(connection: Connection, kind: str) -> None:
    """Raises LimitReached when there may be no more of a kind."""
    table = subscription if kind == "subscription" else _TABLES[kind]
    count = connection.execute(select(func.count()).select_from(table)).scalar_one()
    if count >= _ROWS_MAX[kind]:
        raise LimitReached(f"the hub has {count} of {kind}, its limit: delete some first")


def insert_row(connection: Connection, table: Table, values: dict[str, Any]) -> int:
    """Insert and return the new id; raises LimitReached when the catalogue is full."""
    require_room(connection, table.name)
    key = connection.execute(insert(table).values(**values)).inserted_primary_key
    assert key is not None
    if table is topic and key[0] > TOPIC_ID_MAX:
        raise LimitReached("this database has seen as many topics as it can tell apart: begin a new one")
    return int(key[0])


def find_id(connection: Connection, kind: str, name: str) -> int | None:
    """The id of a topic, producer or subscriber, or None."""
    table = _TABLES[kind]
    statement = select(table.c.id).where(table.c.name == name)
    if table is topic:
        statement = statement.where(~topic.c.deleted)
    found = connection.execute(statement).scalar()
    return None if found is None else int(found)


def not_there(kind: str, name: str) -> NotFound:
    """The error for a topic, producer or subscriber that does not exist."""
    return NotFound(f"there is no {kind} {name!r}: create it with `pregon {kind} create {name}`")


def require_id(connection: Connection, kind: str, name: str) -> int:
    """The id of a topic, producer or subscriber; raises NotFound."""
    found = find_id(connection, kind, name)
    if found is None:
        raise not_there(kind, name)
    return found


def topic_of(row: Any) -> Topic:
    """A row of the table as a topic."""
    return Topic(
        name=row.name,
        description=row.description,
        restricted=row.restricted,
        enabled=bool(row.enabled),
        retention=Retention(
            age_ms=row.retention_age_ms,
            bytes_max=row.retention_bytes_max,
            when_acknowledged=row.retention_when_acknowledged,
        ),
        head_seq=row.head_seq,
        tail_seq=row.tail_seq,
        bytes=row.bytes,
        schema_version=row.schema_version,
        created_us=row.created_us,
    )


def topic_values(value: Topic) -> dict[str, Any]:
    """The columns of a topic that people set."""
    return {
        "name": value.name,
        "description": value.description,
        "restricted": value.restricted,
        "enabled": value.enabled,
        "retention_age_ms": value.retention.age_ms,
        "retention_bytes_max": value.retention.bytes_max,
        "retention_when_acknowledged": value.retention.when_acknowledged,
    }


def list_topics(connection: Connection, after: str, rows_max: int, name: str = "") -> list[Topic]:
    """Topics by name, after a name; or the one with a name."""
    statement = select(topic).where(~topic.c.deleted)
    return [topic_of(row) for row in connection.execute(_page(statement, topic, after, rows_max, name))]


def _page(statement: Select[Any], table: Table, after: str, rows_max: int, name: str) -> Select[Any]:
    statement = statement.where(table.c.name > after).order_by(table.c.name).limit(rows_max)
    return statement.where(table.c.name == name) if name else statement


def producer_values(value: Producer) -> dict[str, Any]:
    """The columns of a producer that people set."""
    return {"name": value.name, "description": value.description, "enabled": value.enabled}


def list_producers(connection: Connection, after: str, rows_max: int, name: str = "") -> list[Producer]:
    """Producers by name, with the restricted topics granted to each."""
    rows = connection.execute(_page(select(producer), producer, after, rows_max, name)).all()
    grants: dict[int, list[str]] = {}
    pairs = connection.execute(
        select(producer_topic.c.producer_id, topic.c.name)
        .join(topic, topic.c.id == producer_topic.c.topic_id)
        .where(producer_topic.c.producer_id.in_([row.id for row in rows]))
        .order_by(topic.c.name)
    )
    for producer_id, name_ in pairs:
        grants.setdefault(producer_id, []).append(name_)
    return [
        Producer(
            name=row.name,
            description=row.description,
            topics=tuple(grants.get(row.id, ())),
            enabled=bool(row.enabled),
            created_us=row.created_us,
        )
        for row in rows
    ]


def list_subscribers(connection: Connection, after: str, rows_max: int, name: str = "") -> list[Subscriber]:
    """Subscribers by name."""
    rows = connection.execute(_page(select(subscriber), subscriber, after, rows_max, name))
    return [
        Subscriber(
            name=row.name,
            description=row.description,
            mode=row.mode,
            endpoint=row.endpoint,
            format=row.format,
            push=_decode_push(row.push),
            enabled=bool(row.enabled),
            disabled_reason=row.disabled_reason,
            created_us=row.created_us,
        )
        for row in rows
    ]


_decode_push = msgspec.json.Decoder(PushOptions).decode


def subscriber_values(value: Subscriber) -> dict[str, Any]:
    """The columns of a subscriber that people set; who enables it has read why it was not."""
    return {
        "name": value.name,
        "description": value.description,
        "mode": value.mode,
        "endpoint": value.endpoint,
        "format": value.format,
        "push": msgspec.json.encode(value.push).decode(),
        "enabled": value.enabled,
        "disabled_reason": "" if value.enabled else value.disabled_reason,
    }


def subscription_of(row: Any) -> Subscription:
    """A row of the table, with the names of its topic and subscriber, as a subscription."""
    return Subscription(
        topic=row.topic,
        subscriber=row.subscriber,
        start=str(row.first_seq),
        pending_max=row.pending_max,
        pending_age_ms=row.pending_age_ms,
        filter=row.filter,
        paused=bool(row.paused),
        first_seq=row.first_seq,
        acked_seq=row.acked_seq,
        epoch=row.epoch,
        created_us=row.created_us,
    )


def list_subscriptions(
    connection: Connection, topic_name: str, subscriber_name: str, after: tuple[str, str], rows_max: int
) -> list[Subscription]:
    """Subscriptions by topic and subscriber, of one of them if it is named, after a pair of names."""
    statement = (
        select(subscription, topic.c.name.label("topic"), subscriber.c.name.label("subscriber"))
        .join(topic, topic.c.id == subscription.c.topic_id)
        .join(subscriber, subscriber.c.id == subscription.c.subscriber_id)
        .where(~topic.c.deleted)
        .where((topic.c.name > after[0]) | ((topic.c.name == after[0]) & (subscriber.c.name > after[1])))
        .order_by(topic.c.name, subscriber.c.name)
        .limit(rows_max)
    )
    if topic_name:
        statement = statement.where(topic.c.name == topic_name)
    if subscriber_name:
        statement = statement.where(subscriber.c.name == subscriber_name)
    return [subscription_of(row) for row in connection.execute(statement)]


def grant(connection: Connection, producer_id: int, topic_ids: list[int]) -> None:
    """Let the producer publish to exactly these restricted topics."""
    connection.execute(delete(producer_topic).where(producer_topic.c.producer_id == producer_id))
    if topic_ids:
        rows = [{"producer_id": producer_id, "topic_id": topic_id} for topic_id in topic_ids]
        connection.execute(insert(producer_topic), rows)


def may_publish(connection: Connection, producer_id: int | None, topic_id: int) -> bool:
    """Whether the producer was granted the topic."""
    found = connection.execute(
        select(producer_topic.c.topic_id).where(
            producer_topic.c.producer_id == producer_id, producer_topic.c.topic_id == topic_id
        )
    ).first()
    return found is not None


def delete_named(connection: Connection, kind: str, name: str) -> bool:
    """Delete a producer or a subscriber, or let a topic go; whether there was one.

    A topic gives up its name and its subscriptions at once; its batches are removed little by little.
    """
    row_id = find_id(connection, kind, name)
    if row_id is None:
        return False
    if kind != "topic":
        table = _TABLES[kind]
        connection.execute(delete(table).where(table.c.id == row_id))
        return True
    connection.execute(delete(subscription).where(subscription.c.topic_id == row_id))
    connection.execute(delete(producer_topic).where(producer_topic.c.topic_id == row_id))
    # No name that people can give begins with '#'.
    connection.execute(update(topic).where(topic.c.id == row_id).values(name=f"#{row_id}", deleted=True))
    return True


def delete_subscription(connection: Connection, topic_name: str, subscriber_name: str) -> bool:
    """Delete a subscription; whether there was one."""
    topic_id = find_id(connection, "topic", topic_name)
    subscriber_id = find_id(connection, "subscriber", subscriber_name)
    done = connection.execute(
        delete(subscription).where(subscription.c.topic_id == topic_id, subscription.c.subscriber_id == subscriber_id)
    )
    return done.rowcount > 0


def sweep_deleted(connection: Connection, batches_max: int) -> int:
    """Remove some batches of deleted topics, and the topics that have none left; how many batches it was."""
    removed = 0
    for topic_id in connection.execute(select(topic.c.id).where(topic.c.deleted)).scalars().all():
        batches = batch_sizes(connection, topic_id, 0, batches_max - removed)
        if batches:
            remove_through(connection, topic_id, batches[-1].last_seq, sum(one.bytes for one in batches))
            removed += len(batches)
        if removed >= batches_max:
            break
        connection.execute(delete(topic).where(topic.c.id == topic_id))
    return removed
