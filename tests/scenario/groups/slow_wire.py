"""A wire between a member and a hub that carries everything late, in order, both ways."""

from __future__ import annotations

import queue
import socket
import threading
import time
from contextlib import suppress

from ..wire_cutter import Wire

_CHUNK_BYTES = 64 * 1024


class SlowWire(Wire):
    """What comes in at one end goes out at the other after `delay_s`."""

    def __init__(self, hub_url: str, delay_s: float) -> None:
        self.delay_s = delay_s
        super().__init__(hub_url)

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        line: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
        threading.Thread(target=self._deliver, args=(line, target), daemon=True).start()
        with suppress(OSError):
            while chunk := source.recv(_CHUNK_BYTES):
                line.put((time.monotonic() + self.delay_s, chunk))
        line.put((time.monotonic() + self.delay_s, b""))

    def _deliver(self, line: queue.SimpleQueue[tuple[float, bytes]], target: socket.socket) -> None:
        with suppress(OSError):
            while True:
                due, chunk = line.get()
                time.sleep(max(0.0, due - time.monotonic()))
                self._flowing.wait()
                if not chunk:
                    break
                target.sendall(chunk)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)
        target.close()
