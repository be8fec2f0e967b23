"""Pregón's own broker as a contender: `pregon services` as a user runs it, and three ways to speak with it.

`PGS/1` is plain pyzmq with the protocol's heads, so that it is the broker that is measured and no library. The plain
form is the documents' own: a worker is a REQ socket, which has one request at a time. `library` is pregon's client.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import zmq

from pregon.bench.peers.process import Greeting, PeerFailed, RunningServers, ServerProcess
from pregon.bench.services.actors import play, say_ready
from pregon.bench.services.contender import Contender, Doors
from pregon.bench.services.raw_zmq import MORE, Form, Socket, ask_by, connect, free_doors
from pregon.wire.services import ANSWER, BEAT, HELLO, REQUEST, WELCOME, Hello, encode_head, encode_json

SERVICE = "echo"
SLOTS = 256
"""Of a worker: all that is in flight may be with the two of them, as it is with the other contenders' workers."""

_HANDSHAKE = Greeting(say=b"", answer_begins=b"\xff")
_PREFIX = encode_head(REQUEST, b"")
_ANSWER_PREFIX = encode_head(ANSWER, b"")


def serve(directory: Path, stack: ExitStack, *options: str) -> Doors:
    """Start the broker on free loopback ports; its log is in the directory."""
    doors = free_doors()
    command = [sys.executable, "-m", "pregon", "services", "--front", doors.front, "--back", doors.back, *options]
    servers = RunningServers()
    stack.callback(servers.stop)
    process = ServerProcess(command, directory.resolve() / "broker.log")
    servers.launch(process, int(doors.back.rpartition(":")[2]), _HANDSHAKE)
    return doors


def join(socket: Socket, hello: Hello) -> None:
    """Say hello as a worker, and wait for the welcome; raises `PeerFailed`."""
    socket.send(encode_head(HELLO, tail=encode_json(hello)))
    welcome = socket.recv_multipart()
    if welcome[0][4] != WELCOME:
        raise PeerFailed(f"the broker answered a hello with {welcome[0][:200]!r}")


def _worker(address: str) -> None:
    """Echo, with heads."""
    beat = encode_head(BEAT)
    with zmq.Context() as context, connect(context, zmq.DEALER, address) as socket:
        join(socket, Hello(types=[SERVICE], slots=SLOTS))
        socket.rcvtimeo = -1
        say_ready()
        while True:
            head = socket.recv()
            if head[4] == REQUEST:
                socket.send(_ANSWER_PREFIX + head[5:13], MORE)
                # Bodies of one frame: a worker for others would ask whether there are more.
                socket.send(socket.recv())
            elif head[4] == BEAT:
                socket.send(beat)


def _plain_worker(address: str) -> None:
    """Echo with a REQ socket: what is received is what is to be sent."""
    with zmq.Context() as context, connect(context, zmq.REQ, address) as socket:
        socket.rcvtimeo = -1
        socket.send_multipart([b"", b"", b""])
        say_ready()
        while True:
            client, delimiter, body = socket.recv(), socket.recv(), socket.recv()
            socket.send(client, MORE)
            socket.send(delimiter, MORE)
            socket.send(body)


def _send(socket: Socket, body: bytes) -> None:
    # The number of the request is the number in its body.
    socket.send(b"%b\0\0\0\0%becho" % (_PREFIX, body), MORE)
    socket.send(body)


def _receive(socket: Socket) -> bytes:
    head = socket.recv()
    if head[4] != ANSWER:
        raise PeerFailed(f"the broker answered {head[:500]!r}")
    return socket.recv()


def _client(address: str) -> None:
    ask_by(Form(_send, _receive), address)


def by_heads() -> Contender:
    """The broker alone: raw clients and workers that speak PGS/1."""
    return Contender("Pregón, PGS/1", serve, ("pregon_broker", "worker"), ("pregon_broker", "client"))


def by_plain_form() -> Contender:
    """REQ workers, one request at a time each, and a DEALER client with the delimiter of a REQ."""
    return Contender("Pregón, plain form", serve, ("pregon_broker", "plain-worker"), ("raw_zmq", "client", "delimited"))


if __name__ == "__main__":
    play({"worker": _worker, "plain-worker": _plain_worker, "client": _client}, sys.argv[1:])
