"""Subscriptions as cursors, and their exceptions: read them, move them, count them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, case, delete, func, insert, select, update

from pregon.model.batch import StoredBatch
from pregon.model.subscription import Accounting, Cursor, account
from pregon.store.filter_results import examine_again, forget_unwanted, forget_wanted, skip_unwanted
from pregon.store.prepared import Prepared
from pregon.store.schema import expired_range, filter_result, parked, subscriber, subscription, topic

_COLUMNS = (
    subscription.c.id,
    subscription.c.topic_id,
    topic.c.name.label("topic"),
    subscriber.c.name.label("subscriber"),
    subscription.c.first_seq,
    subscription.c.acked_seq,
    subscription.c.epoch,
    subscription.c.expired,
    subscription.c.pending_max,
    subscription.c.pending_age_ms,
    subscription.c.filter,
    subscription.c.filter_version,
    subscription.c.examined_seq,
    subscription.c.filtered,
    subscription.c.attempts,
    subscription.c.failing_since_us,
    subscription.c.deferred_seq,
    topic.c.head_seq,
    topic.c.tail_seq,
)
_FROM = subscription.join(topic, topic.c.id == subscription.c.topic_id).join(
    subscriber, subscriber.c.id == subscription.c.subscriber_id
)
_SELECT = select(*_COLUMNS).select_from(_FROM)
_FIND = Prepared(_SELECT.where(topic.c.name == bindparam("topic"), subscriber.c.name == bindparam("subscriber")))
_OF_TOPIC = Prepared(_SELECT.where(subscription.c.topic_id == bindparam("topic_id")))
_MOVE = Prepared(
    update(subscription)
    .where(subscription.c.id == bindparam("subscription_id"))
    .values(acked_seq=bindparam("new_acked_seq"))
)
_EXAMINED = Prepared(
    update(subscription)
    .where(subscription.c.id == bindparam("subscription_id"))
    .values(examined_seq=bindparam("new_examined_seq"))
)
_FORGET_DONE = Prepared(
    delete(parked).where(
        parked.c.subscription_id == bindparam("subscription_id"), parked.c.seq <= bindparam("acked_seq"), parked.c.done
    )
)
_EXCEPTIONS = Prepared(
    select(parked.c.seq, parked.c.returned, parked.c.handed_out, parked.c.done).where(
        parked.c.subscription_id == bindparam("subscription_id")
    )
)
_ASIDE_AFTER = Prepared(
    select(parked.c.seq)
    .where(parked.c.subscription_id == bindparam("subscription_id"), parked.c.seq > bindparam("after_seq"))
    .order_by(parked.c.seq)
)
_RETURNED = (
    select(parked.c.seq, parked.c.arrow)
    .where(parked.c.subscription_id == bindparam("subscription_id"), parked.c.returned)
    .order_by(parked.c.seq)
)


@dataclass(frozen=True, slots=True)
class Place:
    """A subscription's row with its topic's numbers: the cursor, its ids, and its limits."""

    id: int
    topic_id: int
    pending_max: int | None
    pending_age_ms: int | None
    cursor: Cursor
    filter: str = ""
    filter_version: int = 0
    examined_seq: int = 0
    """How far the filter has looked, if there is one."""
    has_attempts: bool = False
    """Whether the message that is to be pushed next was tried already."""
    failing_since_us: int = 0
    deferred_seq: int = 0

    @property
    def visible_seq(self) -> int:
        """The newest message that may be delivered, if it is wanted."""
        return self.examined_seq if self.filter else self.cursor.head_seq


def _place(row: Sequence[Any]) -> Place:
    """A row of `_COLUMNS`."""
    id_, topic_id, topic_name, subscriber_name, first_seq, acked_seq, epoch, expired, *rest = row
    pending_max, pending_age_ms, filter_, filter_version, examined_seq, filtered, *rest = rest
    attempts, failing_since_us, deferred_seq, head_seq, tail_seq = rest
    return Place(
        id_,
        topic_id,
        pending_max,
        pending_age_ms,
        Cursor(
            topic=topic_name,
            subscriber=subscriber_name,
            first_seq=first_seq,
            acked_seq=acked_seq,
            epoch=epoch,
            expired=expired,
            filtered=filtered,
            head_seq=head_seq,
            tail_seq=tail_seq,
        ),
        filter_,
        filter_version,
        examined_seq,
        bool(attempts),
        failing_since_us,
        deferred_seq,
    )


def find_place(connection: Connection, topic_name: str, subscriber_name: str) -> Place | None:
    """Where a subscription stands, or None if there is no such subscription."""
    rows = _FIND.run(connection, {"topic": topic_name, "subscriber": subscriber_name})
    return _place(rows[0]) if rows else None


def places_of_topic(connection: Connection, topic_id: int) -> list[Place]:
    """Where every subscription of a topic stands."""
    return [_place(row) for row in _OF_TOPIC.run(connection, {"topic_id": topic_id})]


def move_cursor(connection: Connection, place: Place, acked_seq: int) -> int:
    """Settle everything up to a number, and what comes right after it if the filter does not want that; the cursor."""
    if place.filter:
        acked_seq = settled_through(connection, place, acked_seq, aside_after(connection, place.id, acked_seq))
        forget_wanted(connection, place.id, place.cursor.acked_seq, acked_seq)
        if acked_seq > place.examined_seq:
            _EXAMINED.run(connection, {"subscription_id": place.id, "new_examined_seq": acked_seq})
    _MOVE.run(connection, {"subscription_id": place.id, "new_acked_seq": acked_seq})
    if acked_seq > place.cursor.acked_seq:
        forget_attempts(connection, place, has_pending=acked_seq < place.cursor.head_seq)
    _FORGET_DONE.run(connection, {"subscription_id": place.id, "acked_seq": acked_seq})
    return acked_seq


def settled_through(connection: Connection, place: Place, seq: int, settled: Collection[int]) -> int:
    """Up to where everything after a number is settled: by itself, set aside, or not wanted by the filter."""
    settled = set(settled)
    while True:
        while seq + 1 in settled:
            seq += 1
        skipped = skip_unwanted(connection, place.id, seq) if place.filter else seq
        if skipped == seq:
            return seq
        seq = skipped


def forget_attempts(connection: Connection, place: Place, *, has_pending: bool) -> None:
    """The message to be pushed next is another one, or there is none: then nothing fails either."""
    if place.has_attempts or (place.failing_since_us and not has_pending):
        values = {"attempts": 0, "refusals": 0, "next_try_us": 0}
        rest = {} if has_pending else {"failing_since_us": 0, "deferred_seq": 0}
        connection.execute(update(subscription).where(subscription.c.id == place.id).values(**values, **rest))


def move_back(connection: Connection, place: Place, acked_seq: int) -> None:
    """Put the cursor at an earlier number and begin a new epoch: what comes after it is pending again."""
    revived = 0
    ranges = connection.execute(
        select(expired_range).where(expired_range.c.subscription_id == place.id, expired_range.c.last_seq > acked_seq)
    ).all()
    for row in ranges:
        _replace_range(connection, place.id, row, acked_seq)
        revived += row.last_seq - max(row.first_seq, acked_seq + 1) + 1
    connection.execute(
        update(subscription)
        .where(subscription.c.id == place.id)
        .values(
            acked_seq=acked_seq,
            first_seq=min(place.cursor.first_seq, acked_seq + 1),
            expired=subscription.c.expired - revived,
            epoch=subscription.c.epoch + 1,
            attempts=0,
            refusals=0,
            next_try_us=0,
            deferred_seq=0,
        )
    )
    # Also without a filter: one that was taken away has left what it said of the messages before the cursor.
    examine_again(connection, place.id, acked_seq)
    # What is pending again anyway needs no row of its own.
    connection.execute(
        delete(parked).where(
            parked.c.subscription_id == place.id, parked.c.returned | parked.c.done, parked.c.seq > acked_seq
        )
    )


def _replace_range(connection: Connection, subscription_id: int, row: Any, last_seq: int) -> None:
    """Keep of an expired range only what is not after `last_seq`."""
    key = (expired_range.c.subscription_id == subscription_id, expired_range.c.first_seq == row.first_seq)
    if row.first_seq > last_seq:
        connection.execute(delete(expired_range).where(*key))
    else:
        connection.execute(update(expired_range).where(*key).values(last_seq=last_seq))


def expire_through(connection: Connection, place: Place, acked_seq: int, runs: Sequence[tuple[int, int]]) -> None:
    """Settle everything up to a number, of which the messages in `runs` were never acknowledged."""
    move_cursor(connection, place, acked_seq)
    expire_some(connection, place.id, runs)


def expire_some(connection: Connection, subscription_id: int, runs: Sequence[tuple[int, int]]) -> None:
    """Count the messages in `runs` as never acknowledged, wherever the cursor is."""
    if not runs:
        return
    count = sum(last - first + 1 for first, last in runs)
    connection.execute(
        update(subscription).where(subscription.c.id == subscription_id).values(expired=subscription.c.expired + count)
    )
    connection.execute(
        insert(expired_range),
        [{"subscription_id": subscription_id, "first_seq": first, "last_seq": last} for first, last in runs],
    )


def forget_expired(connection: Connection, topic_id: int, tail_seq: int) -> None:
    """Forget the expired ranges that the log has no more: no replay can reach them."""
    mine = select(subscription.c.id).where(subscription.c.topic_id == topic_id)
    connection.execute(
        delete(expired_range).where(expired_range.c.subscription_id.in_(mine), expired_range.c.last_seq < tail_seq)
    )
    forget_unwanted(connection, topic_id, tail_seq)


def aside_after(connection: Connection, subscription_id: int, after_seq: int) -> list[int]:
    """Numbers set aside, parked or returned, among those after a number, ascending."""
    return [
        seq for (seq,) in _ASIDE_AFTER.run(connection, {"subscription_id": subscription_id, "after_seq": after_seq})
    ]


@dataclass(frozen=True, slots=True)
class SetAside:
    """A message that is parked, or returned (unparked), or done (acknowledged ahead of the cursor)."""

    seq: int
    returned: bool
    handed_out: bool
    done: bool


def set_aside(connection: Connection, subscription_id: int) -> dict[int, SetAside]:
    """All the exceptions of a subscription, by number."""
    rows = _EXCEPTIONS.run(connection, {"subscription_id": subscription_id})
    return {seq: SetAside(seq, bool(returned), bool(given), bool(done)) for seq, returned, given, done in rows}


def insert_aside(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Set messages aside: rows of subscription_id, seq, reason, at_us, arrow."""
    connection.execute(insert(parked), rows)


