"""Where the administration pages are found: under /admin of the HTTP door, which reads requests and writes answers.

Pages are made in threads of their own, so that the door's loop, which publishes, never waits for one.

Promises:
- At most `ADMIN_PAGES_AT_ONCE_MAX` pages are made or wait to be made; one more is refused, in words.
- A download is made piece by piece, as fast as its browser takes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from pregon.edges.admin.exchange import AdminAnswer, AdminRequest
from pregon.edges.http.answers import Answer, Stream
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.routes import Desk
from pregon.errors import HubBusy, NotFound, PregonError
from pregon.limits import ADMIN_PAGES_AT_ONCE_MAX, REQUEST_BYTES_MAX

ADMIN_PREFIX = "/admin"
_THREADS = 2


class AdminHandler(Protocol):
    """Who makes the pages."""

    def handle(self, request: AdminRequest) -> AdminAnswer:
        """Answer a request."""
        ...

    def refuse(self, request: AdminRequest, error: PregonError) -> AdminAnswer:
        """The answer to one that could not be taken."""
        ...


class MountedAdmin:
    """The pages as the HTTP door calls them."""

    def __init__(self, door: AdminHandler) -> None:
        self._door = door
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="pregon-admin")
        self._under_way = 0

    async def __call__(self, desk: Desk, exchange: Exchange) -> Answer | Stream:
        """Answer a request."""
        below = exchange.path.removeprefix(ADMIN_PREFIX)
        if below and not below.startswith("/"):
            raise NotFound("there is nothing at this address: /docs shows what there is")
        if self._under_way >= ADMIN_PAGES_AT_ONCE_MAX:
            raise HubBusy("too many pages are being made: open it again in a moment")
        request = await _read(desk, exchange, below[1:])
        self._under_way += 1
        try:
            answer = await self._run(self._door.handle, request)
        finally:
            self._under_way -= 1
        headers = [(name.encode(), value.encode()) for name, value in answer.headers]
        if answer.chunks is None:
            return Answer(answer.body, answer.status, answer.content_type, headers)
        return Stream(self._stream(desk, answer.chunks), answer.content_type, headers, answer.status)

    async def _run(self, work: object, *arguments: object) -> AdminAnswer:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)  # type: ignore[arg-type]

    async def _stream(self, desk: Desk, chunks: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
        loop = asyncio.get_running_loop()
        with desk.stream():
            while (chunk := await loop.run_in_executor(self._threads, next, chunks, None)) is not None:
                yield chunk

    def stop(self) -> None:
        """Make no more pages."""
        self._threads.shutdown(wait=False, cancel_futures=True)


async def _read(desk: Desk, exchange: Exchange, path: str) -> AdminRequest:
    client = exchange.scope.get("client") or ("", 0)
    return AdminRequest(
        method=exchange.method,
        path=path,
        query=exchange.scope.get("query_string", b"").decode("latin-1"),
        body=await exchange.body(REQUEST_BYTES_MAX) if exchange.method == "POST" else b"",
        content_type=exchange.media_type,
        cookies=exchange.headers.get(b"cookie", b"").decode("latin-1"),
        languages=exchange.headers.get(b"accept-language", b"").decode("latin-1"),
        address=str(client[0]),
        base_url=desk.base_url(exchange),
        is_fragment=b"hx-request" in exchange.headers,
    )
