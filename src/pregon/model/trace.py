"""Traces: what happened to which messages, when, as ranges of numbers.

"BPS acknowledged fallecidos 17..516 at 10:02:03.120" is one row, so tracing everything costs one row a
batch, and "when did BPS get 300?" is one look-up.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

ACCEPTED = "accepted"
"""The hub stored the messages (producer)."""
DELIVERED = "delivered"
"""Pushed, and the subscriber answered that it has them: settled, as if it had acknowledged them.

Not so, and then `detail` says why, if they were replayed while they were on their way."""
FAILED = "failed"
"""Pushed in vain: `detail` says why, and when it is tried again."""
DEFERRED = "deferred"
"""Kept for a later push because the subscriber cannot be reached or refuses what is before them; a pull gets them."""
PULLED = "pulled"
"""Given in the answer to a pull; not acknowledged by that."""
ACKNOWLEDGED = "acknowledged"
"""The subscriber said that it has them."""
PARKED = "parked"
"""Set aside for this subscriber; the ones after it go on."""
UNPARKED = "unparked"
"""To be delivered again."""
FILTERED = "filtered"
"""Not wanted by the subscription's filter: never delivered."""
REPLAYED = "replayed"
"""The subscriber's cursor was moved back, or its filter changed: these are pending again."""
EXPIRED = "expired"
"""Removed before the subscriber had them, by its own limit."""
CANCELLED = "cancelled"
"""Given up for this subscriber by an operator, or by itself: never delivered, and counted as expired."""
REMOVED = "removed"
"""Deleted from the log by the topic's retention, when nobody needed them any more."""

KINDS = (
    ACCEPTED,
    DELIVERED,
    FAILED,
    DEFERRED,
    PULLED,
    ACKNOWLEDGED,
    PARKED,
    UNPARKED,
    FILTERED,
    REPLAYED,
    EXPIRED,
    CANCELLED,
    REMOVED,
)


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
    attempt: int = 0
    """Which attempt of a push it was; 0 for what is none."""
    latency_ms: int = 0
    """How long the subscriber took to answer a push; the longest of them for several messages."""
    id: int = 0
    """Its place among the traces: `before` of the next page."""


class TraceMark(msgspec.Struct, frozen=True, kw_only=True):
    """Up to which trace somebody has copied them: what comes after is not forgotten."""

    name: str
    id: int
    created_us: int
    put_us: int
    """When it was last put, there or where it was already."""


class TraceQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which traces to find; an empty field does not restrict. Newest first, `before` continues a page.

    Only what was accepted has a producer. A producer together with a subscriber, or with a kind that is not accepted,
    finds what happened to the messages of that producer: traces whose range has at least one of them.
    """

    topic: str = ""
    kind: str = ""
    producer: str = ""
    subscriber: str = ""
    seq: int = 0
    since_us: int = 0
    until_us: int = 0
    before: int = 0
    max: int = 100


class TracePage(list[Trace]):
    """The traces that a search found, newest first.

    `next` is `before` of the next page; 0: there is no more. A page may be short, even empty, and still have a next
    one: a search looks at no more than so many rows at a time.
    """

    def __init__(self, traces: Iterable[Trace] = (), next: int = 0) -> None:
        super().__init__(traces)
        self.next = next


PENDING = "pending"
RETURNED = "returned"
NOT_ENTITLED = "not_entitled"
STANDINGS = (ACKNOWLEDGED, PENDING, PARKED, RETURNED, EXPIRED, CANCELLED, FILTERED, NOT_ENTITLED)
"""What a message can be for a subscription: as the traces call it; or pending; or returned, which is unparked and to be
delivered again; or of a time before the subscription began."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What a message is for one subscription now."""

    subscriber: str
    state: str
    """One of `STANDINGS`."""
    at_us: int | None = None
    """Since when, as far as it is known."""
    reason: str = ""
    """Why it was parked, why the filter wants it, why it is not pushed."""
    mode: str = "pull"
    attempts: int = 0
    """Of a pending message: how often pushing the next one failed, which is this one or one before it."""
    next_try_us: int | None = None
    failing_since_us: int | None = None
    last_failure: str = ""


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of one message: what it is, what happened to it, and what it is now for each subscription."""

    topic: str
    seq: int
    producer: str | None = None
    accepted_us: int | None = None
    """This and the producer are known as long as the log has the message, or the traces its acceptance."""
    id: str | None = None
    """This and what follows is known as long as the log has the message."""
    key: str | None = None
    content_type: str | None = None
    published_us: int | None = None
    traces: list[Trace] = []
    """Oldest first."""
    is_whole: bool = True
    """False: there are more traces than one answer has; those between the acceptance and the newest were left out."""
    subscriptions: list[Standing] = []
    """By name."""
