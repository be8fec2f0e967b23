"""A message's whole story: what it is, what happened to it, and what it is now for each subscription.

What happened is what the traces say; what it is now is read from the subscriptions themselves, and the traces only
tell what those have forgotten: whether a message that the cursor has passed was acknowledged or expired, and when.
Who may ask is decided in `gate`; how much of the story they get, here.

Promises:
- All of it is of one moment.
- A story is of the topic that has the name now: of one that was deleted before, nothing is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from pregon import limits
from pregon.errors import BadRequest, NotFound
from pregon.limits import INTEGER_MAX
from pregon.model import trace as kinds
from pregon.model.catalog import PUSH
from pregon.model.message import Message
from pregon.model.trace import NOT_ENTITLED, PENDING, RETURNED, Standing, Story, Trace
from pregon.store import catalog
from pregon.store.log import require_message
from pregon.store.schema import expired_range, filter_result, parked, subscriber, subscription, topic
from pregon.store.trace_search import find_acceptance, traces_of_message
from pregon.store.traces import first_id_at

_SETTLED = {
    kinds.ACKNOWLEDGED: kinds.ACKNOWLEDGED,
    kinds.DELIVERED: kinds.ACKNOWLEDGED,
    kinds.EXPIRED: kinds.EXPIRED,
    kinds.CANCELLED: kinds.CANCELLED,
    kinds.FILTERED: kinds.FILTERED,
}
"""What a message is after such a trace."""
_GIVEN_UP = (kinds.EXPIRED, kinds.CANCELLED)
_NOTED = (
    subscriber.c.name,
    subscriber.c.mode,
    subscriber.c.enabled,
    subscriber.c.disabled_reason,
    subscription.c.first_seq,
    subscription.c.acked_seq,
    subscription.c.filter,
    subscription.c.paused,
    subscription.c.attempts,
    subscription.c.next_try_us,
    subscription.c.failing_since_us,
    subscription.c.last_failure,
    *(parked.c[name].label(f"parked_{name}") for name in ("returned", "done", "reason", "at_us")),
    *(filter_result.c[name].label(f"filter_{name}") for name in ("last_seq", "matched", "reason")),
)


@dataclass(frozen=True, slots=True)
class Reader:
    """One who may not see everything: a producer its own messages, a subscriber what concerns it of its topics."""

    producers: frozenset[str]
    subscribers: frozenset[str]


def read_story(connection: Connection, topic_name: str, seq: int, reader: Reader | None = None) -> Story:
    """The story of a message, as much of it as the reader may see; raises NotFound if that is nothing."""
    if not 1 <= seq <= INTEGER_MAX:
        raise BadRequest("a message number is 1, 2, 3 …")
    row = connection.execute(select(topic).where(topic.c.name == topic_name, ~topic.c.deleted)).first()
    if row is None:
        raise catalog.not_there("topic", topic_name)
    if seq > row.head_seq:
        raise NotFound(f"{topic_name} has no message {seq}: it has {row.tail_seq} to {row.head_seq}")
    from_id = first_id_at(connection, row.created_us)
    message = _find_message(connection, row, seq)
    acceptance = find_acceptance(connection, topic_name, seq, from_id)
    producer = message.producer if message else acceptance.producer if acceptance else None
    names = _visible(reader, producer)
    standings = _read_standings(connection, row.id, seq, names)
    if names is not None and not standings:
        raise NotFound(f"{topic_name} has no message {seq} for {', '.join(sorted(names))}")
    traces = traces_of_message(connection, topic_name, seq, from_id, names)[::-1]
    is_whole = max(len(traces), len(standings)) < limits.LIST_ROWS_MAX
    if acceptance is not None and acceptance not in traces:
        traces = [acceptance, *traces[1:]]
    newest = _newest_settled(traces)
    return Story(
        topic=topic_name,
        seq=seq,
        producer=producer,
        accepted_us=message.accepted_us if message else acceptance.at_us if acceptance else None,
        id=message.id if message else None,
        key=message.key if message else None,
        content_type=message.content_type if message else None,
        published_us=message.published_us if message else None,
        traces=traces,
        is_whole=is_whole,
        subscriptions=[_standing(one, seq, newest.get(one.name)) for one in standings],
    )


def _find_message(connection: Connection, row: Any, seq: int) -> Message | None:
    """The message, if the log still has it."""
    if seq < row.tail_seq:
        return None
    (message,) = require_message(connection, row.id, seq).messages(row.name)
    return message


def _visible(reader: Reader | None, producer: str | None) -> frozenset[str] | None:
    """Of which subscribers the reader is told; None for all of them."""
    if reader is None or producer in reader.producers:
        return None
    return reader.subscribers


def _newest_settled(traces: Iterable[Trace]) -> dict[str, Trace]:
    """How the message was settled last, by subscriber; traces come oldest first."""
    return {one.subscriber: one for one in traces if one.kind in _SETTLED}


def _read_standings(connection: Connection, topic_id: int, seq: int, names: frozenset[str] | None) -> Sequence[Any]:
    """The subscriptions of a topic by name, each with what it has noted of one message."""
    before = filter_result.alias("before")
    examined_from = (
        select(func.max(before.c.first_seq))
        .where(before.c.subscription_id == subscription.c.id, before.c.first_seq <= seq)
        .scalar_subquery()
    )
    expired_to = (
        select(expired_range.c.last_seq)
        .where(expired_range.c.subscription_id == subscription.c.id, expired_range.c.first_seq <= seq)
        .order_by(expired_range.c.first_seq.desc())
        .limit(1)
        .scalar_subquery()
    )
    rows = (
        subscription.join(subscriber, subscriber.c.id == subscription.c.subscriber_id)
        .outerjoin(parked, (parked.c.subscription_id == subscription.c.id) & (parked.c.seq == seq))
        .outerjoin(
            filter_result,
            (filter_result.c.subscription_id == subscription.c.id) & (filter_result.c.first_seq == examined_from),
        )
    )
    statement = (
        select(*_NOTED, expired_to.label("expired_to"))
        .select_from(rows)
        .where(subscription.c.topic_id == topic_id)
        .order_by(subscriber.c.name)
        .limit(limits.LIST_ROWS_MAX)
    )
    if names is not None:
        statement = statement.where(subscriber.c.name.in_(names))
    return connection.execute(statement).all()


def _standing(row: Any, seq: int, settled: Trace | None) -> Standing:
    """What the message is for one subscription."""
    state, at_us, reason = _state(row, seq, settled)
    common = {"subscriber": row.name, "state": state, "at_us": at_us, "reason": reason, "mode": row.mode}
    if row.mode != PUSH or state not in (PENDING, RETURNED):
        return Standing(**common)
    if not row.enabled:
        common["reason"] = row.disabled_reason or "nothing is pushed to it: it is disabled"
    elif row.paused:
        common["reason"] = "nothing is pushed in it: the subscription is paused"
    if not row.attempts and not row.failing_since_us:
        return Standing(**common)
    return Standing(
        **common,
        attempts=row.attempts,
        next_try_us=row.next_try_us or None,
        failing_since_us=row.failing_since_us or None,
        last_failure=row.last_failure,
    )


def _state(row: Any, seq: int, settled: Trace | None) -> tuple[str, int | None, str]:
    """What it is, since when, and why."""
    settled_us = settled.at_us if settled else None
    is_given_up = settled is not None and settled.kind in _GIVEN_UP
    is_examined = row.filter_last_seq is not None and row.filter_last_seq >= seq
    if seq < row.first_seq:
        return NOT_ENTITLED, None, ""
    if row.expired_to is not None and row.expired_to >= seq:
        return (settled.kind, settled_us, settled.detail) if settled and is_given_up else (kinds.EXPIRED, None, "")
    if row.parked_at_us is not None and not row.parked_done:
        is_back = row.parked_returned
        return (RETURNED, None, "") if is_back else (kinds.PARKED, row.parked_at_us, row.parked_reason)
    if is_examined and not row.filter_matched:
        return kinds.FILTERED, settled_us, row.filter_reason
    if seq <= row.acked_seq or row.parked_done:
        return (_SETTLED[settled.kind], settled_us, settled.detail) if settled else (kinds.ACKNOWLEDGED, None, "")
    if row.filter and not is_examined:
        return PENDING, None, "its filter has not looked at it yet"
    return PENDING, None, row.filter_reason if is_examined else ""
