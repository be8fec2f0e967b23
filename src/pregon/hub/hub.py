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
from pregon.clock import INSTANT_US_MAX, WallClock, monotonic_ms, wall_us
from pregon.errors import BadRequest, PregonError
from pregon.filters.examiner import Examiner
from pregon.hub.auditing import Note, audited
from pregon.hub.catalogue import CatalogueVerbs
from pregon.hub.counters import Counters
from pregon.hub.directory import Directory
from pregon.hub.examining import Examining
from pregon.hub.keyring import Keyring
from pregon.hub.maintenance import Keeping, Maintenance
from pregon.hub.options import AcceptedListener, HubOptions, LogRead, TransactionFollower
from pregon.hub.pacing import TablePace
from pregon.hub.publish import PublishBatch, PublishMany, PublishOne
from pregon.hub.pull import Pulled, Puller, PullRequest
from pregon.hub.pulled_notes import PulledNotes
from pregon.hub.reading import LogQuery, read_log
from pregon.hub.schema_book import SchemaBook
from pregon.hub.settle import Ack, Barrier, Cancel, Park, Replay, Unpark, not_subscribed, require_place
from pregon.hub.under_way import DeliveriesUnderWay
from pregon.hub.waiting import WaitingRoom
from pregon.hub.way import PublishContext, Published, is_named
from pregon.model.catalog import Subscription
from pregon.model.message import Outgoing, check_outgoing
from pregon.model.subscription import Accounting, Cursor
from pregon.model.trace import TracePage, TraceQuery
from pregon.security.guard import Guard
from pregon.store import cursors, traces
from pregon.store.audit import newest_audit_us
from pregon.store.committer import Committer
from pregon.store.database import Database
from pregon.store.keys import list_keys
from pregon.store.migrate import migrate
from pregon.store.readers import Readers, read_now
from pregon.store.schema import topic as topic_table
from pregon.store.ticket import Ticket
from pregon.store.trace_search import find_traces
from pregon.store.transaction import Transaction

T = TypeVar("T")


def _newest_us(connection: Connection) -> int:
    """The newest time that the store knows: the clock goes on from there."""
    accepted_us = connection.execute(select(func.max(topic_table.c.accepted_us))).scalar() or 0
    return max(int(accepted_us), traces.newest_trace_us(connection), newest_audit_us(connection))


