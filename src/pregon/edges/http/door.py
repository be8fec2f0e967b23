"""The HTTP door: listens, and runs the application in uvicorn, in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import threading

import uvicorn

from pregon.edges.http.app import HttpApp
from pregon.edges.http.protocol import BoundedProtocol
from pregon.errors import AddressInUse, SettingsInvalid
from pregon.limits import HEADER_BYTES_MAX, HTTP_CONNECTIONS_MAX

_BACKLOG = 1_024
_KEEP_ALIVE_S = 30
_LOOK_EVERY_S = 2.0
_FAREWELL_S = 0.6
"""How long who is sent the rest of an answer may take for it when the hub stops: less than uvicorn waits for all."""


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

    def __init__(self, host: str, port: int, app: HttpApp, tls: ssl.SSLContext | None = None) -> None:
        self._listener = _listen(host, port)
        self._app = app
        scheme, (name, number) = "https" if tls else "http", self._listener.getsockname()[:2]
        self.address = f"{scheme}://[{name}]:{number}" if ":" in name else f"{scheme}://{name}:{number}"
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            loop="uvloop",
            http=BoundedProtocol,
            interface="asgi3",
            lifespan="off",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=1,
            timeout_keep_alive=_KEEP_ALIVE_S,
            limit_concurrency=HTTP_CONNECTIONS_MAX,
            ws="websockets-sansio",
            ws_max_size=HEADER_BYTES_MAX,
            ws_max_queue=4,
            ssl_context_factory=None if tls is None else lambda _config, _default: tls,
        )
        self._server = _Server(config, app)
        self._thread = threading.Thread(target=self._run, name="pregon-http", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what is being answered, and end."""
        self._server.stop_streams()
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join()
        self._listener.close()

    def _run(self) -> None:
        # Signals are the main thread's: uvicorn only serves.
        with asyncio.Runner(loop_factory=self._server.config.get_loop_factory()) as runner:
            runner.run(self._server.serve(sockets=[self._listener]))


_FALSE_ALARMS = ("without completing handshake", "without completing response")


class _NoFalseAlarm(logging.Filter):
    """uvicorn takes a WebSocket that the application refused, and a stream that it cut, for ones that it forgot."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log it."""
        return not any(one in str(record.msg) for one in _FALSE_ALARMS)


logging.getLogger("uvicorn.error").addFilter(_NoFalseAlarm())


class _Server(uvicorn.Server):
    """uvicorn's, which tells the application which loop it runs in and when it ends."""

    def __init__(self, config: uvicorn.Config, app: HttpApp) -> None:
        super().__init__(config)
        self._app = app
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Attach the application to this loop before the first request."""
        self._loop = asyncio.get_running_loop()
        self._app.desk.bridge.attach()
        await super().startup(sockets)
        self._watcher = self._loop.create_task(self._end_slow_ones())

    async def _end_slow_ones(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            now_s = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                if isinstance(connection, BoundedProtocol) and connection.is_too_slow(now_s):
                    connection.hang_up()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End."""
        self._watcher.cancel()
        hanging_up = asyncio.ensure_future(self._hang_up())
        await super().shutdown(sockets)
        hanging_up.cancel()

    async def _hang_up(self) -> None:
        """End what is closed and waits only for a client that does not take what it was sent."""
        await asyncio.sleep(_FAREWELL_S)
        for connection in list(self.server_state.connections):
            if isinstance(connection, BoundedProtocol) and connection.transport.is_closing():
                connection.hang_up()

    def stop_streams(self) -> None:
        """Let live streams end."""
        if self._loop is not None and self._loop.is_running():
            self._loop.call_soon_threadsafe(self._app.desk.stopping.set)
