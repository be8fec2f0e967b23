"""A hub for your own tests: real, on free ports, in a directory of its own, gone at the end.

from pregon.testing import Receiver, run_hub

def test_my_program():
    with run_hub() as hub:
        with hub.client() as client:
            client.publish("topic", "hello")

And a web service to push to, `Receiver`, which writes down what it is sent and fails in the ways that you tell it.
"""

from __future__ import annotations

import asyncio
import ssl
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from types import TracebackType
from typing import Any

from pregon.client import AsyncClient, Client
from pregon.server.hub_server import Server
from pregon.settings import Settings

ANY_PORT: dict[str, Any] = {
    "zmq": "tcp://127.0.0.1:*",
    "feed": "tcp://127.0.0.1:*",
    "ingest": "tcp://127.0.0.1:*",
    "services_front": "tcp://127.0.0.1:*",
    "services_back": "tcp://127.0.0.1:*",
    "http": "127.0.0.1:0",
}

_ANSWER, _HANG, _CLOSE, _ENDLESS = "answer", "hang", "close", "endless"
_REQUEST_BYTES_MAX = 16 * 1024 * 1024
_WAIT_S = 10.0


@dataclass(frozen=True, slots=True)
class RunningHub:
    """A hub in this process."""

    server: Server
    url: str
    """The address of its fast lane."""
    feed: str
    ingest: str
    http: str

    def client(self, **options: Any) -> Client:
        """A client of this hub."""
        return Client(self.url, **options)

    def async_client(self, **options: Any) -> AsyncClient:
        """An asyncio client of this hub."""
        return AsyncClient(self.url, **options)


@contextmanager
def run_hub(data: Path | None = None, **settings: Any) -> Iterator[RunningHub]:
    """A running hub; `settings` as in `pregon.settings`, `data` to keep its directory."""
    with tempfile.TemporaryDirectory(prefix="pregon-") as scratch:
        values = {**ANY_PORT, "data": str(data or scratch), **settings}
        with Server(Settings(**values)) as server:
            addresses = {"feed": "", "ingest": "", "http": "", **server.addresses}
            yield RunningHub(server, addresses["zmq"], addresses["feed"], addresses["ingest"], addresses["http"])


