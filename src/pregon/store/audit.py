"""The audit: who changed what. Written in the transaction of the change, searched newest first, forgotten by age.

A search walks an index backwards whose last part is the id: by who, or by the kind and the whole name of what was
changed. Other searches walk the rows as they come.

Promises:
- A search looks at so many rows and no more; the page then says where to go on, however full it is.
- All rows that fit are found, each once, in the order of their ids.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Subquery, func, insert, select

from pregon import limits
from pregon.errors import BadRequest
from pregon.limits import INTEGER_MAX
from pregon.model.administration import AuditEntry, AuditPage, AuditQuery
from pregon.store.by_time import ByTime
from pregon.store.schema_admin import audit

WALKED_ROWS_MAX = 20_000
"""Rows that one search looks at."""

_BY_TIME = ByTime(audit)
_WHO_CHARACTERS_MAX, _OBJECT_CHARACTERS_MAX = 200, 400


def write_audit(connection: Connection, entry: AuditEntry) -> None:
    """Add an entry, the newest."""
    connection.execute(
        insert(audit).values(
            at_us=entry.at_us,
            who=entry.who[:_WHO_CHARACTERS_MAX],
            action=entry.action,
            kind=entry.kind,
            object=entry.object[:_OBJECT_CHARACTERS_MAX],
            detail=entry.detail,
        )
    )


def find_audit(connection: Connection, query: AuditQuery) -> AuditPage:
    """A page of the entries that match, newest first; raises BadRequest for a question that makes no sense."""
    if not all(0 <= one <= INTEGER_MAX for one in (query.since_us, query.until_us, query.before)):
        raise BadRequest("since_us, until_us and before are 0 (no limit) or more")
    looked_at = _rows_to_look_at(connection, query)
    rows_max = max(1, min(query.max, limits.LIST_ROWS_MAX))
    # One more than the page has tells whether there is a next one.
    wanted = select(looked_at).where(*_wanted(query, looked_at)).order_by(looked_at.c.id.desc()).limit(rows_max + 1)
    found = [_entry(row) for row in connection.execute(wanted)]
    if len(found) > rows_max:
        return AuditPage(found[:rows_max], next=found[rows_max - 1].id)
    last = select(looked_at.c.id).order_by(looked_at.c.id.desc()).offset(WALKED_ROWS_MAX - 1).limit(1)
    return AuditPage(found, next=connection.execute(last).scalar() or 0)


def newest_audit_us(connection: Connection) -> int:
    """When the newest entry was written, 0 if there is none."""
    return _BY_TIME.newest_us(connection)


def forget_audit(connection: Connection, before_us: int, rows_max: int) -> int:
    """Remove at most `rows_max` entries older than `before_us`, the oldest first; how many. The newest one stays."""
    return _BY_TIME.forget(connection, before_us, rows_max)


def _rows_to_look_at(connection: Connection, query: AuditQuery) -> Subquery:
    """The newest rows that an index finds, so many and no more."""
    where: list[ColumnElement[bool]] = []
    if query.since_us:
        where.append(audit.c.id >= _BY_TIME.first_id_at(connection, query.since_us))
    if query.until_us:
        where.append(audit.c.id < _BY_TIME.first_id_at(connection, query.until_us))
    if query.before:
        where.append(audit.c.id < query.before)
    if query.who:
        where.append(audit.c.who == query.who)
    elif query.kind and query.object and not query.object.endswith("*"):
        where += [audit.c.kind == query.kind, audit.c.object == query.object]
    return select(audit).where(*where).order_by(audit.c.id.desc()).limit(WALKED_ROWS_MAX).subquery("fitting")


def _wanted(query: AuditQuery, rows: Subquery) -> list[ColumnElement[bool]]:
    """Which of them fit all that is asked for."""
    where: list[ColumnElement[bool]] = []
    if query.kind:
        where.append(rows.c.kind == query.kind)
    if query.action:
        where.append(rows.c.action == query.action)
    if query.object.endswith("*"):
        beginning = query.object[:-1]
        where.append(func.substr(rows.c.object, 1, len(beginning)) == beginning)
    elif query.object:
        where.append(rows.c.object == query.object)
    return where


def _entry(row: Any) -> AuditEntry:
    return AuditEntry(
        id=row.id,
        at_us=row.at_us,
        who=row.who,
        action=row.action,
        kind=row.kind,
        object=row.object,
        detail=row.detail,
    )
