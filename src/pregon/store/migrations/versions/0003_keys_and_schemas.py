"""Keys, and the schemas of topics."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create them."""
    op.add_column("topic", sa.Column("schema_version", sa.Integer, nullable=False, server_default=sa.text("0")))
    op.create_table(
        "topic_schema",
        sa.Column(
            "topic_id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            sa.ForeignKey("topic.id", name="fk_topic_schema_topic_id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("compatible", sa.String(10), nullable=False),
        sa.Column("reasons", sa.Text, nullable=False, server_default=""),
        sa.Column("created_us", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "access_key",
        sa.Column("id", sa.String(20), primary_key=True),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("owner", sa.String(160), nullable=False),
        sa.Column("secret_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("scopes", sa.String(100), nullable=False, server_default=""),
        sa.Column("label", sa.Text, nullable=False, server_default=""),
        sa.Column("requests_per_s", sa.Integer),
        sa.Column("body_bytes_max", sa.Integer),
        sa.Column("created_us", sa.BigInteger, nullable=False),
        sa.Column("expires_us", sa.BigInteger),
    )
    op.create_index("ix_access_key_kind_owner", "access_key", ["kind", "owner"])
