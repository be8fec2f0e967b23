"""The blocking connection over ZeroMQ: what `sync` and `producer` send and receive through."""

from __future__ import annotations

from typing import Any

import zmq

from pregon.client.destination import Destination
from pregon.client.link import ASK_AGAIN_MS, Handshakes, open_monitor, open_socket, present, request_ids
from pregon.wire.frames import Answer, decode_answer


class SyncLink:
    """A socket, its monitor, and the numbers of its requests. For one thread at a time."""

    ask_again_ms = ASK_AGAIN_MS

    def __init__(self, destination: Destination) -> None:
        self.address = destination.hub
        self._key = destination.key
        self._socket = open_socket(zmq.Context.instance(), self.address)
        self._monitor = open_monitor(self._socket)
        self._handshakes = Handshakes()
        self._ids = request_ids()

    def next_id(self) -> int:
        """The number of the next request."""
        return next(self._ids)

    def send(self, frames: list[Any], wait_ms: float = 0) -> None:
        """Send a request."""
        # Copied: handing the buffer over instead costs a thread of pyzmq that contends for the interpreter.
        self._socket.send_multipart(present(self._key, frames))

    def receive(self, wait_ms: float) -> Answer | None:
        """The next answer, or None if none comes in time."""
        if not self._socket.poll(wait_ms):
            return None
        return decode_answer(self._socket.recv_multipart(zmq.NOBLOCK))

    def was_reconnected(self) -> bool:
        """Whether the connection was lost and found again since this was last asked."""
        found = False
        while self._monitor.poll(0):
            found = self._handshakes.took(self._monitor.recv_multipart(zmq.NOBLOCK)) or found
        return found

    def forget(self, request_id: int) -> None:
        """Nobody waits for this answer any more; if it comes, it is dropped by who receives it."""

    def close(self) -> None:
        """Give it back."""
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close(linger=0)
