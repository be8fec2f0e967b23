"""Turns of those who read tables: one part each, in the order in which they come, at the hub's pace.

A part (what is read from the store at once, and put together to be sent) is made in a turn; sending it is not, so that
a client that takes it slowly holds up nobody. How long a turn waits while somebody publishes is decided by
`hub.pacing`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pregon.clock import monotonic_ms
from pregon.errors import HubBusy, HubStopping
from pregon.hub.pacing import TablePace
from pregon.limits import STREAMS_MAX, TABLE_PARTS_AT_ONCE_MAX

_NAP_MS_MAX = 50.0
"""After this the pace is asked again: who published may have stopped."""


class TableTurns:
    """Who may make a part of a table now. For one event loop."""

    def __init__(self, pace: TablePace, stopping: asyncio.Event) -> None:
        self._pace = pace
        self._stopping = stopping
        self._turns = asyncio.Semaphore(TABLE_PARTS_AT_ONCE_MAX)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn, and have it until the end of the block; raises HubBusy when too many wait, HubStopping."""
        if self._pace.waiting >= STREAMS_MAX:
            raise HubBusy(f"{STREAMS_MAX} parts of tables wait to be read already: come back later")
        self._pace.waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._pace.waiting -= 1
        try:
            await self._rest()
            begun_ms = monotonic_ms()
            try:
                yield
            finally:
                ended_ms = monotonic_ms()
                self._pace.served(ended_ms - begun_ms, ended_ms)
        finally:
            self._turns.release()

    async def _rest(self) -> None:
        now_ms = monotonic_ms()
        while not self._stopping.is_set():
            rest_ms = self._pace.rest_ms(now_ms)
            if not rest_ms:
                return
            await asyncio.sleep(min(rest_ms, _NAP_MS_MAX) / 1_000)
            before_ms, now_ms = now_ms, monotonic_ms()
            self._pace.rested_ms += now_ms - before_ms
        raise HubStopping("the hub is stopping: connect again in a moment")
