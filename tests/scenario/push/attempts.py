"""What the scenarios of pushes share: messages, targets, posters, and servers that do as they like."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import uvloop

from pregon.delivery.attempt import Poster, Target
from pregon.delivery.outcome import Outcome
from pregon.model.batch import StoredBatch, encode, pack, stamp
from pregon.model.catalog import RAW
from pregon.model.message import Message, Outgoing
from pregon.security.guard import Guard
from pregon.testing import Receiver

HERE = "127.0.0.0/8 ::1"
SHORT_MS = 400
OUTSIDE = "127.0.0.2"
"""Stands for an address of the public network: the guard of these tests allows it, and no other."""
T = TypeVar("T")


def message(body: bytes = b"<noticia/>", seq: int = 1, **fields: Any) -> Message:
    sent = Outgoing(body, id=f"id{seq}", content_type="application/xml", **fields)
    (only,) = StoredBatch(seq, 1, encode(stamp(pack([sent], [5]), "DGREC", 6))).messages("fallecidos")
    return only


def target(url: str, format: str = RAW, time_limit_ms: int = 5_000) -> Target:
    return Target("BPS", url, format, time_limit_ms, (b"s" * 32,))


def run(work: Coroutine[Any, Any, T]) -> T:
    """Do it in a loop of the kind that the hub pushes in."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


@asynccontextmanager
async def posting(allow: str = HERE, *, may_redirect: bool = False) -> AsyncIterator[Poster]:
    poster = Poster(Guard(allow), may_redirect=may_redirect)
    await poster.start()
    try:
        yield poster
    finally:
        await poster.close()


def push(
    url: str, format: str = RAW, *, allow: str = HERE, time_limit_ms: int = 5_000, body: bytes = b"<n/>"
) -> Outcome:
    """One attempt, from beginning to end."""

    async def work() -> Outcome:
        async with posting(allow) as poster:
            return await poster.attempt(target(url, format, time_limit_ms), message(body), attempt=1)

    return run(work())


@asynccontextmanager
async def serving(
    meet: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], *, has_small_buffer: bool = False
) -> AsyncIterator[str]:
    """The URL of a server that does as it likes with each connection."""

    async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await meet(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    listening = socket.create_server(("127.0.0.1", 0))
    if has_small_buffer:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    server = await asyncio.start_server(met, sock=listening)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    finally:
        server.close()


def port_of(receiver: Receiver) -> int:
    return urlsplit(receiver.url).port or 0


@contextmanager
def twins() -> Iterator[tuple[Receiver, Receiver]]:
    """A receiver outside and one inside, on the same port: the first that is free in both places."""
    for _ in range(50):
        with ExitStack() as stack:
            good = stack.enter_context(Receiver(OUTSIDE))
            try:
                inside = stack.enter_context(Receiver("127.0.0.1", port_of(good)))
            except OSError:
                continue
            yield good, inside
            return
    raise AssertionError("no port is free in both places")
