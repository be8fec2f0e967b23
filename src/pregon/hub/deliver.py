"""Write down how pushes went: delivered, failed, refused for good.

Operations of the committer, like those of `settle`. What a push achieved is settled exactly, message by message:
those in a row move the cursor, those ahead of it (pushed in parallel) are noted as done, so that whoever pulls
meanwhile is not given them again.

Promises:
- A delivery is traced even when it does not count any more because of a replay; its detail says so then.
- Losing one of these in a crash only repeats a delivery: none of them needs a sync of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, exists, select, update

from pregon.hub.settle import Park, SubscriptionOperation, not_pending
from pregon.model import trace
from pregon.model.runs import runs_without
from pregon.model.trace import Trace
from pregon.store import cursors
from pregon.store.cursors import Place
from pregon.store.filter_results import take_out
from pregon.store.prepared import Prepared
from pregon.store.schema import parked, subscriber, subscription
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction

LATE = "before a replay: does not count"
"""What the trace of a delivery says that was under way when its messages were replayed: they are pending."""
_ADVANCE = Prepared(
    update(subscription)
    .where(
        subscription.c.id == bindparam("subscription_id"),
        subscription.c.epoch == bindparam("of_epoch"),
        subscription.c.acked_seq == bindparam("before_seq"),
        subscription.c.filter == "",
        subscription.c.attempts == 0,
        subscription.c.failing_since_us == 0,
        ~exists().where(parked.c.subscription_id == bindparam("subscription_id")),
    )
    .values(acked_seq=bindparam("new_acked_seq"))
    .returning(subscription.c.acked_seq)
)
"""The usual delivery: the next messages of a subscription without filter, failures or exceptions."""


@dataclass(frozen=True, slots=True)
class PushedFrom:
    """The subscription that messages were read from; one of the same name, or after a replay, is another."""

    topic: str
    subscriber: str
    subscription_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that a subscriber said it has, and what that took."""

    seq: int
    attempt: int
    latency_ms: int


class Delivered(SubscriptionOperation[int]):
    """These were delivered; answers with the cursor."""

    is_durable = False
    is_told = False

    def __init__(self, of: PushedFrom, deliveries: Sequence[Delivery]) -> None:
        super().__init__(of.topic, of.subscriber)
        self._of = of
        self._deliveries = sorted(deliveries, key=lambda one: one.seq)
        self.size_bytes = 200 + 50 * len(self._deliveries)

    def apply(self, transaction: Transaction) -> None:
        """Move the cursor over them at once if they are just the next ones, else look at each."""
        first, last = self._deliveries[0].seq, self._deliveries[-1].seq
        if last - first + 1 == len(self._deliveries):
            values = {
                "subscription_id": self._of.subscription_id,
                "of_epoch": self._of.epoch,
                "before_seq": first - 1,
                "new_acked_seq": last,
            }
            if _ADVANCE.run(transaction.connection, values):
                names = (self.topic, self.subscriber)
                transaction.traces.extend(_delivery_traces(transaction.now_us, names, self._deliveries))
                transaction.results.append((self.ticket, last))
                return
        super().apply(transaction)

    def carry_out(self, transaction: Transaction, place: Place) -> int:
        """Trace them, and settle what is still to be settled."""
        connection, cursor = transaction.connection, place.cursor
        if self._of.subscription_id != place.id:
            # Another one of the same name: its messages have the same numbers and are others.
            return cursor.acked_seq
        is_late = self._of.epoch != cursor.epoch
        names, detail = (self.topic, self.subscriber), LATE if is_late else ""
        transaction.traces.extend(_delivery_traces(transaction.now_us, names, self._deliveries, detail))
        if is_late:
            return cursor.acked_seq
        aside = cursors.set_aside(connection, place.id)
        seqs = [one.seq for one in self._deliveries]
        # Unparked, or parked while it was on its way: the subscriber has it.
        named = [seq for seq in seqs if seq in aside and not aside[seq].done]
        if named:
            cursors.delete_aside(connection, place.id, [seq for seq in named if seq <= cursor.acked_seq])
            ahead = [seq for seq in named if seq > cursor.acked_seq]
            cursors.update_aside(connection, place.id, ahead, done=True, returned=False)
        for seq in seqs if place.filter else ():
            if seq not in aside:
                take_out(connection, place.id, seq)
        pending = runs_without(cursor.acked_seq + 1, cursor.head_seq, not_pending(connection, place, seqs[-1], aside))
        fresh = {seq for seq in seqs if any(first <= seq <= last for first, last in pending)}
        position = cursors.settled_through(connection, place, cursor.acked_seq, fresh.union(aside))
        if position > cursor.acked_seq:
            cursors.move_cursor(connection, place, position)
        ahead = sorted(seq for seq in fresh if seq > position)
        if ahead:
            # Without the message itself: a message that is done is never delivered again.
            rows = [
                {"subscription_id": place.id, "seq": seq, "done": True, "at_us": transaction.now_us, "arrow": b""}
                for seq in ahead
            ]
            cursors.insert_aside(connection, rows)
        if place.failing_since_us or place.has_attempts:
            _write_state(transaction, place, attempts=0, refusals=0, next_try_us=0, failing_since_us=0, deferred_seq=0)
        return position


