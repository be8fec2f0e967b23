"""Pregón's Python library as a contender: the same broker, asked and served as a Python developer would.

`map` is a thousand inputs at a time with a window; `await request` is so many tasks, as NATS' client is driven too. The
worker's function is `inline`, which is meant for what takes microseconds.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator

import uvloop

from pregon.bench.peers.process import PeerFailed
from pregon.bench.services.actors import play, say_ready
from pregon.bench.services.asking import Window, serve_asks
from pregon.bench.services.contender import Contender
from pregon.bench.services.pregon_broker import SERVICE, SLOTS, serve
from pregon.client.services.clients import AsyncServiceClient, ServiceClient
from pregon.client.services.service import service
from pregon.client.services.worker import Worker

ANSWER_MS_MAX = 30_000


@service(SERVICE, slots=SLOTS, inline=True)
def echo(body: bytes) -> bytes:
    """What came."""
    return body


def _worker(address: str) -> None:
    worker = Worker(echo, back=address)
    worker.start()
    if not worker.wait_until_ready(30):
        raise PeerFailed(f"no broker took the worker in at {address}")
    say_ready()
    worker.join()


def _bodies(window: Window) -> Iterator[bytes]:
    yield from window.open()
    while (body := window.following()) is not None:
        yield body


def _map_client(address: str) -> None:
    with ServiceClient(address, timeout_ms=ANSWER_MS_MAX) as client:

        def ask(window: Window) -> None:
            if window.in_flight == 1:
                following: bytes | None = window.open()[0]
                while following is not None:
                    following = window.answered(client.request(SERVICE, following, returns=bytes))
                return
            for answer in client.map(SERVICE, _bodies(window), returns=bytes, in_flight=window.in_flight):
                window.note(answer)

        serve_asks(ask)


async def _ask_by_tasks(client: AsyncServiceClient, window: Window) -> None:
    async def keep_asking(body: bytes) -> None:
        following: bytes | None = body
        while following is not None:
            following = window.answered(await client.request(SERVICE, following, returns=bytes))

    async with asyncio.TaskGroup() as tasks:
        for body in window.open():
            tasks.create_task(keep_asking(body))


def _await_client(address: str) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        client = AsyncServiceClient(address, timeout_ms=ANSWER_MS_MAX)
        serve_asks(lambda window: runner.run(_ask_by_tasks(client, window)))
        runner.run(client.close())


def by_map() -> Contender:
    """Pregón's worker and its blocking client's `map` (`request` where one is in flight)."""
    return Contender("Pregón, map()", serve, ("library", "worker"), ("library", "map-client"))


def by_await() -> Contender:
    """Pregón's worker and so many tasks that await `request`."""
    return Contender("Pregón, await", serve, ("library", "worker"), ("library", "await-client"))


if __name__ == "__main__":
    play({"worker": _worker, "map-client": _map_client, "await-client": _await_client}, sys.argv[1:])
