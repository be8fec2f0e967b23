"""Which filters are quick, which are slow, and which are left alone for a while.

Filters that look into bodies are examined in one of two lanes, so that one that takes long does not hold up the
others. This module only decides; `examiner` measures, and tells it what it saw and when.

    quick --too long, or its process died--> slow, for 10 minutes since its last failure, then quick again
    slow  --3 failures in a row------------> suspended for 60 s, then slow again, where one more suspends it again

Promises:
- Pure: the time comes in, no clock is read and no lock is taken.
- A filter costs the quick lane at most one failure in `SLOW_FOR_MS`.
- Bounded: at most `REMEMBERED_MAX` filters are remembered; the one that failed the longest ago is forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal

Lane = Literal["quick", "slow"]
QUICK: Lane = "quick"
SLOW: Lane = "slow"

TIME_LIMIT_MS: dict[Lane, int] = {QUICK: 200, SLOW: 1_000}
"""How long a filter may work on one message."""
SLOW_FOR_MS = 10 * 60 * 1_000
"""How long a filter stays in the slow lane after its last failure."""
FAILURES_MAX = 3
"""Failures in a row in the slow lane after which a filter is suspended."""
SUSPENDED_FOR_MS = 60 * 1_000
"""How long a suspended filter is not tried."""
REMEMBERED_MAX = 2_000
"""Filters that are remembered for having failed."""


@dataclass(slots=True)
class _Record:
    slow_until_ms: float
    failures: int = 0
    """In a row, in the slow lane."""
    suspended_until_ms: float = 0.0
    why: str = ""
    """The last failure."""


class Lanes:
    """What is known of the filters that failed."""

    def __init__(self) -> None:
        self._records: OrderedDict[str, _Record] = OrderedDict()

    def __len__(self) -> int:
        return len(self._records)

    def lane_of(self, text: str, now_ms: float) -> Lane:
        """Where the filter is examined now; a suspended one is answered at once, so it is quick."""
        record = self._find(text, now_ms)
        return QUICK if record is None or now_ms < record.suspended_until_ms else SLOW

    def find_suspension(self, text: str, now_ms: float) -> str | None:
        """Why the filter is suspended, if it is."""
        record = self._find(text, now_ms)
        return record.why if record is not None and now_ms < record.suspended_until_ms else None

    def passed(self, text: str) -> None:
        """A message was examined in time."""
        if (record := self._records.get(text)) is not None:
            record.failures = 0

    def failed(self, text: str, lane: Lane, now_ms: float, why: str) -> None:
        """A message could not be examined in this lane."""
        record = self._records.setdefault(text, _Record(0.0))
        self._records.move_to_end(text)
        record.slow_until_ms = now_ms + SLOW_FOR_MS
        record.why = why
        if lane == SLOW:
            record.failures += 1
            if record.failures >= FAILURES_MAX:
                record.suspended_until_ms = now_ms + SUSPENDED_FOR_MS
        while len(self._records) > REMEMBERED_MAX:
            self._records.popitem(last=False)

    def _find(self, text: str, now_ms: float) -> _Record | None:
        record = self._records.get(text)
        if record is not None and now_ms >= record.slow_until_ms:
            del self._records[text]
            return None
        return record
