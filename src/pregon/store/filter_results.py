"""What the filter of a subscription said of which messages, as ranges.

Wanted messages are kept from the cursor on, with the reason that travels with each; those not wanted as long as the
log has them, because they are counted: a replay over them has them examined anew, and counts them no more.

Promise: no range of messages that are not wanted begins at or before the cursor and ends after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from pregon.model.runs import Run, count, runs_without
from pregon.store.prepared import Prepared
from pregon.store.schema import filter_result, subscription

_MINE = filter_result.c.subscription_id == bindparam("subscription_id")
_before = filter_result.alias("before")
# Ranges do not overlap, so that of those that begin at or before a number only the last can reach it: whatever lies
# behind the cursor is not looked at.
_FROM_THERE = filter_result.c.first_seq >= func.coalesce(
    select(func.max(_before.c.first_seq))
    .where(
        _before.c.subscription_id == bindparam("subscription_id"),
        _before.c.first_seq <= bindparam("from_seq"),
    )
    .scalar_subquery(),
    0,
)
_WANTED = Prepared(
    select(filter_result.c.first_seq, filter_result.c.last_seq, filter_result.c.reason)
    .where(_MINE, _FROM_THERE, filter_result.c.last_seq >= bindparam("from_seq"), filter_result.c.matched)
    .order_by(filter_result.c.first_seq)
    .limit(bindparam("rows"))
)
_UNWANTED = Prepared(
    select(filter_result.c.first_seq, filter_result.c.last_seq)
    .where(
        _MINE,
        _FROM_THERE,
        filter_result.c.last_seq >= bindparam("from_seq"),
        filter_result.c.first_seq <= bindparam("to_seq"),
        ~filter_result.c.matched,
    )
    .order_by(filter_result.c.first_seq)
)
_FORGET_WANTED = Prepared(
    delete(filter_result).where(
        _MINE, _FROM_THERE, filter_result.c.matched, filter_result.c.last_seq <= bindparam("acked_seq")
    )
)
_CUT = Prepared(
    update(filter_result)
    .where(_MINE, _FROM_THERE, filter_result.c.last_seq > bindparam("from_seq"))
    .values(last_seq=bindparam("from_seq"))
)


@dataclass(frozen=True, slots=True)
class Examined:
    """What a filter said of messages first..last, and why."""

    first_seq: int
    last_seq: int
    matched: bool
    reason: str


def wanted_runs(connection: Connection, subscription_id: int, from_seq: int, rows_max: int) -> list[Examined]:
    """Wanted messages from a number on, in order; the first range may begin before it."""
    rows = _WANTED.run(connection, {"subscription_id": subscription_id, "from_seq": from_seq, "rows": rows_max})
    return [Examined(first, last, True, reason) for first, last, reason in rows]


def unwanted_runs(connection: Connection, subscription_id: int, from_seq: int, to_seq: int) -> list[Run]:
    """The ranges of messages not wanted that touch two numbers or lie between them."""
    wanted = {"subscription_id": subscription_id, "from_seq": from_seq, "to_seq": to_seq}
    return [(first, last) for first, last in _UNWANTED.run(connection, wanted)]


def skip_unwanted(connection: Connection, subscription_id: int, seq: int) -> int:
    """The number up to which nothing is wanted after `seq`: itself, or the end of a range that begins there."""
    while runs := unwanted_runs(connection, subscription_id, seq + 1, seq + 1):
        seq = runs[-1][1]
    return seq


def write_examined(connection: Connection, subscription_id: int, results: Sequence[Examined]) -> None:
    """Remember what a filter said; `examined_seq` and `filtered` of the subscription follow."""
    if not results:
        return
    connection.execute(
        insert(filter_result),
        [
            {
                "subscription_id": subscription_id,
                "first_seq": one.first_seq,
                "last_seq": one.last_seq,
                "matched": one.matched,
                "reason": one.reason,
            }
            for one in results
        ],
    )
    unwanted = count((one.first_seq, one.last_seq) for one in results if not one.matched)
    connection.execute(
        update(subscription)
        .where(subscription.c.id == subscription_id)
        .values(examined_seq=results[-1].last_seq, filtered=subscription.c.filtered + unwanted)
    )


def take_out(connection: Connection, subscription_id: int, seq: int) -> None:
    """A message was delivered after all, by what an earlier filter said: it does not count as not wanted."""
    for first, last in unwanted_runs(connection, subscription_id, seq, seq):
        mine = (filter_result.c.subscription_id == subscription_id, filter_result.c.first_seq == first)
        reason = connection.execute(select(filter_result.c.reason).where(*mine)).scalar_one()
        connection.execute(delete(filter_result).where(*mine))
        rows = [
            {
                "subscription_id": subscription_id,
                "first_seq": start,
                "last_seq": end,
                "matched": False,
                "reason": reason,
            }
            for start, end in runs_without(first, last, [(seq, seq)])
        ]
        if rows:
            connection.execute(insert(filter_result), rows)
        connection.execute(
            update(subscription)
            .where(subscription.c.id == subscription_id)
            .values(filtered=subscription.c.filtered - 1)
        )


def forget_wanted(connection: Connection, subscription_id: int, from_seq: int, acked_seq: int) -> None:
    """The cursor moved from one number to another: what was wanted between them needs no reason any more."""
    span = {"subscription_id": subscription_id, "from_seq": from_seq, "acked_seq": acked_seq}
    _FORGET_WANTED.run(connection, span)


def examine_again(connection: Connection, subscription_id: int, acked_seq: int) -> None:
    """Forget what a filter said of the messages after a number: they are to be examined anew."""
    mine = filter_result.c.subscription_id == subscription_id
    forgotten = [
        (max(first, acked_seq + 1), last)
        for first, last in unwanted_runs(connection, subscription_id, acked_seq + 1, 2**62)
    ]
    connection.execute(delete(filter_result).where(mine, filter_result.c.first_seq > acked_seq))
    _CUT.run(connection, {"subscription_id": subscription_id, "from_seq": acked_seq})
    connection.execute(
        update(subscription)
        .where(subscription.c.id == subscription_id)
        .values(examined_seq=acked_seq, filtered=subscription.c.filtered - count(forgotten))
    )


def forget_unwanted(connection: Connection, topic_id: int, tail_seq: int) -> None:
    """Forget the ranges that the log has no more: no replay can reach them."""
    mine = select(subscription.c.id).where(subscription.c.topic_id == topic_id)
    connection.execute(
        delete(filter_result).where(filter_result.c.subscription_id.in_(mine), filter_result.c.last_seq < tail_seq)
    )
