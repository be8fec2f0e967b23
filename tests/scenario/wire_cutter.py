"""A wire between a client and a hub that can be held and cut, while both of them live on."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from .hub_process import find_port

_CHUNK_BYTES = 64 * 1024


class Wire:
    """Carries bytes both ways between whoever connects to `url` and the hub."""

    def __init__(self, hub_url: str) -> None:
        host, _, port = hub_url.removeprefix("tcp://").rpartition(":")
        self._hub = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", find_port()))
        self.url = "tcp://{}:{}".format(*self._listener.getsockname())
        self.connections = 0
        self._open: list[socket.socket] = []
        self._flowing = threading.Event()
        self._flowing.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self) -> None:
        """Carry nothing more for now: bytes pile up in the system, and then in the sender."""
        self._flowing.clear()

    def cut(self) -> None:
        """Break every connection, with what was on its way; the next ones are carried again."""
        taken, self._open = self._open, []
        for one in taken:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._flowing.set()

    def close(self) -> None:
        """No more wire."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(self._hub)
            self._open += [near, far]
            self.connections += 1
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(source, target), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while True:
                self._flowing.wait()
                chunk = source.recv(_CHUNK_BYTES)
                # What was read while the wire was held is lost when it is cut.
                self._flowing.wait()
                if not chunk:
                    break
                target.sendall(chunk)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@contextmanager
def wire_to(hub_url: str) -> Iterator[Wire]:
    """A wire to a hub, gone at the end."""
    wire = Wire(hub_url)
    try:
        yield wire
    finally:
        wire.close()
