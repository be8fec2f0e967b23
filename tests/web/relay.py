"""The network between one browser and the hub, which can be cut, held and restored.

Chromium's own offline mode is not enough: it refuses new connections and holds the messages of open WebSockets, but
does not close these, and a page whose network is really gone sees them closed.

Promises:
- While it is cut nothing gets through: open connections are broken, and new ones are closed as soon as they come.
- Its address stays the same, also when the hub behind it is killed and started again.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from scenario.wire_cutter import Wire

_CONNECT_S = 10.0


class Relay(Wire):
    """Carries bytes between whoever opens `address` and the hub. `hold` makes it silent without breaking anything."""

    def __init__(self, http: str) -> None:
        # The thread that accepts is started by the parent, and reads these.
        self._is_cut = False
        self._changing = threading.Lock()
        super().__init__(http.removeprefix("http://"))
        self.address = self.url.replace("tcp://", "http://")

    def cut(self) -> None:
        """Break every connection, and those to come, until it is restored."""
        with self._changing:
            self._is_cut = True
            super().cut()

    def restore(self) -> None:
        """Carry again: what was held goes on, and what was cut may connect anew."""
        with self._changing:
            self._is_cut = False
            self._flowing.set()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._join, args=(near,), daemon=True).start()

    def _join(self, near: socket.socket) -> None:
        far = None if self._is_cut else self._reach_hub()
        with self._changing:
            # It may have been cut while the hub was being reached.
            is_joined = far is not None and not self._is_cut
            if is_joined and far is not None:
                self._open += [near, far]
                self.connections += 1
        if far is None or not is_joined:
            for one in filter(None, (near, far)):
                one.close()
            return
        threading.Thread(target=self._carry, args=(near, far), daemon=True).start()
        self._carry(far, near)

    def _reach_hub(self) -> socket.socket | None:
        """A connection to the hub, or None while it is down."""
        with suppress(OSError):
            far = socket.create_connection(self._hub, timeout=_CONNECT_S)
            far.settimeout(None)
            return far
        return None
