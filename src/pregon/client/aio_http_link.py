"""The asyncio connection over HTTP: connections that are kept alive, each with one request at a time.

The same conversation as in `http_link`, driven by an event loop: what is sent and what an answer means is in
`http_talk`, whose turn it is in `turns`.

Promises:
- `close` and `forget` do not wait for a long poll: they cut its connection.
- Connections are opened when they are needed, at most as many as allowed; one that the hub closes is replaced.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any, cast

from pregon.client.http_link import notice_loss
from pregon.client.http_talk import CONNECT_S_MAX, AnswerReader, Asking, Endpoint, HttpAnswer
from pregon.client.link import request_ids
from pregon.client.turns import Turns
from pregon.errors import AnswerMalformed, HubStopping, PregonError
from pregon.wire.frames import Answer

CONNECTIONS_MAX = 100
"""Connections of one asyncio client; a request beyond them waits for one. A long poll has one all its time."""


class AsyncHttpLink:
    """Requests and answers over HTTP, with the numbers of the requests. Made and used in one event loop."""

    ask_again_ms = math.inf
    """Every request has an answer, if only that its connection broke: none is sent again without one."""

    def __init__(
        self, endpoint: Endpoint, take: Callable[[Answer], None], *, connections_max: int = CONNECTIONS_MAX
    ) -> None:
        self.address = endpoint.url
        self._endpoint = endpoint
        self._take = take
        self._connections_max = connections_max
        self._ids = request_ids()
        self._turns = Turns(is_ordered=connections_max == 1)
        self._connections: dict[_Connection, Asking | None] = {}
        """Each with what it carries."""
        self._carriers: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def next_id(self) -> int:
        """The number of the next request."""
        return next(self._ids)

    async def send(self, frames: list[Any], wait_ms: float = 0) -> None:
        """Send a request whose answer the hub may hold back for `wait_ms`; raises HubStopping after `close`."""
        if self._is_closed:
            raise HubStopping("the connection is closed")
        self._turns.add(self._endpoint.asking(frames, wait_ms))
        if len(self._carriers) < self._connections_max:
            self._carriers.add(asyncio.create_task(self._carry()))

    def forget(self, request_id: int) -> None:
        """Nobody waits for this answer any more."""
        asking = self._turns.forget(request_id)
        if asking is not None:
            for connection, carried in self._connections.items():
                if carried is asking:
                    connection.cut()

    async def close(self) -> None:
        """Give the connections back, whatever they carry."""
        self._is_closed = True
        carriers, connections = list(self._carriers), list(self._connections)
        for carrier in carriers:
            carrier.cancel()
        for connection in connections:
            connection.cut()
        await asyncio.gather(*carriers, *(connection.closed for connection in connections), return_exceptions=True)

    async def _carry(self) -> None:
        """One task: request after request, while any waits."""
        try:
            while (asking := self._turns.next()) is not None:
                answer = await self._ask(asking)
                for one in self._turns.answered(asking, answer):
                    self._take(one)
        finally:
            # Here and not when the task is done: a request that came in between would wait for nobody.
            self._carriers.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    async def _ask(self, asking: Asking) -> Answer:
        """The answer to a request: of the hub, or the error that it met with on its way."""
        try:
            kept = next((one for one, carried in self._connections.items() if carried is None and one.is_open), None)
            try:
                answer = await self._exchange(asking, kept)
            except OSError as error:
                # A connection that was kept may have been closed just now by the other side, which is nobody's
                # fault: the request goes again over a new one. To be asked twice does no harm.
                if kept is None or asking.is_forgotten or isinstance(error, TimeoutError):
                    raise
                answer = await self._exchange(asking, None)
            return self._endpoint.read_answer(asking.request_id, answer)
        except (OSError, PregonError) as error:
            return self._endpoint.error_answer(asking.request_id, error)

    async def _exchange(self, asking: Asking, kept: _Connection | None) -> HttpAnswer:
        connection = kept or await self._connect()
        if asking.is_forgotten:
            raise ConnectionAbortedError("nobody waits for the answer")
        self._connections[connection] = asking
        try:
            return await connection.exchange(asking)
        finally:
            if connection in self._connections:
                self._connections[connection] = None

    async def _connect(self) -> _Connection:
        endpoint = self._endpoint
        async with asyncio.timeout(CONNECT_S_MAX):
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: _Connection(self._lost),
                endpoint.host,
                endpoint.port,
                ssl=endpoint.tls,
                server_hostname=endpoint.host if endpoint.tls is not None else None,
            )
        self._connections[connection] = None
        return connection

    def _lost(self, connection: _Connection) -> None:
        self._connections.pop(connection, None)


class _Connection(asyncio.Protocol):
    """One connection, with the request that it carries."""

    def __init__(self, lost: Callable[[_Connection], None]) -> None:
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._reader = AnswerReader()
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[HttpAnswer] | None = None
        self._received_bytes = 0
        self.closed: asyncio.Future[None] = self._loop.create_future()
        """Done when nothing of the connection is left."""

    @property
    def is_open(self) -> bool:
        """Whether a request can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, asking: Asking) -> HttpAnswer:
        """Send a request, and wait for its answer; raises OSError or AnswerMalformed, and is then closed."""
        assert self._transport is not None and self._answer is None
        answer: asyncio.Future[HttpAnswer] = self._loop.create_future()
        self._answer = answer
        self._transport.write(asking.request)
        watch = self._loop.call_later(asking.quiet_s, self._give_up_if_quiet, answer, asking.quiet_s, self._progress())
        is_last = True
        try:
            found = await answer
            is_last = found.is_last or self._transport.get_write_buffer_size() > 0
            return found
        finally:
            watch.cancel()
            self._answer = None
            if is_last:
                self.cut()

    def _progress(self) -> tuple[int, int]:
        assert self._transport is not None
        return self._received_bytes, self._transport.get_write_buffer_size()

    def _give_up_if_quiet(self, answer: asyncio.Future[HttpAnswer], quiet_s: float, before: tuple[int, int]) -> None:
        if answer.done():
            return
        if self._progress() == before:
            answer.set_exception(TimeoutError(f"nothing came for {quiet_s:.0f} s"))
        else:
            self._loop.call_later(quiet_s, self._give_up_if_quiet, answer, quiet_s, self._progress())

    def cut(self) -> None:
        """End it, with what it carries."""
        if self._transport is not None:
            self._transport.abort()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is connected."""
        self._transport = cast(asyncio.Transport, transport)
        notice_loss(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        """Some of an answer."""
        self._received_bytes += len(data)
        if self._answer is None or self._answer.done():
            # Nothing was asked.
            self.cut()
            return
        try:
            found = self._reader.feed(data)
        except AnswerMalformed as error:
            self._answer.set_exception(error)
            return
        if found is not None:
            self._answer.set_result(found)

    def connection_lost(self, error: Exception | None) -> None:
        """It is there no more; an answer without a length is complete by this."""
        if self._answer is not None and not self._answer.done():
            try:
                if error is not None:
                    raise error if isinstance(error, OSError) else ConnectionResetError(str(error))
                self._answer.set_result(self._reader.end())
            except OSError as reason:
                self._answer.set_exception(reason)
        self._lost(self)
        if not self.closed.done():
            self.closed.set_result(None)
