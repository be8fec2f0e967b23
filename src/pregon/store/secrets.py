"""The secrets with which pushes are signed: of each subscriber a few, the newest first."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import Connection, delete, insert, or_, select, update

from pregon.model.catalog import SigningSecret
from pregon.store.schema import signing_secret, subscriber


@dataclass(frozen=True, slots=True)
class KeptSecret:
    """What is known of a secret, and the secret."""

    known: SigningSecret
    secret: bytes = field(repr=False)


def list_secrets(connection: Connection, subscriber_name: str = "", now_us: int = 0) -> list[KeptSecret]:
    """The secrets of a subscriber, or of all, that are valid at a time; the newest of each first."""
    statement = (
        select(signing_secret, subscriber.c.name.label("subscriber"))
        .join(subscriber, subscriber.c.id == signing_secret.c.subscriber_id)
        .where(or_(signing_secret.c.expires_us.is_(None), signing_secret.c.expires_us > now_us))
        .order_by(subscriber.c.name, signing_secret.c.created_us.desc(), signing_secret.c.id)
    )
    if subscriber_name:
        statement = statement.where(subscriber.c.name == subscriber_name)
    return [
        KeptSecret(
            SigningSecret(id=row.id, subscriber=row.subscriber, created_us=row.created_us, expires_us=row.expires_us),
            bytes(row.secret),
        )
        for row in connection.execute(statement)
    ]


def insert_secret(connection: Connection, subscriber_id: int, kept: KeptSecret) -> None:
    """Keep a secret."""
    connection.execute(
        insert(signing_secret).values(
            id=kept.known.id,
            subscriber_id=subscriber_id,
            secret=kept.secret,
            created_us=kept.known.created_us,
            expires_us=kept.known.expires_us,
        )
    )


def expire_secrets(connection: Connection, subscriber_id: int, at_us: int) -> None:
    """Let the secrets of a subscriber end at a time, if they do not end before."""
    mine = signing_secret.c.subscriber_id == subscriber_id
    later = or_(signing_secret.c.expires_us.is_(None), signing_secret.c.expires_us > at_us)
    connection.execute(update(signing_secret).where(mine, later).values(expires_us=at_us))


def delete_expired_secrets(connection: Connection, subscriber_id: int, now_us: int) -> None:
    """Forget those whose time is over."""
    mine = signing_secret.c.subscriber_id == subscriber_id
    connection.execute(delete(signing_secret).where(mine, signing_secret.c.expires_us <= now_us))


def delete_secret(connection: Connection, subscriber_id: int, secret_id: str) -> bool:
    """Forget one; whether there was one."""
    mine = signing_secret.c.subscriber_id == subscriber_id
    return connection.execute(delete(signing_secret).where(mine, signing_secret.c.id == secret_id)).rowcount > 0
