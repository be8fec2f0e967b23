"""The blocking connection over HTTP: a few threads, each with a connection that is kept alive.

The threads only carry requests and answers. What is sent and what an answer means is in `http_talk`, whose turn it is
in `turns`.

Promises:
- `close` and `forget` do not wait for a long poll: they cut its connection.
- Connections are opened when they are needed, at most as many as allowed, and closed after a while without use; the
  next request opens another.
"""

from __future__ import annotations

import math
import queue
import select
import socket
import threading
from contextlib import suppress
from typing import Any

from pregon.client.http_talk import CONNECT_S_MAX, AnswerReader, Asking, Endpoint
from pregon.client.link import request_ids
from pregon.client.turns import Turns
from pregon.errors import HubStopping, PregonError
from pregon.wire.frames import Answer

CONNECTIONS_MAX = 8
"""Connections of one blocking client: a call at a time, and the answers that its followers asked for ahead."""
IDLE_S_MAX = 60.0
"""An unused connection is closed after this long, before the hub does it."""
_CHUNK_BYTES = 256 * 1024
_SILENT_S, _PROBE_S, _PROBES, _UNHEARD_MS = 2, 2, 4, 10_000


class HttpLink:
    """Requests and answers over HTTP, with the numbers of the requests. `send` and `receive` are for one thread."""

    ask_again_ms = math.inf
    """Every request has an answer, if only that its connection broke: none is sent again without one."""

    def __init__(self, endpoint: Endpoint, *, connections_max: int = CONNECTIONS_MAX) -> None:
        self.address = endpoint.url
        self._endpoint = endpoint
        self._connections_max = connections_max
        self._ids = request_ids()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._turns = Turns(is_ordered=connections_max == 1)
        self._connections: dict[_Connection, Asking | None] = {}
        """Each with what it carries."""
        self._is_closed = False

    def next_id(self) -> int:
        """The number of the next request."""
        return next(self._ids)

    def send(self, frames: list[Any], wait_ms: float = 0) -> None:
        """Send a request whose answer the hub may hold back for `wait_ms`; raises HubStopping after `close`."""
        asking = self._endpoint.asking(frames, wait_ms)
        with self._changed:
            if self._is_closed:
                raise HubStopping("the connection is closed")
            self._turns.add(asking)
            idle = sum(1 for carried in self._connections.values() if carried is None)
            if self._turns.waiting > idle and len(self._connections) < self._connections_max:
                connection = _Connection(self._endpoint)
                self._connections[connection] = None
                threading.Thread(target=self._carry, args=(connection,), name="pregon-http-link", daemon=True).start()
            else:
                self._changed.notify()

    def receive(self, wait_ms: float) -> Answer | None:
        """The next answer, or None if none comes in time."""
        try:
            return self._answers.get(timeout=wait_ms / 1_000) if wait_ms > 0 else self._answers.get_nowait()
        except queue.Empty:
            return None

    def was_reconnected(self) -> bool:
        """Never told: what a lost connection carried has an error for an answer."""
        return False

    def forget(self, request_id: int) -> None:
        """Nobody waits for this answer any more."""
        with self._changed:
            asking = self._turns.forget(request_id)
            if asking is not None:
                for connection, carried in self._connections.items():
                    if carried is asking:
                        connection.cut()

    def close(self) -> None:
        """Give the connections back, whatever they carry."""
        with self._changed:
            self._is_closed = True
            for connection, carried in self._connections.items():
                if carried is not None:
                    carried.is_forgotten = True
                    connection.cut()
            self._changed.notify_all()

    def _carry(self, connection: _Connection) -> None:
        """One thread: request after request, until there is no use for it."""
        try:
            while (asking := self._take(connection)) is not None:
                answer = connection.ask(asking)
                with self._changed:
                    self._connections[connection] = None
                    told = self._turns.answered(asking, answer)
                for one in told:
                    self._answers.put(one)
        finally:
            with self._changed:
                self._connections.pop(connection, None)
            connection.close()

    def _take(self, connection: _Connection) -> Asking | None:
        """What this connection carries next; None when it is to be closed, and then it is counted no more."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._is_closed or self._turns.waiting, IDLE_S_MAX):
                self._connections.pop(connection)
                return None
            if self._is_closed:
                return None
            asking = self._connections[connection] = self._turns.next()
            return asking


class _Connection:
    """One connection, opened when it is first used. Used by one thread; another may cut it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._socket: socket.socket | None = None
        self._reader = AnswerReader()

    def ask(self, asking: Asking) -> Answer:
        """The answer to a request: of the hub, or the error that it met with on its way."""
        try:
            is_kept = self._is_still_there()
            try:
                return self._exchange(asking)
            except OSError as error:
                # A connection that was kept may have been closed just now by the other side, which is nobody's
                # fault: the request goes again over a new one. To be asked twice does no harm.
                if not is_kept or asking.is_forgotten or isinstance(error, TimeoutError):
                    raise
                self.close()
                return self._exchange(asking)
        except (OSError, PregonError) as error:
            self.close()
            return self._endpoint.error_answer(asking.request_id, error)

    def _is_still_there(self) -> bool:
        """Whether there is a connection that can be used again; one that says something unasked cannot."""
        if self._socket is not None:
            poll = select.poll()
            poll.register(self._socket, select.POLLIN)
            if poll.poll(0):
                self.close()
        return self._socket is not None

    def _exchange(self, asking: Asking) -> Answer:
        connected = self._socket or self._connect(asking)
        connected.settimeout(asking.quiet_s)
        # The answer may come, and the connection end, before all of the request was sent.
        with suppress(ConnectionError):
            rest = memoryview(asking.request)
            while rest:
                rest = rest[connected.send(rest) :]
        answer = None
        while answer is None:
            data = connected.recv(_CHUNK_BYTES)
            answer = self._reader.feed(data) if data else self._reader.end()
        if answer.is_last or rest:
            self.close()
        return self._endpoint.read_answer(asking.request_id, answer)

    def _connect(self, asking: Asking) -> socket.socket:
        endpoint = self._endpoint
        connected = socket.create_connection((endpoint.host, endpoint.port), CONNECT_S_MAX)
        notice_loss(connected)
        if endpoint.tls is not None:
            connected = endpoint.tls.wrap_socket(connected, server_hostname=endpoint.host)
        self._socket, self._reader = connected, AnswerReader()
        if asking.is_forgotten:
            raise ConnectionAbortedError("nobody waits for the answer")
        return connected

    def cut(self) -> None:
        """End what it carries, from another thread."""
        connected = self._socket
        if connected is not None:
            with suppress(OSError):
                # The plain socket's: that of TLS changes what the other thread is reading with.
                socket.socket.shutdown(connected, socket.SHUT_RDWR)

    def close(self) -> None:
        """Give it back; it may be used again."""
        connected, self._socket = self._socket, None
        if connected is not None:
            connected.close()


def notice_loss(connected: Any) -> None:
    """Have the system notice that the other machine vanished without a word, also in a long poll."""
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # Not every system has these.
    for name, value in (
        ("TCP_KEEPIDLE", _SILENT_S),
        ("TCP_KEEPINTVL", _PROBE_S),
        ("TCP_KEEPCNT", _PROBES),
        ("TCP_USER_TIMEOUT", _UNHEARD_MS),
    ):
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
