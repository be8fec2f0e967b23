"""The public CURVE keys of clients and workers, and what each may do."""

from __future__ import annotations

from sqlalchemy import Connection, delete, func, insert, select

from pregon.model.service import CurveKey
from pregon.store.schema import curve_key


def list_curve_keys(connection: Connection) -> list[CurveKey]:
    """All of them, by name."""
    return [
        CurveKey(
            name=row.name,
            public=row.public,
            asks=tuple(row.asks.split()),
            serves=tuple(row.serves.split()),
            created_us=row.created_us,
        )
        for row in connection.execute(select(curve_key).order_by(curve_key.c.name))
    ]


def insert_curve_key(connection: Connection, key: CurveKey) -> None:
    """Let one in, instead of the one that has its name."""
    delete_curve_key(connection, key.name)
    connection.execute(
        insert(curve_key).values(
            public=key.public,
            name=key.name,
            asks=" ".join(key.asks),
            serves=" ".join(key.serves),
            created_us=key.created_us,
        )
    )


def find_owner(connection: Connection, public: str) -> str | None:
    """Whose key it is; None if nobody's."""
    return connection.execute(select(curve_key.c.name).where(curve_key.c.public == public)).scalar()


def count_curve_keys(connection: Connection) -> int:
    """How many there are."""
    return connection.execute(select(func.count()).select_from(curve_key)).scalar_one()


def delete_curve_key(connection: Connection, name: str) -> bool:
    """Let one in no more; whether there was one."""
    return connection.execute(delete(curve_key).where(curve_key.c.name == name)).rowcount > 0
