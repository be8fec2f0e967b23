"""The figures of each step: what the report shows and other programs read, small whatever the tables hold.

A step leaves its whole result as Parquet and these figures as JSON beside it. Lists are bounded when they are made
(`*_MAX`), and `*_count` says how many there were; what is kept is what a reader would look for first: the slowest, the
wrong, the newest.

Promises:
- What was encoded is decoded to the same; anything else raises `BadRequest` and says what to do.
- No list that is decoded is longer than its bound, and no text longer than `TEXT_MAX`.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from pregon.errors import BadRequest

SUBSCRIPTIONS_MAX = 200
HOURS_MAX = 168
DISCREPANCIES_MAX = 1_000
GROUPS_MAX = 200
VIOLATIONS_MAX = 500
TOPICS_MAX = 200
WINDOWS_MAX = 1_440
ALERTS_MAX = 200
ARCHIVED_MAX = 500
TEXT_MAX = 4_000
FIGURES_BYTES_MAX = 8 * 1024 * 1024

PARTS_SUM = "parts_sum"
"""Among the parts of a discrepancy: what the hub's own parts add up to, beside what it accepted."""

Text = Annotated[str, Meta(max_length=TEXT_MAX)]
Count = Annotated[int, Meta(ge=0)]
Milliseconds = float | None


class Outcome(Struct, frozen=True, kw_only=True):
    """How many deliveries ended so."""

    result: Text
    count: Count


class DeliveriesFigures(Struct, frozen=True, kw_only=True):
    """What became of all the messages for all the subscribers."""

    deliveries: Count
    topics: Count
    subscribers: Count
    outcomes: Annotated[list[Outcome], Meta(max_length=100)]


class Level(Struct, frozen=True, kw_only=True, rename={"class_": "class"}):
    """How a subscription was served, all hours together."""

    topic: Text
    subscriber: Text
    accepted: Count
    settled: Count
    failures: Count
    backlog: Count
    p50_ms: Milliseconds
    p95_ms: Milliseconds
    p99_ms: Milliseconds
    max_ms: Milliseconds
    class_: Text
    """preferred, acceptable or unacceptable, by p95_ms; empty when nothing was settled."""


class Hour(Struct, frozen=True, kw_only=True):
    """How everybody was served in an hour."""

    hour: Text
    accepted: Count
    settled: Count
    failures: Count
    p50_ms: Milliseconds
    p95_ms: Milliseconds
    p99_ms: Milliseconds


class ServiceLevelsFigures(Struct, frozen=True, kw_only=True):
    """Service levels: the worst subscriptions first, the last hours, and how many hours were of each class."""

    subscriptions_count: Count
    unacceptable_count: Count
    """Subscriptions whose class, all hours together, is unacceptable."""
    subscriptions: Annotated[list[Level], Meta(max_length=SUBSCRIPTIONS_MAX)]
    hours_count: Count
    hours: Annotated[list[Hour], Meta(max_length=HOURS_MAX)]
    classes: dict[Text, Count]
    """Hours of subscriptions by class."""


class Discrepancy(Struct, frozen=True, kw_only=True):
    """A subscription whose figures differ, or cannot be checked, and in what way."""

    topic: Text
    subscriber: Text
    reason: Text
    parts: dict[Text, tuple[int, int]] = {}
    """The parts (acknowledged, pending …) that differ: what the events say, and what the hub says."""


class ReconciliationFigures(Struct, frozen=True, kw_only=True):
    """Whether the events and the hub's accounting say the same."""

    subscriptions: Count
    verified: Count
    discrepancies_count: Count
    discrepancies: Annotated[list[Discrepancy], Meta(max_length=DISCREPANCIES_MAX)]
    unverifiable_count: Count
    unverifiable: Annotated[list[Discrepancy], Meta(max_length=DISCREPANCIES_MAX)]
    totals: dict[Text, tuple[Count, Count]]
    """Of each part (accepted, acknowledged …) the sum that the events say and the sum that the hub says, of the
    subscriptions that can be checked. The hub counts what was cancelled as expired."""


class Group(Struct, frozen=True, kw_only=True):
    """What was said in a group, and what its order cost."""

    group: Text
    messages: Count
    deliveries: Count
    members: Count
    violations: Count
    unreported: Count
    """Deliveries before which a cause was not reported as shown: reports may be lost, so this proves nothing."""
    held_back: Count
    after_mean: float
    after_max: Count
    control_bytes: float
    """Mean of a message's control information."""
    vector_bytes: float
    """Mean of what a vector clock would have taken in its place."""


