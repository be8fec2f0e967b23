"""Traces, as ranges of message numbers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "trace",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
        sa.Column("at_us", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("topic", sa.String(160), nullable=False),
        sa.Column("producer", sa.String(160), nullable=False, server_default=""),
        sa.Column("subscriber", sa.String(160), nullable=False, server_default=""),
        sa.Column("first_seq", sa.BigInteger, nullable=False),
        sa.Column("last_seq", sa.BigInteger, nullable=False),
        sa.Column("detail", sa.Text, nullable=False, server_default=""),
    )
    op.create_index("ix_trace_topic_last_seq", "trace", ["topic", "last_seq"])
