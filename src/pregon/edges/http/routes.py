"""The table of routes: what there is under each address, and how it is described.

A route says all about itself once; the application answers requests by it, and `openapi` documents it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pregon.delivery.figures import Figures
from pregon.delivery.rehearsals import Rehearsals
from pregon.edges.http.answers import Answer, Stream
from pregon.edges.http.exchange import Budget, Exchange
from pregon.edges.http.turns import TableTurns
from pregon.errors import HubBusy, MethodUnknown, NotFound, PregonError
from pregon.groups.desk import GroupsDesk
from pregon.hub.bridge import Bridge
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.limits import STREAMS_MAX
from pregon.security.callers import Caller
from pregon.services.desk import ServicesDesk
from pregon.store.ticket import Ticket


@dataclass(slots=True)
class Desk:
    """What every handler works with."""

    gate: Gate
    bridge: Bridge
    status: Callable[[], dict[str, Any]]
    public_url: str = ""
    is_open_to_all: bool = False
    known_hosts: set[bytes] = field(default_factory=set)
    """Names of this machine by which an open hub was called."""
    streams: int = 0
    """Streams that are being sent."""
    budget: Budget = field(default_factory=Budget)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set in the loop when the door is being closed."""
    figures: Figures = field(default_factory=Figures)
    """What pushing and publishing have come to, for the metrics."""
    services: ServicesDesk | None = None
    """None for a hub without services."""
    groups: GroupsDesk | None = None
    """None for a hub without groups."""
    rehearsals: Rehearsals | None = None
    """None for a hub that does not push."""
    tables: TableTurns = field(init=False)
    """Whose turn it is to make a part of a table: `async with desk.tables.turn()` around each."""

    def __post_init__(self) -> None:
        self.tables = TableTurns(self.gate.hub.table_pace, self.stopping)

    def require_services(self) -> ServicesDesk:
        """Services, if this hub has them; raises NotFound."""
        if self.services is None:
            raise NotFound("this hub has no services: it was started without `services_front`")
        return self.services

    def require_groups(self) -> GroupsDesk:
        """Groups, if this hub has them; raises NotFound."""
        if self.groups is None:
            raise NotFound("this hub has no groups")
        return self.groups

    def require_rehearsals(self) -> Rehearsals:
        """Tests of web services, if this hub pushes; raises NotFound."""
        if self.rehearsals is None:
            raise NotFound("this hub does not push: it has no web service to test")
        return self.rehearsals

    @property
    def is_stopping(self) -> bool:
        """Whether the door is being closed."""
        return self.stopping.is_set()

    @property
    def public_host(self) -> bytes:
        """The name in the public address, if there is one."""
        return self.public_url.partition("://")[2].rstrip("/").encode()

    @property
    def hub(self) -> Hub:
        """The hub behind the gate, for what needs no permission: its limits and counters."""
        return self.gate.hub

    def caller(self, exchange: Exchange) -> Caller:
        """Who asks; raises Unauthorized or RateLimited."""
        return self.gate.identify(exchange.presented)

    def caller_again(self, exchange: Exchange) -> Caller:
        """Who asked, if its key is still valid, for an answer that takes long; raises Unauthorized."""
        return self.gate.identify(exchange.presented, is_counted=False)

    @contextmanager
    def stream(self) -> Iterator[None]:
        """One long answer more, if there may be; raises HubBusy."""
        self.require_room_for_stream()
        self.streams += 1
        try:
            yield
        finally:
            self.streams -= 1

    def require_room_for_stream(self) -> None:
        """Raises HubBusy when there may be no more: asked before the head of an answer is sent."""
        if self.streams >= STREAMS_MAX:
            raise HubBusy(f"{STREAMS_MAX} streams are open already: pull instead, or come back later")

    async def answer(self, ticket: Ticket[Any]) -> Any:
        """What the hub answers; raises its error."""
        return await self.bridge.answer(ticket)

    def base_url(self, exchange: Exchange) -> str:
        """How this client reaches the door."""
        if self.public_url:
            return self.public_url.rstrip("/")
        host = exchange.headers.get(b"host", b"localhost").decode("latin-1")
        return f"{exchange.scope.get('scheme', 'http')}://{host}"


Handler = Callable[[Desk, Exchange], Awaitable[Answer | Stream]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """An address and a method: who answers, and what the documentation says."""

    method: str
    path: str
    handler: Handler
    tag: str
    summary: str
    description: str = ""
    query: type[Any] | None = None
    """A struct of its query parameters."""
    body: type[Any] | None = None
    """A struct of its JSON body."""
    bodies: dict[str, Any] = field(default_factory=dict)
    """Other media types that it takes, each with an example."""
    headers: dict[str, str] = field(default_factory=dict)
    """Request headers of its own, each with what it means."""
    status: int = 200
    also: tuple[int, ...] = ()
    """Other statuses of success, with the same form."""
    answer: type[Any] | None = None
    """A struct of its JSON answer."""
    other_answer: type[Any] | None = None
    """What the JSON answer may be instead."""
    answers: tuple[str, ...] = ()
    """Other media types of the answer."""
    errors: tuple[type[PregonError], ...] = ()
    """What it refuses, besides what every route may."""
    example: Any = None
    """An example of its JSON body."""
    answer_example: Any = None
    """An example of its JSON answer."""
    has_rest: bool = False
    """Whether its last parameter is all the rest of the path, with the slashes in it."""


class _Node:
    __slots__ = ("children", "has_rest", "parameter", "routes")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.parameter: tuple[str, _Node] | None = None
        self.routes: dict[str, Route] = {}
        self.has_rest = False


class Router:
    """Finds the route of a request, segment by segment."""

    def __init__(self, routes: list[Route]) -> None:
        self.routes = routes
        self._root = _Node()
        for route in routes:
            node = self._root
            for segment in route.path.strip("/").split("/"):
                if segment.startswith("{"):
                    if node.parameter is None:
                        node.parameter = (segment[1:-1], _Node())
                    assert node.parameter[0] == segment[1:-1], route.path
                    node = node.parameter[1]
                else:
                    node = node.children.setdefault(segment, _Node())
            assert route.method not in node.routes, route.path
            node.routes[route.method] = route
            node.has_rest = node.has_rest or route.has_rest

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        """The route and the parameters in its path; raises NotFound or MethodUnknown."""
        node, params = self._root, {}
        segments = path[1:].split("/")
        for index, segment in enumerate(segments):
            child = node.children.get(segment)
            if child is None and node.parameter is not None:
                name, child = node.parameter
                is_rest = child.has_rest and len(segments) > index + 1
                params[name] = segment
                child = child if segment or is_rest else None
            if child is None:
                raise NotFound("there is nothing at this address: /docs shows what there is")
            node = child
            if node.has_rest:
                params[name] = "/".join(segments[index:])
                break
        route = node.routes.get(method) or (node.routes.get("GET") if method == "HEAD" else None)
        if route is None:
            if not node.routes:
                raise NotFound("there is nothing at this address: /docs shows what there is")
            raise MethodUnknown(f"this address has {', '.join(sorted(node.routes))}")
        return route, params

    def methods(self, path: str) -> list[str]:
        """The methods of an address."""
        return [method for method in ("DELETE", "GET", "PATCH", "POST", "PUT") if self._has(method, path)]

    def _has(self, method: str, path: str) -> bool:
        try:
            self.find(method, path)
        except PregonError:
            return False
        return True
