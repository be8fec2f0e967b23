"""The catalogue, the log, the cursors, and the memory of what was published already."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_ZERO = sa.text("0")


def _named(table: str) -> None:
    """Topics, producers and subscribers begin alike."""
    extra: list[sa.Column[object]] = []
    if table == "topic":
        extra = [
            sa.Column("restricted", sa.Boolean, nullable=False, server_default=sa.false()),
            sa.Column("retention_age_ms", sa.BigInteger),
            sa.Column("retention_bytes_max", sa.BigInteger),
            sa.Column("retention_when_acknowledged", sa.Boolean, nullable=False, server_default=sa.false()),
            sa.Column("head_seq", sa.BigInteger, nullable=False, server_default=_ZERO),
            sa.Column("tail_seq", sa.BigInteger, nullable=False, server_default=sa.text("1")),
            sa.Column("bytes", sa.BigInteger, nullable=False, server_default=_ZERO),
            sa.Column("accepted_us", sa.BigInteger, nullable=False, server_default=_ZERO),
            sa.Column("merged_seq", sa.BigInteger, nullable=False, server_default=_ZERO),
            sa.Column("deleted", sa.Boolean, nullable=False, server_default=sa.false()),
        ]
    op.create_table(
        table,
        sa.Column("id", _Id, primary_key=True),
        sa.Column("name", sa.String(160), nullable=False),
        sa.Column("description", sa.Text, nullable=False, server_default=""),
        *extra,
        sa.Column("created_us", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("name", name=f"uq_{table}_name"),
        sqlite_autoincrement=True,
    )


def _reference(column: str, target: str, **options: Any) -> sa.Column[object]:
    return sa.Column(column, _Id, sa.ForeignKey(target, ondelete="CASCADE"), **options)


def upgrade() -> None:
    """Create them."""
    for table in ("topic", "producer", "subscriber"):
        _named(table)
    op.create_table(
        "producer_topic",
        _reference("producer_id", "producer.id", primary_key=True),
        _reference("topic_id", "topic.id", primary_key=True),
    )
    _create_subscriptions()
    op.create_table(
        "batch",
        sa.Column("key", _Id, primary_key=True, autoincrement=False),
        sa.Column("messages", sa.Integer, nullable=False),
        sa.Column("bytes", sa.Integer, nullable=False),
        sa.Column("first_us", sa.BigInteger, nullable=False),
        sa.Column("last_us", sa.BigInteger, nullable=False),
        sa.Column("arrow", sa.LargeBinary, nullable=False),
    )
    _create_memory()


def _create_subscriptions() -> None:
    op.create_table(
        "subscription",
        sa.Column("id", _Id, primary_key=True),
        _reference("topic_id", "topic.id", nullable=False),
        _reference("subscriber_id", "subscriber.id", nullable=False),
        sa.Column("first_seq", sa.BigInteger, nullable=False),
        sa.Column("acked_seq", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False, server_default=_ZERO),
        sa.Column("expired", sa.BigInteger, nullable=False, server_default=_ZERO),
        sa.Column("pending_max", sa.BigInteger),
        sa.Column("pending_age_ms", sa.BigInteger),
        sa.Column("created_us", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("topic_id", "subscriber_id", name="uq_subscription_topic_id_subscriber_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "parked",
        _reference("subscription_id", "subscription.id", primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("returned", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("handed_out", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("done", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("reason", sa.Text, nullable=False, server_default=""),
        sa.Column("at_us", sa.BigInteger, nullable=False),
        sa.Column("arrow", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "expired_range",
        _reference("subscription_id", "subscription.id", primary_key=True),
        sa.Column("first_seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("last_seq", sa.BigInteger, nullable=False),
    )


def _create_memory() -> None:
    op.create_table(
        "dedupe",
        _reference("topic_id", "topic.id", primary_key=True, autoincrement=False),
        sa.Column("producer_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("message_id", sa.String(200), primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("at_us", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "producer_session",
        _reference("topic_id", "topic.id", primary_key=True, autoincrement=False),
        sa.Column("producer_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("session", sa.String(200), primary_key=True),
        sa.Column("batches", sa.LargeBinary, nullable=False),
        sa.Column("at_us", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_producer_session_at_us", "producer_session", ["at_us"])
