"""What a group asks its hubs through: the clients, as far as a group uses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from pregon.client.calls import Call

T = TypeVar("T")


class Line(Protocol):
    """A blocking client of a hub."""

    hub: str
    timeout_ms: float

    def _run(self, call: Call[T]) -> T: ...
    def _begin(self, call: Call[Any]) -> Any: ...
    def _finish(self, asked: Any) -> Any: ...
    def _forget(self, asked: Any) -> None: ...
    def close(self) -> None:
        """Give the connection back; what waits there ends with HubStopping."""
        ...


class AsyncLine(Protocol):
    """An asyncio client of a hub."""

    hub: str
    timeout_ms: float

    async def _run(self, call: Call[T]) -> T: ...
    async def close(self) -> None:
        """Give the connection back; what waits there ends with HubStopping."""
        ...


OpenLine = Callable[[int], Line]
"""Opens a connection to one of the hubs; 0 is the one to which the member sends."""
OpenAsyncLine = Callable[[int], AsyncLine]
