"""Traces found by any of their fields, alone or together."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_ACCEPTED = "producer <> ''"
_OTHER = "producer = ''"
_OF_SUBSCRIBER = "subscriber <> ''"


def upgrade() -> None:
    """Create the indexes; the old one by topic and number gives way to four that share its rows."""
    op.drop_index("ix_trace_topic_last_seq", "trace")
    for name, columns, where in (
        ("ix_trace_kind", ["kind"], _OTHER),
        ("ix_trace_topic_kind", ["topic", "kind"], None),
        ("ix_trace_subscriber_kind", ["subscriber", "kind"], _OF_SUBSCRIBER),
        ("ix_trace_subscriber_topic_kind", ["subscriber", "topic", "kind"], _OF_SUBSCRIBER),
        ("ix_trace_producer", ["producer"], _ACCEPTED),
        ("ix_trace_producer_topic", ["producer", "topic"], _ACCEPTED),
        ("ix_trace_accepted", ["topic", "last_seq", "first_seq"], _ACCEPTED),
        ("ix_trace_single", ["topic", "last_seq"], f"{_OTHER} AND first_seq = last_seq"),
        (
            "ix_trace_short",
            ["topic", "last_seq", "first_seq"],
            f"{_OTHER} AND last_seq - first_seq > 0 AND last_seq - first_seq < 100",
        ),
        ("ix_trace_long", ["topic", "last_seq", "first_seq"], f"{_OTHER} AND last_seq - first_seq >= 100"),
    ):
        condition = None if where is None else sa.text(where)
        op.create_index(name, "trace", columns, sqlite_where=condition, postgresql_where=condition)
