"""A body's web service: a real one, on loopback, which can fall over and come back at the same address.

What it does with a request is its owner's. Promises:
- `fall` closes it for real: nobody listens, and the connections that were open are gone. Requests that were taken
  before are answered or lost, as when a machine stops.
- Nobody else gets its port meanwhile, and whoever connects is refused.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from pregon.demo.place import Place

_REQUEST_BYTES_MAX = 1024 * 1024


class Answer(NamedTuple):
    """What a web service says."""

    status: int
    body: bytes = b""
    content_type: str = "text/plain"


Handle = Callable[[Mapping[str, str], bytes], Answer]
"""What to do with a request: its headers, by their names in lower case, and its body."""


class WebService:
    """A web service that has its address from the beginning, and listens from `come_up` on, until it falls."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._place = Place()
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where it is, or will be when it is back."""
        return f"{self._place.url}/novedades"

    @property
    def is_up(self) -> bool:
        """Whether it listens."""
        return self._server is not None

    def come_up(self) -> None:
        """Listen, as before."""
        self._server = _Server(("127.0.0.1", self._place.port), self._handle)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def fall(self) -> None:
        """Listen no more, and cut every connection; harmless if it is down."""
        server, self._server = self._server, None
        if server is not None and self._thread is not None:
            server.shutdown()
            server.server_close()
            server.cut_all()
            self._thread.join()

    def close(self) -> None:
        """Fall, and give the address back."""
        self.fall()
        self._place.give_back()


class _Server(ThreadingHTTPServer):
    """One time that the service is up, with its connections."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], handle: Handle) -> None:
        self.handle_body = handle
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(address, _Handler)

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """Remember the connection, then serve it in a thread of its own."""
        if isinstance(request, socket.socket):
            with self._lock:
                self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        """Forget a connection that ended."""
        if isinstance(request, socket.socket):
            with self._lock:
                self._open.discard(request)
        super().shutdown_request(request)

    def cut_all(self) -> None:
        """End every connection."""
        with self._lock:
            for one in self._open:
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue  # It ended by itself.

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """Say nothing when whoever pushed hung up: the hub was killed, or this service fell."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One request after another on a connection."""

    protocol_version = "HTTP/1.1"
    # The head and the body of an answer are two writes: without this the second one waits for the other side.
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        """Take a body and answer."""
        length = int(self.headers.get("Content-Length", "0"))
        if length > _REQUEST_BYTES_MAX:
            self.send_error(413)
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.handle_body(headers, self.rfile.read(length))
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the demo tells what happens."""
