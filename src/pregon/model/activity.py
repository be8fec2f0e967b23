"""What flowed, by the minute: counts that add up, and what is read from them.

Pure arithmetic. Who counts, and where minutes are kept, is left to `delivery.activity` and `store.activity`.

Promises:
- A minute has at most `TOPICS_MAX` topics of its own; the rest is counted under `OTHERS`, and nothing is counted twice.
- Counts of several minutes are the sum of theirs; what waits is what waited at the end of the last of them.
- A series has as many points as it was asked for: where nothing is known there are zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

OTHERS = "(others)"
"""The topic and subscriber of what is not counted apart; no name has brackets."""
TOPICS_MAX = 100
"""Topics of one minute that are counted apart."""

MINUTE_US = 60_000_000
_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS
WAITED_MS = (
    *(1, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 15_000),
    *(_MINUTE_MS, 5 * _MINUTE_MS, 30 * _MINUTE_MS, _HOUR_MS, 6 * _HOUR_MS, 24 * _HOUR_MS),
)
"""Upper bounds of the times from acceptance to delivery."""


class TopicMinute(msgspec.Struct, array_like=True):
    """What flowed through one topic: into it, and out of it to all of its subscribers together."""

    accepted: int = 0
    out: int = 0


class Minute(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What flowed in one minute, or in any other stretch of time, and what waited at its end."""

    minute_us: int
    """When it began."""
    accepted: int = 0
    delivered: int = 0
    """By push."""
    acknowledged: int = 0
    """By who pulled."""
    failed: int = 0
    """Pushes in vain."""
    parked: int = 0
    expired: int = 0
    """Those that were cancelled too, as the accounting has it."""
    bytes: int = 0
    """Of what was accepted, as it is stored."""
    topics: dict[str, TopicMinute] = {}
    waited: list[int] = []
    """Of pushes: how many took how long from acceptance to delivery, by the bounds in `WAITED_MS`; empty for none."""
    backlog_pending: int = 0
    backlog_parked: int = 0
    failing: int = 0
    """Subscriptions that could not be pushed."""

    @property
    def out(self) -> int:
        """What subscribers have got, whichever way."""
        return self.delivered + self.acknowledged

    @property
    def is_empty(self) -> bool:
        """Whether nothing flowed and nothing waited: such a minute need not be kept."""
        counts = (getattr(self, name) for name in (*_COUNTS, *_GAUGES))
        return not any(counts) and not any(self.waited)

    def add(self, other: Minute) -> None:
        """Count what another has counted, too; what waits stays as it is."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.waited = add_counts(self.waited, other.waited)
        for topic, flow in other.topics.items():
            add_topic(self.topics, topic, flow.accepted, flow.out)

    def look(self, pending: int, parked: int, failing: int) -> None:
        """This waits now."""
        self.backlog_pending, self.backlog_parked, self.failing = pending, parked, failing


_COUNTS = ("accepted", "delivered", "acknowledged", "failed", "parked", "expired", "bytes")
_GAUGES = ("backlog_pending", "backlog_parked", "failing")


def add_topic(topics: dict[str, TopicMinute], topic: str, accepted: int, out: int) -> None:
    """Count for a topic, apart if there is room."""
    counted = topics.get(topic)
    if counted is None:
        # The others have a place besides those that are counted apart.
        named = len(topics) - (OTHERS in topics)
        name = topic if named < TOPICS_MAX else OTHERS
        counted = topics.setdefault(name, TopicMinute())
    counted.accepted += accepted
    counted.out += out


def add_counts(counts: Sequence[int], more: Sequence[int]) -> list[int]:
    """The sums of two histograms with the same bounds; one that has others is left out."""
    size = len(WAITED_MS) + 1
    known = [one for one in (counts, more) if len(one) == size]
    return [sum(numbers) for numbers in zip(*known, strict=True)] if known else []


def merge(minutes: Iterable[Minute], begin_us: int) -> Minute:
    """All of them, in the order of their times, as one."""
    merged = Minute(minute_us=begin_us)
    for one in minutes:
        merged.add(one)
        merged.look(one.backlog_pending, one.backlog_parked, one.failing)
    return merged


def minute_of(us: int) -> int:
    """When the minute began in which a time is."""
    return us - us % MINUTE_US


def percentile(counts: Sequence[int], q: float, bounds: Sequence[float] = WAITED_MS) -> float | None:
    """About which value the share `q` (0 to 1) of those in a histogram does not pass; None if there are none.

    Within a bucket they are taken to be spread evenly. Of what is longer than every bound only that is known.
    """
    total = sum(counts)
    if not total:
        return None
    wanted, seen, lower = q * total, 0, 0.0
    for count, upper in zip(counts, bounds, strict=False):
        if count and seen + count >= wanted:
            return lower + (upper - lower) * max(0.0, wanted - seen) / count
        seen, lower = seen + count, upper
    return lower


class TopicRate(msgspec.Struct, frozen=True, kw_only=True):
    """How fast a topic moves: messages a second into it, and out of it to all of its subscribers together."""

    topic: str
    in_per_s: float
    out_per_s: float


class Now(msgspec.Struct, frozen=True, kw_only=True):
    """How fast messages move, and how long pushed ones took of late."""

    at_us: int
    in_per_s: float
    out_per_s: float
    failed_per_s: float
    topics: list[TopicRate]
    """The busiest first."""
    p50_ms: float | None
    """From acceptance to delivery by push; None if nothing was delivered."""
    p95_ms: float | None
    p99_ms: float | None


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One point of a series: what flowed from its time on, until the next point."""

    at_us: int
    accepted: int
    out: int
    failed: int
    pending: int
    """What waited at its end."""
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    is_known: bool = True
    """False: nothing was kept of this time, because nothing moved nor waited, or because the hub was not running."""


def rates(flow: Minute, waited: Sequence[int], span_ms: float, at_us: int, topics_max: int) -> Now:
    """How fast messages moved that flowed in a time, and how long the pushes of a longer one took."""
    per_s = 1_000 / span_ms if span_ms > 0 else 0.0
    busiest = sorted(flow.topics.items(), key=lambda one: (-(one[1].accepted + one[1].out), one[0]))
    return Now(
        at_us=at_us,
        in_per_s=flow.accepted * per_s,
        out_per_s=flow.out * per_s,
        failed_per_s=flow.failed * per_s,
        topics=[
            TopicRate(topic=topic, in_per_s=one.accepted * per_s, out_per_s=one.out * per_s)
            for topic, one in busiest[:topics_max]
        ],
        p50_ms=percentile(waited, 0.5),
        p95_ms=percentile(waited, 0.95),
        p99_ms=percentile(waited, 0.99),
    )


def make_series(minutes: Mapping[int, Minute], last_us: int, minutes_each: int, points: int) -> list[Point]:
    """So many points of so many minutes each, of which the last has a time in it; by times of the clock."""
    step_us = minutes_each * MINUTE_US
    end_us = last_us - last_us % step_us + step_us
    series = []
    for begin_us in range(end_us - points * step_us, end_us, step_us):
        times = range(begin_us, begin_us + step_us, MINUTE_US)
        known = [minutes[time_us] for time_us in times if time_us in minutes]
        merged = merge(known, begin_us)
        series.append(
            Point(
                at_us=begin_us,
                accepted=merged.accepted,
                out=merged.out,
                failed=merged.failed,
                pending=merged.backlog_pending,
                p50_ms=percentile(merged.waited, 0.5),
                p95_ms=percentile(merged.waited, 0.95),
                p99_ms=percentile(merged.waited, 0.99),
                is_known=bool(known),
            )
        )
    return series
