"""Services that are coroutine functions: all of a worker's, on one event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Sequence

from pregon.client.services.runners import Done, dropped, too_long
from pregon.client.services.service import Outcome, Prepared
from pregon.client.services.worker_talk import Work
from pregon.clock import monotonic_ms

_END_S = 5.0


class Coroutines:
    """Runs them, each service in its own slots; a call that takes too long, or that nobody waits for, is cancelled."""

    enforces_limits = True

    def __init__(self, services: Sequence[tuple[str, Prepared]], done: Done) -> None:
        self._services = dict(services)
        self._done = done
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=self._run, name="pregon-coroutines", daemon=True)
        self._given: deque[Work] = deque()
        self._is_called = False
        self._tasks: dict[Work, asyncio.Task[None]] = {}
        self._places = {name: asyncio.Semaphore(prepared.manner.slots) for name, prepared in services}

    def start(self) -> None:
        """Start the loop."""
        self._loop = asyncio.new_event_loop()
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def give(self, work: Work) -> None:
        """Have a task made for it; many that come together wake the loop once."""
        self._given.append(work)
        if not self._is_called:
            self._is_called = True
            self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        # In this order: what is given in between is taken now, and at worst looked for once more.
        self._is_called = False
        while self._given:
            work = self._given.popleft()
            self._tasks[work] = self._loop.create_task(self._work(work))

    async def _work(self, work: Work) -> None:
        outcome: Outcome = dropped()
        try:
            async with self._places[work.name]:
                if not work.is_dropped:
                    outcome = await self._limited(work, self._services[work.name])
        except asyncio.CancelledError:
            # By `drop` or `close`: the outcome says so.
            pass
        finally:
            self._tasks.pop(work, None)
            self._done(work, outcome)

    async def _limited(self, work: Work, prepared: Prepared) -> Outcome:
        work.started_ms = monotonic_ms()
        limit_ms: float | None = prepared.manner.time_limit_ms
        if work.until_ms is not None:
            left_ms = max(1.0, work.until_ms - work.started_ms)
            limit_ms = left_ms if limit_ms is None else min(limit_ms, left_ms)
        if limit_ms is None:
            return await prepared.call_async(work.body)
        try:
            async with asyncio.timeout(limit_ms / 1_000):
                return await prepared.call_async(work.body)
        except TimeoutError:
            return too_long(limit_ms)

    def drop(self, work: Work) -> None:
        """Cancel it."""
        self._loop.call_soon_threadsafe(self._cancel, work)

    def _cancel(self, work: Work) -> None:
        task = self._tasks.get(work)
        if task is not None:
            task.cancel()

    def close(self) -> None:
        """Cancel everything and end the loop; a coroutine that does not let itself be cancelled is left behind."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._cancel_all(), self._loop)
            self._thread.join(_END_S)

    async def _cancel_all(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=_END_S / 2) if tasks else None
        self._loop.stop()
