"""Durable requests to services: stored, looked up, ended once, forgotten; and how services are run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, or_, select, update

from pregon.errors import AlreadyExists, NotPending
from pregon.model.service import PARKED, WAITING, Entry, Result
from pregon.store.schema import service_request, service_setting

_rows = service_request.c
_encode = msgspec.msgpack.Encoder().encode
_frames = msgspec.msgpack.Decoder(list[bytes])


def has_request(connection: Connection, entry: Entry) -> bool:
    """Whether this very request is stored; raises AlreadyExists if its id is that of another."""
    columns = (_rows.user, _rows.service, _rows.body)
    row = connection.execute(select(*columns).where(_rows.id == entry.id)).first()
    if row is None:
        return False
    if (row.user, row.service, row.body) != (entry.user, entry.service, _encode(entry.body)):
        raise AlreadyExists(f"the key {entry.id!r} is of another request: choose a key that only this one has")
    return True


def insert_request(connection: Connection, entry: Entry, now_us: int) -> None:
    """Store a request whose id is free."""
    deadline_us = None if entry.deadline_in_ms is None else now_us + entry.deadline_in_ms * 1_000
    connection.execute(
        insert(service_request).values(
            id=entry.id,
            service=entry.service,
            state=WAITING,
            user=entry.user,
            priority=entry.priority,
            submitted_us=now_us,
            deadline_us=deadline_us,
            body=_encode(entry.body),
        )
    )


def count_requests(connection: Connection) -> int:
    """All that are stored, with a result or without."""
    return connection.execute(select(func.count()).select_from(service_request)).scalar_one()


def note_attempts(connection: Connection, request_id: str, attempts: int) -> None:
    """So many workers were lost with it."""
    connection.execute(update(service_request).where(_rows.id == request_id).values(attempts=attempts))


def end_request(connection: Connection, result: Result, now_us: int, keep_ms: int) -> bool:
    """Store the result of a request that has none; whether it had none."""
    # What was set aside is kept until somebody looks at it.
    keep_until_us = None if result.state == PARKED else now_us + keep_ms * 1_000
    answered = connection.execute(
        update(service_request)
        .where(_rows.id == result.id, _rows.state == WAITING)
        .values(
            state=result.state,
            attempts=result.attempts,
            ended_us=now_us,
            keep_until_us=keep_until_us,
            code=result.code,
            message=result.message,
            answer=_encode(result.body) if result.body else None,
        )
    )
    return answered.rowcount > 0


def release_request(connection: Connection, request_id: str, job_type: str = "") -> Entry | None:
    """One that was set aside waits again, as if it were new; None if there is none, or not of that type."""
    which = [_rows.id == request_id, _rows.state == PARKED]
    if job_type:
        which.append(_is_of(job_type))
    row = connection.execute(select(service_request).where(*which)).first()
    if row is None:
        return None
    # Without its deadline, which went on while it was set aside: who releases it wants it worked on.
    connection.execute(
        update(service_request)
        .where(_rows.id == request_id)
        .values(state=WAITING, attempts=0, deadline_us=None, ended_us=None, code="", message="")
    )
    return msgspec.structs.replace(_entry(row, 0), attempts=0, deadline_in_ms=None)


def delete_request(connection: Connection, request_id: str, job_type: str = "") -> bool:
    """Forget one that does not wait; whether there was one, of that type. Raises NotPending for one that does."""
    which = [_rows.id == request_id]
    if job_type:
        which.append(_is_of(job_type))
    state = connection.execute(select(_rows.state).where(*which)).scalar()
    if state == WAITING:
        raise NotPending(f"{request_id!r} waits for its result: it can be forgotten when it has ended")
    return state is not None and connection.execute(delete(service_request).where(*which)).rowcount > 0


def _is_of(job_type: str) -> ColumnElement[bool]:
    """Whether a request is to this service, in whatever version."""
    prefix = f"{job_type}@"
    # Not LIKE, for which `a` and `A` are one.
    return or_(_rows.service == job_type, func.substr(_rows.service, 1, len(prefix)) == prefix)


def find_result(connection: Connection, request_id: str) -> Result | None:
    """What is known of a request."""
    row = connection.execute(select(service_request).where(_rows.id == request_id)).first()
    if row is None:
        return None
    return Result(
        id=row.id,
        service=row.service,
        state=row.state,
        user=row.user,
        body=_frames.decode(row.answer) if row.answer is not None else [],
        code=row.code,
        message=row.message,
        attempts=row.attempts,
        submitted_us=row.submitted_us,
        ended_us=row.ended_us,
    )


def list_requests(connection: Connection, service: str, state: str, after: str, rows_max: int) -> list[dict[str, Any]]:
    """Durable requests by id, after an id, without their bodies; of a service and in a state if those are named.

    A service is all its versions, unless one is named (`sqrt@2`).
    """
    columns = [_rows[name] for name in (
        "id", "service", "state", "user", "priority", "attempts", "submitted_us", "deadline_us", "ended_us", "code",
        "message",
    )]  # fmt: skip
    statement = select(*columns).where(_rows.id > after).order_by(_rows.id).limit(rows_max)
    if service:
        statement = statement.where(_is_of(service))
    if state:
        statement = statement.where(_rows.state == state)
    return [dict(row._mapping) for row in connection.execute(statement)]


def entries_in(connection: Connection, state: str, now_us: int, rows_max: int) -> Iterator[tuple[Entry, str]]:
    """The requests in a state, the oldest first, each with why it was set aside."""
    statement = select(service_request).where(_rows.state == state).order_by(_rows.submitted_us).limit(rows_max)
    for row in connection.execute(statement):
        yield _entry(row, now_us), row.message


def _entry(row: Row[Any], now_us: int) -> Entry:
    left_ms = None if row.deadline_us is None else max(1, (row.deadline_us - now_us) // 1_000)
    return Entry(
        id=row.id,
        service=row.service,
        body=_frames.decode(row.body),
        priority=row.priority,
        user=row.user,
        deadline_in_ms=left_ms,
        attempts=row.attempts,
    )


def forget_results(connection: Connection, now_us: int, rows_max: int) -> int:
    """Remove results that were kept for long enough, at most so many; how many it was."""
    old = select(_rows.id).where(_rows.keep_until_us <= now_us).limit(rows_max)
    return connection.execute(delete(service_request).where(_rows.id.in_(old))).rowcount


def set_setting(connection: Connection, service: str, options: str | None) -> None:
    """Remember how a service is run; None: as all the others."""
    connection.execute(delete(service_setting).where(service_setting.c.service == service))
    if options is not None:
        connection.execute(insert(service_setting).values(service=service, options=options))


def list_settings(connection: Connection) -> dict[str, str]:
    """How services are run that are not run as all the others."""
    rows = connection.execute(select(service_setting.c.service, service_setting.c.options))
    return {row.service: row.options for row in rows}
