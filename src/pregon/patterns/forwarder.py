"""A forwarder between two sockets: what comes in at the front goes out at the back, and the other way round.

It runs libzmq's own proxy, in C, in a thread of its own that does not need the interpreter. That loop has a flaw: while
something waits at the front and nobody at the back can take it (no worker is there, or all queues are full), it turns
without pause and takes a whole core. So it is interrupted ten times a second to look whether this is so; if it is, a
loop that sleeps holds the front and passes on only what comes from the back, until there is room again.

                 ten times a second          nothing can move
    zmq_proxy, in C ─────────▶ look ─────────────▶ hold, in Python: sleeps
        ▲                        │ all is well         │ there is room again
        └────────────────────────┴─────────────────────┘

libzmq moves up to 1,000 messages in one go, and waits in the middle of them when the queues at the back get full: until
there is room for the rest, answers wait too.

Promises:
- Nothing is reordered, and nothing dropped, by passing from one loop to the other: both move whole messages.
- `close` ends it wherever it is, within the options' `linger_ms` and a moment.
- What it has in its queues when it ends, and cannot send in that time, is lost: it keeps nothing.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from types import TracebackType

import zmq

from pregon.errors import BadRequest
from pregon.patterns.endpoints import Socket, bound_address
from pregon.patterns.sockets import Options, open_socket

KINDS = {
    "router-dealer": (zmq.ROUTER, zmq.DEALER),
    "xsub-xpub": (zmq.XSUB, zmq.XPUB),
    "pull-push": (zmq.PULL, zmq.PUSH),
}
"""The pairs of front and back that can be forwarded between."""

_LOOK_EVERY_S = 0.1
_CONTROL = "inproc://forwarder-control"
_log = logging.getLogger(__name__)


class Forwarder:
    """Forwards from the moment that it is made until it is closed."""

    def __init__(self, kind: str, front: str, back: str, capture: str = "", options: Options | None = None) -> None:
        """Binds all addresses; raises BadRequest (no such kind), SettingsInvalid or AddressInUse (an address)."""
        if kind not in KINDS:
            raise BadRequest(f"a forwarder is {', '.join(KINDS)}, not {kind[:40]!r}")
        self.context: zmq.Context[Socket] = zmq.Context()
        """For `inproc://` addresses: sockets that reach it so are opened in this context, and closed before it is."""
        options = options or Options()
        try:
            self._front = open_socket(KINDS[kind][0], bind=front, options=options, context=self.context)
            self._back = open_socket(KINDS[kind][1], bind=back, options=options, context=self.context)
            self._capture = (
                open_socket(zmq.PUB, bind=capture, options=options, context=self.context) if capture else None
            )
            few = Options(queue_messages_max=10, linger_ms=0)
            self._interrupts = open_socket(zmq.PAIR, bind=_CONTROL, options=few, context=self.context)
            self._interrupter = open_socket(zmq.PAIR, connect=_CONTROL, options=few, context=self.context)
        except BaseException:  # Whatever it was, it goes on to the caller, who has nothing to close.
            self.context.destroy(linger=0)
            raise
        self.front, self.back = bound_address(self._front), bound_address(self._back)
        self.capture = bound_address(self._capture) if self._capture else ""
        self._ended = threading.Event()
        self._is_interrupted = False
        self._threads = [
            threading.Thread(target=self._forward, name="forwarder", daemon=True),
            threading.Thread(target=self._interrupt, name="forwarder-look", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it has ended; whether it has."""
        return self._ended.wait(timeout_s)

    def close(self) -> None:
        """End it."""
        self._ended.set()
        # The thread that interrupts gives its socket back, and the end of the context stops the one that forwards.
        self._threads[1].join()
        self.context.term()
        self._threads[0].join()

    def __enter__(self) -> Forwarder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _interrupt(self) -> None:
        while not self._ended.wait(_LOOK_EVERY_S):
            # libzmq may answer, and would wait for room to do so: its answers are taken away.
            with contextlib.suppress(zmq.Again):
                while True:
                    self._interrupter.recv(zmq.NOBLOCK)
            # One that was not heard yet is enough; nobody hears if the other thread has just ended.
            if not self._is_interrupted:
                self._is_interrupted = True
                with contextlib.suppress(zmq.Again):
                    self._interrupter.send(b"TERMINATE", zmq.NOBLOCK)
        self._interrupter.close()

    def _forward(self) -> None:
        try:
            while True:
                zmq.proxy_steerable(self._front, self._back, self._capture, self._interrupts)
                self._is_interrupted = False
                if self._is_stuck():
                    self._hold()
        except zmq.ContextTerminated:
            pass
        except zmq.ZMQError:
            _log.exception("the forwarder ended")
        finally:
            self._ended.set()
            for socket in (self._front, self._back, self._capture, self._interrupts):
                if socket is not None:
                    socket.close()

    def _is_stuck(self) -> bool:
        return bool(self._front.poll(0)) and not self._back.poll(0, zmq.POLLOUT)

    def _hold(self) -> None:
        """Sleep until the back takes messages again; what comes from it goes on to the front meanwhile."""
        while not (ready := self._back.poll(None, zmq.POLLIN | zmq.POLLOUT)) & zmq.POLLOUT:
            if ready & zmq.POLLIN:
                frames = self._back.recv_multipart(zmq.NOBLOCK)
                self._front.send_multipart(frames)
                if self._capture is not None:
                    self._capture.send_multipart(frames)
