"""Create, change and delete topics, producers, subscribers and subscriptions.

Creating what is there already with the same values is no error, so that a set-up script can run twice;
with other values it is, because nobody should change a topic by mistake: that is what update is for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec
from sqlalchemy import Connection, update

from pregon.errors import AlreadyExists, BadRequest, Changed, NotFound
from pregon.filters.expression import check_filter
from pregon.hub.directory import Directory
from pregon.hub.settle import trace_runs, unwanted_ahead
from pregon.limits import LIST_ROWS_MAX
from pregon.model.catalog import EARLIEST, LATEST, Producer, Subscriber, Subscription, Topic
from pregon.model.group import TOPIC_PREFIX
from pregon.model.names import check_description, check_name
from pregon.model.trace import REPLAYED
from pregon.store import catalog, cursors
from pregon.store.filter_results import examine_again
from pregon.store.schema import producer, subscriber, subscription, topic
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction

Entry = Topic | Producer | Subscriber | Subscription
KINDS: dict[str, type[Entry]] = {
    "topic": Topic,
    "producer": Producer,
    "subscriber": Subscriber,
    "subscription": Subscription,
}
_NOTHING_FAILED = {"attempts": 0, "refusals": 0, "next_try_us": 0, "failing_since_us": 0, "deferred_seq": 0}


class CatalogOperation:
    """A change of the catalogue; what was remembered of it is forgotten."""

    size_bytes = 500
    is_durable = True

    def __init__(self, directory: Directory, change: Callable[[Transaction, Directory], Any]) -> None:
        self._directory = directory
        self._change = change
        self.ticket: Ticket[Any] = Ticket()

    def apply(self, transaction: Transaction) -> None:
        """Change it, after what was published before it is written by the catalogue as it was."""
        transaction.settle()
        answer = self._change(transaction, self._directory)
        self._directory.forget()
        transaction.is_catalogue_changed = True
        transaction.results.append((self.ticket, answer))


def create(entry: Entry) -> Callable[[Transaction, Directory], Entry]:
    """The change that creates an entry; raises for values that no entry may have."""
    checked = _check(entry)

    def change(transaction: Transaction, directory: Directory) -> Entry:
        there = find_entry(transaction.connection, _kind(checked), _names(checked))
        if there is not None:
            if _settable(there) != _settable(_as_stored(checked, there)):
                raise AlreadyExists(f"{_kind(checked)} {' '.join(_names(checked))} exists with other values: update it")
            return there
        _insert(transaction, directory, checked)
        return require_entry(transaction.connection, _kind(checked), _names(checked))

    return change


def fingerprint(entry: Entry) -> str:
    """Stands for what people set of an entry: it changes when that does."""
    text = msgspec.json.encode({"kind": _kind(entry), **_settable(entry)}, order="deterministic")
    return hashlib.sha256(text).hexdigest()[:32]


def _require_unchanged(entry: Entry, expected: str) -> None:
    if expected and fingerprint(entry) not in expected:
        raise Changed(
            f"{_kind(entry)} {' '.join(_names(entry))} is not as you last saw it: read it again, then decide anew"
        )


def change_entry(
    kind: str, names: tuple[str, ...], values: dict[str, Any], expected: str = ""
) -> Callable[[Transaction, Directory], Entry]:
    """The change that gives some fields of an entry other values; raises BadRequest for fields it cannot change."""
    fixed = {
        "name",
        "topic",
        "subscriber",
        "start",
        "head_seq",
        "tail_seq",
        "bytes",
        "schema_version",
        "created_us",
        "first_seq",
        "acked_seq",
        "epoch",
        "disabled_reason",
    }
    wrong = sorted(set(values) & fixed | set(values) - set(_type_of(kind).__struct_fields__))
    if wrong:
        raise BadRequest(f"{', '.join(wrong)} of a {kind} cannot be changed")

    def change(transaction: Transaction, _directory: Directory) -> Entry:
        there = require_entry(transaction.connection, kind, names)
        _require_unchanged(there, expected)
        merged = {**msgspec.to_builtins(there), **values}
        try:
            wanted = _check(msgspec.convert(merged, _type_of(kind)))
        except msgspec.ValidationError as error:
            raise BadRequest(f"{kind}: {error}") from error
        _update(transaction, there, wanted)
        if isinstance(wanted, Subscription):
            # Another filter: what is pending may be something else now.
            transaction.touched.add((wanted.topic, wanted.subscriber))
            transaction.moved.add(wanted.topic)
        return require_entry(transaction.connection, kind, names)

    return change


def change_grant(name: str, topic_name: str, is_granted: bool) -> Callable[[Transaction, Directory], Entry]:
    """The change that lets a producer publish to a restricted topic, or no more; raises NotFound for either."""

    def change(transaction: Transaction, directory: Directory) -> Entry:
        there = require_entry(transaction.connection, "producer", (name,))
        assert isinstance(there, Producer)
        catalog.require_id(transaction.connection, "topic", topic_name)
        topics = {*there.topics, topic_name} if is_granted else {*there.topics} - {topic_name}
        return change_entry("producer", (name,), {"topics": sorted(topics)})(transaction, directory)

    return change


def delete(kind: str, names: tuple[str, ...], expected: str = "") -> Callable[[Transaction, Directory], bool]:
    """The change that deletes an entry; answers with whether there was one, so that it can be repeated."""
    _type_of(kind)
    _require_names(kind, names)

    def change(transaction: Transaction, _directory: Directory) -> bool:
        there = find_entry(transaction.connection, kind, names) if expected else None
        if there is not None:
            _require_unchanged(there, expected)
        if kind == "subscription":
            return catalog.delete_subscription(transaction.connection, names[0], names[1])
        return catalog.delete_named(transaction.connection, kind, names[0])

    return change


def list_entries(
    connection: Connection,
    kind: str,
    *,
    after: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    rows_max: int = 100,
) -> list[Entry]:
    """A page of a kind, by name, after a name; `names` restricts (a subscription: topic, subscriber, "" for any)."""
    rows_max = max(1, min(rows_max, LIST_ROWS_MAX))
    _type_of(kind)
    if kind == "subscription":
        wanted = (*names, "", "")
        start = (*after, "", "")
        return list(catalog.list_subscriptions(connection, wanted[0], wanted[1], (start[0], start[1]), rows_max))
    lists: dict[str, Callable[..., list[Any]]] = {
        "topic": catalog.list_topics,
        "producer": catalog.list_producers,
        "subscriber": catalog.list_subscribers,
    }
    return list(lists[kind](connection, after[0] if after else "", rows_max, names[0] if names else ""))


def find_entry(connection: Connection, kind: str, names: tuple[str, ...]) -> Entry | None:
    """The entry with this name (a subscription: topic and subscriber), or None."""
    _require_names(kind, names)
    found = list_entries(connection, kind, names=names, rows_max=1)
    return found[0] if found else None


def require_entry(connection: Connection, kind: str, names: tuple[str, ...]) -> Entry:
    """The entry; raises NotFound."""
    found = find_entry(connection, kind, names)
    if found is None:
        raise NotFound(f"there is no {kind} {' '.join(names)}: `pregon {kind} list` shows what there is")
    return found


def _type_of(kind: str) -> type[Entry]:
    if kind not in KINDS:
        raise BadRequest(f"{kind[:40]!r} is not in the catalogue: use one of {', '.join(KINDS)}")
    return KINDS[kind]


def _kind(entry: Entry) -> str:
    return type(entry).__name__.lower()


def _names(entry: Entry) -> tuple[str, ...]:
    return (entry.topic, entry.subscriber) if isinstance(entry, Subscription) else (entry.name,)


def _require_names(kind: str, names: tuple[str, ...]) -> None:
    if len(names) != (2 if kind == "subscription" else 1) or not all(names):
        raise BadRequest("name one: a subscription by its topic and subscriber, anything else by its name")


def _check(entry: Entry) -> Entry:
    if isinstance(entry, Subscription):
        check_name("topic", entry.topic)
        check_name("subscriber", entry.subscriber)
        return msgspec.structs.replace(entry.check(), filter=check_filter(entry.filter))
    check_name(_kind(entry), entry.name)
    check_description(entry.description)
    if isinstance(entry, Topic):
        entry.retention.check()
        if not entry.enabled and entry.name.startswith(TOPIC_PREFIX):
            raise BadRequest(f"{entry.name} is the topic of a group, and is not disabled: remove its members instead")
    if isinstance(entry, Producer):
        for name in entry.topics:
            check_name("topic", name)
    return entry.check() if isinstance(entry, Subscriber) else entry


def _settable(entry: Entry) -> dict[str, Any]:
    """What people set of an entry."""
    fields = {
        Topic: ("name", "description", "restricted", "enabled", "retention"),
        Producer: ("name", "description", "topics", "enabled"),
        Subscriber: ("name", "description", "mode", "endpoint", "format", "push", "enabled"),
        Subscription: ("topic", "subscriber", "pending_max", "pending_age_ms", "filter", "paused"),
    }[type(entry)]
    return {name: getattr(entry, name) for name in fields}


def _as_stored(entry: Entry, there: Entry) -> Entry:
    """The entry with its lists in the order in which the store has them."""
    return (
        msgspec.structs.replace(entry, topics=tuple(sorted(set(entry.topics))))
        if isinstance(entry, Producer)
        else entry
    )


def _insert(transaction: Transaction, directory: Directory, entry: Entry) -> None:
    connection, now_us = transaction.connection, transaction.now_us
    if isinstance(entry, Subscription):
        _insert_subscription(transaction, directory, entry)
    elif isinstance(entry, Topic):
        catalog.insert_row(connection, topic, {**catalog.topic_values(entry), "created_us": now_us})
    elif isinstance(entry, Producer):
        topic_ids = [catalog.require_id(connection, "topic", name) for name in sorted(set(entry.topics))]
        values = {**catalog.producer_values(entry), "created_us": now_us}
        catalog.grant(connection, catalog.insert_row(connection, producer, values), topic_ids)
    else:
        catalog.insert_row(connection, subscriber, {**catalog.subscriber_values(entry), "created_us": now_us})


def _insert_subscription(transaction: Transaction, directory: Directory, entry: Subscription) -> None:
    connection, now_us = transaction.connection, transaction.now_us
    catalog.require_room(connection, "subscription")
    names = {"topic": entry.topic, "subscriber": entry.subscriber}
    topic_id, subscriber_id = directory.find_or_create_all(connection, names, now_us)
    (stored,) = catalog.list_topics(connection, "", 1, entry.topic)
    if entry.start == EARLIEST:
        first_seq = stored.tail_seq
    elif entry.start == LATEST:
        first_seq = stored.head_seq + 1
    else:
        first_seq = max(stored.tail_seq, min(int(entry.start), stored.head_seq + 1))
    values = {
        "topic_id": topic_id,
        "subscriber_id": subscriber_id,
        "first_seq": first_seq,
        "acked_seq": first_seq - 1,
        "pending_max": entry.pending_max,
        "pending_age_ms": entry.pending_age_ms,
        "filter": entry.filter,
        "paused": entry.paused,
        "examined_seq": first_seq - 1,
        "created_us": now_us,
    }
    catalog.insert_row(connection, subscription, values)


def _update(transaction: Transaction, there: Entry, entry: Entry) -> None:
    connection = transaction.connection
    if isinstance(entry, Subscription):
        is_resumed = isinstance(there, Subscription) and there.paused and not entry.paused
        _update_subscription(transaction, entry, is_resumed=is_resumed)
    elif isinstance(entry, Topic):
        connection.execute(update(topic).where(topic.c.name == entry.name).values(**catalog.topic_values(entry)))
    elif isinstance(entry, Producer):
        topic_ids = [catalog.require_id(connection, "topic", name) for name in sorted(set(entry.topics))]
        catalog.grant(connection, catalog.require_id(connection, "producer", entry.name), topic_ids)
        connection.execute(
            update(producer).where(producer.c.name == entry.name).values(**catalog.producer_values(entry))
        )
    else:
        values = catalog.subscriber_values(entry)
        connection.execute(update(subscriber).where(subscriber.c.name == entry.name).values(**values))
        # Pushes begin anew, or there are none any more: what failed before says nothing of that.
        mine = subscription.c.subscriber_id == catalog.require_id(connection, "subscriber", entry.name)
        connection.execute(update(subscription).where(mine).values(**_NOTHING_FAILED))


def _update_subscription(transaction: Transaction, entry: Subscription, *, is_resumed: bool) -> None:
    """With another filter, what the old one said of the messages that are pending counts no more."""
    connection = transaction.connection
    place = cursors.find_place(connection, entry.topic, entry.subscriber)
    assert place is not None
    if place.filter != entry.filter:
        pending_again = unwanted_ahead(connection, place)
        trace_runs(transaction, REPLAYED, (entry.topic, entry.subscriber), pending_again, "another filter")
        examine_again(connection, place.id, place.cursor.acked_seq)
    connection.execute(
        update(subscription)
        .where(subscription.c.id == place.id)
        .values(
            pending_max=entry.pending_max,
            pending_age_ms=entry.pending_age_ms,
            filter=entry.filter,
            filter_version=subscription.c.filter_version + (place.filter != entry.filter),
            paused=entry.paused,
            **(_NOTHING_FAILED if is_resumed else {}),
        )
    )
    if is_resumed:
        # At once: how pushes failed before the pause says nothing of now.
        transaction.resumed.add((entry.topic, entry.subscriber))
