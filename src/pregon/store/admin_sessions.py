"""Who is in: the sessions of the administration pages, by the SHA-256 of what the browser has."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, and_, delete, func, insert, or_, select, true, update

from pregon.model.administration import PASSWORD, Session
from pregon.store.schema_admin import admin_session, administrator

SEEN_EVERY_MS = 60_000
"""That something is done in a session is written down no more often than this."""

_rows = admin_session.c


def insert_session(connection: Connection, token_hash: bytes, session: Session) -> None:
    """Somebody has come in."""
    connection.execute(
        insert(admin_session).values(
            token_hash=token_hash,
            name=session.name,
            role=session.role,
            source=session.source,
            created_us=session.created_us,
            seen_us=session.seen_us,
            expires_us=session.expires_us,
        )
    )


def find_session(connection: Connection, token_hash: bytes) -> Session | None:
    """The session, unless its person is disabled or there no more. Whether its time is over is left to who asks."""
    person = and_(administrator.c.name == _rows.name, administrator.c.enabled == true())
    found = select(admin_session).outerjoin(administrator, person)
    row = connection.execute(
        found.where(_rows.token_hash == token_hash, or_(_rows.source != PASSWORD, administrator.c.name.is_not(None)))
    ).first()
    return None if row is None else _session(row)


def list_sessions(connection: Connection, now_us: int, idle_us: int, rows_max: int) -> list[Session]:
    """Those that are not over, nor idle for so long; of too many, those in which something was done last."""
    still = select(admin_session).where(_rows.expires_us > now_us, _rows.seen_us > now_us - idle_us)
    found = connection.execute(still.order_by(_rows.seen_us.desc(), _rows.token_hash).limit(rows_max))
    return [_session(row) for row in found]


def count_sessions(connection: Connection) -> int:
    """How many there are."""
    return connection.execute(select(func.count()).select_from(admin_session)).scalar_one()


def note_seen(connection: Connection, token_hash: bytes, seen_us: int) -> None:
    """Something was done in a session."""
    connection.execute(update(admin_session).where(_rows.token_hash == token_hash).values(seen_us=seen_us))


def delete_session(connection: Connection, token_hash: bytes) -> Session | None:
    """End a session; which it was."""
    row = connection.execute(select(admin_session).where(_rows.token_hash == token_hash)).first()
    if row is None:
        return None
    connection.execute(delete(admin_session).where(_rows.token_hash == token_hash))
    return _session(row)


def delete_sessions_of(connection: Connection, name: str, source: str, keep: int = 0, but: bytes = b"") -> list[bytes]:
    """End the sessions of a person, but for the newest ones, or but for one; which they were."""
    newest_first = (
        select(_rows.token_hash)
        .where(_rows.name == name, _rows.source == source, _rows.token_hash != but)
        .order_by(_rows.created_us.desc(), _rows.token_hash)
    )
    ended = [bytes(token_hash) for token_hash in connection.execute(newest_first).scalars()][keep:]
    for token_hash in ended:
        connection.execute(delete(admin_session).where(_rows.token_hash == token_hash))
    return ended


def forget_sessions(connection: Connection, expired_us: int, idle_since_us: int, rows_max: int) -> int:
    """Remove sessions whose time is over, or in which nothing was done for too long; how many."""
    over = select(_rows.token_hash).where(or_(_rows.expires_us <= expired_us, _rows.seen_us <= idle_since_us))
    return connection.execute(delete(admin_session).where(_rows.token_hash.in_(over.limit(rows_max)))).rowcount


def _session(row: Any) -> Session:
    return Session(
        name=row.name,
        role=row.role,
        source=row.source,
        created_us=row.created_us,
        seen_us=row.seen_us,
        expires_us=row.expires_us,
    )
