"""Looking after subscriptions, as a caller may: a part of `gate`, with the same promises."""

from __future__ import annotations

from pregon.hub import private_topics
from pregon.hub.auditing import audited, note_of
from pregon.hub.handling import NextPending, ReplayPlan, TryNow, find_next_pending, plan_replay
from pregon.hub.hub import Hub
from pregon.hub.registry import Entry
from pregon.security.callers import Caller
from pregon.security.keys import OPERATE, READ
from pregon.store.ticket import Ticket

_KIND = "subscription"


class HandlingGate:
    """What operators do, and what readers may know before they do."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def pause(self, caller: Caller, topic: str, subscriber: str, *, is_paused: bool) -> Ticket[Entry]:
        """Push nothing more in a subscription, or push again: the one change of an entry that operators may do."""
        self._require(caller, topic, OPERATE)
        values = {"paused": is_paused}
        note = note_of(caller, "update", _KIND, (topic, subscriber), values)
        return self._hub.update(_KIND, (topic, subscriber), values, "", note)

    def try_now(self, caller: Caller, topic: str, subscriber: str) -> Ticket[bool]:
        """Push what waits at once; answers with whether anything is pushed there."""
        self._require(caller, topic, OPERATE)
        note = note_of(caller, "try_now", _KIND, (topic, subscriber))
        return self._hub.submit(audited(TryNow(topic, subscriber), note))

    def next_pending(self, caller: Caller, topic: str, subscriber: str) -> Ticket[NextPending | None]:
        """Which message a subscription gets next."""
        self._require(caller, topic, READ)
        return self._hub.read(lambda connection: find_next_pending(connection, topic, subscriber))

    def plan_replay(
        self, caller: Caller, topic: str, subscriber: str, *, from_seq: int | None = None, from_us: int | None = None
    ) -> Ticket[ReplayPlan]:
        """What a replay would deliver again."""
        self._require(caller, topic, READ)
        return self._hub.read(
            lambda connection: plan_replay(connection, topic, subscriber, from_seq=from_seq, from_us=from_us)
        )

    def _require(self, caller: Caller, topic: str, scope: str) -> None:
        self._hub.keyring.rules.require(caller, scope)
        private_topics.require_not_private(caller, topic)
