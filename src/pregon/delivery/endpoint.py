"""Whether a subscriber's endpoint may be tried now: all its subscriptions go through this gate.

An endpoint that answers is tried by whoever has something for it. One that fails (no connection, no answer in time,
429, 502, 503, 504) is tried by one push at a time, after a wait that doubles; the first that gets through opens it
for all.
A message that is refused says nothing of the endpoint: its own subscription waits, the others go on.

Pure: time and chance come in.

Promise: while it fails there is never more than one push on its way, and the waits are those of `retry`.
"""

from __future__ import annotations

from pregon.delivery.outcome import UNREACHABLE, Outcome
from pregon.delivery.retry import delay_ms
from pregon.model.catalog import PushOptions

PROBE_UNDER_WAY_MS = 3_600_000.0
"""How long to wait for a push that is on its way: it is told when that ends."""


class Endpoint:
    """How the endpoint of one subscriber is doing."""

    __slots__ = ("failures", "in_flight", "next_try_ms", "options")

    def __init__(self, options: PushOptions) -> None:
        self.options = options
        self.failures = 0
        """Pushes in a row that did not reach it."""
        self.next_try_ms = 0.0
        self.in_flight = 0

    @property
    def is_failing(self) -> bool:
        """Whether the last push did not reach it."""
        return self.failures > 0

    def wait_ms(self, now_ms: float) -> float:
        """How long a push has to wait; 0 if it may go."""
        if not self.failures:
            return 0.0
        if self.in_flight:
            return PROBE_UNDER_WAY_MS
        return max(0.0, self.next_try_ms - now_ms)

    def begin(self) -> None:
        """A push sets out."""
        self.in_flight += 1

    def end(self, outcome: Outcome | None, now_ms: float, chance: float) -> int:
        """A push came back, or was given up; how long the endpoint is to be left alone, 0 if it answers."""
        self.in_flight -= 1
        if outcome is None:
            return 0
        if outcome.kind != UNREACHABLE:
            self.failures = 0
            return 0
        if now_ms < self.next_try_ms and self.failures:
            # It set out before the one that failed last: they fell together, and count once.
            self.next_try_ms = max(self.next_try_ms, now_ms + (outcome.retry_after_ms or 0))
            return round(self.next_try_ms - now_ms)
        self.failures += 1
        wait_ms = delay_ms(self.options, self.failures, chance, outcome.retry_after_ms)
        self.next_try_ms = now_ms + wait_ms
        return wait_ms
