"""The whole HTTP interface: every route, joined."""

from __future__ import annotations

from pregon.edges.dispatch import Dispatcher
from pregon.edges.http import (
    access,
    audit,
    catalog,
    chat,
    groups,
    groups_messages,
    live,
    marks,
    operate,
    publish,
    push,
    receive,
    rehearsals,
    services,
    tables,
)
from pregon.edges.http.app import HttpApp, Mounted
from pregon.edges.http.machines import machine_routes
from pregon.edges.http.page import page_routes
from pregon.edges.http.routes import Desk, Router


def make_router(dispatcher: Dispatcher) -> Router:
    """Every route, those that describe the others included."""
    routes = [
        *publish.ROUTES,
        *receive.ROUTES,
        *tables.ROUTES,
        *live.ROUTES,
        *operate.ROUTES,
        *marks.ROUTES,
        *audit.ROUTES,
        *catalog.ROUTES,
        *access.ROUTES,
        *push.ROUTES,
        *rehearsals.ROUTES,
        *services.ROUTES,
        *groups.ROUTES,
        *groups_messages.ROUTES,
        *machine_routes(dispatcher),
    ]
    return Router([*routes, *page_routes(routes), *chat.ROUTES])


def make_app(desk: Desk, dispatcher: Dispatcher, mounts: dict[str, Mounted]) -> HttpApp:
    """The application."""
    return HttpApp(desk, make_router(dispatcher), {**live.SOCKETS, **groups.SOCKETS}, mounts)
