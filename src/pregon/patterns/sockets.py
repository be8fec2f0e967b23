"""A socket for each part in a pattern, opened in one call with limits.

Every function here opens one kind of socket and takes the same arguments: `bind` and `connect`, each an address or
several; `identity`, by which a ROUTER knows this socket; `options`, the limits; `context`, for `inproc://` addresses
that are not in the process's usual context. Who has the known address binds, the others connect, in any order.

What comes back is a pyzmq socket, to be used as pyzmq documents it and closed by `with`. What may be sent on it, and
what is lost when, is in `guarantees`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

import zmq

from pregon.clock import monotonic_ms
from pregon.errors import AnswerTimeout, SettingsInvalid
from pregon.limits import FRAME_BYTES_MAX
from pregon.patterns import endpoints
from pregon.patterns.endpoints import Socket
from pregon.wire.keepalive import keep_alive

QUEUE_MESSAGES_MAX = 1_000_000
MS_MAX = 24 * 60 * 60 * 1_000
ADDRESSES_MAX = 100
IDENTITY_BYTES_MAX = 255


@dataclass(frozen=True)
class Options:
    """The limits of a socket; raises SettingsInvalid for one that is none."""

    queue_messages_max: int = 1_000
    """Messages that wait for each peer, in each direction; what happens to one more depends on the pattern."""
    frame_bytes_max: int = FRAME_BYTES_MAX
    """A peer that sends a larger frame is disconnected before it is read."""
    linger_ms: int = 1_000
    """How long closing the context waits for what was sent and has not left yet."""
    wait_ms: int | None = None
    """How long `send` and `recv` wait before they raise `zmq.Again`; None for as long as it takes."""

    def __post_init__(self) -> None:
        for name, least, most in (
            ("queue_messages_max", 1, QUEUE_MESSAGES_MAX),
            ("frame_bytes_max", 1, FRAME_BYTES_MAX),
            ("linger_ms", 0, MS_MAX),
            ("wait_ms", 0, MS_MAX),
        ):
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise SettingsInvalid(f"{name} is {least} to {most}, not {value}")


class Where(TypedDict, total=False):
    """Where a socket is, and how: the arguments of every function here."""

    bind: str | Sequence[str]
    """Addresses at which others find it."""
    connect: str | Sequence[str]
    """Addresses of others."""
    identity: bytes
    """The name by which a ROUTER knows it, 1 to 255 bytes that do not begin with a zero byte; else libzmq makes one."""
    options: Options
    """Its limits."""
    context: zmq.Context[Socket]
    """The context that it belongs to; else the one that all of a process share."""


def requester(**where: Unpack[Where]) -> Socket:
    """REQ: asks, waits for the answer, asks again. Connected to several servers, it asks each in its turn."""
    return open_socket(zmq.REQ, **where)


def replier(**where: Unpack[Where]) -> Socket:
    """REP: takes a request, answers it, takes the next. Bound for clients, or connected to a broker's DEALER."""
    return open_socket(zmq.REP, **where)


def pusher(**where: Unpack[Where]) -> Socket:
    """PUSH: gives each message to one puller, each in its turn."""
    return open_socket(zmq.PUSH, **where)


def puller(**where: Unpack[Where]) -> Socket:
    """PULL: takes the messages of all pushers, from each in its turn."""
    return open_socket(zmq.PULL, **where)


def publisher(**where: Unpack[Where]) -> Socket:
    """PUB: gives each message to every subscriber that wants it at that moment."""
    return open_socket(zmq.PUB, **where)


def subscriber(*, prefixes: Iterable[str | bytes] = ("",), **where: Unpack[Where]) -> Socket:
    """SUB: gets the messages whose first frame begins with one of the prefixes; unless some are named, all."""
    socket = open_socket(zmq.SUB, **where)
    for prefix in prefixes:
        socket.setsockopt(zmq.SUBSCRIBE, prefix.encode() if isinstance(prefix, str) else prefix)
    return socket


def dealer(**where: Unpack[Where]) -> Socket:
    """DEALER: a REQ that need not wait. The program adds the delimiter, and finds it in what comes: see `envelope`."""
    return open_socket(zmq.DEALER, **where)


