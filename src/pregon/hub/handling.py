"""What somebody who looks after a subscription asks besides settling its messages: which is the next one, what would a
replay deliver again, and to try a failing push now.

Promises:
- What a plan of a replay counts is what a replay from there does, if nothing happens in between.
- To try now forgets how often the next message failed, and nothing else: since when it fails is still told.
"""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, update

from pregon.errors import BadRequest
from pregon.hub.settle import SubscriptionOperation, require_place
from pregon.limits import INTEGER_MAX
from pregon.model.catalog import PUSH
from pregon.model.message import Message
from pregon.store import cursors
from pregon.store.cursors import Place
from pregon.store.log import require_message, seq_at
from pregon.store.pushing import find_push_state
from pregon.store.schema import subscription
from pregon.store.transaction import Transaction


class NextPending(msgspec.Struct, frozen=True, kw_only=True):
    """The message that a subscription gets next, without its body."""

    seq: int
    producer: str
    content_type: str
    size_bytes: int
    accepted_us: int
    is_returned: bool = False
    """Whether it was set aside, and comes before its turn."""


class ReplayPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay would do."""

    start_seq: int
    """The first message that would be delivered again: not before the oldest that the log has."""
    acked_seq: int
    """Where the subscription stands now."""
    messages: int
    """How many are pending again by it, at most: a filter looks at them anew. 0: nothing would happen."""
    parked: int
    """How many from there on stay set aside."""
    has_filter: bool
    is_cut: bool
    """Whether an older message was asked for than the log has."""
    accepted_us: int = 0
    """When the first one was accepted; 0 if there is none."""


def find_next_pending(connection: Connection, topic_name: str, subscriber_name: str) -> NextPending | None:
    """What comes next, None if nothing is pending, or the filter has not looked at it yet; raises NotFound."""
    place = require_place(connection, topic_name, subscriber_name)
    for stored in cursors.returned_messages(connection, place.id, 1, again=True):
        (message,) = stored.messages(topic_name)
        return _next_pending(message, is_returned=True)
    aside = cursors.aside_after(connection, place.id, place.cursor.acked_seq)
    seq = max(cursors.settled_through(connection, place, place.cursor.acked_seq, aside) + 1, place.cursor.tail_seq)
    if seq > place.visible_seq:
        return None
    (message,) = require_message(connection, place.topic_id, seq).messages(topic_name)
    return _next_pending(message, is_returned=False)


def _next_pending(message: Message, *, is_returned: bool) -> NextPending:
    return NextPending(
        seq=message.seq,
        producer=message.producer,
        content_type=message.content_type,
        size_bytes=len(message.body),
        accepted_us=message.accepted_us,
        is_returned=is_returned,
    )


def plan_replay(
    connection: Connection, topic_name: str, subscriber_name: str, *, from_seq: int | None, from_us: int | None
) -> ReplayPlan:
    """What a replay from a number or a time would deliver again; raises NotFound, or BadRequest for no number."""
    place = require_place(connection, topic_name, subscriber_name)
    cursor = place.cursor
    if from_seq is None:
        wanted = seq_at(connection, place.topic_id, from_us or 0)
    elif 1 <= from_seq <= INTEGER_MAX:
        wanted = from_seq
    else:
        raise BadRequest(f"{from_seq} is not a message number: they begin at 1")
    start = max(wanted, cursor.tail_seq)
    plan = ReplayPlan(
        start_seq=start,
        acked_seq=cursor.acked_seq,
        messages=0,
        parked=0,
        has_filter=bool(place.filter),
        is_cut=wanted < start,
    )
    if start > cursor.acked_seq:
        return plan
    aside = [one for one in cursors.set_aside(connection, place.id).values() if one.seq >= start]
    (first,) = require_message(connection, place.topic_id, start).messages(topic_name)
    # What waits already is not pending again, and what was settled ahead of the cursor is.
    waiting = sum(one.seq <= cursor.acked_seq and not one.done for one in aside)
    ahead = sum(one.done for one in aside)
    return msgspec.structs.replace(
        plan,
        messages=cursor.acked_seq - start + 1 - waiting + ahead,
        parked=sum(not one.returned and not one.done for one in aside),
        accepted_us=first.accepted_us,
    )


class TryNow(SubscriptionOperation[bool]):
    """Push what waits at once, however long it was to wait; answers with whether anything is pushed there at all."""

    def carry_out(self, transaction: Transaction, place: Place) -> bool:
        """The waits of the subscription and of its subscriber's endpoint end, and attempts are counted from 1."""
        state = find_push_state(transaction.connection, self.topic, self.subscriber)
        if state is None or state.mode != PUSH or not state.enabled or state.paused:
            return False
        transaction.connection.execute(
            update(subscription).where(subscription.c.id == place.id).values(attempts=0, refusals=0, next_try_us=0)
        )
        transaction.resumed.add((self.topic, self.subscriber))
        return True
