"""Who is in at the administration pages now, for who administers: to see them, and to show them out.

Whom an identity provider has sent is no person of this hub, so nothing that is changed of people ends what they have
open: this does.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pregon.errors import BadRequest
from pregon.hub.auditing import note_of, write_note
from pregon.hub.hub import Hub
from pregon.hub.people_memory import SessionMemory
from pregon.hub.people_rights import require_shown
from pregon.model.administration import END, SESSION, SOURCES, Session
from pregon.security.callers import Caller
from pregon.store import admin_sessions
from pregon.store.change import Change
from pregon.store.transaction import Transaction

_LISTED_MAX = 500
"""Sessions of which a list tells."""


class Present(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who is in, with all that they have open."""

    name: str
    source: str
    role: str
    """That of the newest session."""
    sessions: int
    since_us: int
    """When the oldest session began."""
    seen_us: int
    """When something was last done in any, to the minute."""


class PeoplePresent:
    """Who is in. It blocks, and may be called from many threads at once."""

    def __init__(self, hub: Hub, memory: SessionMemory) -> None:
        self._hub = hub
        self._memory = memory

    def list(self, caller: Caller) -> Sequence[Present]:
        """Who is in, the one who did something last first, of so many sessions; raises Unauthorized or Forbidden."""
        require_shown(self._hub, caller)
        now_us, idle_us = self._hub.clock.now_us(), self._hub.options.admin_idle_ms * 1_000
        found = self._hub.read(
            lambda connection: admin_sessions.list_sessions(connection, now_us, idle_us, _LISTED_MAX)
        ).result()
        by_person: dict[tuple[str, str], list[Session]] = {}
        for session in found:
            by_person.setdefault((session.name, session.source), []).append(session)
        return sorted((_together(some) for some in by_person.values()), key=lambda one: (-one.seen_us, one.name))

    def end(self, caller: Caller, name: str, source: str) -> int:
        """End all that somebody has open, at once; how many. Raises Unauthorized, Forbidden or BadRequest."""
        require_shown(self._hub, caller)
        if source not in SOURCES:
            raise BadRequest(f"say how they entered: one of {', '.join(SOURCES)}")

        def change(transaction: Transaction) -> int:
            ended = admin_sessions.delete_sessions_of(transaction.connection, name, source)
            if ended:
                transaction.after_commit.append(lambda: self._memory.end(ended))
                said = {"source": source, "sessions": len(ended)}
                write_note(transaction, note_of(caller, END, SESSION, [name], said))
            return len(ended)

        count: int = self._hub.submit(Change(change)).result()
        return count


def _together(sessions: Sequence[Session]) -> Present:
    newest = max(sessions, key=lambda one: one.created_us)
    return Present(
        name=newest.name,
        source=newest.source,
        role=newest.role,
        sessions=len(sessions),
        since_us=min(one.created_us for one in sessions),
        seen_us=max(one.seen_us for one in sessions),
    )
