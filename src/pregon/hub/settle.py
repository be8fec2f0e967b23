"""Settle messages of a subscription: acknowledge, park, unpark, cancel, replay.

Each is an operation of the committer, so two of them never see each other half done. The rules by which a
cursor moves are in `model.subscription`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection

from pregon import limits
from pregon.errors import BadRequest, LimitReached, NotFound, NotPending
from pregon.model import trace
from pregon.model.runs import Run, runs_between, runs_of, runs_without
from pregon.model.subscription import Cursor, accept_ack
from pregon.model.trace import Trace
from pregon.store import cursors
from pregon.store.cursors import Place
from pregon.store.filter_results import unwanted_runs
from pregon.store.log import require_message, seq_at
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction

T = TypeVar("T")
_REASON_CHARACTERS_MAX = 500


class SubscriptionOperation(Generic[T]):
    """An operation on one subscription: finds it, then does `carry_out`, whose value is the answer."""

    size_bytes = 200
    is_durable = True
    is_told = True
    """Whether the pusher is told that the subscription changed: not of what it did itself."""

    def __init__(self, topic: str, subscriber: str) -> None:
        self.topic = topic
        self.subscriber = subscriber
        self.ticket: Ticket[T] = Ticket()

    def apply(self, transaction: Transaction) -> None:
        """Carry it out; raises NotFound if there is no such subscription."""
        place = require_place(transaction.connection, self.topic, self.subscriber)
        if self.is_told:
            transaction.touched.add((self.topic, self.subscriber))
        transaction.results.append((self.ticket, self.carry_out(transaction, place)))

    def carry_out(self, transaction: Transaction, place: Place) -> T:
        """What the operation does."""
        raise NotImplementedError

    def _trace(self, transaction: Transaction, kind: str, runs: Sequence[tuple[int, int]], detail: str = "") -> None:
        trace_runs(transaction, kind, (self.topic, self.subscriber), runs, detail)


def not_subscribed(topic: str, subscriber: str) -> NotFound:
    """The error for a subscription that does not exist."""
    return NotFound(
        f"{subscriber} is not subscribed to {topic}: create it with `pregon subscription create {topic} {subscriber}`"
    )


def require_place(connection: Connection, topic: str, subscriber: str) -> Place:
    """Where the subscription stands; raises NotFound."""
    place = cursors.find_place(connection, topic, subscriber)
    if place is None:
        raise not_subscribed(topic, subscriber)
    return place


def trace_runs(
    transaction: Transaction,
    kind: str,
    who: tuple[str, str],
    runs: Sequence[tuple[int, int]],
    detail: str = "",
) -> None:
    """Trace ranges of a subscription, given as (topic, subscriber)."""
    for first, last in runs:
        transaction.traces.append(
            Trace(
                at_us=transaction.now_us,
                kind=kind,
                topic=who[0],
                subscriber=who[1],
                first_seq=first,
                last_seq=last,
                detail=detail,
            )
        )


def not_pending(connection: Connection, place: Place, last_seq: int, aside: Iterable[int]) -> list[Run]:
    """The ranges between the cursor and a number that are set aside, or that the filter does not want."""
    acked_seq = place.cursor.acked_seq
    runs = [(seq, seq) for seq in aside if acked_seq < seq <= last_seq]
    return runs + unwanted_runs(connection, place.id, acked_seq + 1, last_seq) if place.filter else runs


def require_wanted(connection: Connection, place: Place, seqs: Sequence[int]) -> None:
    """Raises NotPending for a message that the filter does not want."""
    for seq in seqs if place.filter else ():
        if unwanted_runs(connection, place.id, seq, seq):
            raise NotPending(f"message {seq} is not wanted by the filter of {place.cursor.subscriber}")


class Ack(SubscriptionOperation[int]):
    """Acknowledge up to a number, cumulatively; answers with the cursor. A late one changes nothing."""

    def __init__(self, topic: str, subscriber: str, seq: int, epoch: int | None, *, is_durable: bool) -> None:
        super().__init__(topic, subscriber)
        self.seq = seq
        self.epoch = epoch
        self.is_durable = is_durable

    def carry_out(self, transaction: Transaction, place: Place) -> int:
        """Move the cursor, or settle the unparked messages that are named."""
        cursor, connection, seq = place.cursor, transaction.connection, self.seq
        moves = accept_ack(cursor, seq, self.epoch)
        if self.epoch is not None and self.epoch != cursor.epoch:
            return cursor.acked_seq
        # A returned message that was handed out is acknowledged by naming it, alone or with those handed out before
        # it: they came in an answer of their own. The cursor stays, since nothing else was in that answer.
        aside = cursors.set_aside(connection, place.id)
        named = aside.get(seq)
        if named is not None and named.returned and named.handed_out:
            seqs = sorted(one.seq for one in aside.values() if one.returned and one.handed_out and one.seq <= seq)
            cursors.delete_aside(connection, place.id, [one for one in seqs if one <= cursor.acked_seq])
            ahead = [one for one in seqs if one > cursor.acked_seq]
            cursors.update_aside(connection, place.id, ahead, done=True, returned=False)
            self._trace(transaction, trace.ACKNOWLEDGED, runs_of(seqs), "after unpark")
            return cursor.acked_seq
        if not moves:
            return cursor.acked_seq
        runs = runs_without(cursor.acked_seq + 1, seq, not_pending(connection, place, seq, aside))
        self._trace(transaction, trace.ACKNOWLEDGED, runs)
        return cursors.move_cursor(connection, place, seq)


class Barrier:
    """Does nothing: when it is answered, everything queued before it is written."""

    size_bytes = 100
    is_durable = False

    def __init__(self) -> None:
        self.ticket: Ticket[None] = Ticket()

    def apply(self, transaction: Transaction) -> None:
        """Answer."""
        transaction.results.append((self.ticket, None))


class Park(SubscriptionOperation[int]):
    """Set pending messages aside, so that the ones after them go on; answers with how many."""

    def __init__(self, topic: str, subscriber: str, seqs: Sequence[int], reason: str) -> None:
        super().__init__(topic, subscriber)
        self._seqs = sorted(set(seqs))
        self._reason = reason[:_REASON_CHARACTERS_MAX]
        if not 0 < len(self._seqs) <= limits.LIST_ROWS_MAX:
            raise BadRequest(f"park 1 to {limits.LIST_ROWS_MAX} messages at once")

    def carry_out(self, transaction: Transaction, place: Place) -> int:
        """Copy them out of the log into rows of their own."""
        connection, cursor = transaction.connection, place.cursor
        aside = cursors.set_aside(connection, place.id)
        again = [seq for seq in self._seqs if seq in aside and aside[seq].returned]
        fresh = [seq for seq in self._seqs if seq not in aside]
        if len(aside) + len(fresh) > limits.PARKED_MAX:
            raise LimitReached(f"{cursor.subscriber} has {len(aside)} messages set aside: unpark some first")
        for seq in self._seqs:
            is_done = seq in aside and aside[seq].done
            if is_done or (seq in fresh and not cursor.acked_seq < seq <= cursor.head_seq):
                raise NotPending(
                    f"message {seq} is not pending for {cursor.subscriber}: only pending ones can be parked"
                )
        require_wanted(connection, place, fresh)
        rows = [aside_row(transaction, place, seq, self._reason) for seq in fresh]
        if rows:
            cursors.insert_aside(connection, rows)
        if again:
            cursors.update_aside(connection, place.id, again, returned=False, handed_out=False, reason=self._reason)
        cursors.forget_attempts(connection, place, has_pending=False)
        changed = sorted(fresh + again)
        self._trace(transaction, trace.PARKED, runs_of(changed), self._reason)
        return len(changed)


class Unpark(SubscriptionOperation[int]):
    """Deliver parked messages again, before anything else; answers with how many. No numbers: all of them."""

    def __init__(self, topic: str, subscriber: str, seqs: Sequence[int]) -> None:
        super().__init__(topic, subscriber)
        self._seqs = sorted(set(seqs))

    def carry_out(self, transaction: Transaction, place: Place) -> int:
        """Make them pending again."""
        connection, cursor = transaction.connection, place.cursor
        aside = cursors.set_aside(connection, place.id)
        parked = sorted(one.seq for one in aside.values() if not one.returned and not one.done)
        for seq in self._seqs:
            # What is pending or returned already is no error: the same request may come twice.
            if seq not in aside and not cursor.acked_seq < seq <= cursor.head_seq:
                raise NotPending(f"message {seq} is not parked for {cursor.subscriber}")
        wanted = sorted(set(self._seqs) & set(parked)) if self._seqs else parked
        cursors.update_aside(connection, place.id, wanted, returned=True, handed_out=False)
        self._trace(transaction, trace.UNPARKED, runs_of(wanted))
        transaction.moved.add(cursor.topic)
        return len(wanted)


class Cancel(SubscriptionOperation[int]):
    """Give pending or parked messages up: they are never delivered. Answers with how many.

    They count as expired, and as with those a replay over them makes them pending again.
    """

    def __init__(self, topic: str, subscriber: str, seqs: Sequence[int], reason: str) -> None:
        super().__init__(topic, subscriber)
        self._seqs = sorted(set(seqs))
        self._reason = reason[:_REASON_CHARACTERS_MAX]
        if not 0 < len(self._seqs) <= limits.LIST_ROWS_MAX:
            raise BadRequest(f"cancel 1 to {limits.LIST_ROWS_MAX} messages at once")

    def carry_out(self, transaction: Transaction, place: Place) -> int:
        """Those that the cursor has passed are forgotten; those ahead of it are marked, so that it passes them."""
        connection, cursor = transaction.connection, place.cursor
        aside = cursors.set_aside(connection, place.id)
        for seq in self._seqs:
            if seq not in aside and not cursor.acked_seq < seq <= cursor.head_seq:
                raise NotPending(f"message {seq} is neither pending nor parked for {cursor.subscriber}")
        wanted = [seq for seq in self._seqs if seq not in aside or not aside[seq].done]
        fresh = [seq for seq in wanted if seq not in aside]
        if len(aside) + len(fresh) > limits.PARKED_MAX:
            raise LimitReached(f"{cursor.subscriber} has {len(aside)} messages set aside: cancel or unpark those first")
        require_wanted(connection, place, fresh)
        rows = [aside_row(transaction, place, seq, self._reason) for seq in fresh]
        if rows:
            cursors.insert_aside(connection, rows)
        cursors.delete_aside(connection, place.id, [seq for seq in wanted if seq <= cursor.acked_seq])
        ahead = [seq for seq in wanted if seq > cursor.acked_seq]
        cursors.update_aside(connection, place.id, ahead, done=True, returned=False)
        cursors.expire_some(connection, place.id, runs_of(wanted))
        cursors.forget_attempts(connection, place, has_pending=False)
        self._trace(transaction, trace.CANCELLED, runs_of(wanted), self._reason)
        return len(wanted)


def aside_row(transaction: Transaction, place: Place, seq: int, reason: str) -> dict[str, Any]:
    """A message of the log as a row set aside."""
    return {
        "subscription_id": place.id,
        "seq": seq,
        "reason": reason,
        "at_us": transaction.now_us,
        "arrow": require_message(transaction.connection, place.topic_id, seq).arrow,
    }


def unwanted_ahead(connection: Connection, place: Place) -> list[Run]:
    """What the filter did not want of the messages after the cursor."""
    return unwanted_runs(connection, place.id, place.cursor.acked_seq + 1, place.cursor.head_seq)


def _settled_ahead(connection: Connection, place: Place) -> list[Run]:
    """What is settled after the cursor already, and pending again after a replay: done, given up, or not wanted."""
    done = sorted(one.seq for one in cursors.set_aside(connection, place.id).values() if one.done)
    return sorted(runs_of(done) + unwanted_ahead(connection, place))


class Replay(SubscriptionOperation[Cursor]):
    """Move a cursor back to a number, or to the first message accepted at a time; answers with the cursor."""

    def __init__(self, topic: str, subscriber: str, *, from_seq: int | None = None, from_us: int | None = None) -> None:
        super().__init__(topic, subscriber)
        if (from_seq is None) == (from_us is None):
            raise BadRequest("replay from a number or from a time, one of the two")
        if from_seq is not None and from_seq < 1:
            raise BadRequest(f"{from_seq} is not a message number: they begin at 1")
        self._from_seq = from_seq
        self._from_us = from_us

    def carry_out(self, transaction: Transaction, place: Place) -> Cursor:
        """Move it, not before the oldest message that the log still has."""
        connection, cursor = transaction.connection, place.cursor
        wanted = self._from_seq
        if wanted is None:
            assert self._from_us is not None
            wanted = seq_at(connection, place.topic_id, self._from_us)
        start = max(wanted, cursor.tail_seq)
        if start > cursor.acked_seq:
            if wanted > cursor.acked_seq + 1:
                raise BadRequest(
                    f"{cursor.subscriber} stands at {cursor.acked_seq}: a replay goes back; to skip, acknowledge"
                )
            return cursor
        ahead = _settled_ahead(connection, place)
        cursors.move_back(connection, place, start - 1)
        # What stays parked is not delivered again, and so was not replayed.
        parked = [seq for seq in cursors.aside_after(connection, place.id, start - 1) if seq <= cursor.acked_seq]
        self._trace(transaction, trace.REPLAYED, [*runs_between(start, cursor.acked_seq, parked), *ahead])
        transaction.moved.add(cursor.topic)
        return require_place(connection, self.topic, self.subscriber).cursor
