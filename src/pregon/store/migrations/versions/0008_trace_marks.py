"""Marks of those who copy the traces: what lies after the lowest one is not forgotten."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "trace_mark",
        sa.Column("name", sa.String(160), primary_key=True),
        sa.Column("trace_id", sa.BigInteger, nullable=False),
        sa.Column("created_us", sa.BigInteger, nullable=False),
        sa.Column("put_us", sa.BigInteger, nullable=False),
    )
