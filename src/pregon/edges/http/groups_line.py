"""The line to one client of the socket of groups: who it is, how it is told things, and how the hub is asked for it.

Promises:
- What is told waits while the client's socket is full; for how long it has been full is known.
- A key that is revoked or expires ends the line at its next use.
"""

from __future__ import annotations

from typing import Any, Protocol

from pregon.clock import monotonic_ms
from pregon.edges.http.exchange import ClientGone, Send
from pregon.edges.http.routes import Desk
from pregon.security.callers import Caller
from pregon.store.ticket import Ticket


class Telling(Protocol):
    """What can be told: a frame."""

    def encode(self) -> str:
        """Its text."""
        ...


class Line:
    """The line."""

    def __init__(self, desk: Desk, presented: str, send: Send) -> None:
        self.desk = desk
        self.groups = desk.require_groups()
        self.token = ""
        """The participant's, from its hello on."""
        self._presented = presented
        self._send = send
        self._waiting = 0
        self._moved_ms = monotonic_ms()

    def caller(self) -> Caller:
        """Who asks, if its key is still valid; raises Unauthorized."""
        return self.desk.gate.identify(self._presented, is_counted=False)

    async def ask(self, ticket: Ticket[Any]) -> Any:
        """What the hub answers; raises its error."""
        return await self.desk.answer(ticket)

    async def tell(self, told: Telling) -> None:
        """Send a frame, when there is room for it; raises ClientGone."""
        if not self._waiting:
            self._moved_ms = monotonic_ms()
        self._waiting += 1
        try:
            await self._send({"type": "websocket.send", "text": told.encode()})
        except (OSError, RuntimeError) as error:
            raise ClientGone from error
        finally:
            self._waiting -= 1
            self._moved_ms = monotonic_ms()

    def stalled_ms(self, now_ms: float) -> float:
        """For how long nothing that was to be told could be; 0 when nothing waits."""
        return now_ms - self._moved_ms if self._waiting else 0.0

    async def hang_up(self, code: int, reason: str) -> None:
        """Close it, saying why."""
        await self._send({"type": "websocket.close", "code": code, "reason": reason})
