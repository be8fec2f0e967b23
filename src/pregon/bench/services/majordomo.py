"""A Majordomo broker in Python, written from the protocol's description (RFC 7, MDP/0.1), with its client and worker.

    client to broker    '', MDPC01, service, body…            and the same back
    worker to broker    '', MDPW01, READY, service
                        '', MDPW01, REPLY, client, '', body…
                        '', MDPW01, HEARTBEAT   or   DISCONNECT
    broker to worker    '', MDPW01, REQUEST, client, '', body…
                        '', MDPW01, HEARTBEAT   or   DISCONNECT

It is what one writes after reading that page: one ROUTER socket, a poller, a dictionary of services with the requests
and the workers that wait, heartbeats both ways. A worker has one request at a time, as the protocol has it, and a
request whose worker dies is lost. Nothing in it is slow on purpose.
"""

from __future__ import annotations

import sys
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import zmq

from pregon.bench.peers.process import LOOPBACK, PeerFailed, free_ports
from pregon.bench.services.actors import Actor, play, say_ready
from pregon.bench.services.contender import Contender, Doors
from pregon.bench.services.raw_zmq import MORE, Form, Socket, ask_by, connect

CLIENT, WORKER = b"MDPC01", b"MDPW01"
READY, REQUEST, REPLY, HEARTBEAT, DISCONNECT = b"\x01", b"\x02", b"\x03", b"\x04", b"\x05"
HEARTBEAT_S = 2.5
HEARTBEAT_MS = 2_500
LIVENESS = 3
WAITING_MAX = 100_000
SERVICE = b"echo"


@dataclass(slots=True)
class _Service:
    name: bytes
    requests: deque[tuple[bytes, list[bytes]]] = field(default_factory=lambda: deque(maxlen=WAITING_MAX))
    """The client and the body of each that waits."""
    waiting: dict[bytes, None] = field(default_factory=dict)
    """The workers that wait, the longest idle first."""


@dataclass(slots=True)
class _Worker:
    service: _Service
    expires_s: float = 0.0


class Broker:
    """Gives each request to the worker of its service that has waited longest."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        self._services: dict[bytes, _Service] = {}
        self._workers: dict[bytes, _Worker] = {}
        self._beat_at_s = monotonic() + HEARTBEAT_S

    def run(self) -> None:
        """Serve for ever."""
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        while True:
            if poller.poll(HEARTBEAT_MS):
                sender, _empty, header, *frames = self._socket.recv_multipart()
                if header == CLIENT:
                    self._on_client(sender, frames)
                elif header == WORKER:
                    self._on_worker(sender, frames)
            if monotonic() >= self._beat_at_s:
                self._purge_workers()
                self._send_heartbeats()

    def _on_client(self, client: bytes, frames: list[bytes]) -> None:
        name, *body = frames
        service = self._require_service(name)
        service.requests.append((client, body))
        self._dispatch(service)

    def _on_worker(self, address: bytes, frames: list[bytes]) -> None:
        command, *rest = frames
        worker = self._workers.get(address)
        if command == READY and worker is None:
            worker = self._workers[address] = _Worker(self._require_service(rest[0]))
            self._worker_waits(address, worker)
        elif worker is None or command == READY:
            # Who says READY twice, or speaks before it has, begins again.
            self._forget(address)
            self._socket.send_multipart([address, b"", WORKER, DISCONNECT])
        elif command == REPLY:
            client, _empty, *body = rest
            self._socket.send_multipart([client, b"", CLIENT, worker.service.name, *body])
            self._worker_waits(address, worker)
        elif command == HEARTBEAT:
            worker.expires_s = monotonic() + HEARTBEAT_S * LIVENESS
        elif command == DISCONNECT:
            self._forget(address)

    def _worker_waits(self, address: bytes, worker: _Worker) -> None:
        worker.expires_s = monotonic() + HEARTBEAT_S * LIVENESS
        worker.service.waiting[address] = None
        self._dispatch(worker.service)

    def _dispatch(self, service: _Service) -> None:
        while service.requests and service.waiting:
            client, body = service.requests.popleft()
            address = next(iter(service.waiting))
            del service.waiting[address]
            self._socket.send_multipart([address, b"", WORKER, REQUEST, client, b"", *body])

    def _require_service(self, name: bytes) -> _Service:
        service = self._services.get(name)
        if service is None:
            service = self._services[name] = _Service(name)
        return service

    def _purge_workers(self) -> None:
        now_s = monotonic()
        for address in [one for one, worker in self._workers.items() if worker.expires_s < now_s]:
            self._forget(address)

    def _send_heartbeats(self) -> None:
        for service in self._services.values():
            for address in service.waiting:
                self._socket.send_multipart([address, b"", WORKER, HEARTBEAT])
        self._beat_at_s = monotonic() + HEARTBEAT_S

    def _forget(self, address: bytes) -> None:
        worker = self._workers.pop(address, None)
        if worker is not None:
            worker.service.waiting.pop(address, None)


def _broker(address: str) -> None:
    with zmq.Context() as context, context.socket(zmq.ROUTER) as socket:
        socket.set_hwm(0)
        socket.bind(address)
        say_ready()
        Broker(socket).run()


def _worker(address: str) -> None:
    """Answer one request after another; a sign of life when one is due."""
    with zmq.Context() as context, connect(context, zmq.DEALER, address) as socket:
        poller = zmq.Poller()
        poller.register(socket, zmq.POLLIN)
        socket.send_multipart([b"", WORKER, READY, SERVICE])
        beat_at_s = monotonic() + HEARTBEAT_S
        say_ready()
        while True:
            if poller.poll(HEARTBEAT_MS):
                _empty, _header, command, *frames = socket.recv_multipart()
                if command == REQUEST:
                    socket.send_multipart([b"", WORKER, REPLY, *frames])
            if monotonic() >= beat_at_s:
                socket.send_multipart([b"", WORKER, HEARTBEAT])
                beat_at_s = monotonic() + HEARTBEAT_S


def _send(socket: Socket, body: bytes) -> None:
    for frame in (b"", CLIENT, SERVICE):
        socket.send(frame, MORE)
    socket.send(body)


def _receive(socket: Socket) -> bytes:
    if (socket.recv(), socket.recv(), socket.recv()) != (b"", CLIENT, SERVICE):
        raise PeerFailed("a Majordomo broker answered in another form")
    return socket.recv()


def _client(address: str) -> None:
    ask_by(Form(_send, _receive), address)


def _serve(directory: Path, stack: ExitStack) -> Doors:
    (port,) = free_ports(1)
    address = f"tcp://{LOOPBACK}:{port}"
    broker = stack.enter_context(Actor(directory / "broker.log", "majordomo", "broker", address))
    broker.wait_until_ready()
    return Doors(address, address)


def majordomo() -> Contender:
    """The broker that the guide to ZeroMQ teaches, in Python."""
    return Contender("Majordomo in Python", _serve, ("majordomo", "worker"), ("majordomo", "client"))


if __name__ == "__main__":
    play({"broker": _broker, "worker": _worker, "client": _client}, sys.argv[1:])
