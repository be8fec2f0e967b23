"""The blocking client, and the asyncio client behind the same face, so that one set of tests serves both; and the two
ways to a hub, so that it serves both of those too.

The asyncio one lives in an event loop in a thread of its own: what it does in the background (lingering, taking
receipts, connecting again) goes on between calls, as in a real program.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any, TypeVar

from pregon.client import AsyncClient, Client
from pregon.client.outbox import ProducerOptions

from .hub_process import HubProcess

KINDS = ("sync", "async")
WAYS = ("zmq", "http")
T = TypeVar("T")
_DEADLINE_S = 60.0


class Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="loop", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it in the loop, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_DEADLINE_S)

    def call(self, make: Callable[[], T]) -> T:
        """Call it in the loop, and wait for it."""

        async def work() -> T:
            return make()

        return self.run(work())

    def close(self) -> None:
        """End the loop and its thread."""
        self.run(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class AsyncFace:
    """Something of the asyncio client that is used as if it were blocking."""

    def __init__(self, loop: Loop, inner: Any) -> None:
        self._loop = loop
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._inner, name)
        if not inspect.iscoroutinefunction(inner):
            return inner
        return lambda *args, **options: self._loop.run(inner(*args, **options))

    def __enter__(self) -> AsyncFace:
        self._loop.run(self._inner.__aenter__())
        return self

    def __exit__(self, *error: Any) -> None:
        self._loop.run(self._inner.__aexit__(*error))


class AsyncClientFace(AsyncFace):
    """The asyncio client, with what it hands out behind the same kind of face."""

    def __init__(self, url: str, **options: Any) -> None:
        loop = Loop()
        super().__init__(loop, loop.call(lambda: AsyncClient(url, **options)))

    def __exit__(self, *error: Any) -> None:
        try:
            super().__exit__(*error)
        finally:
            self._loop.close()

    def producer(self, topic: str, options: ProducerOptions | None = None) -> AsyncFace:
        """A producer."""
        return AsyncFace(self._loop, self._loop.call(lambda: self._inner.producer(topic, options)))

    def follow(self, topic: str, subscriber: str, **options: Any) -> Iterator[Any]:
        """The messages; leaving the loop over them leaves the asyncio one."""
        return self._each(self._inner.follow(topic, subscriber, **options))

    def follow_batches(self, topic: str, subscriber: str, **options: Any) -> Iterator[Any]:
        """The answers."""
        return self._each(self._inner.follow_batches(topic, subscriber, **options))

    def _each(self, items: AsyncGenerator[Any, None]) -> Iterator[Any]:
        try:
            while True:
                try:
                    yield self._loop.run(anext(items))
                except StopAsyncIteration:
                    return
        finally:
            self._loop.run(items.aclose())


def open_client(kind: str, url: str, **options: Any) -> Any:
    """A client of either kind, as a context manager."""
    return Client(url, **options) if kind == "sync" else AsyncClientFace(url, **options)


def address_of(hub: HubProcess, way: str) -> str:
    """Where a client finds the hub by one of the ways."""
    return hub.addresses.zmq if way == "zmq" else f"http://{hub.addresses.http}"
