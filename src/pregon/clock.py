"""The time, read in one place.

Two clocks. `monotonic_ms` measures durations and never jumps. `WallClock` dates messages: it follows
the machine's clock forward but never goes back, so a topic's acceptance times are in the order of its
numbers even when someone sets the machine's clock back.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

INSTANT_US_MAX = 253_402_300_799_999_999
"""The last microsecond of the year 9999: no calendar that we write for goes further."""


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def monotonic_ms() -> float:
    """Milliseconds of a clock that never jumps; only differences mean something."""
    return time.monotonic() * 1_000


wall_ns = time.time_ns
"""Nanoseconds since 1970 by the machine's clock: the same as `wall_us`, without the price of a call, for loops."""


def wall_us() -> int:
    """Microseconds since 1970 by the machine's clock, wherever it has been set to."""
    return time.time_ns() // 1_000


class WallClock:
    """Microseconds since 1970 that never go back, not even across a restart (see `advance_to`)."""

    def __init__(self, at_least_us: int = 0) -> None:
        self._last_us = at_least_us
        self._lock = threading.Lock()

    def now_us(self) -> int:
        """Now, or the last answer if the machine's clock is behind it."""
        with self._lock:
            self._last_us = max(self._last_us, wall_us())
            return self._last_us

    def advance_to(self, us: int) -> None:
        """Never answer less than this: called with the newest time found on disk."""
        with self._lock:
            self._last_us = max(self._last_us, us)


def format_us(us: int) -> str:
    """An instant for people and for JSON: RFC 3339, UTC, microseconds."""
    seconds, rest_us = divmod(max(0, min(us, INSTANT_US_MAX)), 1_000_000)
    return f"{_format_second(seconds)}.{rest_us:06d}Z"


@lru_cache(maxsize=1_024)
def _format_second(seconds: int) -> str:
    """Most instants that are written one after the other are of the same second."""
    return (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat(timespec="seconds")


def parse_us(text: str) -> int:
    """The instant written as RFC 3339 (a text without a zone is UTC), in microseconds since 1970."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1_000_000)
