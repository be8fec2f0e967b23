"""Requests that were set aside because worker after worker was lost with them, for a person to look at.

Bounded in number and bytes: the oldest gives way. Of a durable request the store keeps the whole, and has it when it
has gone from here; here is what is shown, the beginning of its body and no more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from pregon.errors import BadRequest
from pregon.limits import SERVICE_POISON_BYTES_MAX, SERVICE_POISON_MAX
from pregon.services.request import Body, Request
from pregon.wire.services import body_bytes

_SHOWN_BYTES_MAX = 500
_SHOWN_FRAMES_MAX = 10
_NUMBER_DIGITS_MAX = 15


@dataclass(frozen=True, slots=True)
class Poison:
    """One of them."""

    number: int
    request: Request
    at_ms: float
    reason: str
    size: int
    """Bytes of its whole body."""


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

    def add(self, request: Request, at_ms: float, reason: str, size: int | None = None) -> int:
        """Set one aside; its number. Of a durable one the body is given up but for its beginning.

        Its size is said by who has no more than the beginning.
        """
        self._count += 1
        size = body_bytes(request.body) if size is None else size
        self._kept[self._count] = Poison(self._count, request, at_ms, reason, size)
        if request.durable_id:
            request.body = beginning(request.body)
        self._bytes += _held_bytes(request)
        while len(self._kept) > SERVICE_POISON_MAX or (self._bytes > SERVICE_POISON_BYTES_MAX and len(self._kept) > 1):
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= _held_bytes(oldest.request)
        return self._count

    def take(self, number: int) -> Poison | None:
        """Take one from the shelf."""
        found = self._kept.pop(number, None)
        if found is not None:
            self._bytes -= _held_bytes(found.request)
        return found

    def find(self, number: int) -> Poison | None:
        """One of them, which stays."""
        return self._kept.get(number)

    def number_of(self, durable_id: str) -> int:
        """Under which number a durable request is here; 0 if it is not."""
        return next((one.number for one in self._kept.values() if one.request.durable_id == durable_id), 0)


def _held_bytes(request: Request) -> int:
    """What a request takes up here; the beginning of a durable one is too short to count."""
    return 0 if request.durable_id else request.size


def beginning(body: Body) -> Body:
    """So much of a body as is shown."""
    shown: Body = []
    left = _SHOWN_BYTES_MAX
    for frame in body[:_SHOWN_FRAMES_MAX]:
        shown.append(frame[:left])
        left -= len(shown[-1])
    return shown


def decode_number(text: str) -> int:
    """The number of what was set aside, as a person writes it; raises BadRequest."""
    if not text.isascii() or not text.isdigit() or len(text) > _NUMBER_DIGITS_MAX:
        raise BadRequest("what is set aside has a number: 1, 2, 3 …")
    return int(text)
