"""The tables of administration: who may enter the pages, who is in, who changed what, how much flowed (`schema`)."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, LargeBinary, String, Table, Text, true

from pregon.store.schema_base import Id, metadata

administrator = Table(
    "administrator",
    metadata,
    # Who enters the pages with a password: argon2 of it, with its salt and costs. Its role: reader, operator or
    # administrator.
    Column("name", String(160), primary_key=True),
    Column("password_hash", String(300), nullable=False),
    Column("role", String(20), nullable=False),
    Column("enabled", Boolean, nullable=False, server_default=true()),
    Column("created_us", BigInteger, nullable=False),
    Column("changed_us", BigInteger, nullable=False),
)

admin_session = Table(
    "admin_session",
    metadata,
    # Of what the browser has there is only the SHA-256.
    Column("token_hash", LargeBinary(32), primary_key=True),
    Column("name", String(160), nullable=False, index=True),
    Column("role", String(20), nullable=False),
    # How it was entered: password, or oidc for one whom an identity provider sent.
    Column("source", String(20), nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("seen_us", BigInteger, nullable=False),
    Column("expires_us", BigInteger, nullable=False, index=True),
)

audit = Table(
    "audit",
    metadata,
    # Ids follow the time, as those of traces do.
    Column("id", Id, primary_key=True),
    Column("at_us", BigInteger, nullable=False),
    # Who: as the gate knows it ("administrator ana", "token grafana"), empty for anybody on an open hub.
    Column("who", String(200), nullable=False),
    # What was done to what: create, update, delete, pause …; topic, producer, subscription …; its names, by spaces.
    Column("action", String(40), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("object", String(400), nullable=False),
    # What was changed, as JSON without anything that is secret.
    Column("detail", Text, nullable=False, server_default=""),
)
Index("ix_audit_who", audit.c.who, audit.c.id)
Index("ix_audit_kind_object", audit.c.kind, audit.c.object, audit.c.id)

activity = Table(
    "activity",
    metadata,
    # What flowed in one minute of one hub: `model.activity.Minute` as MessagePack.
    Column("minute_us", BigInteger, primary_key=True, autoincrement=False),
    Column("figures", LargeBinary, nullable=False),
)
