"""The hub: every verb, over one store.

Verbs answer with a ticket, resolved in another thread: an answer that says that something was stored is
given only when it is on disk. Doors call these methods and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import msgspec
import pyarrow as pa
from sqlalchemy import Connection, func, select

from pregon import limits
from pregon.clock import INSTANT_US_MAX, WallClock, wall_us
from pregon.errors import BadRequest, PregonError
from pregon.hub import registry
from pregon.hub.counters import Counters
from pregon.hub.directory import Directory
from pregon.hub.maintenance import Keeping, Maintenance
from pregon.hub.publish import PublishBatch, PublishContext, Published, PublishOne
from pregon.hub.pull import Pulled, Puller, PullRequest
from pregon.hub.registry import CatalogOperation, Entry
from pregon.hub.settle import Ack, Barrier, Park, Replay, Unpark, not_subscribed
from pregon.hub.waiting import WaitingRoom
from pregon.model.batch import StoredBatch
from pregon.model.catalog import Subscription
from pregon.model.ids import new_id
from pregon.model.message import Outgoing, check_outgoing
from pregon.model.subscription import Accounting, Cursor
from pregon.model.trace import Trace, TraceQuery
from pregon.store import catalog, cursors
from pregon.store.committer import Committer
from pregon.store.database import Database
from pregon.store.log import read_range
from pregon.store.migrate import migrate
from pregon.store.readers import Readers, read_now
from pregon.store.schema import topic as topic_table
from pregon.store.ticket import Ticket
from pregon.store.traces import find_traces, newest_trace_us
from pregon.store.transaction import Accepted, Transaction

T = TypeVar("T")
_DAY_MS = 24 * 60 * 60 * 1_000


@dataclass(frozen=True, slots=True)
class HubOptions:
    """How the hub behaves; `settings` says what each means to an operator."""

    auto_create: bool = True
    body_bytes_max: int = limits.BODY_BYTES_DEFAULT
    dedupe_keep_ms: int = 7 * _DAY_MS
    traces_keep_ms: int = 400 * _DAY_MS
    maintenance_every_ms: int = 5_000
    reader_threads: int = 2


class AcceptedListener(Protocol):
    """Who shows accepted messages live; called in the committer's thread, so it must be quick."""

    def accepted(self, batches: Sequence[Accepted]) -> None:
        """These are on disk."""
        ...


