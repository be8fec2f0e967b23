"""What waits for every subscription at once: for metrics and notices, which look at all of them every few seconds.

The same counts as `cursors.find_accounting` gives for one, in three statements for all of them, and since when the
oldest of what is pending waits.

Promises:
- Reads rows of subscriptions and of exceptions, never the log itself, but for one small row of it for each
  subscription that is behind, and at most `_DECODED_MAX` whole batches.
- Called in one snapshot, `pending` and `parked` are those of the accounting.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, case, func, select, true

from pregon.model.batch import StoredBatch
from pregon.model.catalog import PUSH
from pregon.store.filter_results import skip_unwanted
from pregon.store.log import BatchSize, batch_sizes, read_batches
from pregon.store.prepared import Prepared
from pregon.store.schema import filter_result, parked, subscriber, subscription, topic

_DECODED_MAX = 64
"""Batches taken apart in one read to know when one message of them was accepted; the rest is estimated."""
_SPAN_US = 1_000_000
"""A batch accepted within this time is not taken apart: its beginning says it well enough."""
_STEPS_MAX = 100
"""Messages set aside, or ranges not wanted, right after a cursor that are stepped over to find what is pending."""
_REMEMBERED_MAX = 10_000
"""Acceptance times remembered for each connection: who is stuck at a message is asked about again and again."""

_ALL = Prepared(
    select(
        subscription.c.id,
        subscription.c.topic_id,
        topic.c.name,
        subscriber.c.name,
        subscription.c.acked_seq,
        topic.c.head_seq,
        topic.c.tail_seq,
        subscription.c.filter != "",
        subscription.c.failing_since_us,
        subscriber.c.enabled,
        subscriber.c.mode,
        subscription.c.paused,
    )
    .select_from(
        subscription.join(topic, topic.c.id == subscription.c.topic_id).join(
            subscriber, subscriber.c.id == subscription.c.subscriber_id
        )
    )
    .where(~topic.c.deleted)
    .order_by(subscription.c.id)
)
_ASIDE = Prepared(
    select(
        parked.c.subscription_id,
        func.count(),
        func.sum(case((parked.c.seq > subscription.c.acked_seq, 1), else_=0)),
        func.sum(case((parked.c.returned, 1), else_=0)),
        func.sum(case((parked.c.done, 1), else_=0)),
    )
    .select_from(parked.join(subscription, subscription.c.id == parked.c.subscription_id))
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
    .where(subscription.c.filter != "", ~filter_result.c.matched)
    .group_by(subscription.c.id)
)
_IS_ASIDE = Prepared(
    select(parked.c.seq).where(
        parked.c.subscription_id == bindparam("subscription_id"), parked.c.seq == bindparam("seq")
    )
)
_FIRST_RETURNED = Prepared(
    select(parked.c.seq, parked.c.at_us, parked.c.arrow)
    .where(parked.c.subscription_id == bindparam("subscription_id"), parked.c.returned == true())
    .order_by(parked.c.seq)
    .limit(1)
)


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits for one subscription, and how pushing it goes."""

    topic: str
    subscriber: str
    pending: int
    oldest_pending_us: int
    """When the oldest of what is pending was accepted; 0 when nothing is pending."""
    parked: int
    failing_since_us: int
    """Since when its last pushes failed; 0: they did not."""
    enabled: bool
    mode: str
    paused: bool = False

    @property
    def is_failing(self) -> bool:
        """Whether something waits to be pushed, and could not be."""
        is_pushed = self.mode == PUSH and self.enabled and not self.paused
        return is_pushed and bool(self.failing_since_us) and self.pending > 0


def read_backlogs(connection: Connection) -> list[Backlog]:
    """The backlog of every subscription."""
    aside = {id_: counts for id_, *counts in _ASIDE.run(connection, {})}
    unwanted: dict[int, int] = dict(_UNWANTED.run(connection, {}))
    times = _Times(connection)
    backlogs = []
    for id_, topic_id, topic_name, name, acked, head, tail, has_filter, failing_us, *rest in _ALL.run(connection, {}):
        enabled, mode, paused = rest
        all_aside, aside_after, returned, done = aside.get(id_, (0, 0, 0, 0))
        # Which of the numbers behind this sum is which: see `model.subscription.account`.
        pending = head - acked - aside_after - unwanted.get(id_, 0) + returned
        waiting_us = []
        if pending > returned:
            first_seq = max(acked + 1, tail)
            if aside_after or has_filter:
                first_seq = _step_over(connection, id_, first_seq)
            waiting_us.append(times.of_message(topic_id, first_seq))
        if returned:
            waiting_us.append(times.of_returned(id_))
        backlogs.append(
            Backlog(
                topic=topic_name,
                subscriber=name,
                pending=pending,
                oldest_pending_us=min(waiting_us, default=0),
                parked=all_aside - returned - done,
                failing_since_us=failing_us,
                enabled=bool(enabled),
                mode=mode,
                paused=bool(paused),
            )
        )
    return backlogs


def _step_over(connection: Connection, subscription_id: int, seq: int) -> int:
    """The first number from one on that is neither set aside nor unwanted, if it is not too far."""
    for _ in range(_STEPS_MAX):
        following = skip_unwanted(connection, subscription_id, seq - 1) + 1
        if _IS_ASIDE.run(connection, {"subscription_id": subscription_id, "seq": following}):
            following += 1
        if following == seq:
            break
        seq = following
    return seq


class _Times:
    """When messages were accepted, exactly if that is cheap."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # Neither the time of a message nor its number ever changes, and ids of topics are not given twice.
        self._known: OrderedDict[tuple[int, int], int] = connection.info.setdefault("accepted times", OrderedDict())
        self._decoded = 0

    def of_message(self, topic_id: int, seq: int) -> int:
        """When a message of the log was accepted."""
        known = self._known.get((topic_id, seq))
        if known is not None:
            return known
        found = next(iter(batch_sizes(self._connection, topic_id, seq - 1, 1)), None)
        if found is None:
            return 0
        at_us, is_exact = self._within(topic_id, seq, found)
        if is_exact:
            self._known[topic_id, seq] = at_us
            if len(self._known) > _REMEMBERED_MAX:
                self._known.popitem(last=False)
        return at_us

    def _within(self, topic_id: int, seq: int, size: BatchSize) -> tuple[int, bool]:
        """The time of a message in a batch; batches are merged, so that one may span days."""
        row = max(0, seq - (size.last_seq - size.messages + 1))
        span_us = size.last_us - size.first_us
        if row == 0 or span_us <= _SPAN_US:
            return size.first_us, True
        if self._decoded >= _DECODED_MAX:
            return size.first_us + span_us * row // size.messages, False
        self._decoded += 1
        return _accepted_us(next(read_batches(self._connection, topic_id, size.last_seq)), row), True

    def of_returned(self, subscription_id: int) -> int:
        """When the first unparked message of a subscription was accepted, or set aside if that is cheaper to know."""
        ((seq, at_us, arrow),) = _FIRST_RETURNED.run(self._connection, {"subscription_id": subscription_id})
        if self._decoded >= _DECODED_MAX:
            return int(at_us)
        self._decoded += 1
        return _accepted_us(StoredBatch(seq, 1, arrow), 0)


def _accepted_us(stored: StoredBatch, row: int) -> int:
    at: Any = stored.rows().column("accepted_at").cast("int64")[row]
    return int(at.as_py())
