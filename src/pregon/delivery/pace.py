"""How fast a subscriber is pushed to: so many pushes a second, evenly.

Pure: the time comes in. Promise: in any second at most the rate and one more.
"""

from __future__ import annotations


class Pace:
    """The turns of one subscriber."""

    __slots__ = ("_gap_ms", "_next_ms")

    def __init__(self, rate_per_s: int | None) -> None:
        self._gap_ms = 0.0 if rate_per_s is None else 1_000 / rate_per_s
        self._next_ms = 0.0

    def take_turn(self, now_ms: float) -> float:
        """Take the next turn; how long it is until then."""
        if not self._gap_ms:
            return 0.0
        turn_ms = max(now_ms, self._next_ms)
        self._next_ms = turn_ms + self._gap_ms
        return turn_ms - now_ms

    def give_back(self) -> None:
        """The last turn is not used."""
        self._next_ms -= self._gap_ms
