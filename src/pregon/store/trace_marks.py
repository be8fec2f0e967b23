"""Marks among the traces: up to where somebody has copied them. Who may put one is decided elsewhere.

Promises:
- Everything happens in the transaction of who calls: what is forgotten by a mark was put before.
"""

from __future__ import annotations

from sqlalchemy import Connection, delete, func, insert, select, update

from pregon.model.trace import TraceMark
from pregon.store.schema import trace_mark


def list_marks(connection: Connection) -> list[TraceMark]:
    """All of them, by name."""
    return [
        TraceMark(name=row.name, id=row.trace_id, created_us=row.created_us, put_us=row.put_us)
        for row in connection.execute(select(trace_mark).order_by(trace_mark.c.name))
    ]


def find_lowest(connection: Connection) -> int | None:
    """The trace up to which everybody with a mark has copied; None when nobody has one."""
    return connection.execute(select(func.min(trace_mark.c.trace_id))).scalar()


def write_mark(connection: Connection, mark: TraceMark) -> None:
    """Put a mark, instead of the one of that name if there is one."""
    values = {"trace_id": mark.id, "created_us": mark.created_us, "put_us": mark.put_us}
    changed = connection.execute(update(trace_mark).where(trace_mark.c.name == mark.name).values(values))
    if not changed.rowcount:
        connection.execute(insert(trace_mark).values(name=mark.name, **values))


def delete_mark(connection: Connection, name: str) -> bool:
    """Take a mark away; whether there was one."""
    return connection.execute(delete(trace_mark).where(trace_mark.c.name == name)).rowcount > 0


def drop_abandoned(connection: Connection, before_us: int) -> list[TraceMark]:
    """Take away the marks that nobody has put since then; which they were."""
    abandoned = [one for one in list_marks(connection) if one.put_us < before_us]
    for one in abandoned:
        delete_mark(connection, one.name)
    return abandoned
