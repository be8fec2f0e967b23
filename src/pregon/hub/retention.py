"""What a topic may forget, and what its subscriptions' own limits let go.

Two steps, in this order, in one operation per topic:
1. A subscription with a limit on its pending messages gives up the oldest ones past it: they are traced as
   expired and counted. A subscription without limits gives up nothing.
2. The topic's retention removes the oldest batches that every subscription has settled, as far as its age,
   its size or "everyone has acknowledged" say.

Promises:
- Nothing that a subscription still needs is removed.
- Each run is bounded; it says whether there is more to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from pregon.hub.settle import not_pending, trace_runs
from pregon.model import trace
from pregon.model.runs import Run, count, runs_without
from pregon.model.trace import Trace
from pregon.store import cursors, log
from pregon.store.cursors import Place
from pregon.store.schema import topic
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction

_BATCHES_AT_ONCE = 200


def expiry_target(place: Place, aside: Sequence[Run], seq_of_age: int | None) -> int:
    """Up to where a subscription's limits give messages up; its cursor if they give up nothing.

    `aside` are the ranges after the cursor that are set aside or not wanted, and so not pending. `seq_of_age` is the
    first number young enough, for a subscription with a limit on age.
    """
    cursor = place.cursor
    target = cursor.acked_seq
    if place.pending_max is not None:
        pending = runs_without(cursor.acked_seq + 1, cursor.head_seq, aside)
        excess = count(pending) - place.pending_max
        for first, last in pending:
            if excess <= 0:
                break
            target = min(last, first + excess - 1)
            excess -= last - first + 1
    if seq_of_age is not None:
        target = max(target, seq_of_age - 1)
    return target


class Retain:
    """Apply the limits of a topic and its subscriptions; answers with whether there is more to do."""

    size_bytes = 200
    is_durable = True

    def __init__(self, topic_id: int) -> None:
        self._topic_id = topic_id
        self.ticket: Ticket[bool] = Ticket()

    def apply(self, transaction: Transaction) -> None:
        """Expire, then remove."""
        connection = transaction.connection
        row = connection.execute(select(topic).where(topic.c.id == self._topic_id, ~topic.c.deleted)).first()
        has_more = False
        if row is not None:
            places = cursors.places_of_topic(connection, self._topic_id)
            settled = [self._expire(transaction, place) for place in places]
            has_more = self._remove(transaction, row, min(settled, default=None))
        transaction.results.append((self.ticket, has_more))

    def _expire(self, transaction: Transaction, place: Place) -> int:
        """Give up what passes the subscription's limits; the cursor after it."""
        connection, cursor = transaction.connection, place.cursor
        seq_of_age = None
        if place.pending_age_ms is not None:
            seq_of_age = log.seq_at(connection, place.topic_id, transaction.now_us - place.pending_age_ms * 1_000)
        parked = cursors.aside_after(connection, place.id, cursor.acked_seq)
        aside = not_pending(connection, place, cursor.head_seq, parked)
        target = expiry_target(place, aside, seq_of_age)
        if target <= cursor.acked_seq:
            return cursor.acked_seq
        runs = runs_without(cursor.acked_seq + 1, target, aside)
        cursors.expire_through(connection, place, target, runs)
        transaction.touched.add((cursor.topic, cursor.subscriber))
        trace_runs(transaction, trace.EXPIRED, (cursor.topic, cursor.subscriber), runs)
        return target

    def _remove(self, transaction: Transaction, row: Any, settled_seq: int | None) -> bool:
        """Remove the oldest batches that may go; whether there may be more."""
        batches = log.batch_sizes(transaction.connection, self._topic_id, row.tail_seq - 1, _BATCHES_AT_ONCE)
        removable, size = 0, 0
        last_seq = row.tail_seq - 1
        for one in batches:
            if settled_seq is not None and one.last_seq > settled_seq:
                break
            if not _may_forget(row, one, size, transaction.now_us, has_subscriptions=settled_seq is not None):
                break
            removable, size, last_seq = removable + 1, size + one.bytes, one.last_seq
        if not removable:
            return False
        log.remove_through(transaction.connection, self._topic_id, last_seq, size)
        cursors.forget_expired(transaction.connection, self._topic_id, last_seq + 1)
        transaction.traces.append(
            Trace(
                at_us=transaction.now_us,
                kind=trace.REMOVED,
                topic=row.name,
                first_seq=row.tail_seq,
                last_seq=last_seq,
            )
        )
        return removable == _BATCHES_AT_ONCE


def _may_forget(row: Any, one: Any, removed_bytes: int, now_us: int, *, has_subscriptions: bool) -> bool:
    """Whether the topic's retention lets a batch go, when `removed_bytes` older ones went already."""
    if row.retention_when_acknowledged and has_subscriptions:
        return True
    if row.retention_age_ms is not None and one.last_us < now_us - row.retention_age_ms * 1_000:
        return True
    return row.retention_bytes_max is not None and row.bytes - removed_bytes > row.retention_bytes_max
