"""A REQ client that a dead server does not stop.

A plain REQ whose server dies between request and answer waits for ever, and takes no other request meanwhile. This one
gives each try a time limit; when it passes, or when the connection breaks, the socket is closed, created again and
connected again, and the request is sent again, to the next server if there are several. After so many tries it raises.

Promises:
- `request` returns or raises within `tries` times `time_limit_ms`.
- An answer belongs to its request: one that comes late finds its socket closed.
- Servers that cannot be reached are passed over while another one can.

It leaves to the server what it does with a request that it gets twice: this is at least once, or an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType

import zmq
from zmq.utils.monitor import recv_monitor_message

from pregon.clock import monotonic_ms
from pregon.errors import AnswerTimeout, SettingsInvalid
from pregon.patterns import endpoints
from pregon.patterns.endpoints import Socket
from pregon.patterns.sockets import ADDRESSES_MAX, MS_MAX, Options, configure, ms_until

TRIES_MAX = 100


class ReliableRequester:
    """Asks servers in turn, each request until it is answered or its tries are over. For one thread at a time."""

    def __init__(
        self,
        *servers: str,
        time_limit_ms: int = 1_000,
        tries: int = 3,
        options: Options | None = None,
        context: zmq.Context[Socket] | None = None,
    ) -> None:
        """Connects to all of them, or keeps trying to; raises SettingsInvalid."""
        if not 1 <= len(servers) <= ADDRESSES_MAX:
            raise SettingsInvalid(f"name 1 to {ADDRESSES_MAX} servers, not {len(servers)}")
        if not 1 <= time_limit_ms <= MS_MAX or not 1 <= tries <= TRIES_MAX:
            raise SettingsInvalid(f"time_limit_ms is 1 to {MS_MAX} and tries 1 to {TRIES_MAX}")
        self.servers = servers
        self.renewals = 0
        """Sockets that were closed and created again, because no answer came."""
        self._time_limit_ms = time_limit_ms
        self._tries = tries
        self._options = options or Options()
        self._context = context or zmq.Context.instance()
        self._lines: list[_Line] = []
        self._turn = 0
        try:
            for server in servers:
                self._lines.append(_Line(self._context, server, self._options))
        except SettingsInvalid:
            self.close()
            raise

    def request(self, *body: bytes | str) -> list[bytes]:
        """The frames of the answer; raises AnswerTimeout when every try has passed without one."""
        frames = [frame.encode() if isinstance(frame, str) else frame for frame in body]
        for _ in range(self._tries):
            answer = self._try(frames, monotonic_ms() + self._time_limit_ms)
            if answer is not None:
                return answer
        raise AnswerTimeout(
            f"no answer from {', '.join(self.servers)} in {self._tries} tries of {self._time_limit_ms} ms: start a "
            "server there, or give it more time. The request may have been worked on"
        )

    def close(self) -> None:
        """Give everything back."""
        for line in self._lines:
            line.close()
        self._lines.clear()

    def __enter__(self) -> ReliableRequester:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _try(self, frames: list[bytes], last_ms: float) -> list[bytes] | None:
        at = self._find_connected(last_ms)
        if at is None:
            return None
        answer = None
        try:
            answer = self._lines[at].ask(frames, last_ms)
        finally:
            # Also when Ctrl-C ends the wait: a REQ that still expects an answer could not ask again.
            if answer is None:
                self.renewals += 1
                self._lines[at].close()
                self._lines[at] = _Line(self._context, self.servers[at], self._options)
        return answer

    def _find_connected(self, last_ms: float) -> int | None:
        """The next server in turn to which there is a connection; None if there is none in time."""
        while True:
            for step in range(len(self._lines)):
                at = (self._turn + step) % len(self._lines)
                if self._lines[at].is_connected():
                    self._turn = at + 1
                    return at
            if not _wait([line.monitor for line in self._lines], last_ms):
                return None


class _Line:
    """A REQ to one server, and what its monitor says of the connection."""

    def __init__(self, context: zmq.Context[Socket], server: str, options: Options) -> None:
        self.socket = context.socket(zmq.REQ)
        configure(self.socket, options)
        self.monitor: Socket = self.socket.get_monitor_socket(zmq.Event.HANDSHAKE_SUCCEEDED | zmq.Event.DISCONNECTED)
        # Between threads there is no connection to tell of.
        self._is_connected = server.startswith("inproc://")
        try:
            endpoints.connect(self.socket, server)
        except SettingsInvalid:
            self.close()
            raise

    def is_connected(self) -> bool:
        """Whether the server is there, as far as is known."""
        while self.monitor.poll(0):
            self._is_connected = recv_monitor_message(self.monitor)["event"] == zmq.Event.HANDSHAKE_SUCCEEDED
        return self._is_connected

    def ask(self, frames: list[bytes], last_ms: float) -> list[bytes] | None:
        """The answer; None if it did not come in time, or the server went."""
        try:
            self.socket.send_multipart(frames, zmq.NOBLOCK)
        except zmq.Again:
            # A server in another thread of this process has closed its socket.
            return None
        while _wait([self.socket, self.monitor], last_ms):
            # In this order: a server may answer and go, and its answer has arrived before the news that it went.
            has_gone = not self.is_connected()
            if self.socket.poll(0):
                return self.socket.recv_multipart(zmq.NOBLOCK)
            if has_gone:
                return None
        return None

    def close(self) -> None:
        """Give it back; an answer that still comes finds nobody."""
        self.socket.disable_monitor()
        self.monitor.close(linger=0)
        self.socket.close(linger=0)


def _wait(sockets: Iterable[Socket], last_ms: float) -> bool:
    """Wait until one of the sockets has something to receive; whether one has, in time."""
    poller = zmq.Poller()
    for socket in sockets:
        poller.register(socket, zmq.POLLIN)
    return bool(poller.poll(ms_until(last_ms)))