def router(**where: Unpack[Where]) -> Socket:
    """ROUTER: puts the sender's identity before what it receives, and sends to whom the first frame names."""
    return open_socket(zmq.ROUTER, **where)


def xpub(**where: Unpack[Where]) -> Socket:
    """XPUB: a PUB that receives the subscriptions: a byte 1, or 0 for an end, and the prefix. They must be received."""
    return open_socket(zmq.XPUB, **where)


def xsub(**where: Unpack[Where]) -> Socket:
    """XSUB: a SUB that subscribes by sending a byte 1, or 0 to end it, and the prefix."""
    return open_socket(zmq.XSUB, **where)


def open_socket(kind: int, **where: Unpack[Where]) -> Socket:
    """A socket of any kind, with limits, in its places; raises SettingsInvalid or AddressInUse."""
    binds, connects = _listed(where.get("bind", ())), _listed(where.get("connect", ()))
    if not 1 <= len(binds) + len(connects) <= ADDRESSES_MAX:
        raise SettingsInvalid(f"a socket needs 1 to {ADDRESSES_MAX} addresses, in bind or connect")
    options = where.get("options") or Options()
    context = where.get("context")
    socket = (context or zmq.Context.instance()).socket(kind)
    try:
        configure(socket, options)
        if "identity" in where:
            _name(socket, where["identity"])
        for address in binds:
            endpoints.bind(socket, address)
        for address in connects:
            endpoints.connect(socket, address)
    except BaseException:  # Whatever it was, it goes on to the caller, who has no socket to close.
        socket.close(linger=0)
        raise
    return socket


def require_subscribers(publisher: Socket, prefixes: Iterable[str | bytes], wait_ms: int = 5_000) -> None:
    """Wait until somebody has subscribed to each of these prefixes; raises AnswerTimeout.

    Only an `xpub` is told. It hears of a prefix when the first subscribes to it, so a second subscriber of the same
    prefix is not waited for.
    """
    missing = {prefix.encode() if isinstance(prefix, str) else prefix for prefix in prefixes}
    last_ms = monotonic_ms() + wait_ms
    while missing:
        if not publisher.poll(ms_until(last_ms)):
            named = ", ".join(repr(prefix.decode(errors="replace")) for prefix in sorted(missing))
            raise AnswerTimeout(f"nobody subscribed to {named} in {wait_ms} ms: start the subscriber, or wait longer")
        told = publisher.recv()
        if told[:1] == b"\1":
            missing.discard(told[1:])


def ms_until(last_ms: float) -> int:
    """Whole milliseconds from now to an instant of the monotonic clock, as pollers want them; 0 when it has passed."""
    return max(0, math.ceil(last_ms - monotonic_ms()))


def _listed(addresses: str | Sequence[str]) -> Sequence[str]:
    return [addresses] if isinstance(addresses, str) else addresses


def configure(socket: Socket, options: Options) -> None:
    """Set the limits of a socket that is not in any place yet."""
    socket.setsockopt(zmq.SNDHWM, options.queue_messages_max)
    socket.setsockopt(zmq.RCVHWM, options.queue_messages_max)
    socket.setsockopt(zmq.MAXMSGSIZE, options.frame_bytes_max)
    socket.setsockopt(zmq.LINGER, options.linger_ms)
    # A server that comes back is found again soon, and one that is gone is not asked for without pause.
    socket.setsockopt(zmq.RECONNECT_IVL, 20)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1_000)
    # A peer whose machine vanished without a word is noticed, and its queue given back.
    keep_alive(socket, 5)
    if options.wait_ms is not None:
        socket.setsockopt(zmq.SNDTIMEO, options.wait_ms)
        socket.setsockopt(zmq.RCVTIMEO, options.wait_ms)


def _name(socket: Socket, identity: bytes) -> None:
    if not 1 <= len(identity) <= IDENTITY_BYTES_MAX or identity[0] == 0:
        raise SettingsInvalid(
            f"an identity is 1 to {IDENTITY_BYTES_MAX} bytes and does not begin with a zero byte, not {identity[:40]!r}"
        )
    socket.setsockopt(zmq.IDENTITY, identity)
