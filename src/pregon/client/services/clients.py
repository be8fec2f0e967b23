"""Clients of a broker alone, where there is no hub, or nothing else is wanted of it."""

from __future__ import annotations

import asyncio
import threading
from typing import Unpack

from pregon.client.link import DEFAULT_TIMEOUT_MS
from pregon.client.services.aio_talk import AsyncTalk
from pregon.client.services.aio_verbs import AsyncServiceVerbs
from pregon.client.services.place import Place, find_broker, find_broker_async
from pregon.client.services.sync_talk import SyncTalk
from pregon.client.services.verbs import ServiceVerbs


class ServiceClient(ServiceVerbs):
    """A connection to a broker's front, which is named, or found through a hub. Any number of threads may use it."""

    def __init__(
        self, front: str | None = None, *, timeout_ms: float = DEFAULT_TIMEOUT_MS, **place: Unpack[Place]
    ) -> None:
        self.timeout_ms = timeout_ms
        self._front = front
        self._place = place
        self._opened: SyncTalk | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> ServiceClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _talk(self) -> SyncTalk:
        talk = self._opened
        if talk is None:
            with self._lock:
                talk = self._opened = self._opened or SyncTalk(find_broker("front", self._front, **self._place))
        return talk

    def close(self) -> None:
        """Give the connection back; requests under way in other threads end with HubStopping."""
        if self._opened is not None:
            self._opened.close()


class AsyncServiceClient(AsyncServiceVerbs):
    """The same, for asyncio. Use it with `async with`, or `close` it."""

    def __init__(
        self, front: str | None = None, *, timeout_ms: float = DEFAULT_TIMEOUT_MS, **place: Unpack[Place]
    ) -> None:
        self.timeout_ms = timeout_ms
        self._front = front
        self._place = place
        self._opened: AsyncTalk | None = None
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> AsyncServiceClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _talk(self) -> AsyncTalk:
        if self._opened is None:
            async with self._lock:
                if self._opened is None:
                    self._opened = AsyncTalk(await find_broker_async("front", self._front, **self._place))
        return self._opened

    async def close(self) -> None:
        """Give the connection back; requests under way end with HubStopping."""
        if self._opened is not None:
            await self._opened.close()
