"""A journal of durable requests in memory, which keeps the promises of the one in the store, and fails when told to.

Nothing happens before `work` is called: so what is asked of it meets what clients and workers do meanwhile. What it has
carried out stays, as on a disk, when the broker that asked for it is no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from pregon.errors import PregonError, StoreFailed
from pregon.model.service import WAITING, Entry, Result


class MemoryJournal:
    """Requests and their results, by id."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.results: dict[str, Result] = {}
        self.stored: Counter[str] = Counter()
        """How often a result of each was stored: once at most, unless it was set aside and released."""
        self.forgotten = 0
        self.is_failing = False
        self._asked: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

    # What the broker asks for.

    def accept(self, entry: Entry, then: Callable[[bool | PregonError], None]) -> None:
        """Store it."""

        def store() -> bool:
            is_new = entry.id not in self.entries
            self.entries.setdefault(entry.id, entry)
            return is_new

        self._asked.append((store, then))

    def attempted(self, durable_id: str, attempts: int) -> None:
        """A worker was lost with it."""

        def note() -> None:
            self.entries[durable_id] = msgspec.structs.replace(self.entries[durable_id], attempts=attempts)

        self._asked.append((note, lambda _: None))

    def finish(self, result: Result, keep_ms: int, then: Callable[[bool | PregonError], None]) -> None:
        """Store its result, unless it has one."""

        def store() -> bool:
            if result.id in self.results:
                return False
            self.results[result.id] = result
            self.stored[result.id] += 1
            return True

        self._asked.append((store, then))

    def forget_old(self, then: Callable[[int | PregonError], None]) -> None:
        """Nothing here is old."""
        self.forgotten += 1
        self._asked.append((lambda: 0, then))

    def look(self, durable_id: str, then: Callable[[Result | PregonError | None], None]) -> None:
        """What is known of it."""

        def find() -> Result | None:
            entry = self.entries.get(durable_id)
            if entry is None:
                return None
            waiting = Result(id=entry.id, service=entry.service, state=WAITING, user=entry.user)
            return self.results.get(durable_id, waiting)

        self._asked.append((find, then))

    # What a test does.

    def work(self, count: int = 1_000) -> None:
        """Carry out what was asked, the oldest first, and what is asked because of it."""
        while self._asked and count:
            count -= 1
            carry_out, then = self._asked.pop(0)
            if self.is_failing:
                then(StoreFailed("the disk is full"))
            else:
                then(carry_out())

    def stop(self) -> None:
        """The broker is no more: what it asked and nobody did is never done."""
        self._asked.clear()

    def waiting(self) -> list[Entry]:
        """What has no result."""
        return [entry for entry in self.entries.values() if entry.id not in self.results]
