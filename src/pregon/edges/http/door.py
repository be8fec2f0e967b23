"""`/healthz`, `/readyz` and `/metrics`, served by uvicorn in a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import threading

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from pregon.edges.http.metrics import render_metrics
from pregon.errors import AddressInUse, PregonError, SettingsInvalid
from pregon.hub.hub import Hub

_READY_TIMEOUT_S = 2.0
_BACKLOG = 128


def make_app(hub: Hub) -> Starlette:
    """The application: three pages for machines."""

    async def healthz(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_request: Request) -> Response:
        try:
            await run_in_threadpool(lambda: hub.list("topic", rows_max=1).result(_READY_TIMEOUT_S))
        except PregonError as error:
            return JSONResponse({"code": error.code, "message": str(error)}, status_code=503)
        return PlainTextResponse("ready\n")

    async def metrics(_request: Request) -> Response:
        return Response(render_metrics(hub), media_type="text/plain; version=0.0.4")

    return Starlette(routes=[Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics)])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        if isinstance(error, socket.gaierror):
            raise SettingsInvalid(f"{host} is not an address to bind ({error.strerror}): use HOST:PORT") from error
        raise AddressInUse(
            f"{host}:{port} cannot be bound ({error.strerror}): stop the other program, or choose another port"
        ) from error
    return listener


class HttpDoor:
    """The thread and its server."""

    def __init__(self, host: str, port: int, hub: Hub) -> None:
        self._listener = _listen(host, port)
        self.address = "http://{}:{}".format(*self._listener.getsockname()[:2])
        config = uvicorn.Config(
            make_app(hub),
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
            limit_concurrency=1_000,
            h11_max_incomplete_event_size=64 * 1024,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="pregon-http", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what is being answered, and end."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join()
        self._listener.close()

    def _run(self) -> None:
        # Signals are the main thread's: uvicorn only serves.
        asyncio.run(self._server.serve(sockets=[self._listener]))
