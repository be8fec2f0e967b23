"""The same conversation with the broker, driven by an event loop.

The socket's file descriptor is watched by the loop itself, without `zmq.asyncio`: that makes a future and a turn of
the loop for every message, this takes all that have come in one turn. ZeroMQ's descriptor tells of a change only once,
so the socket is emptied after every wake and after every sending.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from pregon.client.services.ask import Ask, Waited
from pregon.client.services.broker_socket import Broker
from pregon.client.services.conversation import UNDER_WAY_MAX
from pregon.client.services.exchange import LOOK_MS, Exchange
from pregon.clock import monotonic_ms
from pregon.errors import HubStopping


class FutureWaiter:
    """Tells a future that an ask is done."""

    __slots__ = ("future",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.future: asyncio.Future[None] = loop.create_future()

    def set(self) -> None:
        """It is done."""
        if not self.future.done():
            self.future.set_result(None)


class AsyncTalk:
    """A connection to the front of a broker, for the event loop that is running."""

    def __init__(self, broker: Broker) -> None:
        self._loop = asyncio.get_running_loop()
        self._exchange = Exchange(broker)
        self._places = asyncio.Semaphore(UNDER_WAY_MAX // 2)
        """For single requests, so that a map always has some left; one more waits for a place."""
        self._look_later: asyncio.TimerHandle | None = None
        self._take_soon: asyncio.Handle | None = None
        self._is_closed = False
        self.watch()

    def watch(self) -> None:
        """Wait for the socket."""
        self._loop.add_reader(self._exchange.link.socket, self._take)

    def unwatch(self) -> None:
        """No longer."""
        self._loop.remove_reader(self._exchange.link.socket)

    async def run(self, ask: Ask) -> Ask:
        """Ask, and wait until it is done."""
        async with self._places:
            self.start((ask,))
            try:
                await self.news(ask)
            finally:
                if not ask.is_done:
                    self.give_up((ask,))
            return ask

    async def news(self, waited: Waited) -> None:
        """Wait until the ask, or one of the asks of the window, is done."""
        waiter = FutureWaiter(self._loop)
        waited.waiter = waiter
        try:
            await waiter.future
        finally:
            waited.waiter = None

    def start(self, asks: Iterable[Ask]) -> None:
        """Ask, and do not wait; raises HubBusy when too many are under way."""
        if self._is_closed:
            raise HubStopping("the client is closed: make another")
        now_ms = monotonic_ms()
        for ask in asks:
            self._exchange.begin(ask, now_ms)
        self._after_sending()

    def give_up(self, asks: Iterable[Ask]) -> None:
        """Nobody waits for these any more."""
        if not self._is_closed:
            for ask in asks:
                self._exchange.give_up(ask)
            self._after_sending()

    def _after_sending(self) -> None:
        if self._take_soon is None:
            self._take_soon = self._loop.call_soon(self._take)
        if self._look_later is None:
            self._look_later = self._loop.call_later(LOOK_MS / 1_000, self._look)

    def _take(self) -> None:
        """Everything that has come; what is left after a good many waits for the loop's next turn."""
        if self._take_soon is not None:
            self._take_soon.cancel()
            self._take_soon = None
        if self._exchange.take(monotonic_ms()):
            self._take_soon = self._loop.call_soon(self._take)

    def _look(self) -> None:
        """Time has passed."""
        self._look_later = None
        self._exchange.look(monotonic_ms(), self)
        if not self._exchange.is_idle:
            self._after_sending()

    async def close(self) -> None:
        """Give the connection back; who waits is told so."""
        if self._is_closed:
            return
        self._is_closed = True
        for handle in (self._look_later, self._take_soon):
            if handle is not None:
                handle.cancel()
        self.unwatch()
        self._exchange.close(HubStopping("the client was closed"))
