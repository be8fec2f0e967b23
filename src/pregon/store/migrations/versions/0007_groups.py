"""Groups, their members, and who takes part."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create them."""
    _create_participants()
    _create_groups()
    _create_members()


def _create_participants() -> None:
    op.create_table(
        "participant",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("folded", sa.String(200), nullable=False),
        sa.Column("secret_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("caller", sa.String(200), nullable=False, server_default=""),
        sa.Column("created_us", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("folded", name="uq_participant_folded"),
        sqlite_autoincrement=True,
    )


def _create_groups() -> None:
    op.create_table(
        "causal_group",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("name", sa.String(160), nullable=False),
        sa.Column(
            "topic_id",
            _ID,
            sa.ForeignKey("topic.id", name="fk_causal_group_topic_id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("description", sa.Text, nullable=False, server_default=""),
        sa.Column("access", sa.String(10), nullable=False),
        sa.Column("allowed", sa.Text, nullable=False, server_default=""),
        sa.Column("history", sa.Boolean, nullable=False, server_default=sa.true()),
        sa.Column("traced", sa.Boolean, nullable=False, server_default=sa.true()),
        sa.Column("pair", sa.String(50)),
        sa.Column("stride", sa.Integer, nullable=False, server_default=sa.text("1")),
        sa.Column("place", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("numbered", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("frontier", sa.Text, nullable=False, server_default=""),
        sa.Column("created_us", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("name", name="uq_causal_group_name"),
        sa.UniqueConstraint("topic_id", name="uq_causal_group_topic_id"),
        sa.UniqueConstraint("pair", name="uq_causal_group_pair"),
        sqlite_autoincrement=True,
    )


def _create_members() -> None:
    op.create_table(
        "group_member",
        sa.Column(
            "group_id",
            _ID,
            sa.ForeignKey("causal_group.id", name="fk_group_member_group_id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("member", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column(
            "participant_id",
            _ID,
            sa.ForeignKey("participant.id", name="fk_group_member_participant_id", ondelete="SET NULL"),
        ),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("sent_seq", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("seen_seq", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("joined_seq", sa.BigInteger, nullable=False),
        sa.Column("left_seq", sa.BigInteger),
        sa.Column("subscriber", sa.String(160), nullable=False, server_default=""),
    )
    op.create_index("ix_group_member_participant_id", "group_member", ["participant_id"])
