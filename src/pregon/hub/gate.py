"""The gate: the hub as a caller may use it. Every door asks here, never the hub itself.

Each verb takes who asks first, and is refused with Unauthorized or Forbidden before anything is looked up, so the
answer never tells what exists. Who administers may do anything but speak for one who has a key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from pregon.errors import TooLarge
from pregon.hub import private_topics
from pregon.hub.auditing import Note, note_of, spans_of, write_note
from pregon.hub.catalogue_gate import CatalogueGate
from pregon.hub.handling_gate import HandlingGate
from pregon.hub.hiding import hide
from pregon.hub.hub import Hub
from pregon.hub.list_gate import ListGate
from pregon.hub.options import LogRead
from pregon.hub.people import People
from pregon.hub.pull import Pulled, PullRequest
from pregon.hub.story import Reader, read_story
from pregon.hub.table_gate import TableGate, readers_of
from pregon.hub.way import Published, require_not_of_group
from pregon.model.administration import AuditPage, AuditQuery
from pregon.model.catalog import PushState
from pregon.model.message import Outgoing
from pregon.model.subscription import Accounting, Cursor
from pregon.model.trace import Story, TracePage, TraceQuery
from pregon.security.callers import Caller, Rules, not_for, sole_name
from pregon.security.keys import OPERATE, PRODUCER, READ, SUBSCRIBER
from pregon.store.audit import find_audit
from pregon.store.change import Change
from pregon.store.ticket import Ticket


class Gate(CatalogueGate):
    """The verbs, for callers."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self._keyring = hub.keyring
        self.tables = TableGate(hub)
        self.lists = ListGate(hub)
        self.handling = HandlingGate(hub)
        self.people = People(hub)

    def identify(self, presented: str, *, is_counted: bool = True) -> Caller:
        """Who presents this key or token, nobody known for an empty one; raises Unauthorized or RateLimited."""
        return self._keyring.identify(presented, is_counted=is_counted)

    @property
    def rules(self) -> Rules:
        """Who may do what, as things are now."""
        return self._keyring.rules

    def producer_of(self, caller: Caller, named: str) -> str:
        """In whose name a publication is; raises BadRequest when nobody says."""
        return sole_name(PRODUCER, caller.producers, named)

    # Messages.

    def publish(
        self, caller: Caller, topic: str, producer: str, message: Outgoing, published_us: int | None = None
    ) -> Ticket[Published]:
        """Store one message."""
        may_create = self._require_publisher(caller, topic, producer)
        _require_size(caller, len(message.body))
        ticket = self.hub.publish(topic, producer, message, published_us, may_create=may_create)
        return ticket if may_create else hide(ticket, caller, _publishing(topic, producer))

    def publish_many(
        self,
        caller: Caller,
        topic: str,
        producer: str,
        messages: Sequence[Outgoing],
        published_us: Sequence[int | None] = (),
    ) -> Ticket[list[Published]]:
        """Store several messages, all or none, each recognised by its id."""
        may_create = self._require_publisher(caller, topic, producer)
        for message in messages if caller.body_bytes_max is not None else ():
            _require_size(caller, len(message.body))
        ticket = self.hub.publish_many(topic, producer, messages, published_us, may_create=may_create)
        return ticket if may_create else hide(ticket, caller, _publishing(topic, producer))

    def publish_batch(
        self, caller: Caller, way: tuple[str, str], batch: pa.RecordBatch, session: str = "", number: int = 0
    ) -> Ticket[Published]:
        """Store a batch that was checked, to a topic in the name of a producer."""
        topic, producer = way
        may_create = self._require_publisher(caller, topic, producer)
        if caller.body_bytes_max is not None:
            _require_size(caller, max(len(body) for body in batch.column("body").to_pylist()))
        ticket = self.hub.publish_batch(topic, producer, batch, session, number, may_create=may_create)
        return ticket if may_create else hide(ticket, caller, _publishing(topic, producer))

    def _require_publisher(self, caller: Caller, topic: str, producer: str) -> bool:
        """Whether the caller may also make what it names; raises if it may not publish in this name at all."""
        rules = self._keyring.rules
        require_not_of_group(topic)
        if not rules.may_speak_for(caller, PRODUCER, producer):
            raise not_for(caller, _publishing(topic, producer))
        return rules.may_create(caller)

    def pull(self, caller: Caller, request: PullRequest) -> Ticket[Pulled]:
        """What is pending for a subscription."""
        self._require_receiver(caller, request.topic, request.subscriber)
        ticket = self.hub.pull(request, may_create=self._keyring.rules.may_create(caller))
        return self._settled(caller, ticket, request.topic, request.subscriber)

    def ack(self, caller: Caller, topic: str, subscriber: str, seq: int, epoch: int | None = None) -> Ticket[int]:
        """Acknowledge up to a number."""
        self._require_receiver(caller, topic, subscriber)
        return self._settled(caller, self.hub.ack(topic, subscriber, seq, epoch), topic, subscriber)

    def read_log(
        self,
        caller: Caller,
        topic: str,
        numbers: tuple[int, int | None],
        messages_max: int,
        bytes_max: int,
        *,
        is_whole: bool = False,
    ) -> Ticket[LogRead]:
        """Messages by number, first and last: for readers, and for who subscribed to the topic."""
        subscribers = readers_of(self._keyring.rules, caller, topic)
        ticket = self.hub.read_log(topic, *numbers, messages_max, bytes_max, for_any_of=subscribers, is_whole=is_whole)
        return ticket if subscribers is None else hide(ticket, caller, f"the topic {topic}")

    # Exceptions and replays.

    def park(self, caller: Caller, topic: str, subscriber: str, seqs: Sequence[int], reason: str = "") -> Ticket[int]:
        """Set pending messages aside."""
        self._require_receiver(caller, topic, subscriber, OPERATE)
        note = _note_of_settling(caller, "park", topic, subscriber, {"messages": spans_of(seqs), "reason": reason})
        return self._settled(caller, self.hub.park(topic, subscriber, seqs, reason, note), topic, subscriber)

    def unpark(self, caller: Caller, topic: str, subscriber: str, seqs: Sequence[int] = ()) -> Ticket[int]:
        """Deliver parked messages again."""
        self._require_receiver(caller, topic, subscriber, OPERATE)
        note = _note_of_settling(caller, "unpark", topic, subscriber, {"messages": spans_of(seqs) or "all"})
        return self._settled(caller, self.hub.unpark(topic, subscriber, seqs, note), topic, subscriber)

    def cancel(self, caller: Caller, topic: str, subscriber: str, seqs: Sequence[int], reason: str = "") -> Ticket[int]:
        """Give pending or parked messages up."""
        self._require_receiver(caller, topic, subscriber, OPERATE)
        note = _note_of_settling(caller, "cancel", topic, subscriber, {"messages": spans_of(seqs), "reason": reason})
        return self._settled(caller, self.hub.cancel(topic, subscriber, seqs, reason, note), topic, subscriber)

    def list_parked(
        self, caller: Caller, topic: str, subscriber: str, after_seq: int = 0
    ) -> Ticket[list[dict[str, Any]]]:
        """What is set aside."""
        self._require_receiver(caller, topic, subscriber, READ)
        return self._settled(caller, self.hub.list_parked(topic, subscriber, after_seq), topic, subscriber)

    def replay(
        self, caller: Caller, topic: str, subscriber: str, *, from_seq: int | None = None, from_us: int | None = None
    ) -> Ticket[Cursor]:
        """Move a cursor back."""
        self._require_receiver(caller, topic, subscriber, OPERATE)
        note = _note_of_settling(caller, "replay", topic, subscriber, {"from_seq": from_seq, "from_us": from_us})
        ticket = self.hub.replay(topic, subscriber, from_seq=from_seq, from_us=from_us, note=note)
        return self._settled(caller, ticket, topic, subscriber)

    def account(self, caller: Caller, topic: str, subscriber: str) -> Ticket[Accounting]:
        """Where every message of a subscription is."""
        self._require_receiver(caller, topic, subscriber, READ)
        return self._settled(caller, self.hub.account(topic, subscriber), topic, subscriber)

    def _require_receiver(self, caller: Caller, topic: str, subscriber: str, scope: str = "") -> None:
        """Raises for one who is neither the subscriber nor has the scope."""
        private_topics.require_not_private(caller, topic)
        if not (self._keyring.rules.may_speak_for(caller, SUBSCRIBER, subscriber) or scope in caller.scopes):
            raise not_for(caller, _subscription(topic, subscriber))

    def _settled(self, caller: Caller, ticket: Ticket[Any], topic: str, subscriber: str) -> Ticket[Any]:
        """The ticket; for who may not look around, "not there" and "not yours" are the same."""
        if self._keyring.rules.may(caller, READ):
            return ticket
        return hide(ticket, caller, _subscription(topic, subscriber))

    def traces(self, caller: Caller, query: TraceQuery) -> Ticket[TracePage]:
        """Traces: all of them for readers, their own for producers and subscribers."""
        if self._keyring.rules.may(caller, READ):
            private_topics.require_not_private(caller, query.topic)
            found = self.hub.traces(query)
            return found if private_topics.may_see_private(caller) else private_topics.without_private(found)
        allowed = False
        if query.subscriber or (caller.subscribers and not query.producer):
            name = sole_name(SUBSCRIBER, caller.subscribers, query.subscriber)
            query, allowed = msgspec.structs.replace(query, subscriber=name), name in caller.subscribers
        elif caller.producers:
            name = sole_name(PRODUCER, caller.producers, query.producer)
            query, allowed = msgspec.structs.replace(query, producer=name), name in caller.producers
        if not allowed:
            self._keyring.rules.require(caller, READ)
        return self.hub.traces(query)

    def audit(self, caller: Caller, query: AuditQuery) -> Ticket[AuditPage]:
        """Who changed what, newest first."""
        self._keyring.rules.require(caller, READ)
        found = self.hub.read(lambda connection: find_audit(connection, query))
        return found if private_topics.may_see_private(caller) else private_topics.without_private_notes(found)

    def note_test(self, caller: Caller, kind: str, name: str, detail: Mapping[str, Any]) -> Ticket[None]:
        """Leave a note that a caller had a test sent, to a topic or to a subscriber's web service."""
        self._keyring.rules.require(caller, OPERATE)
        note = note_of(caller, "test", kind, [name], detail)
        return self.hub.submit(Change(lambda transaction: write_note(transaction, note)))

    def story(self, caller: Caller, topic: str, seq: int) -> Ticket[Story]:
        """A message's whole story for readers and its producer; what concerns it for a subscriber of the topic."""
        private_topics.require_not_private(caller, topic)
        if self._keyring.rules.may(caller, READ):
            return self.hub.read(lambda connection: read_story(connection, topic, seq))
        if not caller.producers and not caller.subscribers:
            self._keyring.rules.require(caller, READ)
        reader = Reader(caller.producers, caller.subscribers)
        ticket = self.hub.read(lambda connection: read_story(connection, topic, seq, reader))
        return hide(ticket, caller, f"message {seq} of {topic}")

    # Push.

    def push_state(self, caller: Caller, topic: str, subscriber: str) -> Ticket[PushState]:
        """How pushing a subscription goes."""
        self._require_receiver(caller, topic, subscriber, READ)
        return self._settled(caller, self.hub.push_state(topic, subscriber), topic, subscriber)


def _publishing(topic: str, producer: str) -> str:
    return f"publishing to {topic} as {producer}"


def _note_of_settling(caller: Caller, action: str, topic: str, subscriber: str, detail: dict[str, Any]) -> Note | None:
    """The note of an exception or a replay, but none of what a subscriber does for itself."""
    if subscriber in caller.subscribers:
        return None
    said = {name: value for name, value in detail.items() if value}
    return note_of(caller, action, "subscription", (topic, subscriber), said)


def _subscription(topic: str, subscriber: str) -> str:
    return f"the subscription of {subscriber} to {topic}"


def _require_size(caller: Caller, size_bytes: int) -> None:
    if caller.body_bytes_max is not None and size_bytes > caller.body_bytes_max:
        raise TooLarge(f"the body has {size_bytes} bytes; this key may send at most {caller.body_bytes_max}")
