"""From tickets to asyncio: how those who live in an event loop wait for the hub's answers.

Tickets are resolved in the hub's threads. Those resolved together wake the event loop once, not once each.
A door that takes many requests says `burst` with each that writes: what came in the same turn of the loop is
committed at the end of the turn, in the loop's own thread if it is little (see `store.committer`).
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from pregon.store.ticket import Ticket

T = TypeVar("T")
_BURST_TURNS_MAX = 4
_HERE_BYTES_MAX = 256 * 1024
"""Single publications of a hundred connections and more."""


class BurstCommitter(Protocol):
    """Who commits a burst of requests in the thread that read them, if that is the quickest."""

    def hold(self) -> None:
        """A burst begins."""
        ...

    def let_go(self, here_bytes_max: int = ...) -> None:
        """It is over: commit it here if it has no more bytes than this."""
        ...


class Bridge:
    """Between one event loop and the hub. Made before the loop runs, attached by it."""

    def __init__(self, committer: BurstCommitter) -> None:
        self._committer = committer
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread_id = 0
        self._resolved: deque[Callable[[], None]] = deque()
        self._is_woken = False
        self._burst = 0
        """Requests of the burst that is going on; 0 when there is none."""
        self._burst_seen = 0
        self._burst_turns = 0

    def attach(self) -> None:
        """The running loop is the one."""
        self._loop = asyncio.get_running_loop()
        self._thread_id = threading.get_ident()

    def burst(self) -> None:
        """Something to write is about to be submitted: commit it with what else comes in this turn."""
        if not self._burst:
            assert self._loop is not None
            self._burst_seen = self._burst_turns = 0
            self._committer.hold()
            self._loop.call_soon(self._end_burst)
        self._burst += 1

    def burst_after_answer(self) -> None:
        """Something to write is about to be submitted for which nobody waits: commit it when the answer has left."""
        if not self._burst:
            assert self._loop is not None
            self._burst_seen = self._burst_turns = 0
            self._committer.hold()
            self._loop.call_soon(self._loop.call_soon, self._end_burst)
        self._burst += 1

    def _end_burst(self) -> None:
        """The turn is over: if it brought more requests, look once more, for what is on its way in the sockets."""
        if self._burst > self._burst_seen + 1 and self._burst_turns < _BURST_TURNS_MAX:
            self._burst_seen = self._burst
            self._burst_turns += 1
            assert self._loop is not None
            self._loop.call_soon(self._end_burst)
            return
        self._burst = 0
        self._committer.let_go(_HERE_BYTES_MAX)

    async def answer(self, ticket: Ticket[T]) -> T:
        """The ticket's value, when it is resolved; raises its error. A cancelled wait gives the ticket up."""
        if not ticket.is_done:
            assert self._loop is not None
            future: asyncio.Future[None] = self._loop.create_future()
            ticket.when_done(lambda _: self._tell(lambda: _finish(future)))
            try:
                await future
            except asyncio.CancelledError:
                ticket.abandon()
                raise
        return ticket.value()

    def call_when_done(self, ticket: Ticket[Any], call: Callable[[], None]) -> None:
        """Call in the loop when the ticket is resolved."""
        ticket.when_done(lambda _: self._tell(call))

    def _tell(self, call: Callable[[], None]) -> None:
        if threading.get_ident() == self._thread_id:
            call()
            return
        self._resolved.append(call)
        if not self._is_woken:
            # Between here and the loop's turn others may join; one that sees it woken has been appended before.
            self._is_woken = True
            assert self._loop is not None
            try:
                self._loop.call_soon_threadsafe(self._wake)
            except RuntimeError:
                # The loop has ended: nobody waits any more.
                self._resolved.clear()

    def _wake(self) -> None:
        self._is_woken = False
        while self._resolved:
            self._resolved.popleft()()


def _finish(future: asyncio.Future[Any]) -> None:
    if not future.done():
        future.set_result(None)
