"""The asyncio connection over ZeroMQ: what `aio` and `aio_producer` send and receive through."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import zmq
import zmq.asyncio

from pregon.client.destination import Destination
from pregon.client.link import ASK_AGAIN_MS, Handshakes, open_monitor, open_socket, present, request_ids
from pregon.wire.frames import Answer, decode_answer


class AsyncLink:
    """A socket and the tasks that read it and its monitor."""

    ask_again_ms = ASK_AGAIN_MS

    def __init__(
        self, destination: Destination, take: Callable[[Answer], None], reconnected: Callable[[], None]
    ) -> None:
        self.address = destination.hub
        self._key = destination.key
        self._socket = open_socket(zmq.asyncio.Context.instance(), self.address)
        self._monitor = open_monitor(self._socket)
        self._handshakes = Handshakes()
        self._ids = request_ids()
        self._take = take
        self._reconnected = reconnected
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._watch())]

    def next_id(self) -> int:
        """The number of the next request."""
        return next(self._ids)

    async def send(self, frames: list[Any], wait_ms: float = 0) -> None:
        """Send a request."""
        await self._socket.send_multipart(present(self._key, frames))

    def forget(self, request_id: int) -> None:
        """Nobody waits for this answer any more; if it comes, it is dropped by who takes it."""

    async def _read(self) -> None:
        while True:
            answer = decode_answer(await self._socket.recv_multipart())
            if answer is not None:
                self._take(answer)

    async def _watch(self) -> None:
        while True:
            if self._handshakes.took(await self._monitor.recv_multipart()):
                self._reconnected()

    async def close(self) -> None:
        """End the tasks and give it back."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close(linger=0)
