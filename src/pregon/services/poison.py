"""Requests that were set aside because worker after worker was lost with them, for a person to look at.

Bounded in number and bytes: the oldest gives way. Of a durable request the store keeps the whole; here is what is
shown.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from pregon.limits import SERVICE_POISON_BYTES_MAX, SERVICE_POISON_MAX
from pregon.services.request import Request


@dataclass(frozen=True, slots=True)
class Poison:
    """One of them."""

    number: int
    request: Request
    at_ms: float
    reason: str


class PoisonShelf:
    """Where they are kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Poison] = OrderedDict()
        self._bytes = 0
        self._count = 0

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Poison]:
        return iter(list(self._kept.values()))

    def add(self, request: Request, at_ms: float, reason: str) -> int:
        """Set one aside; its number."""
        self._count += 1
        self._kept[self._count] = Poison(self._count, request, at_ms, reason)
        self._bytes += request.size
        while len(self._kept) > SERVICE_POISON_MAX or (self._bytes > SERVICE_POISON_BYTES_MAX and len(self._kept) > 1):
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.request.size
        return self._count

    def take(self, number: int) -> Poison | None:
        """Take one from the shelf."""
        found = self._kept.pop(number, None)
        if found is not None:
            self._bytes -= found.request.size
        return found
