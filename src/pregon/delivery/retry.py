"""When to try a push again.

A push that fails waits and is tried again, each time twice as long, until it succeeds. This module only says *when*:
`line` sends.

Promises:
- Same arguments, same answer: no clock and no randomness are read here; the chance comes in as a number.
- The wait is between half and all of what the doubling says, so that subscribers that fell together are not tried
  together; never more than the options allow, but for what the subscriber itself asks for.
"""

from __future__ import annotations

from pregon.limits import PUSH_DELAY_MS_MAX
from pregon.model.catalog import PushOptions

_DOUBLINGS_MAX = 40


def delay_ms(options: PushOptions, failures: int, chance: float, retry_after_ms: int | None = None) -> int:
    """How long to wait after so many failures in a row, the last of which may have asked for a time of its own.

    `chance` is between 0 and 1.
    """
    whole = min(options.delay_ms_first << min(max(failures, 1) - 1, _DOUBLINGS_MAX), options.delay_ms_max)
    wanted = round(whole * (0.5 + chance / 2))
    return min(max(wanted, retry_after_ms or 0), PUSH_DELAY_MS_MAX)


def describe_delay(ms: int) -> str:
    """A wait for people: 800 ms, 12 s, 5 min."""
    if ms < 1_000:
        return f"{ms} ms"
    if ms < 120_000:
        return f"{ms / 1_000:.3g} s"
    return f"{ms / 60_000:.0f} min"
