"""The accounting of every subscription, a page at a time.

The same numbers as `cursors.find_accounting` gives for one, in four statements for a page of them; and the newest trace
of the same moment, so that who adds the traces up knows with which of them the numbers must agree.

Promises:
- Called in one snapshot, all that a page says is of one moment: a change and the trace that tells of it are written in
  one transaction.
- Reads rows of subscriptions and of exceptions, never the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from sqlalchemy import Connection, bindparam, case, func, select

from pregon.model.subscription import Cursor, account
from pregon.store.prepared import Prepared
from pregon.store.schema import filter_result, parked, subscriber, subscription, topic
from pregon.store.trace_table import trace_ends

ACCOUNTS_MAX = 1_000
"""Subscriptions of one page."""

_US = pa.timestamp("us", tz="UTC")
_COUNTS = ("accepted", "acknowledged", "pending", "parked", "expired", "filtered")
SCHEMA_ACCOUNTS = pa.schema(
    [
        pa.field(name, kind, nullable=False)
        for name, kind in (
            ("topic", pa.string()),
            ("subscriber", pa.string()),
            ("mode", pa.string()),
            ("created_at", _US),
            ("first_seq", pa.int64()),
            ("acked_seq", pa.int64()),
            ("head_seq", pa.int64()),
            *((name, pa.int64()) for name in _COUNTS),
            ("as_of", pa.int64()),
            ("at", _US),
        )
    ]
)
_PAGE = Prepared(
    select(
        subscription.c.id,
        topic.c.name,
        subscriber.c.name,
        subscriber.c.mode,
        subscription.c.created_us,
        subscription.c.first_seq,
        subscription.c.acked_seq,
        subscription.c.epoch,
        subscription.c.expired,
        subscription.c.filtered,
        topic.c.head_seq,
        topic.c.tail_seq,
    )
    .select_from(
        subscription.join(topic, topic.c.id == subscription.c.topic_id).join(
            subscriber, subscriber.c.id == subscription.c.subscriber_id
        )
    )
    .where(subscription.c.id > bindparam("after_id"), ~topic.c.deleted)
    .order_by(subscription.c.id)
    .limit(bindparam("rows"))
)
_OF_PAGE = (subscription.c.id > bindparam("after_id"), subscription.c.id <= bindparam("last_id"))
_ASIDE = Prepared(
    select(
        parked.c.subscription_id,
        func.count(),
        func.sum(case((parked.c.seq > subscription.c.acked_seq, 1), else_=0)),
        func.sum(case((parked.c.returned, 1), else_=0)),
        func.sum(case((parked.c.done, 1), else_=0)),
    )
    .select_from(subscription.join(parked, parked.c.subscription_id == subscription.c.id))
    .where(*_OF_PAGE)
    .group_by(parked.c.subscription_id)
)
_UNWANTED = Prepared(
    select(subscription.c.id, func.sum(filter_result.c.last_seq - filter_result.c.first_seq + 1))
    .select_from(
        subscription.join(
            filter_result,
            (filter_result.c.subscription_id == subscription.c.id)
            & (filter_result.c.first_seq > subscription.c.acked_seq),
        )
    )
    .where(*_OF_PAGE, ~filter_result.c.matched)
    .group_by(subscription.c.id)
)


def read_accounts(connection: Connection, after_id: int, now_us: int) -> tuple[pa.RecordBatch, int]:
    """The accounting of the subscriptions that come after one, by their ids; and after which the next page begins.

    0 instead of that when there is no next page.
    """
    rows = _PAGE.run(connection, {"after_id": after_id, "rows": ACCOUNTS_MAX})
    last_id: int = rows[-1][0] if rows else after_id
    page = {"after_id": after_id, "last_id": last_id}
    aside = {id_: counts for id_, *counts in _ASIDE.run(connection, page)}
    unwanted: dict[int, int] = dict(_UNWANTED.run(connection, page))
    _, newest_trace = trace_ends(connection)
    found = [_account(row, aside.get(row[0], (0, 0, 0, 0)), unwanted.get(row[0], 0)) for row in rows]
    listed = [(*one, newest_trace, now_us) for one in found]
    columns = zip(*listed, strict=True) if listed else ([] for _ in SCHEMA_ACCOUNTS)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA_ACCOUNTS, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, schema=SCHEMA_ACCOUNTS)
    return batch, last_id if len(rows) == ACCOUNTS_MAX else 0


def _account(row: Sequence[Any], aside: Sequence[int], filtered_after: int) -> tuple[Any, ...]:
    """A row of the table, but for the moment that it is of."""
    _, topic_name, name, mode, created_us, first_seq, acked_seq, epoch, expired, filtered, head_seq, tail_seq = row
    all_aside, aside_after, returned, done = aside
    cursor = Cursor(
        topic=topic_name,
        subscriber=name,
        first_seq=first_seq,
        acked_seq=acked_seq,
        epoch=epoch,
        expired=expired,
        filtered=filtered,
        head_seq=head_seq,
        tail_seq=tail_seq,
    )
    found = account(
        cursor,
        aside_before=all_aside - aside_after,
        aside_after=aside_after,
        returned=returned,
        done=done,
        filtered_after=filtered_after,
    )
    counts = (getattr(found, name) for name in _COUNTS)
    return topic_name, name, mode, created_us, first_seq, acked_seq, head_seq, *counts
