"""NATS request/reply as a contender: core NATS (no stream), nats-py on uvloop, a queue group of two workers.

Two clients. `inbox` is the fastest that the client library allows: one inbox takes every answer, and the answer's
callback sends the next request. `request` is what one writes: so many tasks, each `await connection.request(…)`.
Workers answer in the callback. A request whose worker dies is lost, and its client waits for its own time limit.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import uvloop

from pregon.bench.peers.nats_jetstream import NatsJetStream
from pregon.bench.peers.process import LOOPBACK, MEASURE_SECONDS_MAX, require_client
from pregon.bench.services.actors import play, say_ready
from pregon.bench.services.asking import Window, serve_asks
from pregon.bench.services.contender import Contender, Doors

SUBJECT = "echo"
QUEUE = "workers"
ANSWER_SECONDS_MAX = 30.0

Asking = Callable[[Any, Window], Awaitable[None]]


async def _ask_by_inbox(connection: Any, window: Window) -> None:
    """All requests through one inbox."""
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    inbox = connection.new_inbox()

    async def on_answer(message: Any) -> None:
        following = window.answered(message.data)
        if following is not None:
            await connection.publish(SUBJECT, following, reply=inbox)
        elif window.is_over and not over.done():
            over.set_result(None)

    subscription = await connection.subscribe(inbox, cb=on_answer)
    await connection.flush()
    for body in window.open():
        await connection.publish(SUBJECT, body, reply=inbox)
    async with asyncio.timeout(MEASURE_SECONDS_MAX):
        await over
    await subscription.unsubscribe()


async def _ask_by_request(connection: Any, window: Window) -> None:
    """A task for each that may be in flight."""

    async def keep_asking(body: bytes) -> None:
        following: bytes | None = body
        while following is not None:
            answer = await connection.request(SUBJECT, following, timeout=ANSWER_SECONDS_MAX)
            following = window.answered(answer.data)

    async with asyncio.TaskGroup() as tasks:
        for body in window.open():
            tasks.create_task(keep_asking(body))


async def _connect(address: str) -> Any:
    return await require_client("nats").connect(address, allow_reconnect=False)


def _client(address: str, way: str) -> None:
    asking: Asking = {"inbox": _ask_by_inbox, "request": _ask_by_request}[way]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        connection = runner.run(_connect(address))
        serve_asks(lambda window: runner.run(_awaited(asking, connection, window)))


async def _awaited(asking: Asking, connection: Any, window: Window) -> None:
    await asking(connection, window)


async def _serve_requests(address: str) -> None:
    connection = await _connect(address)

    async def on_request(message: Any) -> None:
        await message.respond(message.data)

    await connection.subscribe(SUBJECT, queue=QUEUE, cb=on_request)
    await connection.flush()
    say_ready()
    await asyncio.get_running_loop().create_future()


def _worker(address: str) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve_requests(address))


def _serve(directory: Path, stack: ExitStack) -> Doors:
    server = NatsJetStream()
    server.start(directory)
    stack.callback(server.stop)
    address = f"nats://{LOOPBACK}:{server.port}"
    return Doors(address, address)


def nats_by_inbox() -> Contender:
    """The fastest that nats-py can be made to ask."""
    return Contender("NATS, inbox", _serve, ("nats_requests", "worker"), ("nats_requests", "client", "inbox"))


def nats_by_request() -> Contender:
    """nats-py's own `request`."""
    return Contender("NATS, request()", _serve, ("nats_requests", "worker"), ("nats_requests", "client", "request"))


if __name__ == "__main__":
    play({"worker": _worker, "client": _client}, sys.argv[1:])
