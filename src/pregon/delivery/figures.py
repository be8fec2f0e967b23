"""What pushing and publishing have come to since the start, as numbers by topic and subscriber.

Everything here is counted while it happens, thousands of times a second, so it is plain lists of numbers; turning
them into a page for Prometheus is left to `edges.http.metrics`, and what waits now is read from the store
(`store.backlogs`).

Promises:
- `pushed` and `accepted` take about two microseconds each and never wait.
- At most so many names are counted apart (the constants below); the rest is counted under `OTHERS`.
- A number is written by one thread and read by others without a lock: a reader may see it a moment late.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence

from pregon.delivery.outcome import DELIVERED, KINDS
from pregon.model.activity import OTHERS, WAITED_MS
from pregon.store.transaction import Accepted

SUBSCRIPTIONS_COUNTED_MAX = 5_000
"""Subscriptions whose pushes are counted apart."""
SUBSCRIPTIONS_TIMED_MAX = 1_000
"""Those of them that have histograms of their own, thirty lines each."""
TOPICS_COUNTED_MAX = 5_000
"""Topics whose messages are counted apart."""

ANSWER_MS = (1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000)
"""Upper bounds of the answer times of subscribers."""

Names = tuple[str, str]
"""A topic and a subscriber."""


class Histogram:
    """How many times were up to which bound, and all of them together."""

    __slots__ = ("bounds_ms", "counts", "sum_ms")

    def __init__(self, bounds_ms: Sequence[float]) -> None:
        self.bounds_ms = bounds_ms
        self.counts = [0] * (len(bounds_ms) + 1)
        """Of each bucket alone; the last is for what is longer than every bound."""
        self.sum_ms = 0.0

    def observe(self, ms: float) -> None:
        """One more."""
        self.counts[bisect_left(self.bounds_ms, ms)] += 1
        self.sum_ms += ms


class Pushes:
    """The pushes of one subscription: how they ended, how long answers took, how long messages had waited."""

    __slots__ = ("answered", "results", "waited")

    def __init__(self, answered: Histogram, waited: Histogram) -> None:
        self.results = dict.fromkeys(KINDS, 0)
        self.answered = answered
        self.waited = waited


class Volume:
    """What one topic has taken in."""

    __slots__ = ("bytes", "messages")

    def __init__(self) -> None:
        self.messages = 0
        self.bytes = 0


class Figures:
    """All the counts; one for a hub."""

    def __init__(self) -> None:
        self.in_flight = 0
        """Pushes that wait for their answer now; whoever pushes keeps it."""
        self._pushes: dict[Names, Pushes] = {}
        self._other_pushes = Pushes(Histogram(ANSWER_MS), Histogram(WAITED_MS))
        self._timed = 0
        self._volumes: dict[str, Volume] = {}
        self._other_volume = Volume()

    def pushed(self, topic: str, subscriber: str, kind: str, latency_ms: float, waited_ms: float) -> None:
        """One push ended: how (a kind of `outcome`), after how long, and how long ago its message was accepted.

        The waiting counts only when it was delivered: until then it is not over.
        """
        pushes = self._pushes.get((topic, subscriber)) or self._count_apart((topic, subscriber))
        pushes.results[kind] += 1
        pushes.answered.observe(latency_ms)
        if kind == DELIVERED:
            pushes.waited.observe(waited_ms)

    def accepted(self, batches: Sequence[Accepted]) -> None:
        """Called by the committer: these are on disk."""
        volumes = self._volumes
        for one in batches:
            volume = volumes.get(one.topic)
            if volume is None:
                has_room = len(volumes) < TOPICS_COUNTED_MAX
                volume = volumes.setdefault(one.topic, Volume()) if has_room else self._other_volume
            volume.messages += one.batch.count
            volume.bytes += len(one.batch.arrow)

    def _count_apart(self, names: Names) -> Pushes:
        """The counts of a subscription that is pushed to for the first time, its own if there is room."""
        if len(self._pushes) >= SUBSCRIPTIONS_COUNTED_MAX:
            return self._other_pushes
        if self._timed < SUBSCRIPTIONS_TIMED_MAX:
            self._timed += 1
            pushes = Pushes(Histogram(ANSWER_MS), Histogram(WAITED_MS))
        else:
            pushes = Pushes(self._other_pushes.answered, self._other_pushes.waited)
        return self._pushes.setdefault(names, pushes)

    @property
    def is_full(self) -> bool:
        """Whether one more subscription would not be counted apart, or not with times of its own."""
        return len(self._pushes) >= SUBSCRIPTIONS_COUNTED_MAX or self._timed >= SUBSCRIPTIONS_TIMED_MAX

    def forget_all_but(self, subscriptions: Collection[Names]) -> None:
        """Make room: forget the subscriptions that are no more."""
        for names in [one for one in list(self._pushes) if one not in subscriptions]:
            if self._pushes.pop(names).answered is not self._other_pushes.answered:
                self._timed -= 1

    def pushes(self) -> Iterator[tuple[Names, Pushes]]:
        """The counts of each subscription that was pushed to, `OTHERS` last if there are any."""
        yield from list(self._pushes.items())
        if any(self._other_pushes.results.values()):
            yield (OTHERS, OTHERS), self._other_pushes

    def histograms(self) -> Iterator[tuple[Names, Pushes]]:
        """The same for the times, which fewer of them have of their own."""
        others = self._other_pushes
        yield from [one for one in list(self._pushes.items()) if one[1].answered is not others.answered]
        if any(others.answered.counts):
            yield (OTHERS, OTHERS), others

    def volumes(self) -> Iterator[tuple[str, Volume]]:
        """What each topic has taken in, `OTHERS` last if there are any."""
        yield from list(self._volumes.items())
        if self._other_volume.messages:
            yield OTHERS, self._other_volume
