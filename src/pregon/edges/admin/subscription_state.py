"""How a subscription is, in one word, and where its messages are, as a bar. Pure: rows in, words and widths out."""

from __future__ import annotations

from dataclasses import dataclass

from pregon.model.catalog import PUSH
from pregon.model.subscription import Accounting
from pregon.store.catalog_search import SubscriptionRow

FAILING, DISABLED, PAUSED, WAITS, DONE = "failing", "disabled", "paused", "waits", "done"
BAR_WIDTH = 1_000.0
"""How wide the whole bar is, in the units in which its parts are."""
_SEEN_WIDTH = 6.0
"""A part that has something is at least this wide: one message of a million must be seen."""


def state_of(row: SubscriptionRow) -> str:
    """The one word for it: what keeps messages from being delivered goes before how many wait."""
    if row.mode == PUSH and not row.enabled:
        return DISABLED
    if row.subscription.paused:
        return PAUSED
    if row.is_failing:
        return FAILING
    return WAITS if row.pending else DONE


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the bar."""

    name: str
    """`acknowledged`, `pending`, `parked`, `expired`, `filtered`."""
    messages: int
    x: float
    width: float


def parts_of(accounting: Accounting) -> list[Part]:
    """Where every message of a subscription is, side by side: what they have together is what was accepted."""
    counts = {name: getattr(accounting, name) for name in ("acknowledged", "pending", "parked", "expired", "filtered")}
    shown = {name: count for name, count in counts.items() if count > 0}
    total = sum(shown.values())
    # What little parts get to be seen is taken from the large ones, by their size.
    least = {name: max(_SEEN_WIDTH, BAR_WIDTH * count / total) for name, count in shown.items()}
    scale = BAR_WIDTH / sum(least.values()) if least else 0.0
    parts, x = [], 0.0
    for name, count in counts.items():
        width = least.get(name, 0.0) * scale
        parts.append(Part(name, count, round(x, 2), round(width, 2)))
        x += width
    return parts


def countdown(ms: float) -> str:
    """What is left of a wait as a clock shows it: 0:07, 4:59, 1:02:03."""
    seconds = max(0, round(ms / 1_000))
    hours, minutes = seconds // 3_600, seconds // 60 % 60
    clock = f"{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"
    return f"{hours}:{clock}" if hours else clock