@dataclass(frozen=True, slots=True)
class Reply:
    """How a receiver answers one request."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_s: float = 0.0
    """How long it waits before it answers."""
    drip_s: float | None = None
    """How long it waits between two bytes of its answer. None: it sends them together."""
    raw: bytes | None = None
    """What it sends, byte for byte, in place of a status, headers and a body."""
    manner: str = _ANSWER

    @classmethod
    def fault(cls, text: str, status: int = 500) -> Reply:
        """A SOAP fault that says so."""
        space = "http://schemas.xmlsoap.org/soap/envelope/"
        inside = f"<faultcode>s:Server</faultcode><faultstring>{escape(text)}</faultstring>"
        envelope = f'<s:Envelope xmlns:s="{space}"><s:Body><s:Fault>{inside}</s:Fault></s:Body></s:Envelope>'
        return cls(status, envelope.encode(), {"Content-Type": "text/xml; charset=utf-8"})

    @classmethod
    def redirect(cls, url: str, status: int = 307) -> Reply:
        """Elsewhere."""
        return cls(status, headers={"Location": url})

    @classmethod
    def hang(cls, after: bytes = b"") -> Reply:
        """These bytes and then nothing, while the connection stays open."""
        return cls(raw=after, manner=_HANG)

    @classmethod
    def close(cls) -> Reply:
        """Nothing, and the connection is closed."""
        return cls(manner=_CLOSE)

    @classmethod
    def endless(cls, status: int = 200) -> Reply:
        """A body that does not end."""
        return cls(status, manner=_ENDLESS)

    def encode(self) -> bytes:
        """What goes over the wire."""
        if self.raw is not None:
            return self.raw
        length = "Transfer-Encoding: chunked" if self.manner == _ENDLESS else f"Content-Length: {len(self.body)}"
        lines = [
            f"HTTP/1.1 {self.status} Answer",
            length,
            *(f"{name}: {value}" for name, value in self.headers.items()),
        ]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + self.body


@dataclass(frozen=True, slots=True)
class Received:
    """A request as a receiver got it."""

    method: str
    path: str
    headers: dict[str, str]
    """By their names in lower case."""
    body: bytes
    connection: int
    """Over which connection it came, counted from 1."""


class Receiver:
    """A web service on this machine that writes down what it is sent, and answers as it is told: 200 unless told else.

    It runs in a thread of its own, from `with` to the end of it. A hub pushes to it when its setting `push_allow`
    names its address. With a certificate and its key, both PEM files, it speaks https.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, *, certificate: str = "", key: str = "") -> None:
        self.reply = Reply()
        """How it answers, when `then` has not said anything for the request."""
        self.received: list[Received] = []
        """What it was sent, in order."""
        self.connections = 0
        """How many connections were made to it."""
        self._host = host
        self._tls = (certificate, key) if certificate else None
        self._port = port
        self._next: deque[Reply] = deque()
        self._news = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="pregon-receiver", daemon=True)
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._stopping = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        """Where it is found."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{'https' if self._tls else 'http'}://{host}:{self._port}/"

    @property
    def open_connections(self) -> int:
        """How many of them are open now."""
        return len(self._writers)

    def then(self, *replies: Reply) -> None:
        """Answer the next requests so, one reply each, and after them as before."""
        self._next.extend(replies)

    def wait_for(self, count: int, timeout_s: float = _WAIT_S) -> list[Received]:
        """What it was sent, as soon as it is so many requests; raises TimeoutError if they do not come."""
        with self._news:
            if not self._news.wait_for(lambda: len(self.received) >= count, timeout_s):
                raise TimeoutError(f"{len(self.received)} requests came in {timeout_s:g} seconds, not {count}")
            return list(self.received)

    def hang_up(self) -> None:
        """Close all the connections that are open now, as a service does that is started anew."""
        asyncio.run_coroutine_threadsafe(self._close_all(), self._loop).result(_WAIT_S)

    def __enter__(self) -> Receiver:
        """Start to listen; raises OSError."""
        self._thread.start()
        self._started.wait()
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, whatever is under way."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:  # Whoever waits in __enter__ must be told, whatever it was.
            self._failure = error
        finally:
            self._started.set()
            self._loop.close()

    async def _serve(self) -> None:
        context = None
        if self._tls:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(*self._tls)
        server = await asyncio.start_server(self._meet, self._host, self._port, ssl=context, limit=_REQUEST_BYTES_MAX)
        self._port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stopping.wait()
        server.close()
        await self._close_all()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _close_all(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        self._writers.add(writer)
        try:
            while await self._answer(reader, writer, number):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, asyncio.CancelledError):
            pass  # The receiver ends, the other side hung up, or does not speak HTTP: there is nobody to tell.
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        """Take one request and answer it; whether another one may follow."""
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        headers.pop("", None)
        method, path, _ = first.split(" ")
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        with self._news:
            self.received.append(Received(method, path, headers, body, number))
            reply = self._next.popleft() if self._next else self.reply
            self._news.notify_all()
        await asyncio.sleep(reply.wait_s)
        if reply.manner == _CLOSE:
            return False
        await _send(writer, reply)
        if reply.manner == _HANG:
            await self._stopping.wait()
        return reply.raw is None


async def _send(writer: asyncio.StreamWriter, reply: Reply) -> None:
    data = reply.encode()
    if reply.drip_s is None:
        writer.write(data)
    else:
        for byte in data:
            writer.write(bytes((byte,)))
            await writer.drain()
            await asyncio.sleep(reply.drip_s)
    await writer.drain()
    while reply.manner == _ENDLESS:
        writer.write(b"400\r\n" + b"x" * 0x400 + b"\r\n")
        await writer.drain()
