"""How a ZeroMQ socket notices a peer whose machine vanished without a word: by the system's own probes.

ZeroMQ has beats of its own, and they are not used: libzmq 4.3 ends the whole process (`Assertion failed: !_io_error`)
when a connection breaks whose messages nobody has read yet and such a beat is due. Whoever floods a socket and hangs
up at the right moment would end the hub.
"""

from __future__ import annotations

from typing import Any

import zmq

_PROBES = 3


def keep_alive(socket: Any, silent_s: int) -> None:
    """Have a connection that is silent probed, so that a dead one ends in about four times as long."""
    socket.setsockopt(zmq.TCP_KEEPALIVE, 1)
    socket.setsockopt(zmq.TCP_KEEPALIVE_IDLE, silent_s)
    socket.setsockopt(zmq.TCP_KEEPALIVE_INTVL, silent_s)
    socket.setsockopt(zmq.TCP_KEEPALIVE_CNT, _PROBES)
