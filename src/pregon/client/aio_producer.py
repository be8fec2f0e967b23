"""The asyncio producer: the same `outbox` as the blocking one, driven by an event loop."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping

from pregon.client.calls import as_outgoing
from pregon.client.destination import Destination
from pregon.client.link import unreachable
from pregon.client.links import LOOK_MS, AsyncioLink, open_asyncio_link
from pregon.client.outbox import Outbox, ProducerOptions
from pregon.clock import monotonic_ms, wall_ns
from pregon.errors import HubStopping, PregonError
from pregon.model.message import Outgoing
from pregon.wire.frames import Answer


class AsyncProducer:
    """Packs messages into batches and keeps several in flight, for asyncio; see `producer.Producer`."""

    def __init__(self, destination: Destination, topic: str, producer: str, options: ProducerOptions) -> None:
        self.outbox = Outbox(topic, producer, options)
        self._destination = destination
        self._link: AsyncioLink | None = None
        self._changed = asyncio.Event()
        self._progress_ms = monotonic_ms()
        self._pumper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> AsyncProducer:
        self._link = open_asyncio_link(self._destination, self._take, self._reconnected, is_ordered=True)
        self._pumper = asyncio.create_task(self._linger())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            await self.close()
        except PregonError:
            if kind is None:
                raise

    def _take(self, answer: Answer) -> None:
        if self.outbox.answered(answer, monotonic_ms()) is not None:
            self._progress_ms = monotonic_ms()
        self._changed.set()

    def _reconnected(self) -> None:
        self.outbox.reconnected()
        self._changed.set()

    async def send(
        self,
        body: bytes | str | Outgoing,
        *,
        id: str | None = None,
        key: str | None = None,
        content_type: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """One more message; waits while too much is in flight. Raises what a batch before it met with."""
        message = as_outgoing(body, id, key, content_type, headers)
        self._require_open()
        if self.outbox.add(message, wall_ns() // 1_000):
            await self._wait_until(lambda: not self.outbox.is_full)

    async def send_many(self, bodies: Iterable[bytes]) -> None:
        """Many messages that are only bodies, at a fraction of the price of as many `send`s."""
        rest = bodies if isinstance(bodies, list) else list(bodies)
        start = 0
        while start < len(rest):
            self._require_open()
            step = rest[start : start + self.outbox.options.batch_messages]
            start += self.outbox.add_bodies(step, wall_ns() // 1_000)
            if not self.outbox.has_unsealed:
                await self._wait_until(lambda: not self.outbox.is_full)

    def _require_open(self) -> None:
        if self._link is None:
            raise HubStopping("the producer is not open: use it with `async with`")
        if self.outbox.failure is not None:
            raise self.outbox.failure

    async def flush(self) -> None:
        """Wait until everything sent so far is on disk."""
        self.outbox.seal()
        await self._wait_until(lambda: self.outbox.is_empty)

    async def close(self) -> None:
        """Flush, and give the connection back."""
        connection = self._link
        if connection is None:
            return
        try:
            await self.flush()
        finally:
            self._link = None
            if self._pumper is not None:
                self._pumper.cancel()
                await asyncio.gather(self._pumper, return_exceptions=True)
            await connection.close()

    async def _wait_until(self, is_met: Callable[[], bool]) -> None:
        self._progress_ms = monotonic_ms()
        step_ms = ask_again_ms = math.inf if self._link is None else self._link.ask_again_ms
        await self._send_due()
        while self.outbox.failure is None and not is_met():
            quiet_ms = monotonic_ms() - self._progress_ms
            if quiet_ms > self.outbox.options.timeout_ms:
                raise self.outbox.refusal or unreachable(self._destination.hub, self.outbox.options.timeout_ms)
            if quiet_ms > ask_again_ms:
                ask_again_ms += step_ms
                self.outbox.reconnected()
            self._changed.clear()
            pause_ms = self.outbox.retry_in_ms(monotonic_ms())
            try:
                async with asyncio.timeout((LOOK_MS if pause_ms is None else min(LOOK_MS, pause_ms)) / 1_000):
                    await self._changed.wait()
            except TimeoutError:
                pass
            await self._send_due()
        if self.outbox.failure is not None:
            raise self.outbox.failure

    async def _send_due(self) -> None:
        if self._link is not None:
            for frames in self.outbox.due(monotonic_ms(), self._link.next_id):
                await self._link.send(frames)

    async def _linger(self) -> None:
        """Send batches that do not fill by themselves, and again what must be sent again."""
        while True:
            await asyncio.sleep(max(self.outbox.options.linger_ms, 1.0) / 2_000)
            self.outbox.linger(monotonic_ms())
            await self._send_due()
