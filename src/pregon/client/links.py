"""What a client sends and receives through, whichever way leads to the hub: the one place that chooses.

An address that begins with http:// or https:// is reached over HTTP, any other over ZeroMQ. The clients and producers
only know what is declared here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pregon.client.aio_http_link import AsyncHttpLink
from pregon.client.aio_link import AsyncLink
from pregon.client.destination import Destination
from pregon.client.http_link import HttpLink
from pregon.client.http_talk import find_endpoint
from pregon.client.sync_link import SyncLink
from pregon.wire.frames import Answer

LOOK_MS = 50
"""How often one who waits looks whether it was reconnected, or closed."""


class Asker(Protocol):
    """What both kinds of link have."""

    address: str
    ask_again_ms: float
    """A request without an answer is sent again after this long."""

    def next_id(self) -> int:
        """The number of the next request."""
        ...

    def forget(self, request_id: int) -> None:
        """Nobody waits for this answer any more."""
        ...


class Link(Asker, Protocol):
    """For one thread at a time."""

    def send(self, frames: list[Any], wait_ms: float = 0) -> None:
        """Send a request whose answer the hub may hold back for `wait_ms`."""
        ...

    def receive(self, wait_ms: float) -> Answer | None:
        """The next answer, or None if none comes in time."""
        ...

    def was_reconnected(self) -> bool:
        """Whether the connection was lost and found again, so that what was under way must be sent again."""
        ...

    def close(self) -> None:
        """Give it back."""
        ...


class AsyncioLink(Asker, Protocol):
    """For one event loop; it calls back with each answer, and when what was under way must be sent again."""

    async def send(self, frames: list[Any], wait_ms: float = 0) -> None:
        """Send a request whose answer the hub may hold back for `wait_ms`."""
        ...

    async def close(self) -> None:
        """Give it back."""
        ...


def open_link(destination: Destination, *, is_ordered: bool = False) -> Link:
    """A link to the hub; `is_ordered` if requests must arrive in the order in which they are sent."""
    if not destination.is_http:
        return SyncLink(destination)
    endpoint = find_endpoint(destination)
    return HttpLink(endpoint, connections_max=1) if is_ordered else HttpLink(endpoint)


def open_asyncio_link(
    destination: Destination,
    take: Callable[[Answer], None],
    reconnected: Callable[[], None],
    *,
    is_ordered: bool = False,
) -> AsyncioLink:
    """The same, for the event loop that is running."""
    if not destination.is_http:
        return AsyncLink(destination, take, reconnected)
    endpoint = find_endpoint(destination)
    return AsyncHttpLink(endpoint, take, connections_max=1) if is_ordered else AsyncHttpLink(endpoint, take)
