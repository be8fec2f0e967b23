"""The keys of producers, subscribers and tokens: insert, list, revoke. Secrets are never here, only their hashes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, tuple_, update

from pregon.errors import LimitReached
from pregon.limits import KEYS_MAX, KEYS_PER_OWNER_MAX
from pregon.security.keys import Key
from pregon.store.schema import access_key


@dataclass(frozen=True, slots=True)
class KeptKey:
    """A key and the hash of its secret."""

    key: Key
    secret_hash: bytes


def require_room(connection: Connection, kind: str, owner: str, now_us: int) -> None:
    """Raises LimitReached when an owner, or the hub, has as many keys as may be."""
    count = connection.execute(select(func.count()).select_from(access_key)).scalar_one()
    mine = len([one for one in list_keys(connection, kind, owner) if not is_expired(one.key, now_us)])
    if count >= KEYS_MAX or mine >= KEYS_PER_OWNER_MAX:
        raise LimitReached(f"the {kind} {owner} has {mine} keys (the hub {count}): revoke some first")


def insert_key(connection: Connection, kept: KeptKey) -> None:
    """Keep a key."""
    key = kept.key
    connection.execute(
        insert(access_key).values(
            id=key.id,
            kind=key.kind,
            owner=key.owner,
            secret_hash=kept.secret_hash,
            scopes=" ".join(key.scopes),
            label=key.label,
            requests_per_s=key.requests_per_s,
            body_bytes_max=key.body_bytes_max,
            created_us=key.created_us,
            expires_us=key.expires_us,
        )
    )


def is_expired(key: Key, now_us: int) -> bool:
    """Whether a key is valid no more."""
    return key.expires_us is not None and key.expires_us <= now_us


def expire_keys(connection: Connection, kind: str, owner: str, expires_us: int) -> None:
    """Let every key of an owner end at a time, unless it ends before."""
    connection.execute(
        update(access_key)
        .where(access_key.c.kind == kind, access_key.c.owner == owner)
        .where(access_key.c.expires_us.is_(None) | (access_key.c.expires_us > expires_us))
        .values(expires_us=expires_us)
    )


def delete_key(connection: Connection, kind: str, owner: str, key_id: str) -> bool:
    """Revoke a key; whether there was one."""
    same = (access_key.c.kind == kind, access_key.c.owner == owner, access_key.c.id == key_id)
    return connection.execute(delete(access_key).where(*same)).rowcount > 0


def delete_keys_of(connection: Connection, kind: str, owner: str) -> None:
    """Revoke every key of an owner."""
    connection.execute(delete(access_key).where(access_key.c.kind == kind, access_key.c.owner == owner))


def delete_expired(connection: Connection, kind: str, owner: str, now_us: int) -> None:
    """Forget the keys of an owner whose time is over."""
    mine = (access_key.c.kind == kind, access_key.c.owner == owner)
    connection.execute(delete(access_key).where(*mine, access_key.c.expires_us <= now_us))


def list_keys(
    connection: Connection, kind: str = "", owner: str = "", after: tuple[str, str] = ("", ""), rows_max: int = KEYS_MAX
) -> list[KeptKey]:
    """Keys by owner and id, of one kind and one owner if they are named, after an owner and an id."""
    place = (access_key.c.owner, access_key.c.id)
    statement = select(access_key).where(tuple_(*place) > after).order_by(*place).limit(rows_max)
    if kind:
        statement = statement.where(access_key.c.kind == kind)
    if owner:
        statement = statement.where(access_key.c.owner == owner)
    return [_kept(row) for row in connection.execute(statement)]


def _kept(row: Any) -> KeptKey:
    key = Key(
        id=row.id,
        kind=row.kind,
        owner=row.owner,
        scopes=tuple(row.scopes.split()),
        label=row.label,
        requests_per_s=row.requests_per_s,
        body_bytes_max=row.body_bytes_max,
        created_us=row.created_us,
        expires_us=row.expires_us,
    )
    return KeptKey(key, bytes(row.secret_hash))
