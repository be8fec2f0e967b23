"""The ASGI application: finds the route, lets its handler answer, and writes the answer or the problem.

Written on ASGI itself: a framework's request, routing and response objects cost as much as all the rest of a
publication (measured; see docs/explanation/architecture.md).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import aclosing
from typing import Any, Protocol

from pregon.edges.http.answers import Answer, Stream, problem_answer
from pregon.edges.http.exchange import ClientGone, Exchange, Receive, Scope, Send
from pregon.edges.http.protocol import BYTES_PER_S_MIN
from pregon.edges.http.routes import Desk, Router
from pregon.errors import Forbidden, InternalError, MethodUnknown, NotFound, PregonError
from pregon.limits import STREAM_STALLED_MS_MAX
from pregon.settings import is_loopback

log = logging.getLogger("pregon.edges")

_HOSTS_REMEMBERED_MAX = 100
_LAST_WORDS_S = 0.3
"""How long a stream may take to end by itself when the hub stops."""
_NO_SNIFF = (b"x-content-type-options", b"nosniff")


class Mounted(Protocol):
    """Who answers everything under a prefix."""

    async def __call__(self, desk: Desk, exchange: Exchange) -> Answer | Stream:
        """Answer a request."""
        ...


LiveHandler = Callable[[Desk, Exchange, Receive, Send], Awaitable[None]]


class HttpApp:
    """Every HTTP request and WebSocket of the hub."""

    def __init__(
        self, desk: Desk, router: Router, sockets: Mapping[str, LiveHandler], mounts: Mapping[str, Mounted]
    ) -> None:
        self.desk = desk
        self._router = router
        self._sockets = sockets
        self._mounts = mounts
        self._prefixes = tuple(mounts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        answer: Answer | Stream
        exchange = Exchange(scope, receive, {}, self.desk.budget)
        try:
            require_own_page(self.desk, exchange)
            if path.startswith(self._prefixes):
                answer = await self._mounts[next(one for one in self._prefixes if path.startswith(one))](
                    self.desk, exchange
                )
            else:
                route, exchange.params = self._router.find(scope["method"], path)
                answer = await route.handler(self.desk, exchange)
        except ClientGone:
            return
        except MethodUnknown as error:
            allow = ", ".join(self._router.methods(path)).encode()
            answer = problem_answer(error, [(b"allow", allow)])
        except PregonError as error:
            self.desk.hub.counters.requests_failed += 1
            answer = problem_answer(error)
        except Exception:  # An edge: whatever a request breaks, its sender is told and the hub goes on.
            log.exception("a request failed by a bug", extra={"path": path[:200]})
            self.desk.hub.counters.requests_failed += 1
            answer = problem_answer(InternalError("the hub failed to carry this out; its log says why"))
        finally:
            exchange.give_back()
        if isinstance(answer, Stream):
            await _write_stream(self.desk, exchange, send, answer)
        else:
            await _write(scope, send, answer)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        socket = _Socket(send)
        try:
            route, params = self._router.find("GET", scope["path"])
            handler = self._sockets.get(route.path)
            if handler is None:
                raise NotFound("there is no WebSocket at this address")
            exchange = Exchange(scope, receive, params, self.desk.budget)
            require_own_page(self.desk, exchange)
            await handler(self.desk, exchange, receive, socket)
        except ClientGone:
            return
        except PregonError as error:
            if socket.is_accepted:
                await send({"type": "websocket.close", "code": 1008, "reason": error.code})
            else:
                await _refuse_socket(scope, send, problem_answer(error))
        except Exception:  # An edge, as above.
            log.exception("a WebSocket failed by a bug", extra={"path": str(scope["path"])[:200]})
            await send({"type": "websocket.close", "code": 1011})


class _Socket:
    """Where a WebSocket is written to; knows whether it has been accepted."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.is_accepted = False

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        self.is_accepted = self.is_accepted or message["type"] == "websocket.accept"
        await self._send(message)


