"""Who administers, who changed what, how much flowed; topics and producers that are disabled, subscriptions paused."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create them."""
    for table in ("topic", "producer"):
        op.add_column(table, sa.Column("enabled", sa.Boolean, nullable=False, server_default=sa.true()))
    op.add_column("subscription", sa.Column("paused", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_index("ix_subscription_subscriber_id", "subscription", ["subscriber_id"])
    _create_people()
    _create_records()


def _create_people() -> None:
    op.create_table(
        "administrator",
        sa.Column("name", sa.String(160), primary_key=True),
        sa.Column("password_hash", sa.String(300), nullable=False),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False, server_default=sa.true()),
        sa.Column("created_us", sa.BigInteger, nullable=False),
        sa.Column("changed_us", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "admin_session",
        sa.Column("token_hash", sa.LargeBinary(32), primary_key=True),
        sa.Column("name", sa.String(160), nullable=False),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("source", sa.String(20), nullable=False),
        sa.Column("created_us", sa.BigInteger, nullable=False),
        sa.Column("seen_us", sa.BigInteger, nullable=False),
        sa.Column("expires_us", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_admin_session_name", "admin_session", ["name"])
    op.create_index("ix_admin_session_expires_us", "admin_session", ["expires_us"])


def _create_records() -> None:
    op.create_table(
        "audit",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("at_us", sa.BigInteger, nullable=False),
        sa.Column("who", sa.String(200), nullable=False),
        sa.Column("action", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("object", sa.String(400), nullable=False),
        sa.Column("detail", sa.Text, nullable=False, server_default=""),
    )
    op.create_index("ix_audit_who", "audit", ["who", "id"])
    op.create_index("ix_audit_kind_object", "audit", ["kind", "object", "id"])
    op.create_table(
        "activity",
        sa.Column("minute_us", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("figures", sa.LargeBinary, nullable=False),
    )
