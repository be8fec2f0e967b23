"""The ZeroMQ connection to a hub, and how its loss is noticed.

ZeroMQ reconnects by itself but says nothing of what was lost on the way. Its monitor tells of every handshake:
the second and later ones are reconnections, after which whoever has something in flight sends it again.
"""

from __future__ import annotations

import itertools
import struct
from typing import Any

import msgspec
import zmq

from pregon.errors import HubUnreachable, SettingsInvalid
from pregon.limits import FRAME_BYTES_MAX
from pregon.wire.keepalive import keep_alive

DEFAULT_TIMEOUT_MS = 10_000.0
ASK_AGAIN_MS = 3_000.0
"""A request without an answer is sent again after this long: the answer may have been dropped on the way."""
_EVENTS = zmq.Event.HANDSHAKE_SUCCEEDED
_fields = msgspec.msgpack.Decoder(dict[str, msgspec.Raw])


def open_socket(context: zmq.Context[Any], address: str) -> Any:
    """A DEALER connected to the hub (or trying to); raises SettingsInvalid for what is no address."""
    socket = context.socket(zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.MAXMSGSIZE, FRAME_BYTES_MAX)
    socket.setsockopt(zmq.RECONNECT_IVL, 20)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, 200)
    # A hub whose machine vanished without a word is noticed.
    keep_alive(socket, 2)
    try:
        socket.connect(address)
    except zmq.ZMQError as error:
        socket.close()
        raise SettingsInvalid(
            f"{address!r} is not the address of a hub: use tcp://HOST:PORT or http://HOST:PORT"
        ) from error
    return socket


def open_monitor(socket: Any) -> Any:
    """The socket on which the connection's handshakes are told."""
    return socket.get_monitor_socket(_EVENTS)


def is_handshake(frames: list[bytes]) -> bool:
    """Whether a message of the monitor tells of a handshake."""
    return bool(struct.unpack("=hi", frames[0][:6])[0] == zmq.Event.HANDSHAKE_SUCCEEDED)


class Handshakes:
    """Counts handshakes; tells reconnections from the first connection."""

    def __init__(self) -> None:
        self._count = 0

    def took(self, frames: list[bytes]) -> bool:
        """Whether this message of the monitor tells of a reconnection."""
        if is_handshake(frames):
            self._count += 1
            return self._count > 1
        return False


def present(key: str, frames: list[Any]) -> list[Any]:
    """The frames of a request with the key in its header, where ZeroMQ has no other place for it."""
    if not key:
        return frames
    header = msgspec.msgpack.encode({**_fields.decode(frames[1]), "auth": key})
    return [frames[0], header, *frames[2:]]


def request_ids() -> itertools.count[int]:
    """Numbers for requests; 0 is for errors that answer no request."""
    return itertools.count(1)


def unreachable(address: str, timeout_ms: float) -> HubUnreachable:
    """The error for an answer that did not come."""
    return HubUnreachable(
        f"no answer from {address} in {timeout_ms:.0f} ms: is the hub running there? (`pregon serve`; another "
        "address with --hub or PREGON_HUB)"
    )
