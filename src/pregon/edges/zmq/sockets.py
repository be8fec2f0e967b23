"""How the hub binds its ZeroMQ sockets."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import zmq

from pregon import limits
from pregon.errors import AddressInUse, SettingsInvalid
from pregon.wire.keepalive import keep_alive


def bind(
    context: zmq.Context[zmq.Socket[bytes]],
    kind: int,
    address: str,
    *,
    sndhwm: int = 1_000,
    prepare: Callable[[zmq.Socket[bytes]], None] | None = None,
) -> zmq.Socket[bytes]:
    """A bound socket with limits, after `prepare` has set more of it; raises AddressInUse or SettingsInvalid."""
    socket = context.socket(kind)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.SNDHWM, sndhwm)
    socket.setsockopt(zmq.MAXMSGSIZE, limits.FRAME_BYTES_MAX)
    # A peer that vanished without a word is noticed, and its queue given back.
    keep_alive(socket, 5)
    if prepare is not None:
        prepare(socket)
    try:
        socket.bind(address)
    except zmq.ZMQError as error:
        socket.close()
        if error.errno == zmq.EADDRINUSE:
            raise AddressInUse(f"another program listens on {address}: stop it, or choose another address") from error
        raise SettingsInvalid(f"{address} is not an address to bind ({error.strerror}): use tcp://HOST:PORT") from error
    return socket


def bound_address(socket: zmq.Socket[bytes]) -> str:
    """Where the socket was bound, with the port that was chosen for port 0."""
    address = socket.getsockopt(zmq.LAST_ENDPOINT)
    assert isinstance(address, bytes)
    return address.decode()


def receive_waiting(socket: zmq.Socket[bytes], most: int) -> Iterator[list[bytes]]:
    """The messages that have arrived, at most so many, without waiting."""
    for _ in range(most):
        try:
            yield socket.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return