def update_aside(connection: Connection, subscription_id: int, seqs: Iterable[int], **values: Any) -> None:
    """Change exceptions: returned, handed_out, done, reason."""
    connection.execute(
        update(parked).where(parked.c.subscription_id == subscription_id, parked.c.seq.in_(list(seqs))).values(**values)
    )


def delete_aside(connection: Connection, subscription_id: int, seqs: Iterable[int]) -> None:
    """The exceptions are settled."""
    connection.execute(delete(parked).where(parked.c.subscription_id == subscription_id, parked.c.seq.in_(list(seqs))))


def returned_messages(
    connection: Connection, subscription_id: int, messages_max: int, *, again: bool
) -> list[StoredBatch]:
    """Unparked messages that wait to be delivered again, in order, each a batch of one.

    With `again`, also those that were handed out already and not acknowledged.
    """
    statement = _RETURNED if again else _RETURNED.where(~parked.c.handed_out)
    rows = connection.execute(statement.limit(messages_max), {"subscription_id": subscription_id})
    return [StoredBatch(row.seq, 1, row.arrow) for row in rows]


def list_parked(
    connection: Connection, topic_name: str, subscriber_name: str, after_seq: int, rows_max: int
) -> list[dict[str, Any]]:
    """What is set aside in a subscription, by number, without the bodies."""
    statement = (
        select(parked.c.seq, parked.c.returned, parked.c.reason, parked.c.at_us)
        .select_from(parked.join(_FROM, subscription.c.id == parked.c.subscription_id))
        .where(topic.c.name == topic_name, subscriber.c.name == subscriber_name, parked.c.seq > after_seq)
        .where(~parked.c.done)
        .order_by(parked.c.seq)
        .limit(rows_max)
    )
    return [dict(row) for row in connection.execute(statement).mappings()]


