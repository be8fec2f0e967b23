"""Traces: what happened to which messages, when, as ranges of numbers.

"BPS acknowledged fallecidos 17..516 at 10:02:03.120" is one row, so tracing everything costs one row a
batch, and "when did BPS get 300?" is one look-up.
"""

from __future__ import annotations

import msgspec

ACCEPTED = "accepted"
"""The hub stored the messages (producer)."""
ACKNOWLEDGED = "acknowledged"
"""The subscriber has them."""
PARKED = "parked"
"""Set aside for this subscriber; the ones after it go on."""
UNPARKED = "unparked"
"""To be delivered again."""
REPLAYED = "replayed"
"""The subscriber's cursor was moved back: these are pending again."""
EXPIRED = "expired"
"""Removed before the subscriber had them, by its own limit."""
CANCELLED = "cancelled"
"""Given up for this subscriber by an operator, or by itself: never delivered, and counted as expired."""
REMOVED = "removed"
"""Deleted from the log by the topic's retention, when nobody needed them any more."""

KINDS = (ACCEPTED, ACKNOWLEDGED, PARKED, UNPARKED, REPLAYED, EXPIRED, CANCELLED, REMOVED)


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened to messages first_seq..last_seq of a topic."""

    at_us: int
    kind: str
    topic: str
    first_seq: int
    last_seq: int
    producer: str = ""
    subscriber: str = ""
    detail: str = ""
    id: int = 0
    """Its place among the traces: `before` of the next page."""


class TraceQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which traces to find; an empty field does not restrict. Newest first, `before` continues a page."""

    topic: str = ""
    kind: str = ""
    producer: str = ""
    subscriber: str = ""
    seq: int = 0
    since_us: int = 0
    until_us: int = 0
    before: int = 0
    max: int = 100