class Violation(Struct, frozen=True, kw_only=True):
    """A delivery that came in the wrong order."""

    group: Text
    member: int
    name: Text
    message: Text
    missing: Text
    kind: Text
    delivered_at: Text


class CausalityFigures(Struct, frozen=True, kw_only=True):
    """Whether every delivery of every group was in causal order."""

    groups_count: Count
    groups: Annotated[list[Group], Meta(max_length=GROUPS_MAX)]
    messages: Count
    deliveries: Count
    violations_count: Count
    violations: Annotated[list[Violation], Meta(max_length=VIOLATIONS_MAX)]


class TopicTraffic(Struct, frozen=True, kw_only=True):
    """What was published in a topic."""

    topic: Text
    messages: Count
    bytes: Count
    windows: Count
    peak_messages: Count
    """Of its busiest window."""
    last_at: Text


class Window(Struct, frozen=True, kw_only=True):
    """What was published in a window of time."""

    topic: Text
    start: Text
    messages: Count
    bytes: Count


class Alert(Struct, frozen=True, kw_only=True):
    """A window with far more or far fewer messages than those before it."""

    topic: Text
    start: Text
    end: Text
    kind: Text
    count: Count
    expected: float


class TrafficFigures(Struct, frozen=True, kw_only=True):
    """What was published: the busiest topics first, the last windows of the busiest, and what was unusual."""

    window_s: Count
    messages: Count
    topics_count: Count
    topics: Annotated[list[TopicTraffic], Meta(max_length=TOPICS_MAX)]
    windows: Annotated[list[Window], Meta(max_length=WINDOWS_MAX)]
    alerts_count: Count
    alerts: Annotated[list[Alert], Meta(max_length=ALERTS_MAX)]


class Archived(Struct, frozen=True, kw_only=True):
    """How far a topic or a table is archived."""

    table: Text
    topic: Text
    """Empty for what is no topic."""
    through: Count
    """The number of the last row that is archived; 0: none is."""
    head: Count | None
    """The number of the hub's last row; None: it was not asked."""
    rows: Count


class ArchiveFigures(Struct, frozen=True, kw_only=True):
    """How far everything is archived: what is furthest behind first."""

    archive: Text
    archived_count: Count
    archived: Annotated[list[Archived], Meta(max_length=ARCHIVED_MAX)]
    files: Count
    bytes: Count


Figures = (
    DeliveriesFigures
    | ServiceLevelsFigures
    | ReconciliationFigures
    | CausalityFigures
    | TrafficFigures
    | ArchiveFigures
)

ARCHIVE, DELIVERIES, SERVICE_LEVELS = "archive", "deliveries", "service-levels"
RECONCILIATION, CAUSALITY, TRAFFIC = "reconciliation", "causality", "traffic"

FIGURES_OF: dict[str, type[Figures]] = {
    ARCHIVE: ArchiveFigures,
    DELIVERIES: DeliveriesFigures,
    SERVICE_LEVELS: ServiceLevelsFigures,
    RECONCILIATION: ReconciliationFigures,
    CAUSALITY: CausalityFigures,
    TRAFFIC: TrafficFigures,
}
STEPS = tuple(FIGURES_OF)
"""The steps of the pipeline, in the order in which they run."""


def encode_figures(figures: Figures) -> bytes:
    """As JSON that people can read too."""
    return msgspec.json.format(msgspec.json.encode(figures), indent=2) + b"\n"


def decode_figures(step: str, text: bytes) -> Figures:
    """The figures of a step; raises BadRequest."""
    if len(text) > FIGURES_BYTES_MAX:
        raise BadRequest(f"the figures of {step} have {len(text)} bytes: run `pregon pipeline run {step}` again")
    try:
        return msgspec.json.decode(text, type=FIGURES_OF[step])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(
            f"the figures of {step} cannot be read ({error}): run `pregon pipeline run {step}` again"
        ) from error


def tidy_text(value: Any) -> str:
    """Text of a table, cut where figures cut it."""
    text = "" if value is None else str(value)
    return text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 1] + "…"


def tidy_ms(value: float | None) -> float | None:
    """A time to the thousandth, or None for none."""
    return None if value is None or not math.isfinite(value) else round(float(value), 3)