_IS_AFTER = parked.c.seq > subscription.c.acked_seq
# One statement, so that the counts and the cursor are of the same moment.
_ACCOUNTING = Prepared(
    select(
        *_COLUMNS,
        func.coalesce(func.sum(case((parked.c.returned, 1), else_=0)), 0),
        func.coalesce(func.sum(case((_IS_AFTER, 1), else_=0)), 0),
        func.coalesce(func.sum(case((parked.c.done, 1), else_=0)), 0),
        func.count(parked.c.seq),
        select(func.coalesce(func.sum(filter_result.c.last_seq - filter_result.c.first_seq + 1), 0))
        .where(
            filter_result.c.subscription_id == subscription.c.id,
            filter_result.c.first_seq > subscription.c.acked_seq,
            ~filter_result.c.matched,
        )
        .scalar_subquery(),
    )
    .select_from(_FROM.outerjoin(parked, parked.c.subscription_id == subscription.c.id))
    .where(topic.c.name == bindparam("topic"), subscriber.c.name == bindparam("subscriber"))
    .group_by(*_COLUMNS)
)


def find_accounting(connection: Connection, topic_name: str, subscriber_name: str) -> Accounting | None:
    """Where every message of a subscription is: one row and a count of its exceptions, whatever the log holds."""
    rows = _ACCOUNTING.run(connection, {"topic": topic_name, "subscriber": subscriber_name})
    if not rows:
        return None
    returned, after, done, aside, filtered_after = map(int, rows[0][len(_COLUMNS) :])
    return account(
        _place(rows[0][: len(_COLUMNS)]).cursor,
        aside_before=aside - after,
        aside_after=after,
        returned=returned,
        done=done,
        filtered_after=filtered_after,
    )
