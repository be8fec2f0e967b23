"""How a push gets to a socket: names looked up, addresses checked, connections kept for the next push.

What is sent over a connection is left to `attempt`; where one may lead is decided by `security.guard`.

Promises:
- No socket is made for an address that the guard forbids: it is asked for each one, with the address that is connected
  to, however the host was spelled and whatever its name answers the next time.
- A name that nobody answers for holds up nobody else: each look-up has a thread of its own, up to a limit.
- Connections are kept for a minute after their last push, and no more of them than `PUSH_IDLE_CONNECTIONS_MAX`.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from pregon.errors import EndpointForbidden
from pregon.limits import (
    PROBES_AT_ONCE_MAX,
    PUSH_IDLE_CONNECTIONS_MAX,
    PUSHES_AT_ONCE_MAX,
    REHEARSALS_AT_ONCE_MAX,
)
from pregon.security.guard import Guard

IDLE_S_MAX = 60.0
_LOOKUPS_AT_ONCE_MAX = PROBES_AT_ONCE_MAX + 56
_NAMES_KEPT_S = 10


class Trip:
    """One way to an endpoint: for which host it is, and what happened to its connection."""

    __slots__ = ("has_connected", "host", "refusal")

    def __init__(self, host: str) -> None:
        self.host = host
        self.refusal = ""
        """Why the guard forbade an address; empty if it did not."""
        self.has_connected = False
        """Whether a connection was made for it; if not, one was used again, or none could be made."""


current_trip: ContextVar[Trip] = ContextVar("current_trip")
"""For which trip the task at work connects: aiohttp says the address to whoever makes a socket, not the host."""


class Connections(aiohttp.TCPConnector):
    """The connections of all pushes, guarded and bounded."""

    def __init__(self, guard: Guard) -> None:
        self._push_guard = guard
        self.open_count = 0
        """Sockets that are open, at work or kept for later."""
        super().__init__(
            limit=PUSHES_AT_ONCE_MAX + PROBES_AT_ONCE_MAX + REHEARSALS_AT_ONCE_MAX,
            keepalive_timeout=IDLE_S_MAX,
            resolver=NameLookup(),
            ttl_dns_cache=_NAMES_KEPT_S,
            ssl=_make_ssl_context(),
            socket_factory=self._make_socket,
        )

    def _make_socket(self, address_info: tuple[Any, ...]) -> socket.socket:
        """A socket for an address; raises OSError, which makes aiohttp go on to the host's next address."""
        family, kind, protocol, _, address = address_info
        trip = current_trip.get()
        try:
            self._push_guard.check_address(trip.host, str(address[0]))
        except EndpointForbidden as error:
            trip.refusal = str(error)
            raise OSError(errno.EACCES, str(error)) from error
        made = _CountedSocket(family, kind, protocol)
        made.when_closed = self._forget_socket
        self.open_count += 1
        trip.has_connected = True
        return made

    def _forget_socket(self) -> None:
        self.open_count -= 1

    def _release(self, key: Any, protocol: Any, *, should_close: bool = False) -> None:
        """Keep a connection that has done its work, unless too many are kept: aiohttp has no bound of its own."""
        # All that are open and not at work are idle; this one is still counted among those at work.
        is_crowded = self.open_count - len(self._acquired) >= PUSH_IDLE_CONNECTIONS_MAX
        if should_close and protocol.transport is not None:
            # It is given up, not done with: closed in good order it would wait for a peer that never reads, for ever.
            protocol.transport.abort()
        super()._release(key, protocol, should_close=should_close or is_crowded)


class _CountedSocket(socket.socket):
    """A socket that says when it is closed: by itself (asyncio), or by who takes its number to do so (uvloop)."""

    when_closed: Callable[[], None] | None = None

    def close(self) -> None:
        """Close it, once."""
        super().close()
        self._say_closed()

    def detach(self) -> int:
        """Give it up to somebody who closes it at once: nobody detaches it here for another reason."""
        number = super().detach()
        self._say_closed()
        return number

    def _say_closed(self) -> None:
        when_closed, self.when_closed = self.when_closed, None
        if when_closed is not None:
            when_closed()


class NameLookup(AbstractResolver):
    """Looks names up as the system does, each in a thread of its own that dies with the process.

    The threads of the event loop are few, and one name server that does not answer would hold them all.
    """

    def __init__(self) -> None:
        self._running = 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a host; raises OSError."""
        if self._running >= _LOOKUPS_AT_ONCE_MAX:
            raise OSError(errno.EAGAIN, "too many names are being looked up")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[ResolveResult]] = loop.create_future()

        def look_up() -> None:
            try:
                found, failure = _look_up(host, port, family), None
            except Exception as error:  # Whatever it is, who waits for the answer must get one.
                found, failure = [], error
            try:
                loop.call_soon_threadsafe(self._settle, answer, found, failure)
            except RuntimeError:
                pass  # The loop has ended while the name server was silent: nobody waits any more.

        try:
            threading.Thread(target=look_up, name="pregon-lookup", daemon=True).start()
        except RuntimeError as error:
            raise OSError(errno.EAGAIN, "no thread to look a name up") from error
        self._running += 1
        return await answer

    def _settle(
        self, answer: asyncio.Future[list[ResolveResult]], found: list[ResolveResult], failure: Exception | None
    ) -> None:
        self._running -= 1
        if answer.done():
            return
        if failure is None:
            answer.set_result(found)
        else:
            answer.set_exception(failure if isinstance(failure, OSError) else OSError("it is no host name"))

    async def close(self) -> None:
        """Nothing to give back: the threads end by themselves."""


def _look_up(host: str, port: int, family: int) -> list[ResolveResult]:
    found = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
    return [
        ResolveResult(
            hostname=host,
            host=str(address[0]),
            port=port,
            family=kind,
            proto=protocol,
            flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
        )
        for kind, _, protocol, _, address in found
    ]


def _make_ssl_context() -> ssl.SSLContext:
    """The client's side of TLS: the authorities of the system, or those in the file that SSL_CERT_FILE names."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
