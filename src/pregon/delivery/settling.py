"""Write down what was delivered, at ticks that all subscriptions share, or when enough has gathered.

Lives in the pusher's event loop. Promises:
- Nothing delivered is forgotten: what the store cannot take now is offered again.
- `settled` returns when everything delivered so far is written.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from pregon.errors import HubStopping, PregonError
from pregon.hub.bridge import Bridge
from pregon.hub.deliver import Delivered, Delivery, PushedFrom
from pregon.hub.hub import Hub
from pregon.limits import PUSHES_WRITTEN_TOGETHER

log = logging.getLogger("pregon.delivery")
_RETRY_S = 0.5
_TICK_S = 0.05
"""How long what was delivered may wait for more: all subscriptions write at the same ticks, and share a commit."""


class Settling:
    """The deliveries of one subscription on their way to the store."""

    __slots__ = ("_bridge", "_deliveries", "_hub", "_is_under_way", "_later", "_names", "_waiting", "unsettled")

    def __init__(self, hub: Hub, bridge: Bridge, names: tuple[str, str]) -> None:
        self._hub = hub
        self._bridge = bridge
        self._names = names
        self._deliveries: dict[PushedFrom, list[Delivery]] = {}
        self._is_under_way = False
        self._later: asyncio.TimerHandle | None = None
        self._waiting: list[asyncio.Future[None]] = []
        self.unsettled = 0

    def note(self, of: PushedFrom, delivery: Delivery) -> None:
        """A message was delivered."""
        self._deliveries.setdefault(of, []).append(delivery)
        self._hub.deliveries.note(of, delivery.seq)
        self.unsettled += 1
        if not self._is_under_way:
            self._gather()

    def _gather(self) -> None:
        """Wait for more until the next tick, unless there is enough."""
        if self.unsettled >= PUSHES_WRITTEN_TOGETHER:
            self._begin()
        elif self._later is None:
            loop = asyncio.get_running_loop()
            self._later = loop.call_at((loop.time() // _TICK_S + 1) * _TICK_S, self._begin)

    def _begin(self) -> None:
        """Write what has gathered."""
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if not self._is_under_way:
            self._is_under_way = True
            self._write()

    def _write(self) -> None:
        of = next(iter(self._deliveries), None)
        if of is None:
            self._is_under_way = False
            for future in self._waiting:
                if not future.done():
                    future.set_result(None)
            self._waiting.clear()
            return
        deliveries = self._deliveries.pop(of)
        operation = Delivered(of, deliveries)
        try:
            ticket = self._hub.submit(operation)
        except PregonError as error:
            self._put_off(of, deliveries, error)
        else:
            self._bridge.call_when_done(ticket, lambda: self._have_written(ticket, of, deliveries))

    def _have_written(self, ticket: Any, of: PushedFrom, deliveries: list[Delivery]) -> None:
        try:
            ticket.value()
        except PregonError as error:
            if not error.is_retryable:
                # The subscription is gone: there is nothing left to settle.
                log.info("delivery not written", extra={"topic": self._names[0], "reason": str(error)})
            else:
                self._put_off(of, deliveries, error)
                return
        self.unsettled -= len(deliveries)
        self._hub.deliveries.written(of, [one.seq for one in deliveries])
        if self._waiting or not self._deliveries:
            self._write()
        else:
            # What came meanwhile waits for more, as what came before it did.
            self._is_under_way = False
            self._gather()

    def _put_off(self, of: PushedFrom, deliveries: list[Delivery], error: PregonError) -> None:
        self._deliveries[of] = deliveries + self._deliveries.get(of, [])
        if isinstance(error, HubStopping):
            # It is delivered again after the restart, and recognised by its id.
            self._deliveries.clear()
            self._write()
            return
        log.warning("delivery to be written later", extra={"topic": self._names[0], "reason": str(error)})
        asyncio.get_running_loop().call_later(_RETRY_S, self._write)

    async def settled(self) -> None:
        """Wait until everything delivered so far is written."""
        if self._deliveries:
            self._begin()
        if self._is_under_way:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future
