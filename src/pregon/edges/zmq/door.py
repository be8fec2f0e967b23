"""What the ZeroMQ doors have in common: a bound socket, a thread of its own, and a bell to wake it."""

from __future__ import annotations

import threading

import zmq

from pregon.edges.zmq.sockets import bind, bound_address
from pregon.wire.bell import Bell


class Door:
    """A socket and the thread that serves it; `_serve` is what the door does, until `_is_stopping`."""

    def __init__(
        self, name: str, context: zmq.Context[zmq.Socket[bytes]], kind: int, address: str, *, sndhwm: int = 1_000
    ) -> None:
        self._socket = bind(context, kind, address, sndhwm=sndhwm)
        self.address = bound_address(self._socket)
        self._bell = Bell()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name=f"pregon-{name}", daemon=True)

    def start(self) -> None:
        """Open the door."""
        self._thread.start()

    def stop(self) -> None:
        """Close it, and wait until it is closed."""
        self._is_stopping = True
        if self._thread.is_alive():
            self._bell.ring()
            self._thread.join()

    def give_back(self) -> None:
        """Give back what a door has that is never opened."""
        self._socket.close(linger=0)
        self._bell.close()

    def _run(self) -> None:
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._bell.fileno(), zmq.POLLIN)
        self._serve(poller)
        self._bell.close()

    def _serve(self, poller: zmq.Poller) -> None:
        raise NotImplementedError
