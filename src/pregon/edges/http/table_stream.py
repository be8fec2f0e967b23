"""A table as an Arrow stream over HTTP: its parts, each read from the store while the one before is sent.

Which parts there are, and who may read them, is left to those who ask for them.

Promises:
- At most three parts are in memory: one that leaves, one that is to follow it, and one that is read. Only one is when
  more than `STREAMS_AHEAD_MAX` streams are open: what clients do not take is then not read either.
- A stream that cannot go on ends without the end of the HTTP answer, and without Arrow's: clients notice the first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from pregon.edges.http.answers import ARROW, Stream
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.routes import Desk
from pregon.limits import STREAMS_AHEAD_MAX
from pregon.model.batch import END_OF_STREAM
from pregon.store.ticket import Ticket


class Part(Protocol):
    """A part of a table."""

    @property
    def arrow(self) -> bytes:
        """Record batches; empty when there are no rows."""
        ...

    @property
    def next(self) -> int:
        """Where the next part begins; 0: this was the last."""
        ...


P = TypeVar("P")
ReadPart = Callable[[int], Coroutine[Any, Any, Part]]
"""Reads the part that begins at a number, for who still may."""


async def in_turn(desk: Desk, ask: Callable[[], Ticket[P]]) -> P:
    """What the hub answers to who asks for a part: in its turn, at the hub's pace."""
    async with desk.tables.turn():
        answer: P = await desk.answer(ask())
        return answer


async def first_in_turn(desk: Desk, exchange: Exchange, ask: Callable[[], Ticket[P]]) -> P:
    """The same for a first part: who hangs up before its turn has come leaves its place to the others."""
    return await exchange.unless_gone(in_turn(desk, ask), desk.stopping)


def table_stream(
    desk: Desk, head: bytes, first: Part, read_part: ReadPart, headers: Sequence[tuple[bytes, bytes]] = ()
) -> Stream:
    """The stream, of which the first part was read already, so that what is refused gets its status; raises HubBusy."""
    desk.require_room_for_stream()
    return Stream(_chunks(desk, head, first, read_part), ARROW, headers)


async def _chunks(desk: Desk, head: bytes, part: Part, read_part: ReadPart) -> AsyncGenerator[bytes, None]:
    with desk.stream():
        yield head
        ahead: asyncio.Future[Part] | None = None
        try:
            while True:
                arrow, following = part.arrow, part.next
                # Held no longer than it takes to send it, as all that is large here.
                del part
                if following and desk.streams <= STREAMS_AHEAD_MAX:
                    ahead = asyncio.ensure_future(read_part(following))
                if arrow:
                    yield arrow
                del arrow
                if not following:
                    break
                if ahead is None:
                    # There is nothing in it, but it leaves after what was sent before: until then nothing is read.
                    yield b""
                    part = await read_part(following)
                else:
                    part, ahead = await ahead, None
        finally:
            if ahead is not None:
                ahead.cancel()
        yield END_OF_STREAM