def require_own_page(desk: Desk, exchange: Exchange) -> None:
    """Raises Forbidden for what another site's page sends through a browser on this machine.

    A browser says where the page came from (`Origin`). On an open hub, where no key protects, the name by which the
    hub is called must also be this machine's: another site's name may be made to point here.
    """
    headers = exchange.headers
    host = headers.get(b"host", b"")
    if b"origin" in headers:
        origin = headers[b"origin"].partition(b"://")[2]
        if not origin or origin not in (host, desk.public_host):
            raise Forbidden("this request comes from a page of another site, and those are not served")
    if desk.gate.rules.is_open and not desk.is_open_to_all and host not in desk.known_hosts:
        if not _is_own_name(host.decode("latin-1")) and (not host or host != desk.public_host):
            raise Forbidden(
                "this hub has no administrator, so it answers only to names of this machine (localhost, 127.0.0.1): "
                "use one of those, or set public_url"
            )
        if len(desk.known_hosts) < _HOSTS_REMEMBERED_MAX:
            desk.known_hosts.add(host)


def _is_own_name(host: str) -> bool:
    """Whether a Host, with or without a port, names this machine."""
    has_port = host.rpartition(":")[2].isdecimal() and not host.endswith("]")
    return is_loopback(host if has_port else f"{host}:0")


def _headers(answer: Answer | Stream) -> list[tuple[bytes, bytes]]:
    headers = [*answer.headers, _NO_SNIFF]
    if answer.content_type:
        headers.append((b"content-type", answer.content_type.encode("latin-1", "replace")))
    return headers


async def _write(scope: Scope, send: Send, answer: Answer) -> None:
    headers = _headers(answer)
    if answer.status != 204:
        headers.append((b"content-length", b"%d" % len(answer.body)))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    body = b"" if scope["method"] == "HEAD" else answer.body
    await send({"type": "http.response.body", "body": body})


async def _write_stream(desk: Desk, exchange: Exchange, send: Send, stream: Stream) -> None:
    await send({"type": "http.response.start", "status": stream.status, "headers": _headers(stream)})
    if exchange.method == "HEAD" or await _write_whole(desk, exchange, send, stream):
        await send({"type": "http.response.body", "body": b""})


async def _write_whole(desk: Desk, exchange: Exchange, send: Send, stream: Stream) -> bool:
    """Whether all of it was written: for who has left nothing more is read, and what cannot go on is cut."""
    writing = asyncio.ensure_future(_write_chunks(send, stream))
    gone = asyncio.ensure_future(exchange.until_gone())
    stopping = asyncio.ensure_future(desk.stopping.wait())
    try:
        await asyncio.wait({writing, gone, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if stopping.done():
            # It ends by itself, unless its client takes nothing.
            await asyncio.wait({writing, gone}, timeout=_LAST_WORDS_S, return_when=asyncio.FIRST_COMPLETED)
        if writing.done():
            writing.result()
        return writing.done()
    except PregonError as error:
        # The head has gone: a stream that ends without its end is how the client learns that it is not whole.
        log.warning("a stream was cut", extra={"code": error.code, "reason": str(error)})
        return False
    except ClientGone as error:
        log.warning("a stream was cut", extra={"reason": str(error)})
        return False
    finally:
        for one in (writing, gone, stopping):
            one.cancel()


async def _write_chunks(send: Send, stream: Stream) -> None:
    """Write it as it is taken; raises ClientGone when nothing of it is, so that its place is for others."""
    before_bytes = 0
    async with aclosing(stream.chunks) as chunks:
        async for chunk in chunks:
            # What was written before must leave first: that is what takes long.
            stalled_s_max = STREAM_STALLED_MS_MAX / 1_000 + before_bytes / BYTES_PER_S_MIN
            try:
                async with asyncio.timeout(stalled_s_max):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            except TimeoutError as error:
                raise ClientGone(f"its client took nothing for {stalled_s_max:.0f} s") from error
            before_bytes = len(chunk) or before_bytes


async def _refuse_socket(scope: Scope, send: Send, answer: Answer) -> None:
    """Refuse before the handshake with a real HTTP answer, where the server can; else by closing."""
    if "websocket.http.response" in scope.get("extensions", {}):
        headers = [*_headers(answer), (b"content-length", b"%d" % len(answer.body))]
        await send({"type": "websocket.http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": answer.body})
    else:
        await send({"type": "websocket.close", "code": 1008})
