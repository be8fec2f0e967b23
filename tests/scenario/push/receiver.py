"""A subscriber's web service for the scenarios of push: it decides by what it is sent, and remembers everything.

`pregon.testing.Receiver` fails in the ways that it is told beforehand. This one is asked for every request, can be held
in the middle of an answer, and can fall and come back on the same port.

Promises:
- `arrivals` are in the order in which requests came, each with the status that it was answered, 0 while it is not.
- `answer` runs in the station's own thread, one request at a time.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from ..hub_process import find_port, wait_until

PATIENCE_S = 20.0


@dataclass(slots=True)
class Arrival:
    """A request, and what became of it."""

    path: str
    headers: dict[str, str]
    """By their names in lower case."""
    body: bytes
    connection: int
    at_s: float
    status: int = 0
    """What it was answered; 0: nothing (yet)."""
    answered_s: float = 0.0

    @property
    def topic(self) -> str:
        """The topic of a push in the raw format."""
        return self.headers["pregon-topic"]

    @property
    def seq(self) -> int:
        """The number of the message, in the raw format."""
        return int(self.headers["pregon-seq"])

    @property
    def attempt(self) -> int:
        """Which attempt it was."""
        return int(self.headers["pregon-attempt"])

    @property
    def is_taken(self) -> bool:
        """Whether the hub was told that it is delivered."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is answered."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    wait_s: float = 0.0
    is_cut: bool = False
    """Take it, and close the connection without an answer."""


class Station:
    """The web service. `with` opens it; `fall` and `rise` take it away and bring it back."""

    def __init__(self) -> None:
        self.port = find_port()
        self.answer: Callable[[Arrival], Answer] = lambda _arrival: Answer()
        self.arrivals: list[Arrival] = []
        self.connections = 0
        self.at_once_max = 0
        """The most requests that were on their way at once."""
        self._at_once = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="station", daemon=True)
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._gate = asyncio.Event()
        self._gate.set()

    def url(self, path: str = "/") -> str:
        """Where a path of it is found."""
        return f"http://127.0.0.1:{self.port}{path}"

    # What a test does to it.

    def fall(self) -> None:
        """Stop to listen and close every connection, as a machine does that is switched off."""
        self._do(self._fall())

    def rise(self) -> None:
        """Listen again, on the same port."""
        self._do(self._rise())

    def hold(self) -> None:
        """Take requests, and answer none until `let_go`."""
        self._loop.call_soon_threadsafe(self._gate.clear)

    def let_go(self) -> None:
        """Answer those that were held, by what `answer` says then."""
        self._loop.call_soon_threadsafe(self._gate.set)

    # What a test sees of it.

    def taken(self, path: str = "", topic: str = "") -> list[int]:
        """The numbers of what it said it has, in the order in which it did."""
        took = sorted((one for one in list(self.arrivals) if one.is_taken), key=lambda one: one.answered_s)
        return [one.seq for one in took if (not path or one.path == path) and (not topic or one.topic == topic)]

    def sent(self, topic: str = "") -> list[int]:
        """The numbers of what it was sent, however it answered."""
        return [one.seq for one in list(self.arrivals) if not topic or one.topic == topic]

    def wait_for(self, count: int, what: str = "requests came", deadline_s: float = PATIENCE_S) -> None:
        """Wait until so many requests came."""
        wait_until(lambda: len(self.arrivals) >= count, f"{count} {what}", deadline_s)

    def wait_for_taken(self, count: int, *, path: str = "", topic: str = "", deadline_s: float = PATIENCE_S) -> None:
        """Wait until it took so many messages."""
        wait_until(lambda: len(self.taken(path, topic)) >= count, f"{count} messages were taken", deadline_s)

    # How it works.

    def __enter__(self) -> Station:
        self._thread.start()
        self.rise()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.let_go()
        self.fall()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: object) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)  # type: ignore[arg-type]

    async def _rise(self) -> None:
        self._server = await asyncio.start_server(self._meet, "127.0.0.1", self.port, limit=1 << 24, backlog=2_000)

    async def _fall(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        tasks = list(self._open)
        for task in tasks:
            self._open[task].transport.abort()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        try:
            while await self._take(reader, writer, number):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # The hub hung up, or the station fell.
        finally:
            del self._open[task]
            writer.close()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        arrival = Arrival(first.split(" ")[1], headers, body, number, time.monotonic())
        self._at_once += 1
        self.at_once_max = max(self.at_once_max, self._at_once)
        self.arrivals.append(arrival)
        try:
            await self._gate.wait()
            answer = self.answer(arrival)
            if answer.wait_s:
                await asyncio.sleep(answer.wait_s)
        finally:
            self._at_once -= 1
        if answer.is_cut:
            return False
        given = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
        head = f"HTTP/1.1 {answer.status} x\r\nContent-Length: {len(answer.body)}\r\n{given}\r\n"
        arrival.status, arrival.answered_s = answer.status, time.monotonic()
        writer.write(head.encode("latin-1") + answer.body)
        await writer.drain()
        return True


def first_times(seqs: Sequence[int]) -> list[int]:
    """The numbers in the order in which each came first: what is left when repeated ones are dropped."""
    return list(dict.fromkeys(seqs))
