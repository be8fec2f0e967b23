"""A socket bound as the hub binds its own, that is not read for so long that every timer of its connections fires.

libzmq ends the whole process when a connection is lost while what it brought waits unread, and it has heartbeats: so
the hub's sockets must not have them. Shows where it is bound, and goes on when it is told to.
"""

from __future__ import annotations

import sys
import threading

import zmq

from pregon.edges.zmq.sockets import bind, bound_address

_QUICK_MS = 100
_LONGER_THAN_ANY_TIMER_S = 1.5


def make_quick(socket: zmq.Socket[bytes]) -> None:
    """A short queue, and heartbeats, if it has any, that are soon due."""
    socket.setsockopt(zmq.RCVHWM, 10)
    if socket.getsockopt(zmq.HEARTBEAT_IVL):
        socket.setsockopt(zmq.HEARTBEAT_IVL, _QUICK_MS)


def run() -> None:
    """Bind, do not read, then read."""
    with zmq.Context() as context:
        socket = bind(context, zmq.ROUTER, "tcp://127.0.0.1:*", prepare=make_quick)
        sys.stdout.write(f"bound {bound_address(socket)}\n")
        sys.stdout.flush()
        sys.stdin.readline()
        threading.Event().wait(_LONGER_THAN_ANY_TIMER_S)
        while socket.poll(200):
            socket.recv_multipart()
        socket.close()


if __name__ == "__main__":
    run()