class LogRead(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a topic's log."""

    batches: Sequence[StoredBatch]
    head_seq: int
    tail_seq: int


def _newest_us(connection: Connection) -> int:
    """The newest time that the store knows: the clock goes on from there."""
    accepted_us = connection.execute(select(func.max(topic_table.c.accepted_us))).scalar() or 0
    return max(int(accepted_us), newest_trace_us(connection))


class Hub:
    """The verbs. `start` before the first, `stop` after the last."""

    def __init__(self, database: Database, options: HubOptions | None = None) -> None:
        self.options = options or HubOptions()
        self.counters = Counters()
        self.database = database
        migrate(database)
        self.clock = WallClock()
        with database.connect() as connection:
            self.clock.advance_to(read_now(database, connection, _newest_us))
        self._directory = Directory(self.options.auto_create)
        self._context = PublishContext(self._directory, self.counters)
        self.waiting = WaitingRoom()
        self._listeners: list[AcceptedListener] = []
        self.committer = Committer(database, self.clock, self)
        self._readers = Readers(database, self.options.reader_threads)
        self._puller = Puller(self._readers, self.committer, self.waiting, self.counters)
        self.maintenance = Maintenance(
            self.committer,
            lambda read: self.read(read).result(),
            Keeping(self.options.dedupe_keep_ms, self.options.traces_keep_ms, self.options.maintenance_every_ms),
        )

    def start(self) -> None:
        """Begin to work."""
        self.committer.start()
        self._readers.start()
        self.waiting.start()
        self.maintenance.start()

    def stop(self) -> None:
        """Answer those who wait, write what is queued, and close the store."""
        self.maintenance.stop()
        self.waiting.stop()
        self._readers.stop()
        self.committer.stop()
        self.database.close()

    def listen(self, listener: AcceptedListener) -> None:
        """Tell this listener of every accepted batch from now on."""
        self._listeners.append(listener)

    def committed(self, transaction: Transaction) -> None:
        """Called by the committer after each transaction."""
        if transaction.accepted or transaction.moved:
            self.waiting.topics_moved(transaction.moved.union(one.topic for one in transaction.accepted))
        if transaction.accepted:
            for listener in self._listeners:
                listener.accepted(transaction.accepted)

    def undone(self) -> None:
        """Called by the committer when a transaction was undone."""
        self._directory.forget()

    def read(self, read: Callable[[Connection], T]) -> Ticket[T]:
        """Run a read in a reader thread."""
        ticket: Ticket[T] = Ticket()
        self._readers.submit(read, ticket)
        return ticket

    # Messages.

    def publish(
        self, topic: str, producer: str, message: Outgoing, published_us: int | None = None
    ) -> Ticket[Published]:
        """Store one message; raises Rejected for one that passes a limit, HubBusy when the queue is full."""
        check_outgoing(message, self.options.body_bytes_max)
        if published_us is not None and not 0 <= published_us <= INSTANT_US_MAX:
            raise BadRequest(f"{published_us} is no time of publication: use microseconds since 1970")
        if message.id is None:
            message = Outgoing(message.body, new_id(), message.key, message.content_type, message.headers)
        operation = PublishOne(self._context, topic, producer, message, published_us or wall_us())
        self.committer.submit(operation)
        return operation.ticket

    def publish_batch(
        self, topic: str, producer: str, batch: pa.RecordBatch, session: str = "", number: int = 0
    ) -> Ticket[Published]:
        """Store a batch that `model.batch.decode_sent` has checked."""
        operation = PublishBatch(self._context, topic, producer, batch, session, number)
        self.committer.submit(operation)
        return operation.ticket

    def pull(self, request: PullRequest) -> Ticket[Pulled]:
        """What is pending for a subscription; makes the subscription if that is allowed."""

        def make() -> Ticket[object]:
            if not self.options.auto_create:
                raise not_subscribed(request.topic, request.subscriber)
            return self.create(Subscription(topic=request.topic, subscriber=request.subscriber))  # type: ignore[return-value]

        return self._puller.pull(request, make)

    def ack(self, topic: str, subscriber: str, seq: int, epoch: int | None = None) -> Ticket[int]:
        """Acknowledge up to a number; answers, when it is on disk, with the cursor."""
        self.counters.acknowledgements += 1
        return self._submit(Ack(topic, subscriber, seq, epoch, is_durable=True))

    def read_log(
        self, topic: str, first_seq: int, last_seq: int | None, messages_max: int, bytes_max: int
    ) -> Ticket[LogRead]:
        """Messages by number, from `first_seq` on, whoever subscribed; what retention removed is skipped."""

        def read(connection: Connection) -> LogRead:
            topic_id = catalog.require_id(connection, "topic", topic)
            (stored,) = catalog.list_topics(connection, "", 1, topic)
            batches = read_range(
                connection,
                topic_id,
                max(first_seq, stored.tail_seq),
                stored.head_seq if last_seq is None else min(last_seq, stored.head_seq),
                messages_max=max(1, min(messages_max, limits.PULL_MESSAGES_MAX)),
                bytes_max=max(1, min(bytes_max, limits.PULL_BYTES_MAX)),
            )
            return LogRead(batches=batches, head_seq=stored.head_seq, tail_seq=stored.tail_seq)

        return self.read(read)

    # Exceptions and replays.

    def park(self, topic: str, subscriber: str, seqs: Sequence[int], reason: str = "") -> Ticket[int]:
        """Set pending messages aside; answers with how many."""
        return self._submit(Park(topic, subscriber, seqs, reason))

    def unpark(self, topic: str, subscriber: str, seqs: Sequence[int] = ()) -> Ticket[int]:
        """Deliver parked messages again; answers with how many."""
        return self._submit(Unpark(topic, subscriber, seqs))

    def list_parked(self, topic: str, subscriber: str, after_seq: int = 0) -> Ticket[list[dict[str, Any]]]:
        """What is set aside, by number."""
        return self.read(lambda c: cursors.list_parked(c, topic, subscriber, after_seq, limits.LIST_ROWS_MAX))

    def replay(
        self, topic: str, subscriber: str, *, from_seq: int | None = None, from_us: int | None = None
    ) -> Ticket[Cursor]:
        """Move a cursor back to a number or a time."""
        return self._submit(Replay(topic, subscriber, from_seq=from_seq, from_us=from_us))

    # What is known.

    def account(self, topic: str, subscriber: str) -> Ticket[Accounting]:
        """Where every message of a subscription is."""

        def read(connection: Connection) -> Accounting:
            found = cursors.find_accounting(connection, topic, subscriber)
            if found is None:
                raise not_subscribed(topic, subscriber)
            return found

        if not self._puller.acks_under_way(topic, subscriber):
            return self.read(read)
        # An acknowledgement that came with a pull is still being written: look after it.
        answer: Ticket[Accounting] = Ticket()

        def look(barrier: Ticket[None]) -> None:
            try:
                barrier.value()
                self._readers.submit(read, answer)
            except PregonError as error:
                answer.fail(error)

        self._submit(Barrier()).when_done(look)
        return answer

    def traces(self, query: TraceQuery) -> Ticket[list[Trace]]:
        """Traces that match, newest first."""
        return self.read(lambda connection: find_traces(connection, query))

    # The catalogue.

    def create(self, entry: Entry) -> Ticket[Entry]:
        """Register a topic, producer, subscriber or subscription."""
        return self._submit(CatalogOperation(self._directory, registry.create(entry)))

    def update(self, kind: str, names: tuple[str, ...], values: dict[str, Any]) -> Ticket[Entry]:
        """Change some fields of an entry."""
        return self._submit(CatalogOperation(self._directory, registry.change_entry(kind, names, values)))

    def delete(self, kind: str, names: tuple[str, ...]) -> Ticket[bool]:
        """Delete an entry; answers with whether there was one."""
        return self._submit(CatalogOperation(self._directory, registry.delete(kind, names)))

    def show(self, kind: str, names: tuple[str, ...]) -> Ticket[Entry]:
        """One entry."""
        return self.read(lambda connection: registry.require_entry(connection, kind, names))

    def list(
        self, kind: str, *, after: tuple[str, ...] = (), names: tuple[str, ...] = (), rows_max: int = 100
    ) -> Ticket[list[Entry]]:
        """A page of entries."""
        return self.read(
            lambda connection: registry.list_entries(connection, kind, after=after, names=names, rows_max=rows_max)
        )

    def _submit(self, operation: Any) -> Ticket[Any]:
        self.committer.submit(operation)
        ticket: Ticket[Any] = operation.ticket
        return ticket