def _delivery_traces(
    now_us: int, names: tuple[str, str], deliveries: Sequence[Delivery], detail: str = ""
) -> list[Trace]:
    """One for each run of neighbours that took as many attempts."""
    traces: list[Trace] = []
    runs: list[list[Delivery]] = []
    for one in deliveries:
        if runs and runs[-1][-1].seq + 1 == one.seq and runs[-1][-1].attempt == one.attempt:
            runs[-1].append(one)
        else:
            runs.append([one])
    for run in runs:
        traces.append(
            Trace(
                at_us=now_us,
                kind=trace.DELIVERED,
                topic=names[0],
                subscriber=names[1],
                first_seq=run[0].seq,
                last_seq=run[-1].seq,
                attempt=run[0].attempt,
                latency_ms=max(one.latency_ms for one in run),
                detail=detail,
            )
        )
    return traces


def _write_state(transaction: Transaction, place: Place, **values: object) -> None:
    transaction.connection.execute(update(subscription).where(subscription.c.id == place.id).values(**values))


@dataclass(frozen=True, slots=True)
class Failure:
    """How a push failed, and when it is tried again."""

    seq: int
    attempt: int
    refusals: int
    reason: str
    latency_ms: int
    next_try_us: int
    next_try: str
    """The same for people: "next try in 4 s"."""


class PushFailed(SubscriptionOperation[None]):
    """A push failed: it, and what has come since, waits."""

    is_durable = False
    is_told = False

    def __init__(self, of: PushedFrom, failure: Failure) -> None:
        super().__init__(of.topic, of.subscriber)
        self._of = of
        self._failure = failure

    def carry_out(self, transaction: Transaction, place: Place) -> None:
        """Trace the attempt, and once what waits because of it; remember when to try again."""
        cursor, failure = place.cursor, self._failure
        if self._of.subscription_id != place.id:
            return
        transaction.traces.append(
            Trace(
                at_us=transaction.now_us,
                kind=trace.FAILED,
                topic=self.topic,
                subscriber=self.subscriber,
                first_seq=failure.seq,
                last_seq=failure.seq,
                attempt=failure.attempt,
                latency_ms=failure.latency_ms,
                detail=f"{failure.reason}; {failure.next_try}",
            )
        )
        aside = cursors.set_aside(transaction.connection, place.id)
        is_pending = aside[failure.seq].returned if failure.seq in aside else failure.seq > cursor.acked_seq
        if self._of.epoch != cursor.epoch or not is_pending:
            # Somebody else settled it meanwhile: its failure is not that of the next.
            return
        last_seq = place.visible_seq
        first_seq = max(place.deferred_seq, cursor.acked_seq) + 1
        runs = runs_without(first_seq, last_seq, not_pending(transaction.connection, place, last_seq, aside))
        if not place.deferred_seq and failure.seq < first_seq:
            # An unparked message, which the cursor has passed.
            runs = [(failure.seq, failure.seq), *runs]
        self._trace(transaction, trace.DEFERRED, runs, failure.reason)
        _write_state(
            transaction,
            place,
            attempts=failure.attempt,
            refusals=failure.refusals,
            next_try_us=failure.next_try_us,
            failing_since_us=place.failing_since_us or transaction.now_us,
            last_failure=failure.reason,
            deferred_seq=max(last_seq, place.deferred_seq),
        )


class ParkPoison(Park):
    """Set a message aside that the subscriber refuses; answers with how many, 0 if it is not to be pushed any more."""

    is_told = False

    def __init__(self, of: PushedFrom, seq: int, reason: str) -> None:
        super().__init__(of.topic, of.subscriber, [seq], reason)
        self._of = of
        self._seq = seq

    def carry_out(self, transaction: Transaction, place: Place) -> int:
        """Park it, unless somebody else settled it or made another of it meanwhile."""
        aside = cursors.set_aside(transaction.connection, place.id).get(self._seq)
        is_pending = self._seq > place.cursor.acked_seq if aside is None else aside.returned
        if (place.id, place.cursor.epoch) != (self._of.subscription_id, self._of.epoch) or not is_pending:
            return 0
        return super().carry_out(transaction, place)


class Disable:
    """Stop pushing to a subscriber, who said that it is gone; answers with whether that is new."""

    size_bytes = 200
    is_durable = True

    def __init__(self, name: str, endpoint: str, reason: str) -> None:
        self._name = name
        self._endpoint = endpoint
        self._reason = reason
        self.ticket: Ticket[bool] = Ticket()

    def apply(self, transaction: Transaction) -> None:
        """Disable it, unless it was given another endpoint meanwhile."""
        mine = (subscriber.c.name == self._name, subscriber.c.endpoint == self._endpoint, subscriber.c.enabled)
        found = transaction.connection.execute(select(subscriber.c.id).where(*mine)).first()
        if found is not None:
            values = {"enabled": False, "disabled_reason": self._reason}
            transaction.connection.execute(update(subscriber).where(*mine).values(**values))
            transaction.is_catalogue_changed = True
        transaction.results.append((self.ticket, found is not None))
