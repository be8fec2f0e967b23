"""The service broker's sockets, and the thread that moves frames between them and the state machine.

The thread has its own ZeroMQ context and does nothing else, so that the hub's other work does not delay it. Other
threads reach the broker by `call` and `post`.

A peer that is gone is noticed when something is sent to it: its work goes to another, its other requests are dropped.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar

import zmq
import zmq.backend

from pregon.clock import monotonic_ms
from pregon.edges.zmq.sockets import bind, bound_address
from pregon.errors import HubStopping, InternalError, PregonError
from pregon.services.counts import Finished
from pregon.services.parts import Parts
from pregon.store.ticket import Ticket
from pregon.wire.bell import Bell

log = logging.getLogger("pregon.services")
T = TypeVar("T")

_AT_ONCE = 200
_TICK_MS = 50.0
_TRACE_MS = 250.0
_STALL_MS = 1_000.0
"""The loop turns every 50 ms: after a longer pause it was the broker itself that stood still."""
_QUEUED_MAX = 20_000
"""Frames for one peer that does not read them; a client loses its answers, a worker counts as gone."""
_MORE = int(zmq.SNDMORE | zmq.NOBLOCK)
_LAST = int(zmq.NOBLOCK)
# pyzmq's own methods, without what its Python layer adds for kinds of sockets that these are not: measured, a message
# of three frames is sent in a fifth of the time.
_send_frame: Any = zmq.backend.Socket.send
_receive_frame: Any = zmq.backend.Socket.recv
_CONNECTING_MAX = 1_024
"""Connections that the system may hold until they are taken: a thousand clients may come at once."""


class Curve(Protocol):
    """Encryption of the two sockets, and who is who."""

    def apply(self, socket: zmq.Socket[bytes]) -> None:
        """Make a socket, not yet bound, a CURVE server."""
        ...

    def name_of(self, user_id: str) -> str:
        """Whose public key it is."""
        ...

    def start(self, context: zmq.Context[zmq.Socket[bytes]]) -> None:
        """Begin to check keys."""
        ...

    def stop(self) -> None:
        """No more."""
        ...


class ServicesDoor:
    """Front, back, and the thread between them."""

    def __init__(
        self,
        front: str,
        back: str,
        parts: Parts,
        *,
        curve: Curve | None = None,
        traced: Callable[[list[Finished]], None] | None = None,
    ) -> None:
        self.parts = parts
        self._curve = curve
        self._traced = traced
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._front = self._back = None
        try:
            if curve is not None:
                curve.start(self._context)
            self._front = self._bind(front)
            self._back = self._bind(back)
        except BaseException:  # Whatever it was, nothing may stay bound.
            self._close()
            raise
        self.front_address = bound_address(self._front)
        self.back_address = bound_address(self._back)
        self._bell = Bell()
        self._posted: deque[Callable[[], None]] = deque()
        self._is_stopping = False
        self._is_ended = False
        self._traced_ms = 0.0
        self._thread = threading.Thread(target=self._run, name="pregon-services", daemon=True)

    def _bind(self, address: str) -> zmq.Socket[bytes]:
        def prepare(socket: zmq.Socket[bytes]) -> None:
            # Sending to one who is not there is told, and one who comes back with its identity takes its place.
            socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
            socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
            socket.setsockopt(zmq.BACKLOG, _CONNECTING_MAX)
            if self._curve is not None:
                self._curve.apply(socket)

        return bind(self._context, zmq.ROUTER, address, sndhwm=_QUEUED_MAX, prepare=prepare)

    # For other threads.

    def start(self) -> None:
        """Open the door."""
        self._thread.start()

    def stop(self) -> None:
        """Close it. Clients and workers find the next broker by themselves."""
        self._is_stopping = True
        if self._thread.is_alive():
            self._bell.ring()
            self._thread.join()

    def give_back(self) -> None:
        """Give back what a door has that is never opened."""
        self._close()
        self._bell.close()

    def post(self, call: Callable[[], None]) -> None:
        """Have something done in the broker's thread; when that has ended, here."""
        self._posted.append(call)
        if self._is_ended:
            self._carry_out_posted()
        else:
            self._bell.ring()

    def call(self, function: Callable[[Parts], T]) -> Ticket[T]:
        """The same, with an answer."""
        ticket: Ticket[T] = Ticket()

        def carry_out() -> None:
            try:
                ticket.resolve(function(self.parts))
            except PregonError as error:
                ticket.fail(error)
            except Exception:  # The top of the broker's loop: a bug in a question must not end it.
                log.exception("a question to the broker failed by a bug")
                ticket.fail(InternalError("the broker failed to carry this out; its log says why"))

        if self._is_stopping:
            raise HubStopping("the hub is stopping: connect again in a moment")
        self.post(carry_out)
        return ticket

    # The loop.

    def _run(self) -> None:
        try:
            self._serve()
        except Exception:  # The top of the thread: whoever waits must not wait for ever, and somebody must look.
            log.critical("the service broker has ended by a bug; the hub goes on without it", exc_info=True)
        finally:
            self._is_stopping = self._is_ended = True
            self._carry_out_posted()
            self._close()
            self._bell.close()

    def _serve(self) -> None:
        front, back = self._front, self._back
        assert front is not None and back is not None
        poller = zmq.Poller()
        for one in (front, back, self._bell.fileno()):
            poller.register(one, zmq.POLLIN)
        parts, broker = self.parts, self.parts.broker
        next_tick_ms = 0.0
        now_ms = monotonic_ms()
        broker.at(now_ms)
        while not self._is_stopping:
            events = dict(poller.poll(int(_TICK_MS)))
            before_ms, now_ms = now_ms, monotonic_ms()
            broker.at(now_ms)
            if now_ms - before_ms > _STALL_MS:
                parts.was_paused(now_ms - before_ms)
            if back in events:
                self._receive(back, parts.back.take)
            if front in events:
                self._receive(front, parts.front.take)
            if self._posted:
                self._bell.hear()
                self._carry_out_posted()
            elif self._bell.fileno() in events:
                self._bell.hear()
            if now_ms >= next_tick_ms:
                next_tick_ms = now_ms + _TICK_MS
                self._guarded(lambda now_ms=now_ms: parts.tick(now_ms))  # type: ignore[misc]
                self._hand_over_traces(now_ms)
            self._send()
        self._carry_out_posted()
        self._hand_over_traces(monotonic_ms() + _TRACE_MS)
        self._send()

    def _receive(self, socket: zmq.Socket[bytes], take: Callable[[list[bytes], str], None]) -> None:
        """What has arrived, a burst at most, so that the other socket has its turn."""
        curve = self._curve
        for _ in range(_AT_ONCE):
            try:
                if curve is None:
                    user, frames = "", _receive_one(socket)
                else:
                    first, *others = socket.recv_multipart(zmq.NOBLOCK, copy=False)
                    frames = [first.bytes, *(one.bytes for one in others)]
                    user = curve.name_of(_user_id(others[0] if others else first))
            except zmq.Again:
                return
            try:
                take(frames, user)
            except Exception:  # The top of the broker's loop: whatever one message breaks, the others go on.
                log.exception("a message failed by a bug")

    def _carry_out_posted(self) -> None:
        for _ in range(len(self._posted)):
            try:
                call = self._posted.popleft()
            except IndexError:  # Somebody who came after the end took it.
                return
            self._guarded(call)

    def _guarded(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except Exception:  # The top of the broker's loop, again.
            log.exception("the broker failed by a bug")

    def _send(self) -> None:
        """All that is to be sent; what one who is gone causes is sent too."""
        broker = self.parts.broker
        front, back = self._front, self._back
        assert front is not None and back is not None
        while broker.to_back or broker.to_front:
            to_back, broker.to_back = broker.to_back, []
            unsent: dict[bytes, list[list[bytes]]] = {}
            for frames in to_back:
                if frames[0] in unsent or not _send_one(back, frames):
                    unsent.setdefault(frames[0], []).append(frames)
            for identity, what in unsent.items():
                self._guarded(partial(self.parts.worker_unreachable, identity, what))
            to_front = list(broker.to_front)
            broker.to_front.clear()
            for frames in to_front:
                if not _send_one(front, frames):
                    self._guarded(partial(broker.client_gone, frames[0]))

    def _hand_over_traces(self, now_ms: float) -> None:
        if now_ms < self._traced_ms:
            return
        self._traced_ms = now_ms + _TRACE_MS
        traced, replies = self._traced, self.parts.broker.replies
        if traced is None:
            replies.drop_traces()
        else:
            self._guarded(lambda: traced(replies.take_traces()))

    def _close(self) -> None:
        if self._curve is not None:
            self._curve.stop()
        for socket in (self._front, self._back):
            if socket is not None:
                # Long enough to write what was just queued; a peer that does not read cannot hold the hub up.
                socket.close(linger=200)
        self._context.destroy(linger=200)


def _send_one(socket: zmq.Socket[bytes], frames: list[bytes]) -> bool:
    """Whether its receiver is there and has room."""
    try:
        for frame in frames[:-1]:
            _send_frame(socket, frame, _MORE)
        _send_frame(socket, frames[-1], _LAST)
    except zmq.Again:
        return False
    except zmq.ZMQError as error:
        if error.errno == zmq.EHOSTUNREACH:
            return False
        raise
    return True


def _receive_one(socket: zmq.Socket[bytes]) -> list[bytes]:
    """A whole message; raises zmq.Again if there is none."""
    frames = [_receive_frame(socket, _LAST)]
    # After the identity there is always something; whether there is more, a frame knows for less than the socket.
    while True:
        frame = _receive_frame(socket, _LAST, False)
        frames.append(frame.bytes)
        if not frame.more:
            return frames


def _user_id(frame: zmq.Frame) -> str:
    try:
        return str(frame.get("User-Id"))
    except zmq.ZMQError:
        return ""
