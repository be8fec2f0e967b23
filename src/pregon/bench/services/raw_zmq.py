"""Clients and workers of plain pyzmq, and libzmq's own proxy: what every broker on ZeroMQ is measured with.

The same loop asks through the proxy, through Pregón's broker and through a Majordomo broker; only the frames around
the body differ, and they are a `Form`. One blocking DEALER socket, no poller, and a call for each frame: pyzmq's
`send_multipart` and `recv_multipart` take several times as long, and it is the brokers that are to be compared.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import zmq
from zmq.utils.monitor import recv_monitor_message

from pregon.bench.peers.process import LOOPBACK, PeerFailed, free_ports
from pregon.bench.services.actors import Actor, play, say_ready
from pregon.bench.services.asking import BODY_BYTES, Window, serve_asks
from pregon.bench.services.contender import Contender, Doors

Socket = zmq.Socket[bytes]
MORE = int(zmq.SNDMORE)
CONNECT_MS_MAX = 30_000
SILENCE_MS_MAX = 30_000


class Form(NamedTuple):
    """How a request travels."""

    send: Callable[[Socket, bytes], object]
    """Send a body, with what stands around it."""
    receive: Callable[[Socket], bytes]
    """The body of the next answer; raises `PeerFailed` if it is none."""


def connect(context: zmq.Context[Socket], kind: int, address: str) -> Socket:
    """A connected socket, once its peer has shaken hands; raises `PeerFailed`."""
    socket = context.socket(kind)
    socket.linger = 0
    socket.set_hwm(0)
    monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
    socket.connect(address)
    if not monitor.poll(CONNECT_MS_MAX):
        raise PeerFailed(f"nobody answers at {address}")
    recv_monitor_message(monitor)
    socket.disable_monitor()
    socket.rcvtimeo = SILENCE_MS_MAX
    return socket


def ask_by(form: Form, address: str) -> None:
    """Be a client that asks in this form."""
    send, receive = form
    with zmq.Context() as context, connect(context, zmq.DEALER, address) as socket:

        def ask(window: Window) -> None:
            answered = window.answered
            for first in window.open():
                send(socket, first)
            while not window.is_over:
                following = answered(receive(socket))
                if following is not None:
                    send(socket, following)

        serve_asks(ask)


def _send_delimited(socket: Socket, body: bytes) -> None:
    socket.send(b"", MORE)
    socket.send(body)


def _receive_delimited(socket: Socket) -> bytes:
    if socket.recv():
        raise PeerFailed("an answer does not begin with an empty frame")
    body = socket.recv()
    if len(body) != BODY_BYTES:
        raise PeerFailed(f"the answer to a request is {body[:500]!r}")
    return body


BARE = Form(send=lambda socket, body: socket.send(body), receive=lambda socket: socket.recv())
"""Nothing around it."""

DELIMITED = Form(_send_delimited, _receive_delimited)
"""As a REQ socket sends it."""


def _client(address: str, form: str) -> None:
    ask_by({"bare": BARE, "delimited": DELIMITED}[form], address)


def _worker(address: str) -> None:
    """Send back whatever comes: the client's identity, and the body."""
    with zmq.Context() as context, connect(context, zmq.DEALER, address) as socket:
        socket.rcvtimeo = -1
        say_ready()
        while True:
            socket.send(socket.recv(), MORE)
            socket.send(socket.recv())


def _proxy(front: str, back: str) -> None:
    """libzmq's own loop between a ROUTER and a DEALER: Python only starts it."""
    with zmq.Context() as context, context.socket(zmq.ROUTER) as clients, context.socket(zmq.DEALER) as workers:
        for socket, address in ((clients, front), (workers, back)):
            socket.set_hwm(0)
            socket.bind(address)
        say_ready()
        zmq.proxy(clients, workers)


def free_doors() -> Doors:
    """Two loopback addresses that nobody listened on a moment ago."""
    front, back = free_ports(2)
    return Doors(f"tcp://{LOOPBACK}:{front}", f"tcp://{LOOPBACK}:{back}")


def _serve(directory: Path, stack: ExitStack) -> Doors:
    doors = free_doors()
    proxy = stack.enter_context(Actor(directory / "proxy.log", "raw_zmq", "proxy", *doors))
    proxy.wait_until_ready()
    return doors


def c_proxy() -> Contender:
    """The bare proxy: it chooses no worker, remembers nothing and forgets the requests of a worker that dies."""
    return Contender("the bare C proxy", _serve, ("raw_zmq", "worker"), ("raw_zmq", "client", "bare"))


if __name__ == "__main__":
    play({"proxy": _proxy, "worker": _worker, "client": _client}, sys.argv[1:])
