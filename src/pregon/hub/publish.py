"""Publish: one message, several with ids of their own, or a batch that a producer packed.

Single messages that share a commit become one batch per topic, whoever sent them; a batch that a producer
packed is stored as it came. In both, what was published before is answered with its first number and
stores nothing.

Promises:
- Messages of one topic are numbered in the order in which they reached the hub.
- The answer is given by the committer, after the sync.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pyarrow as pa

from pregon import limits
from pregon.errors import PregonError, SessionUnknown
from pregon.hub.directory import Rights
from pregon.hub.way import PublishContext, Published, Way, is_named
from pregon.model.batch import Packing, StoredBatch, encode, stamp
from pregon.model.ids import new_id
from pregon.model.message import Outgoing
from pregon.model.trace import ACCEPTED, Trace
from pregon.store.dedupe import Session, SessionKey, find_published, remember_published
from pregon.store.log import append
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction

_MESSAGE_OVERHEAD_BYTES = 300
_GATHERED_BYTES_MAX = limits.BATCH_BYTES_MAX - limits.MIB


class PublishOne:
    """A single message, already checked; one without an id gets one that nobody has."""

    __slots__ = ("_context", "id", "is_durable", "is_new", "message", "published_us", "size_bytes", "ticket", "way")

    def __init__(self, context: PublishContext, way: Way, message: Outgoing, published_us: int) -> None:
        self._context = context
        self.way = way
        self.is_new = not is_named(message)
        """Whether nobody can have published this id before."""
        self.id = new_id() if message.id is None else str(message.id)
        self.message = message
        self.published_us = published_us
        self.size_bytes = message.size_bytes + _MESSAGE_OVERHEAD_BYTES
        self.is_durable = True
        self.ticket: Ticket[Published] = Ticket()

    def apply(self, transaction: Transaction) -> None:
        """Join the others for the same topic."""
        topic = self.way.topic
        gathered = transaction.gathered.get(topic)
        if gathered is None:
            gathered = transaction.gathered[topic] = _Gathered(self._context, topic)
            transaction.finish_with(gathered.write)
        gathered.add(self, transaction)


class PublishMany:
    """Several messages with ids of their own, stored together or not at all; each is recognised when repeated."""

    def __init__(
        self, context: PublishContext, way: Way, messages: Sequence[Outgoing], published_us: Sequence[int]
    ) -> None:
        self._context = context
        self._way = way
        pairs = zip(messages, published_us, strict=True)
        self._ones = [PublishOne(context, way, message, us) for message, us in pairs]
        self.size_bytes = sum(one.size_bytes for one in self._ones)
        self.is_durable = True
        self.ticket: Ticket[list[Published]] = Ticket()

    def apply(self, transaction: Transaction) -> None:
        """Join the others for the same topic; the last one's answer is the answer of all."""
        context = self._context
        rights = context.require_rights(transaction, self._way)
        known = find_published(transaction.connection, rights.topic_id, rights.producer_id, self._ids())
        fresh = [one.message.body for one in self._ones if one.id not in known]
        context.require_fit(transaction, self._way, rights, fresh)
        way = msgspec.structs.replace(self._way, schema_mark=rights.schema_mark)
        for one in self._ones:
            one.way = way
            one.apply(transaction)
        self._ones[-1].ticket.when_done(self._done)

    def _ids(self) -> list[str]:
        # Only where it matters: what was checked need not be looked up twice.
        return [one.id for one in self._ones if not one.is_new] if self._way.schema_mark < 0 else []

    def _done(self, _last: Ticket[Published]) -> None:
        try:
            published = [one.ticket.value() for one in self._ones]
        except PregonError as error:
            self.ticket.fail(error)
        else:
            self.ticket.resolve(published)


class PublishBatch:
    """A batch that a producer packed, already checked. Without a session it is not recognised when repeated."""

    __slots__ = ("_context", "batch", "is_durable", "number", "session", "size_bytes", "ticket", "way")

    def __init__(self, context: PublishContext, way: Way, batch: pa.RecordBatch, session: str, number: int) -> None:
        self._context = context
        self.way = way
        self.batch = batch
        self.session = session
        self.number = number
        self.size_bytes = batch.nbytes
        self.is_durable = True
        self.ticket: Ticket[Published] = Ticket()

    def apply(self, transaction: Transaction) -> None:
        """Store it after the single messages that came before it."""
        connection, now_us, way = transaction.connection, transaction.now_us, self.way
        directory = self._context.directory
        if (
            self.session
            and self.number > 1
            and way.may_create
            and directory.find_rights(connection, way.topic, way.producer) is None
        ):
            raise SessionUnknown(f"session {self.session[:60]!r} is new here: begin it with batch 1")
        rights = self._context.require_rights(transaction, way)
        session: Session | None = None
        if self.session:
            session = self._load_session(transaction, rights)
            known = session.find(self.number)
            if known is not None:
                self._context.counters.duplicates += known[1]
                transaction.results.append((self.ticket, Published(known[0], known[1], True)))
                return
        self._context.require_fit(transaction, way, rights, self.batch)
        earlier = transaction.gathered.get(way.topic)
        if earlier is not None:
            earlier.write(transaction)
        count = self.batch.num_rows
        arrow = encode(stamp(self.batch, way.producer, now_us))
        base_seq = append(connection, rights.topic_id, count, arrow, now_us)
        if session is not None:
            session.remember(self.number, base_seq, count)
        _trace_accepted(transaction, way.topic, way.producer, base_seq, count)
        self._context.accepted(transaction, way.topic, StoredBatch(base_seq, count, arrow))
        transaction.results.append((self.ticket, Published(base_seq, count)))

    def _load_session(self, transaction: Transaction, rights: Rights) -> Session:
        """The session, read once and written once however many of its batches share the transaction."""
        key = SessionKey(rights.topic_id, rights.producer_id, self.session)
        session: Session | None = transaction.gathered.get(key)
        if session is None:
            loaded = Session.load(transaction.connection, key)
            transaction.gathered[key] = session = loaded
            transaction.finish_with(lambda t: loaded.save_if_changed(t.connection, t.now_us))
        return session


