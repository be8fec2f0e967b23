"""Web services that pushes are measured with: many in one process, as cheap as they can be, and some hostile ones.

Run as `python -m pregon.bench.receivers HEALTHY [KIND …]`: it listens on so many free loopback ports and one more for
each KIND, and prints them. It understands just enough HTTP to find where a request ends, notes when that was, and
answers 200; what is in the requests is looked at when somebody asks for the report, not while it is measured.

    GET /begin    forget everything; with ?keep=1, keep what is sent from now on, else only when it came
    GET /count    how many came since
    GET /report   when each came, and of which message it was if requests are kept
"""

from __future__ import annotations

import asyncio
import http.client
import re
import subprocess
import sys
import time
from types import TracebackType
from typing import Any, cast

import msgspec
import uvloop

HANG, DRIP, CLOSE, ENDLESS = "hang", "drip", "close", "endless"
HOSTILE = (HANG, DRIP, CLOSE, ENDLESS)
"""Never answers; answers a byte at a time; closes at once; answers without an end."""

STAMP = b"Bench-Stamp"
"""The header in which the bare loop says when it sent a request, in microseconds since 1970."""

_LENGTH = b"\r\ncontent-length: "
_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
_SEQ = re.compile(rb"(?:[Pp]regon-[Ss]eq: |ce-pregonsequence: |<ps:notificationId>)([0-9]+)")
_STAMPED = re.compile(STAMP + rb": ([0-9]+)")
_DRIP_S = 0.2
_PIECE_BYTES = 4096


class Push(msgspec.Struct, array_like=True):
    """One request as it came: when it was complete, to which service, of which message, when it was stamped."""

    received_us: float
    service: int
    seq: int = 0
    stamped_us: int = 0


class _Book:
    """What has come."""

    def __init__(self) -> None:
        self.times: list[int] = []
        self.services: list[int] = []
        self.requests: list[bytes] = []
        self.keeps = False

    def begin(self, *, keeps: bool) -> None:
        """Forget it."""
        self.times, self.services, self.requests, self.keeps = [], [], [], keeps

    def report(self) -> bytes:
        """All of it."""
        pushes = [Push(at / 1_000, service) for at, service in zip(self.times, self.services, strict=True)]
        for push, request in zip(pushes, self.requests, strict=False):
            seq, stamped = _SEQ.search(request), _STAMPED.search(request)
            push.seq = int(seq[1]) if seq else 0
            push.stamped_us = int(stamped[1]) if stamped else 0
        return msgspec.json.encode(pushes)


class _Service(asyncio.Protocol):
    """A connection to a healthy service."""

    def __init__(self, number: int, book: _Book) -> None:
        self._number = number
        self._book = book
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Take the requests that are complete."""
        data = self._rest + data if self._rest else data
        while data:
            end = find_end(data)
            if not 0 < end <= len(data):
                break
            request, data = data[:end], data[end:]
            self._take(request)
        self._rest = data

    def _take(self, request: bytes) -> None:
        assert self._transport is not None
        book = self._book
        if request.startswith(b"GET "):
            self._control(request)
            return
        book.times.append(time.time_ns())
        book.services.append(self._number)
        if book.keeps:
            book.requests.append(request)
        self._transport.write(_OK)

    def _control(self, request: bytes) -> None:
        assert self._transport is not None
        body = b""
        if request.startswith(b"GET /begin"):
            self._book.begin(keeps=b"keep=1" in request)
        elif request.startswith(b"GET /count"):
            body = b"%d" % len(self._book.times)
        elif request.startswith(b"GET /report"):
            body = self._book.report()
        self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def find_end(data: bytes) -> int:
    """Where the first request in the data ends; 0 while its head is not complete."""
    head = data.find(b"\r\n\r\n")
    if head < 0:
        return 0
    at = data[:head].lower().find(_LENGTH)
    length = int(data[at + len(_LENGTH) : data.index(b"\r", at + 2)]) if at >= 0 else 0
    return head + 4 + length


class _HostileService(asyncio.Protocol):
    """A connection to a service that does one of `HOSTILE`."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._task: asyncio.Task[None] | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        wire = cast(asyncio.Transport, transport)
        if self._kind == CLOSE:
            wire.abort()
        elif self._kind != HANG:
            self._task = asyncio.get_running_loop().create_task(self._answer(wire))

    async def _answer(self, transport: asyncio.Transport) -> None:
        if self._kind == DRIP:
            for byte in _OK * 1_000:
                transport.write(bytes([byte]))
                await asyncio.sleep(_DRIP_S)
            return
        transport.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            transport.write(b"%x\r\n%b\r\n" % (_PIECE_BYTES, bytes(_PIECE_BYTES)))
            await asyncio.sleep(0.001)
            await self._may_write.wait()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._task is not None:
            self._task.cancel()


async def _serve(healthy: int, hostile: list[str]) -> None:
    loop, book, ports = asyncio.get_running_loop(), _Book(), []
    for number in range(healthy):
        server = await loop.create_server(lambda n=number: _Service(n, book), "127.0.0.1", 0, backlog=1_024)  # type: ignore[misc]
        ports.append(server.sockets[0].getsockname()[1])
    for kind in hostile:
        server = await loop.create_server(lambda k=kind: _HostileService(k), "127.0.0.1", 0, backlog=1_024)  # type: ignore[misc]
        ports.append(server.sockets[0].getsockname()[1])
    print(*ports, flush=True)
    await loop.create_future()


class Receivers:
    """A process of them, for the time of a measurement."""

    def __init__(self, healthy: int, hostile: tuple[str, ...] = ()) -> None:
        self._command = [sys.executable, "-m", "pregon.bench.receivers", str(healthy), *hostile]
        self._healthy = healthy
        self._process: subprocess.Popen[str] | None = None
        self.endpoints: list[str] = []
        """Of the healthy ones; where each path leads is the same."""
        self.hostile_endpoints: list[str] = []

    def __enter__(self) -> Receivers:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        ports = self._process.stdout.readline().split()
        endpoints = [f"http://127.0.0.1:{port}/novedades" for port in ports]
        self.endpoints, self.hostile_endpoints = endpoints[: self._healthy], endpoints[self._healthy :]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            process.communicate()

    def begin(self, *, keeps: bool) -> None:
        """Forget what came; whether to keep what is sent from now on."""
        self._ask(f"/begin?keep={keeps:d}")

    def count(self) -> int:
        """How many came since."""
        return int(self._ask("/count"))

    def report(self) -> list[Push]:
        """What came since."""
        return msgspec.json.decode(self._ask("/report"), type=list[Push])

    def _ask(self, path: str) -> bytes:
        connection = http.client.HTTPConnection(self.endpoints[0].split("/")[2], timeout=60)
        try:
            connection.request("GET", path)
            return connection.getresponse().read()
        finally:
            connection.close()


def main(arguments: list[str]) -> Any:
    """Serve until it is ended."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(int(arguments[0]), arguments[1:]))


if __name__ == "__main__":
    main(sys.argv[1:])
