"""A DEALER to one side of the broker: opened, watched, and replaced by a new one of the same identity.

Both clients and workers speak through it; what they say is theirs. ZeroMQ reconnects by itself and says nothing of
what was lost, so its monitor is asked: after a reconnection whoever waits for something says it again.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import zmq
import zmq.backend

from pregon.client.services.curve import CurveKeys, find_curve
from pregon.errors import SettingsInvalid, Unauthorized
from pregon.limits import FRAME_BYTES_MAX
from pregon.wire.keepalive import keep_alive

SENDING_MAX = 20_000
"""Messages that ZeroMQ keeps for a broker that is away or slow; beyond that they wait in the loop that sends."""
_MORE = int(zmq.SNDMORE | zmq.NOBLOCK)
_LAST = int(zmq.NOBLOCK)
_RCVMORE = int(zmq.RCVMORE)
# pyzmq's own methods, without what its Python layer adds for other kinds of sockets: several times as fast.
_send_frame: Any = zmq.backend.Socket.send
_receive_frame: Any = zmq.backend.Socket.recv
_option: Any = zmq.backend.Socket.get
_EVENTS = (
    zmq.Event.HANDSHAKE_SUCCEEDED
    | zmq.Event.HANDSHAKE_FAILED_AUTH
    | zmq.Event.HANDSHAKE_FAILED_NO_DETAIL
    | zmq.Event.HANDSHAKE_FAILED_PROTOCOL
    | zmq.Event.DISCONNECTED
)


@dataclass(frozen=True, slots=True)
class Broker:
    """One side of a broker, and how to present oneself there."""

    address: str
    curve: CurveKeys | None = field(default=None, repr=False)


_EVERYWHERE = ("0.0.0.0", "*", "[::]")
_OWN_MACHINE = ("127.0.0.1", "localhost", "[::1]", "::1")


def broker_of(shown: dict[str, Any], side: str, curve: str | None, hub: str = "") -> Broker:
    """The broker that the hub at an address tells of; `side` is `front` or `back`. Raises SettingsInvalid."""
    address = shown.get(side)
    if not isinstance(address, str) or not address:
        raise SettingsInvalid(f"the hub tells of no broker ({side}): is `pregon serve` set to run one?")
    server = shown.get("curve_key") or ""
    return Broker(reached_by(address, hub), find_curve(curve, server if isinstance(server, str) else ""))


def reached_by(address: str, hub: str) -> str:
    """The address of a broker as one reaches it who reaches the hub: raises SettingsInvalid if that cannot be.

    A broker that listens everywhere is where the hub is; one that listens on its own machine only is not for others.
    """
    scheme, _, rest = address.partition("://")
    host, _, port = rest.rpartition(":")
    hub_host = urlsplit(hub).hostname or ""
    if scheme != "tcp" or not hub_host:
        return address
    if host in _EVERYWHERE:
        return f"tcp://[{hub_host}]:{port}" if ":" in hub_host else f"tcp://{hub_host}:{port}"
    if host in _OWN_MACHINE and hub_host not in _OWN_MACHINE:
        raise SettingsInvalid(
            f"the services of {hub} listen on its own machine only, at {address}: start it with --services-front and "
            "--services-back for other machines, and --services-curve"
        )
    return address


def refused_key(address: str) -> Unauthorized:
    """The error for a CURVE key that the broker does not accept."""
    return Unauthorized(
        f"the broker at {address} does not accept our CURVE key: name the file of one that it knows (`pregon keys "
        "create`) with curve= or PREGON_CURVE"
    )


def garbled(address: str) -> SettingsInvalid:
    """The error for a broker with which no hands can be shaken."""
    return SettingsInvalid(
        f"{address} does not shake hands as we do: one side speaks CURVE and the other does not, or the broker's key "
        "is another"
    )


@dataclass(slots=True)
class News:
    """What became of the connection since this was last asked."""

    is_reconnected: bool = False
    is_refused: bool = False
    """The broker does not accept the CURVE key."""
    is_garbled: bool = False
    """The two sides do not agree on how to shake hands: one with CURVE and one without, or a wrong key."""


class BrokerSocket:
    """A socket, its monitor and its identity. For one thread at a time."""

    def __init__(self, broker: Broker, kind: str, context: zmq.Context[Any] | None = None) -> None:
        self.broker = broker
        self._context = context or zmq.Context.instance()
        self.identity = f"{kind}-{os.urandom(8).hex()}".encode()
        """Random, and the same after every reconnection: by it the broker recognises what is said again."""
        self.is_connected = False
        self._handshakes = 0
        self._open()

    def _open(self) -> None:
        socket = self._context.socket(zmq.DEALER)
        try:
            socket.setsockopt(zmq.IDENTITY, self.identity)
            socket.setsockopt(zmq.LINGER, 0)
            socket.setsockopt(zmq.SNDHWM, SENDING_MAX)
            socket.setsockopt(zmq.RCVHWM, SENDING_MAX)
            socket.setsockopt(zmq.MAXMSGSIZE, FRAME_BYTES_MAX)
            socket.setsockopt(zmq.RECONNECT_IVL, 20)
            socket.setsockopt(zmq.RECONNECT_IVL_MAX, 200)
            # A broker whose machine vanished without a word is noticed.
            keep_alive(socket, 2)
            if self.broker.curve is not None:
                self.broker.curve.apply(socket)
            self._monitor = socket.get_monitor_socket(_EVENTS)
            socket.connect(self.broker.address)
        except zmq.ZMQError as error:
            socket.disable_monitor()
            socket.close()
            raise SettingsInvalid(f"{self.broker.address!r} is not a broker's address: use tcp://HOST:PORT") from error
        self.socket: Any = socket
        """For loops that move many messages; everybody else uses the methods."""

    def send(self, frames: Sequence[bytes]) -> bool:
        """Send a message, if there is room for one more; whether there was."""
        socket = self.socket
        try:
            # Copied: handing the buffers over costs more than these bytes do.
            for frame in frames[:-1]:
                _send_frame(socket, frame, _MORE)
            _send_frame(socket, frames[-1], _LAST)
        except zmq.Again:
            return False
        return True

    def receive_waiting(self, most: int) -> Iterator[list[bytes]]:
        """The messages that have arrived, at most so many, without waiting."""
        socket = self.socket
        for _ in range(most):
            try:
                frames = [_receive_frame(socket, _LAST)]
            except zmq.Again:
                return
            while _option(socket, _RCVMORE):
                frames.append(_receive_frame(socket))
            yield frames

    def news(self) -> News:
        """What the monitor tells; `is_reconnected` is never about the first connection of a socket."""
        news = News()
        while self._monitor.poll(0):
            kind = struct.unpack("=hi", self._monitor.recv_multipart(zmq.NOBLOCK)[0][:6])[0]
            if kind == zmq.Event.HANDSHAKE_SUCCEEDED:
                self.is_connected = True
                self._handshakes += 1
                news.is_reconnected = news.is_reconnected or self._handshakes > 1
            elif kind == zmq.Event.DISCONNECTED:
                self.is_connected = False
            elif kind == zmq.Event.HANDSHAKE_FAILED_AUTH:
                news.is_refused = True
            else:
                news.is_garbled = True
        return news

    def renew(self) -> None:
        """Close it, and open another of the same identity; what was on its way is lost."""
        self._close(0)
        self.is_connected = False
        self._handshakes = 0
        self._open()

    def close(self, linger_ms: int = 0) -> None:
        """Give it back; what was sent last has so long to leave."""
        self._close(linger_ms)

    def _close(self, linger_ms: int) -> None:
        with contextlib.suppress(zmq.ZMQError):
            self.socket.disable_monitor()
        self._monitor.close(linger=0)
        self.socket.close(linger=linger_ms)
