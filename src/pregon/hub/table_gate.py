"""The hub's own tables, as a caller may read them: a part of `gate`, with the same promises.

Who reads a long table asks again for each part, so that a key that was revoked meanwhile reads no further.
"""

from __future__ import annotations

from sqlalchemy import Connection

from pregon.hub import private_topics
from pregon.hub.hiding import hide
from pregon.hub.hub import Hub
from pregon.hub.reading import require_reader
from pregon.hub.tables import (
    SessionPlan,
    SessionQuery,
    TablePart,
    TraceStart,
    begin_traces,
    plan_session,
    read_session,
    read_subscriptions,
    read_traces,
)
from pregon.security.callers import Caller, Rules, not_for
from pregon.security.keys import READ
from pregon.store.log import seq_at
from pregon.store.ticket import Ticket
from pregon.store.trace_table import trace_ends
from pregon.store.traces import first_id_at


def readers_of(rules: Rules, caller: Caller, topic: str) -> frozenset[str] | None:
    """In which subscribers' names the caller may read a topic, None for any; raises Unauthorized or Forbidden."""
    private_topics.require_not_private(caller, topic)
    if rules.may(caller, READ):
        return None
    if not caller.subscribers:
        rules.require(caller, READ)
    return caller.subscribers


class TableGate:
    """The tables, for callers."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def trace_ends(self, caller: Caller) -> Ticket[tuple[int, int]]:
        """The ids of the oldest and the newest trace, 0 and 0 if there is none, for readers."""
        self._hub.keyring.rules.require(caller, READ)
        return self._hub.read(trace_ends, is_small=True)

    def trace_id_at(self, caller: Caller, at_us: int) -> Ticket[int]:
        """The first trace at a time or later, for readers; the next one to come if there is none."""
        self._hub.keyring.rules.require(caller, READ)
        return self._hub.read(lambda connection: first_id_at(connection, at_us))

    def begin_traces(self, caller: Caller, first_id: int, last_id: int | None) -> Ticket[TraceStart]:
        """Which traces there are, and the first part of those between two ids; as `traces`."""
        self._hub.keyring.rules.require(caller, READ)
        shows_private = private_topics.may_see_private(caller)
        return self._hub.read(
            lambda connection: begin_traces(connection, first_id, last_id, shows_private=shows_private)
        )

    def traces(self, caller: Caller, first_id: int, last_id: int) -> Ticket[TablePart]:
        """Traces in the order of their ids, for readers; without those of private conversations for most."""
        self._hub.keyring.rules.require(caller, READ)
        shows_private = private_topics.may_see_private(caller)
        return self._hub.read(
            lambda connection: read_traces(connection, first_id, last_id, shows_private=shows_private)
        )

    def subscriptions(self, caller: Caller, after_id: int = 0) -> Ticket[TablePart]:
        """The accounting of all subscriptions, for readers; without those of private conversations for most."""
        self._hub.keyring.rules.require(caller, READ)
        shows_private, clock = private_topics.may_see_private(caller), self._hub.clock

        def read(connection: Connection) -> TablePart:
            return read_subscriptions(connection, after_id, clock.now_us(), shows_private=shows_private)

        return self._hub.read(read)

    def seq_at(self, caller: Caller, topic: str, at_us: int) -> Ticket[int]:
        """The first message that was accepted at a time or later, for who may read the topic."""
        subscribers = readers_of(self._hub.keyring.rules, caller, topic)

        def read(connection: Connection) -> int:
            topic_id, _, _ = require_reader(connection, topic, subscribers)
            return seq_at(connection, topic_id, at_us)

        ticket = self._hub.read(read)
        return ticket if subscribers is None else hide(ticket, caller, f"the topic {topic}")

    def plan_session(self, caller: Caller, wanted: SessionQuery) -> Ticket[SessionPlan]:
        """Which messages a producer has stored under a session: for readers, and for the producer by its key."""
        self._require_owner(caller, wanted)
        return self._hub.read(lambda connection: plan_session(connection, wanted))

    def session(self, caller: Caller, plan: SessionPlan, from_seq: int) -> Ticket[TablePart]:
        """These messages, from a number on."""
        self._require_owner(caller, plan.wanted)
        return self._hub.read(lambda connection: read_session(connection, plan, from_seq))

    def _require_owner(self, caller: Caller, wanted: SessionQuery) -> None:
        """Raises for who neither reads nor has the producer's key; that anybody may publish in its name is not enough.

        What a topic that does not exist has of a session is nothing, as with one that does: the answer tells nobody
        which topics there are.
        """
        private_topics.require_not_private(caller, wanted.topic)
        if not self._hub.keyring.rules.may(caller, READ) and wanted.producer not in caller.producers:
            raise not_for(caller, f"what {wanted.producer} published to {wanted.topic}")
