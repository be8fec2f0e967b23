"""Who is here: who has been in contact lately. Kept in memory only; used by all threads."""

from __future__ import annotations

from pregon.clock import monotonic_ms
from pregon.limits import PARTICIPANTS_MAX

HERE_MS = 30_000
"""Who was in contact within this is here."""


class Presence:
    """When each participant was last in contact."""

    def __init__(self) -> None:
        self._last_ms: dict[int, float] = {}

    def touch(self, participant_id: int) -> None:
        """It is in contact now."""
        if len(self._last_ms) >= PARTICIPANTS_MAX:
            self._last_ms.clear()
        self._last_ms[participant_id] = monotonic_ms()

    def forget(self, participant_id: int) -> None:
        """It is gone."""
        self._last_ms.pop(participant_id, None)

    def count(self) -> int:
        """How many are here."""
        since_ms = monotonic_ms() - HERE_MS
        return sum(last_ms > since_ms for last_ms in list(self._last_ms.values()))

    def is_here(self, participant_id: int | None) -> bool:
        """Whether it was in contact lately; the hub always is."""
        return participant_id is None or monotonic_ms() - self._last_ms.get(participant_id, -HERE_MS) < HERE_MS
