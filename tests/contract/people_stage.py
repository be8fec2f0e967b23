"""People of the administration pages for tests: cheap passwords, a clock of the test's, and what the audit says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from sqlalchemy import select

from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.people import People
from pregon.model.administration import AuditQuery, Session
from pregon.security.callers import Caller, scopes_of
from pregon.security.passwords import Costs
from pregon.store.schema import metadata

CHEAP = Costs(time=1, memory_kib=8, lanes=1)
ADMIN = Caller(name="token admin", scopes=scopes_of(("admin",)))
OPERATOR = Caller(name="token guardia", scopes=scopes_of(("operate",)))
READER = Caller(name="token grafana", scopes=scopes_of(("read",)))
GOOD = "agua quieta del Cerro"
OTHER = "otra cosa muy distinta"


def people_of(hub: Hub, now_ms: Callable[[], float] = lambda: 0.0) -> People:
    """The people of a hub, whose passwords cost little."""
    return People(hub, CHEAP, now_ms)


def is_in(people: People, token: str) -> bool:
    """Whether a token opens anything, without keeping the session awake."""
    return people.find_session(token, is_active=False) is not None


def name_of(session: Session | None) -> str:
    """Who is in, empty for nobody."""
    return session.name if session else ""


def notes(hub: Hub, **query: Any) -> list[tuple[str, str, str, str]]:
    """What the audit says, oldest first: who, action, kind, object."""
    found = Gate(hub).audit(ADMIN, AuditQuery(max=1_000, **query)).result()
    return [(one.who, one.action, one.kind, one.object) for one in reversed(found)]


def detail(hub: Hub, **query: Any) -> Any:
    """What the newest entry says of what was asked for."""
    found = Gate(hub).audit(ADMIN, AuditQuery(max=1, **query)).result()
    return msgspec.json.decode(found[0].detail) if found[0].detail else {}


def dump(hub: Hub, *tables: str) -> str:
    """Every value of these tables, of all if none is named."""
    wanted = [table for table in metadata.sorted_tables if not tables or table.name in tables]
    return hub.read(lambda c: repr([tuple(row) for table in wanted for row in c.execute(select(table))])).result()
