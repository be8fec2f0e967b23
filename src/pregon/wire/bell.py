"""Wakes a loop that waits for sockets, from any thread: the hub's doors, clients and workers have one each."""

from __future__ import annotations

import contextlib
import socket


class Bell:
    """A pair of sockets, of which a poller watches one. Ringing twice before it is heard wakes once."""

    def __init__(self) -> None:
        self._ear, self._rope = socket.socketpair()
        self._ear.setblocking(False)
        self._rope.setblocking(False)
        self._is_rung = False

    def fileno(self) -> int:
        """What the poller watches."""
        return self._ear.fileno()

    def ring(self) -> None:
        """Wake the loop, unless it is about to wake already."""
        if not self._is_rung:
            self._is_rung = True
            # Closed already, or full: in both cases nobody sleeps who must be woken.
            with contextlib.suppress(OSError):
                self._rope.send(b"!")

    def hear(self) -> None:
        """The loop woke; from now on it must be woken again."""
        # In this order: a ring in between wakes the loop once too often, the other order once too few.
        with contextlib.suppress(BlockingIOError):
            self._ear.recv(64)
        self._is_rung = False

    def close(self) -> None:
        """No more."""
        self._ear.close()
        self._rope.close()
