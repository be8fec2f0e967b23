"""The people of the administration pages: insert, change, list, delete. Of their passwords there are only hashes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, true, update

from pregon.model.administration import ADMINISTRATOR, Administrator
from pregon.store.schema_admin import administrator

_rows = administrator.c


@dataclass(frozen=True, slots=True)
class KeptAdministrator:
    """A person, and the hash of the password."""

    known: Administrator
    password_hash: str = field(repr=False)


def find_administrator(connection: Connection, name: str) -> KeptAdministrator | None:
    """The person of this name, or None."""
    row = connection.execute(select(administrator).where(_rows.name == name)).first()
    return None if row is None else KeptAdministrator(_known(row), row.password_hash)


def list_administrators(connection: Connection) -> list[Administrator]:
    """All of them, by name."""
    return [_known(row) for row in connection.execute(select(administrator).order_by(_rows.name))]


def count_administrators(connection: Connection) -> int:
    """How many there are, whatever they may do."""
    return connection.execute(select(func.count()).select_from(administrator)).scalar_one()


def has_administrator_besides(connection: Connection, name: str) -> bool:
    """Whether somebody else administers: enabled, and with that role."""
    others = select(_rows.name).where(_rows.name != name, _rows.role == ADMINISTRATOR, _rows.enabled == true())
    return connection.execute(others.limit(1)).first() is not None


def insert_administrator(connection: Connection, kept: KeptAdministrator) -> None:
    """Add one."""
    known = kept.known
    connection.execute(
        insert(administrator).values(
            name=known.name,
            password_hash=kept.password_hash,
            role=known.role,
            enabled=known.enabled,
            created_us=known.created_us,
            changed_us=known.changed_us,
        )
    )


def change_administrator(connection: Connection, name: str, **values: Any) -> None:
    """Give some columns of one other values."""
    connection.execute(update(administrator).where(_rows.name == name).values(**values))


def delete_administrator(connection: Connection, name: str) -> bool:
    """Remove one; whether there was one."""
    return connection.execute(delete(administrator).where(_rows.name == name)).rowcount > 0


def _known(row: Any) -> Administrator:
    return Administrator(
        name=row.name,
        role=row.role,
        enabled=bool(row.enabled),
        created_us=row.created_us,
        changed_us=row.changed_us,
    )
