"""The tables of groups; see `schema`. The messages of a group are in the log of its topic, like all others."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    text,
    true,
)

from pregon.store.schema_base import ZERO, Id, metadata

participant = Table(
    "participant",
    metadata,
    Column("id", Id, primary_key=True),
    # As it is shown, and as names are compared.
    Column("name", String(64), nullable=False),
    Column("folded", String(200), nullable=False, unique=True),
    # Of the token there is only the SHA-256 of its secret.
    Column("secret_hash", LargeBinary(32), nullable=False),
    # Who enrolled it, if it showed a key: only the same one may use the token.
    Column("caller", String(200), nullable=False, server_default=""),
    Column("created_us", BigInteger, nullable=False),
    # An id is never given twice: a token of a participant that is gone opens nothing.
    sqlite_autoincrement=True,
)

causal_group = Table(
    "causal_group",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", String(160), nullable=False, unique=True),
    Column("topic_id", ForeignKey("topic.id", ondelete="CASCADE"), nullable=False, unique=True),
    Column("description", Text, nullable=False, server_default=""),
    # open or invited; who is invited: names of participants or of keys, a line each.
    Column("access", String(10), nullable=False),
    Column("allowed", Text, nullable=False, server_default=""),
    Column("history", Boolean, nullable=False, server_default=true()),
    Column("traced", Boolean, nullable=False, server_default=true()),
    # Of a conversation of two: their ids, the lower one first.
    Column("pair", String(50), unique=True),
    # In how many hubs it lives, which of them this one is, and how many members it has numbered.
    Column("stride", Integer, nullable=False, server_default=text("1")),
    Column("place", Integer, nullable=False, server_default=ZERO),
    Column("numbered", BigInteger, nullable=False, server_default=ZERO),
    # What a message would depend on whose sender has seen the whole log: stamps, each with its number in the log.
    Column("frontier", Text, nullable=False, server_default=""),
    Column("created_us", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

group_member = Table(
    "group_member",
    metadata,
    Column("group_id", ForeignKey("causal_group.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("member", BigInteger, primary_key=True, autoincrement=False),
    # Nobody for the hub itself, and for a member whose participant is gone.
    Column("participant_id", ForeignKey("participant.id", ondelete="SET NULL")),
    # As it was called last.
    Column("name", String(64), nullable=False),
    Column("kind", String(10), nullable=False),
    # joining, in or out.
    Column("state", String(10), nullable=False),
    # How many messages it has sent; what a hosted one had seen when it last sent, and what it has seen since.
    Column("number", BigInteger, nullable=False, server_default=ZERO),
    Column("sent_seq", BigInteger, nullable=False, server_default=ZERO),
    Column("seen_seq", BigInteger, nullable=False, server_default=ZERO),
    Column("joined_seq", BigInteger, nullable=False),
    Column("left_seq", BigInteger),
    # Of a web service: the subscriber to whom the group is pushed.
    Column("subscriber", String(160), nullable=False, server_default=""),
)
Index("ix_group_member_participant_id", group_member.c.participant_id)