class _Gathered:
    """The single messages of one transaction for one topic, until they are written as one batch."""

    def __init__(self, context: PublishContext, topic: str) -> None:
        self._context = context
        self._topic = topic
        self._operations: list[PublishOne] = []
        self._size_bytes = 0

    def add(self, operation: PublishOne, transaction: Transaction) -> None:
        """One more; a batch that would become too large is written first."""
        if self._size_bytes + operation.size_bytes > _GATHERED_BYTES_MAX:
            self.write(transaction)
        self._operations.append(operation)
        self._size_bytes += operation.size_bytes

    def write(self, transaction: Transaction) -> None:
        """Store what has been gathered, and leave the answers in the transaction."""
        operations, self._operations, self._size_bytes = self._operations, [], 0
        allowed: list[tuple[PublishOne, Rights]] = []
        for operation in operations:
            try:
                rights = self._context.require_rights(transaction, operation.way)
            except PregonError as error:
                transaction.results.append((operation.ticket, error))
            else:
                allowed.append((operation, rights))
        if allowed:
            self._store(transaction, allowed)

    def _store(self, transaction: Transaction, allowed: Sequence[tuple[PublishOne, Rights]]) -> None:
        known = self._find_known(transaction, allowed)
        allowed = self._fitting(transaction, allowed, known)
        fresh: dict[tuple[int, str], PublishOne] = {}
        for operation, rights in allowed:
            key = (rights.producer_id, operation.id)
            if key not in known:
                fresh.setdefault(key, operation)
        if fresh:
            known |= self._append(transaction, fresh, allowed[0][1].topic_id)
        for operation, rights in allowed:
            key = (rights.producer_id, operation.id)
            is_duplicate = fresh.get(key) is not operation
            self._context.counters.duplicates += is_duplicate
            transaction.results.append((operation.ticket, Published(known[key], 1, is_duplicate)))

    def _fitting(
        self,
        transaction: Transaction,
        allowed: Sequence[tuple[PublishOne, Rights]],
        known: dict[tuple[int, str], int],
    ) -> list[tuple[PublishOne, Rights]]:
        """Those that fit the schema of now, or were stored when another was: the rest is answered here."""
        fitting: list[tuple[PublishOne, Rights]] = []
        for operation, rights in allowed:
            try:
                if operation.way.schema_mark != rights.schema_mark and (rights.producer_id, operation.id) not in known:
                    self._context.require_fit(transaction, operation.way, rights, [operation.message.body])
            except PregonError as error:
                transaction.results.append((operation.ticket, error))
            else:
                fitting.append((operation, rights))
        return fitting

    def _find_known(
        self, transaction: Transaction, allowed: Sequence[tuple[PublishOne, Rights]]
    ) -> dict[tuple[int, str], int]:
        by_rights: dict[Rights, list[str]] = {}
        for operation, rights in allowed:
            if not operation.is_new:
                by_rights.setdefault(rights, []).append(operation.id)
        known: dict[tuple[int, str], int] = {}
        for rights, ids in by_rights.items():
            found = find_published(transaction.connection, rights.topic_id, rights.producer_id, ids)
            known.update(((rights.producer_id, message_id), seq) for message_id, seq in found.items())
        return known

    def _append(
        self, transaction: Transaction, fresh: dict[tuple[int, str], PublishOne], topic_id: int
    ) -> dict[tuple[int, str], int]:
        """Store the new ones as one batch, remember their ids, and return their numbers."""
        connection, now_us = transaction.connection, transaction.now_us
        operations = list(fresh.values())
        packing = Packing()
        for operation in operations:
            packing.add(operation.message, operation.published_us, operation.id)
        producers = [operation.way.producer for operation in operations]
        arrow = encode(stamp(packing.pack(""), producers, now_us))
        base_seq = append(connection, topic_id, len(operations), arrow, now_us)
        numbers = {key: base_seq + row for row, key in enumerate(fresh)}
        remember_published(
            connection,
            [
                {
                    "topic_id": topic_id,
                    "producer_id": key[0],
                    "message_id": key[1],
                    "seq": seq,
                    "at_us": now_us,
                }
                for key, seq in numbers.items()
            ],
        )
        start = 0
        for row in range(1, len(producers) + 1):
            if row == len(producers) or producers[row] != producers[start]:
                _trace_accepted(transaction, self._topic, producers[start], base_seq + start, row - start)
                start = row
        self._context.accepted(transaction, self._topic, StoredBatch(base_seq, len(operations), arrow))
        return numbers


def _trace_accepted(transaction: Transaction, topic: str, producer: str, first_seq: int, count: int) -> None:
    transaction.traces.append(
        Trace(
            at_us=transaction.now_us,
            kind=ACCEPTED,
            topic=topic,
            producer=producer,
            first_seq=first_seq,
            last_seq=first_seq + count - 1,
        )
    )
