"""A port on loopback that is kept while nobody listens there: who falls comes back to the same address.

Promise: until it is given back, whoever connects while nobody listens is refused, and the system gives the port to no
other program. A socket that is bound and does not listen does that; a listener with SO_REUSEADDR may join it (Linux).
"""

from __future__ import annotations

import socket


class Place:
    """One port."""

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])

    @property
    def url(self) -> str:
        """The address of what is there."""
        return f"http://127.0.0.1:{self.port}"

    def give_back(self) -> None:
        """Leave the port to the system."""
        self._socket.close()