class Hub(CatalogueVerbs):
    """The verbs. `start` before the first, `stop` after the last."""

    def __init__(self, database: Database, options: HubOptions | None = None, keyring: Keyring | None = None) -> None:
        self.options = options or HubOptions()
        self.guard = Guard(self.options.push_allow)
        self.counters = Counters()
        self.database = database
        migrate(database)
        self.clock = WallClock()
        self.clock.advance_to(self.read_at_start(_newest_us))
        self.keyring = keyring or Keyring()
        self.keyring.renew(self.read_at_start(list_keys))
        self._book = SchemaBook()
        self.read_at_start(self._book.load)
        self._directory = Directory(self.options.auto_create)
        self._context = PublishContext(self._directory, self.counters, self._book)
        self.waiting = WaitingRoom()
        self.table_pace = TablePace(self.options.tables_share_percent)
        self._listeners: list[AcceptedListener] = []
        self._followers: list[TransactionFollower] = []
        self._undoers: list[Callable[[], None]] = []
        self.committer = Committer(database, self.clock, self)
        self._readers = Readers(database, self.options.reader_threads)
        self._pulled_notes = PulledNotes(self.waiting, self.committer.submit)
        self._puller = Puller(self._readers, self.committer, self.waiting, self.counters, self._pulled_notes)
        self.examining = Examining(self, Examiner(), self.waiting)
        self.follow(self.examining)
        self.maintenance = Maintenance(
            self.committer,
            lambda read: self.read(read).result(),
            Keeping(
                dedupe_ms=self.options.dedupe_keep_ms,
                traces_ms=self.options.traces_keep_ms,
                trace_mark_ms=self.options.trace_mark_ms,
                every_ms=self.options.maintenance_every_ms,
                audit_ms=self.options.audit_keep_ms,
                session_idle_ms=self.options.admin_idle_ms,
            ),
        )

    def start(self) -> None:
        """Begin to work."""
        self.committer.start()
        self._readers.start()
        self.waiting.start()
        self.maintenance.start()
        self.examining.start()

    def stop(self) -> None:
        """Answer those who wait, write what is queued, and close the store."""
        self.maintenance.stop()
        self.waiting.stop()
        self.examining.stop()
        self._readers.stop()
        self.committer.stop()
        self.database.close()

    def follow(self, follower: TransactionFollower) -> None:
        """Tell this one of every transaction from now on."""
        self._followers.append(follower)

    def listen(self, listener: AcceptedListener) -> None:
        """Tell this listener of every accepted batch from now on."""
        self._listeners.append(listener)

    def committed(self, transaction: Transaction) -> None:
        """Called by the committer after each transaction."""
        for renew in transaction.after_commit:
            renew()
        if transaction.is_catalogue_changed:
            self._pulled_notes.forget()
        accepted = transaction.accepted
        if accepted:
            self.table_pace.published((self.clock.now_us() - transaction.now_us) / 1_000, monotonic_ms())
        if accepted or transaction.moved:
            self.waiting.topics_moved(transaction.moved.union(one.topic for one in accepted))
        for listener in self._listeners if accepted else ():
            listener.accepted(accepted)
        for follower in self._followers:
            follower.committed(transaction)

    def finishing(self, transaction: Transaction) -> None:
        """Called by the committer before each transaction ends."""
        self._pulled_notes.join(transaction)

    def undone(self) -> None:
        """Called by the committer when a transaction was undone."""
        self._directory.forget()
        for forget in self._undoers:
            forget()

    def on_undone(self, forget: Callable[[], None]) -> None:
        """Call this, in the committer's thread, whenever a transaction was undone."""
        self._undoers.append(forget)

    def read(self, read: Callable[[Connection], T], *, is_small: bool = False) -> Ticket[T]:
        """Run a read in a reader thread; a small one here, if nobody is doing that."""
        ticket: Ticket[T] = Ticket()
        self._readers.submit(read, ticket, is_small=is_small)
        return ticket

    def read_at_start(self, read: Callable[[Connection], T]) -> T:
        """Read before the reader threads run: for who joins the hub when it is made."""
        with self.database.connect() as connection:
            return read_now(self.database, connection, read)

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
        return self.submit(PublishOne(self._context, way, message, published_us or wall_us()))

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
        return self.submit(PublishMany(self._context, way, messages, times))

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
        return self.submit(PublishBatch(self._context, way, batch, session, number))

    def pull(self, request: PullRequest, *, may_create: bool = True) -> Ticket[Pulled]:
        """What is pending for a subscription; makes the subscription if that is allowed."""

        def make() -> Ticket[object]:
            if not self.options.auto_create or not may_create:
                raise not_subscribed(request.topic, request.subscriber)
            return self.create(Subscription(topic=request.topic, subscriber=request.subscriber))  # type: ignore[return-value]

        return self._puller.pull(request, make)

    @property
    def deliveries(self) -> DeliveriesUnderWay:
        """What was pushed and is not written down yet."""
        return self._puller.deliveries

    def ack(self, topic: str, subscriber: str, seq: int, epoch: int | None = None) -> Ticket[int]:
        """Acknowledge up to a number; answers, when it is on disk, with the cursor."""
        self.counters.acknowledgements += 1
        return self.submit(Ack(topic, subscriber, seq, epoch, is_durable=True))

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

    def park(
        self, topic: str, subscriber: str, seqs: Sequence[int], reason: str = "", note: Note | None = None
    ) -> Ticket[int]:
        """Set pending messages aside; answers with how many."""
        return self.submit(audited(Park(topic, subscriber, seqs, reason), note))

    def unpark(self, topic: str, subscriber: str, seqs: Sequence[int] = (), note: Note | None = None) -> Ticket[int]:
        """Deliver parked messages again; answers with how many."""
        return self.submit(audited(Unpark(topic, subscriber, seqs), note))

    def cancel(
        self, topic: str, subscriber: str, seqs: Sequence[int], reason: str = "", note: Note | None = None
    ) -> Ticket[int]:
        """Give pending or parked messages up; answers with how many."""
        return self.submit(audited(Cancel(topic, subscriber, seqs, reason), note))

    def list_parked(self, topic: str, subscriber: str, after_seq: int = 0) -> Ticket[list[dict[str, Any]]]:
        """What is set aside, by number."""

        def read(connection: Connection) -> list[dict[str, Any]]:
            require_place(connection, topic, subscriber)
            return cursors.list_parked(connection, topic, subscriber, after_seq, limits.LIST_ROWS_MAX)

        return self.read(read)

    def replay(
        self,
        topic: str,
        subscriber: str,
        *,
        from_seq: int | None = None,
        from_us: int | None = None,
        note: Note | None = None,
    ) -> Ticket[Cursor]:
        """Move a cursor back to a number or a time."""
        return self.submit(audited(Replay(topic, subscriber, from_seq=from_seq, from_us=from_us), note))

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

        self.submit(Barrier()).when_done(look)
        return answer

    def traces(self, query: TraceQuery) -> Ticket[TracePage]:
        """A page of the traces that match, newest first."""
        return self.read(lambda connection: find_traces(connection, query))

    def submit(self, operation: Any) -> Ticket[Any]:
        """Have an operation carried out; its ticket. Raises HubBusy or HubStopping."""
        self.committer.submit(operation)
        ticket: Ticket[Any] = operation.ticket
        return ticket
