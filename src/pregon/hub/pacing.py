"""How fast tables may be read while somebody publishes.

A range of a topic, the traces or the accounts are read part by part, as fast as a client takes them, and a program that
takes them at full speed would leave little of the hub to who publishes. So each part is followed by a rest, as long as
it takes for reading to have only its share of the time. What waits, and for whom, is left to the door.

    parts      ■■         ■■         ■■         a share of 20 per cent: a rest four times as long as the part
    rests        ········   ········   ········ none while nobody publishes

The rest is a whole one from the moment that storing publications takes a twentieth of the hub's time, and the less the
less that is: a message now and then does not hold up a table.

Promises:
- Same events, same answer: no clock is read here, and nothing waits here.
- All who read tables share one pace: two at once are no faster than one, and together have one share.
- No rest is longer than `REST_MS_MAX`, whatever a part took.
"""

from __future__ import annotations

from math import exp

REST_MS_MAX = 1_000.0
"""The longest rest after one part."""
_WINDOW_MS = 100.0
"""Publishing counts for about this long."""
_LOAD_WHOLE = 0.05
"""The part of the time, spent on storing publications, from which on rests are whole."""
_LOAD_NONE = 0.001
"""The part of it at which nobody publishes any more."""


class TablePace:
    """What was published and read lately, and what that means for the next part."""

    def __init__(self, share_percent: int) -> None:
        self._rest_per_ms = (100 - share_percent) / share_percent
        self._stored_ms = 0.0
        """Time spent on storing publications, each moment of it counting less the longer ago it is."""
        self._stored_at_ms = 0.0
        self._free_at_ms = 0.0
        self.parts = 0
        """Parts of tables that were served."""
        self.rested_ms = 0.0
        """Time for which a part waited because somebody published."""
        self.waiting = 0
        """Parts that wait for their turn now."""

    def published(self, took_ms: float, now_ms: float) -> None:
        """Publications were stored, and that took so long."""
        faded = self._stored_ms * exp(min(0.0, self._stored_at_ms - now_ms) / _WINDOW_MS)
        self._stored_ms = faded + max(0.0, min(took_ms, _WINDOW_MS))
        self._stored_at_ms = now_ms

    def load(self, now_ms: float) -> float:
        """The part of the time that storing publications takes: 0 when nobody publishes, at most 1."""
        load = self._stored_ms * exp(min(0.0, self._stored_at_ms - now_ms) / _WINDOW_MS) / _WINDOW_MS
        return 0.0 if load < _LOAD_NONE else min(1.0, load)

    def served(self, took_ms: float, now_ms: float) -> None:
        """A part was read and put together, and that took so long."""
        weight = min(1.0, self.load(now_ms) / _LOAD_WHOLE)
        rest_ms = min(REST_MS_MAX, max(0.0, took_ms) * self._rest_per_ms * weight)
        self._free_at_ms = min(max(self._free_at_ms, now_ms) + rest_ms, now_ms + REST_MS_MAX)
        self.parts += 1

    def rest_ms(self, now_ms: float) -> float:
        """How long the next part waits; 0 when it may begin."""
        if self.load(now_ms) == 0.0:
            self._free_at_ms = min(self._free_at_ms, now_ms)
        return max(0.0, self._free_at_ms - now_ms)
