"""A subscription is a cursor over a topic's log, and the pure rules by which it moves.

    first_seq        acked_seq                     head_seq
        |---- settled ----|-------- pending ---------|
           ^ set aside         ^ set aside

Up to the cursor everything is settled: acknowledged, expired, not wanted by the filter, or set aside. After it
everything is pending, but for what is set aside or not wanted. Messages are never rows of a subscription; only the
exceptions are: a message set aside is *parked*, or, once unparked, *returned*: pending again, delivered before
anything else, and acknowledged by its own number, because the cursor may have passed it, or may pass it with the
answer to a pull from before. What was so acknowledged ahead of the cursor is *done*, and stays set aside until the
cursor passes.

Promises:
- `accepted = acknowledged + pending + parked + expired + filtered` for every state that these rules can reach.
- The cursor only goes back by a replay, which starts a new *epoch*: an acknowledgement that was on its way
  since before it names the old epoch, and is ignored.
"""

from __future__ import annotations

import msgspec

from pregon.errors import AckBeyondHead, BadRequest


class Cursor(msgspec.Struct, frozen=True, kw_only=True):
    """Where a subscription stands, with what its topic has."""

    topic: str
    subscriber: str
    first_seq: int
    acked_seq: int
    epoch: int
    expired: int
    head_seq: int
    tail_seq: int
    """The oldest number still in the log."""
    filtered: int = 0
    """Messages that the subscription's filter did not want."""


class Accounting(msgspec.Struct, frozen=True, kw_only=True):
    """Where every message of a subscription is: accepted = acknowledged + pending + parked + expired + filtered."""

    topic: str
    subscriber: str
    accepted: int
    acknowledged: int
    pending: int
    parked: int
    expired: int
    first_seq: int
    acked_seq: int
    head_seq: int
    filtered: int = 0


def accept_ack(cursor: Cursor, seq: int, epoch: int | None) -> bool:
    """Whether acknowledging up to `seq` moves the cursor; a late one does not and does no harm.

    Raises BadRequest for a number that cannot be, AckBeyondHead for one not yet published.
    """
    if seq < 0:
        raise BadRequest(f"{seq} is not a message number: acknowledge 1 or more, or nothing")
    if seq > cursor.head_seq:
        raise AckBeyondHead(
            f"{cursor.subscriber} acknowledged {seq}, but {cursor.topic} ends at {cursor.head_seq}: "
            "acknowledge only what you received"
        )
    if epoch is not None and epoch != cursor.epoch:
        return False
    return seq > cursor.acked_seq


def account(
    cursor: Cursor, *, aside_before: int, aside_after: int, returned: int, done: int, filtered_after: int = 0
) -> Accounting:
    """The accounting of a cursor: what is set aside on each side of it, how much of that is returned or done, and how
    much of what the filter did not want is still after it."""
    accepted = cursor.head_seq - cursor.first_seq + 1
    settled = cursor.acked_seq - cursor.first_seq + 1
    return Accounting(
        topic=cursor.topic,
        subscriber=cursor.subscriber,
        accepted=accepted,
        acknowledged=settled - aside_before - cursor.expired - (cursor.filtered - filtered_after) + done,
        pending=cursor.head_seq - cursor.acked_seq - aside_after - filtered_after + returned,
        parked=aside_before + aside_after - returned - done,
        expired=cursor.expired,
        filtered=cursor.filtered,
        first_seq=cursor.first_seq,
        acked_seq=cursor.acked_seq,
        head_seq=cursor.head_seq,
    )
