"""Push: where and how, its secrets and its failures; filters and what they decided; attempts in the traces."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_ZERO = sa.text("0")


def upgrade() -> None:
    """Create them."""
    for table, columns in {
        "subscriber": (
            sa.Column("mode", sa.String(10), nullable=False, server_default="pull"),
            sa.Column("endpoint", sa.Text, nullable=False, server_default=""),
            sa.Column("format", sa.String(20), nullable=False, server_default="cloudevents"),
            sa.Column("push", sa.Text, nullable=False, server_default="{}"),
            sa.Column("enabled", sa.Boolean, nullable=False, server_default=sa.true()),
            sa.Column("disabled_reason", sa.Text, nullable=False, server_default=""),
        ),
        "subscription": (
            sa.Column("filter", sa.Text, nullable=False, server_default=""),
            sa.Column("filter_version", sa.Integer, nullable=False, server_default=_ZERO),
            sa.Column("examined_seq", sa.BigInteger, nullable=False, server_default=_ZERO),
            sa.Column("filtered", sa.BigInteger, nullable=False, server_default=_ZERO),
            sa.Column("attempts", sa.Integer, nullable=False, server_default=_ZERO),
            sa.Column("refusals", sa.Integer, nullable=False, server_default=_ZERO),
            sa.Column("next_try_us", sa.BigInteger, nullable=False, server_default=_ZERO),
            sa.Column("failing_since_us", sa.BigInteger, nullable=False, server_default=_ZERO),
            sa.Column("last_failure", sa.Text, nullable=False, server_default=""),
            sa.Column("deferred_seq", sa.BigInteger, nullable=False, server_default=_ZERO),
        ),
        "trace": (
            sa.Column("attempt", sa.Integer, nullable=False, server_default=_ZERO),
            sa.Column("latency_ms", sa.Integer, nullable=False, server_default=_ZERO),
        ),
    }.items():
        for column in columns:
            op.add_column(table, column)
    op.create_table(
        "filter_result",
        sa.Column(
            "subscription_id",
            _ID,
            sa.ForeignKey("subscription.id", name="fk_filter_result_subscription_id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("first_seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("last_seq", sa.BigInteger, nullable=False),
        sa.Column("matched", sa.Boolean, nullable=False),
        sa.Column("reason", sa.Text, nullable=False, server_default=""),
    )
    op.create_table(
        "signing_secret",
        sa.Column("id", sa.String(20), primary_key=True),
        sa.Column(
            "subscriber_id",
            _ID,
            sa.ForeignKey("subscriber.id", name="fk_signing_secret_subscriber_id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("secret", sa.LargeBinary, nullable=False),
        sa.Column("created_us", sa.BigInteger, nullable=False),
        sa.Column("expires_us", sa.BigInteger),
    )
    op.create_index("ix_signing_secret_subscriber_id", "signing_secret", ["subscriber_id"])
