"""The hub: every verb, over one store.

Verbs answer with a ticket, resolved in another thread: an answer that says that something was stored is
given only when it is on disk. Who may call what is decided before, in `gate`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from sqlalchemy import Connection, func, select

from pregon import limits
from pregon.clock import INSTANT_US_MAX, WallClock, wall_us
from pregon.errors import BadRequest, PregonError
from pregon.hub import access, registry, schema_book
from pregon.hub.access import NewKey, ShownKey
from pregon.hub.counters import Counters
from pregon.hub.directory import Directory
from pregon.hub.keyring import Keyring
from pregon.hub.maintenance import Keeping, Maintenance
from pregon.hub.options import AcceptedListener, HubOptions, LogRead
from pregon.hub.publish import PublishBatch, PublishMany, PublishOne
from pregon.hub.pull import Pulled, Puller, PullRequest
from pregon.hub.reading import LogQuery, read_log
from pregon.hub.registry import CatalogOperation, Entry
from pregon.hub.schema_book import SchemaBook
from pregon.hub.settle import Ack, Barrier, Cancel, Park, Replay, Unpark, not_subscribed, require_place
from pregon.hub.waiting import WaitingRoom
from pregon.hub.way import PublishContext, Published, is_named
from pregon.model.catalog import SchemaVersion, Subscription
from pregon.model.message import Outgoing, check_outgoing
from pregon.model.subscription import Accounting, Cursor
from pregon.model.trace import Trace, TraceQuery
from pregon.security.keys import Key
from pregon.store import catalog, cursors
from pregon.store.committer import Committer
from pregon.store.database import Database
from pregon.store.keys import list_keys
from pregon.store.migrate import migrate
from pregon.store.readers import Readers, read_now
from pregon.store.schema import topic as topic_table
from pregon.store.ticket import Ticket
from pregon.store.topic_schemas import list_versions
from pregon.store.traces import find_traces, newest_trace_us
from pregon.store.transaction import Transaction

T = TypeVar("T")


def _newest_us(connection: Connection) -> int:
    """The newest time that the store knows: the clock goes on from there."""
    accepted_us = connection.execute(select(func.max(topic_table.c.accepted_us))).scalar() or 0
    return max(int(accepted_us), newest_trace_us(connection))


class Hub:
    """The verbs. `start` before the first, `stop` after the last."""

    def __init__(self, database: Database, options: HubOptions | None = None, keyring: Keyring | None = None) -> None:
        self.options = options or HubOptions()
        self.counters = Counters()
        self.database = database
        migrate(database)
        self.clock = WallClock()
        with database.connect() as connection:
            self.clock.advance_to(read_now(database, connection, _newest_us))
            self.keyring = keyring or Keyring()
            self.keyring.renew(read_now(database, connection, list_keys))
            self._book = SchemaBook()
            read_now(database, connection, self._book.load)
        self._directory = Directory(self.options.auto_create)
        self._context = PublishContext(self._directory, self.counters, self._book)
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
        for renew in transaction.after_commit:
            renew()
        accepted = transaction.accepted
        if accepted or transaction.moved:
            self.waiting.topics_moved(transaction.moved.union(one.topic for one in accepted))
        for listener in self._listeners if accepted else ():
            listener.accepted(accepted)

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
        self,
        topic: str,
        producer: str,
        message: Outgoing,
        published_us: int | None = None,
        *,
        may_create: bool = True,
    ) -> Ticket[Published]:
        """Store one message; raises Rejected for one that passes a limit or does not fit, HubBusy when full."""
        check_outgoing(message, self.options.body_bytes_max)
        if published_us is not None and not 0 <= published_us <= INSTANT_US_MAX:
            raise BadRequest(f"{published_us} is no time of publication: use microseconds since 1970")
        way = self._context.way_of(topic, producer, may_create, (message.body,), may_be_known=is_named(message))
        return self._submit(PublishOne(self._context, way, message, published_us or wall_us()))

    def publish_many(
        self,
        topic: str,
        producer: str,
        messages: Sequence[Outgoing],
        published_us: Sequence[int | None] = (),
        *,
        may_create: bool = True,
    ) -> Ticket[list[Published]]:
        """Store several messages, all or none, each recognised by its id when it is repeated."""
        if not 0 < len(messages) <= limits.BATCH_MESSAGES_MAX:
            raise BadRequest(f"a batch has 1 to {limits.BATCH_MESSAGES_MAX} messages, this one {len(messages)}")
        for message in messages:
            check_outgoing(message, self.options.body_bytes_max)
        way = self._context.way_of(topic, producer, may_create, [one.body for one in messages], may_be_known=True)
        now_us = wall_us()
        times = [us or now_us for us in published_us] if published_us else [now_us] * len(messages)
        return self._submit(PublishMany(self._context, way, messages, times))

    def publish_batch(
        self,
        topic: str,
        producer: str,
        batch: pa.RecordBatch,
        session: str = "",
        number: int = 0,
        *,
        may_create: bool = True,
    ) -> Ticket[Published]:
        """Store a batch that `model.batch.decode_sent` has checked."""
        bodies = batch.column("body").to_pylist() if self._book.has_schema(topic) else ()
        way = self._context.way_of(topic, producer, may_create, bodies, may_be_known=bool(session))
        return self._submit(PublishBatch(self._context, way, batch, session, number))

    def pull(self, request: PullRequest, *, may_create: bool = True) -> Ticket[Pulled]:
        """What is pending for a subscription; makes the subscription if that is allowed."""

        def make() -> Ticket[object]:
            if not self.options.auto_create or not may_create:
                raise not_subscribed(request.topic, request.subscriber)
            return self.create(Subscription(topic=request.topic, subscriber=request.subscriber))  # type: ignore[return-value]

        return self._puller.pull(request, make)

    def ack(self, topic: str, subscriber: str, seq: int, epoch: int | None = None) -> Ticket[int]:
        """Acknowledge up to a number; answers, when it is on disk, with the cursor."""
        self.counters.acknowledgements += 1
        return self._submit(Ack(topic, subscriber, seq, epoch, is_durable=True))

    def read_log(
        self,
        topic: str,
        first_seq: int,
        last_seq: int | None,
        messages_max: int,
        bytes_max: int,
        *,
        for_any_of: Collection[str] | None = None,
        is_whole: bool = False,
    ) -> Ticket[LogRead]:
        """Messages by number, from `first_seq` on; what retention removed is skipped.

        Whoever subscribed, unless subscribers are named: then one of them must be subscribed to the topic.
        """

        wanted = LogQuery(topic, first_seq, last_seq, messages_max, bytes_max, for_any_of, is_whole)
        return self.read(lambda connection: read_log(connection, wanted))

    def wait_for_news(self, topic: str, seen_version: int, wait_ms: float) -> Ticket[bool]:
        """Whether something of the topic became pending since a version of `waiting`, answered as soon as it did."""
        ticket: Ticket[bool] = Ticket()
        ticket.give_up = self.waiting.wait(topic, seen_version, wait_ms, ticket.resolve)
        return ticket

    # Exceptions and replays.

    def park(self, topic: str, subscriber: str, seqs: Sequence[int], reason: str = "") -> Ticket[int]:
        """Set pending messages aside; answers with how many."""
        return self._submit(Park(topic, subscriber, seqs, reason))

    def unpark(self, topic: str, subscriber: str, seqs: Sequence[int] = ()) -> Ticket[int]:
        """Deliver parked messages again; answers with how many."""
        return self._submit(Unpark(topic, subscriber, seqs))

    def cancel(self, topic: str, subscriber: str, seqs: Sequence[int], reason: str = "") -> Ticket[int]:
        """Give pending or parked messages up; answers with how many."""
        return self._submit(Cancel(topic, subscriber, seqs, reason))

    def list_parked(self, topic: str, subscriber: str, after_seq: int = 0) -> Ticket[list[dict[str, Any]]]:
        """What is set aside, by number."""

        def read(connection: Connection) -> list[dict[str, Any]]:
            require_place(connection, topic, subscriber)
            return cursors.list_parked(connection, topic, subscriber, after_seq, limits.LIST_ROWS_MAX)

        return self.read(read)

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

    def update(self, kind: str, names: tuple[str, ...], values: dict[str, Any], expected: str = "") -> Ticket[Entry]:
        """Change some fields of an entry; raises Changed if it is not as `expected` (see `registry.fingerprint`)."""
        return self._submit(CatalogOperation(self._directory, registry.change_entry(kind, names, values, expected)))

    def delete(self, kind: str, names: tuple[str, ...], expected: str = "") -> Ticket[bool]:
        """Delete an entry, with its keys; answers with whether there was one."""
        change = access.deleting(self.keyring, self._book, kind, names, registry.delete(kind, names, expected))
        return self._submit(CatalogOperation(self._directory, change))

    def grant(self, producer: str, topic: str, *, is_granted: bool) -> Ticket[Entry]:
        """Let a producer publish to a restricted topic, or no more; answers with the producer."""
        return self._submit(CatalogOperation(self._directory, registry.change_grant(producer, topic, is_granted)))

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

    # Keys and schemas.

    def create_key(self, wanted: NewKey) -> Ticket[ShownKey]:
        """Make a key; the answer is the only one that has its secret."""
        return self._submit(CatalogOperation(self._directory, access.create_key(self.keyring, wanted)))

    def revoke_key(self, kind: str, owner: str, key_id: str) -> Ticket[bool]:
        """Revoke a key at once; answers with whether there was one."""
        return self._submit(CatalogOperation(self._directory, access.revoke_key(self.keyring, kind, owner, key_id)))

    def list_keys(
        self, kind: str, owner: str = "", after: tuple[str, str] = ("", ""), rows_max: int = limits.LIST_ROWS_MAX
    ) -> Ticket[Sequence[Key]]:
        """A page of the keys of a kind, of one owner if it is named, without their secrets."""
        rows = max(1, min(rows_max, limits.LIST_ROWS_MAX))
        return self.read(lambda connection: [one.key for one in list_keys(connection, kind, owner, after, rows)])

    def set_schema(self, wanted: SchemaVersion) -> Ticket[SchemaVersion]:
        """Give a topic another schema; the answer says whether it accepts all that the old one did."""
        return self._submit(CatalogOperation(self._directory, schema_book.set_schema(self._book, wanted)))

    def compare_schema(self, wanted: SchemaVersion) -> Ticket[SchemaVersion]:
        """The same answer, without changing anything."""

        def read(connection: Connection) -> SchemaVersion:
            catalog.require_id(connection, "topic", wanted.topic)
            return schema_book.compare_schema(connection, wanted)

        return self.read(read)

    def list_schemas(self, topic: str, before: int = 0, rows_max: int = 100) -> Ticket[Sequence[SchemaVersion]]:
        """The versions of a topic's schema, newest first."""

        def read(connection: Connection) -> Sequence[SchemaVersion]:
            catalog.require_id(connection, "topic", topic)
            return list_versions(connection, topic, before, max(1, min(rows_max, limits.LIST_ROWS_MAX)))

        return self.read(read)

    def _submit(self, operation: Any) -> Ticket[Any]:
        self.committer.submit(operation)
        ticket: Ticket[Any] = operation.ticket
        return ticket
