"""Where the administration pages are found: under /admin of the HTTP door, which reads requests and writes answers.

Pages are made in threads of their own, so that the door's loop, which publishes, never waits for one.

Promises:
- At most `ADMIN_PAGES_AT_ONCE_MAX` pages are made or wait to be made; one more is refused, in words.
- A download is made piece by piece, as fast as its browser takes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Protocol, runtime_checkable

from pregon.edges.admin.exchange import AdminAnswer, AdminRequest
from pregon.edges.http.answers import Answer, Stream
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.routes import Desk
from pregon.errors import HubBusy, NotFound, PregonError
from pregon.limits import ADMIN_PAGES_AT_ONCE_MAX

ADMIN_PREFIX = "/admin"
_THREADS = 2


class AdminHandler(Protocol):
    """Who makes the pages."""

    def handle(self, request: AdminRequest) -> AdminAnswer:
        """Answer a request."""
        ...

    def body_bytes_max(self, method: str, path: str) -> int:
        """How large the body of such a request may be."""
        ...

    def refuse(self, request: AdminRequest, error: PregonError) -> AdminAnswer:
        """The answer to one that could not be taken."""
        ...


@runtime_checkable
class Closing(Protocol):
    """Chunks that hold something until they are told that no more of them are wanted."""

    def close(self) -> None:
        """Give it back."""
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
        head = _read_head(desk, exchange, below[1:])
        # Counted from the first: whoever is slow to send a form waits like the others.
        self._under_way += 1
        try:
            answer = await self._answer(exchange, head)
        except PregonError as error:
            answer = self._door.refuse(head, error)
        finally:
            self._under_way -= 1
        headers = [(name.encode(), value.encode()) for name, value in answer.headers]
        if answer.chunks is None:
            return Answer(answer.body, answer.status, answer.content_type, headers)
        return Stream(self._stream(desk, answer.chunks), answer.content_type, headers, answer.status)

    async def _answer(self, exchange: Exchange, head: AdminRequest) -> AdminAnswer:
        if self._under_way > ADMIN_PAGES_AT_ONCE_MAX:
            raise HubBusy("too many pages are being made: open it again in a moment")
        request = head
        if head.method == "POST":
            request = replace(head, body=await exchange.body(self._door.body_bytes_max(head.method, head.path)))
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._door.handle, request)

    async def _stream(self, desk: Desk, chunks: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
        work: Future[bytes | None] = Future()
        work.set_result(None)
        try:
            with desk.stream():
                while True:
                    work = self._threads.submit(next, chunks, None)
                    chunk = await asyncio.wrap_future(work)
                    if chunk is None:
                        return
                    yield chunk
        finally:
            if isinstance(chunks, Closing):
                # Its client may leave while a piece is being made.
                close = chunks.close
                work.add_done_callback(lambda _: close())

    def stop(self) -> None:
        """Make no more pages."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _read_head(desk: Desk, exchange: Exchange, path: str) -> AdminRequest:
    client = exchange.scope.get("client") or ("", 0)
    return AdminRequest(
        method=exchange.method,
        path=path,
        query=exchange.scope.get("query_string", b"").decode("latin-1"),
        content_type=exchange.media_type,
        cookies=exchange.headers.get(b"cookie", b"").decode("latin-1"),
        languages=exchange.headers.get(b"accept-language", b"").decode("latin-1"),
        address=str(client[0]),
        base_url=desk.base_url(exchange),
        is_fragment=b"hx-request" in exchange.headers,
    )
