"""A broker on a stage with a journal in memory: requests that must not be lost, and a disk that works when told to."""

from __future__ import annotations

from collections.abc import Callable

from property.memory_journal import MemoryJournal
from property.stage import Stage

from pregon.errors import AlreadyExists, PregonError
from pregon.model.service import Entry
from pregon.services.durables import FORGET_AT_ONCE


class StrictJournal(MemoryJournal):
    """One that knows a key of another request, and has old results."""

    def __init__(self) -> None:
        super().__init__()
        self.old = 0
        """Results that were kept for long enough."""

    def accept(self, entry: Entry, then: Callable[[bool | PregonError], None]) -> None:
        """Store it, unless another has its id."""

        def check(is_new: bool | PregonError) -> None:
            stored = self.entries.get(entry.id, entry)
            is_same = (stored.user, stored.service, stored.body) == (entry.user, entry.service, entry.body)
            then(is_new if is_same else AlreadyExists(f"the key {entry.id} is of another request"))

        super().accept(entry, check)

    def forget_old(self, then: Callable[[int | PregonError], None]) -> None:
        """Forget some of the old results."""

        def forget() -> int:
            count = min(self.old, FORGET_AT_ONCE)
            self.old -= count
            return count

        self.forgotten += 1
        self._asked.append((forget, then))


class Desk(Stage):
    """A stage with a journal."""

    def __init__(self, **options: object) -> None:
        self.journal = StrictJournal()
        super().__init__(options, journal=self.journal)

    def submit(self, id: int = 1, client: bytes = b"c", name: str = "A", **options: object) -> None:
        """Hand a durable request in, and have it stored."""
        self.ask(client, id, name, b"body", durable=True, **options)
        self.write()

    def write(self) -> None:
        """The disk does all that it was asked."""
        self.journal.work()
        self.bring()
