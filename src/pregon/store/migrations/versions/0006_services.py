"""Durable requests to services, how services are run, and the CURVE keys of who asks and serves."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "service_request",
        sa.Column("id", sa.String(200), primary_key=True),
        sa.Column("service", sa.String(300), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("user", sa.String(200), nullable=False, server_default=""),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("submitted_us", sa.BigInteger, nullable=False),
        sa.Column("deadline_us", sa.BigInteger),
        sa.Column("ended_us", sa.BigInteger),
        sa.Column("keep_until_us", sa.BigInteger),
        sa.Column("code", sa.String(100), nullable=False, server_default=""),
        sa.Column("message", sa.Text, nullable=False, server_default=""),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("answer", sa.LargeBinary),
    )
    op.create_index("ix_service_request_state", "service_request", ["state", "submitted_us"])
    op.create_index("ix_service_request_keep_until_us", "service_request", ["keep_until_us"])
    op.create_table(
        "service_setting",
        sa.Column("service", sa.String(160), primary_key=True),
        sa.Column("options", sa.Text, nullable=False),
    )
    op.create_table(
        "curve_key",
        sa.Column("public", sa.String(40), primary_key=True),
        sa.Column("name", sa.String(160), nullable=False),
        sa.Column("asks", sa.Text, nullable=False, server_default=""),
        sa.Column("serves", sa.Text, nullable=False, server_default=""),
        sa.Column("created_us", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("name", name="uq_curve_key_name"),
    )
