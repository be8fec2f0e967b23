"""The fast lane: a ROUTER socket that speaks PREGON/1, and the thread that serves it.

The thread only moves frames: requests go to the dispatcher, answers come back from the committer and the
readers through a queue and a bell. Answers to a client that does not read them are dropped by ZeroMQ when its
queue is full; the client asks again.
"""

from __future__ import annotations

import threading
from collections import deque

import zmq

from pregon.edges.dispatch import Dispatcher, Frames, Reply
from pregon.edges.zmq.door import Door
from pregon.edges.zmq.sockets import receive_waiting
from pregon.hub.bridge import BurstCommitter

_REQUESTS_AT_ONCE = 200
_ANSWERS_WAITING_MAX = 4_000
"""For one client: more than our own has under way at once."""
_BYTES_ON_THEIR_WAY_MAX = 32 * 1024 * 1024
"""Messages given to ZeroMQ for one client and not yet written to its connection."""
_CLIENTS_REMEMBERED_MAX = 1_000


class FastLane(Door):
    """Serves requests; it goes on sending answers for a while after it takes no more of them."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        address: str,
        dispatcher: Dispatcher,
        committer: BurstCommitter,
    ) -> None:
        super().__init__("fast-lane", context, zmq.ROUTER, address, sndhwm=_ANSWERS_WAITING_MAX)
        self._dispatcher = dispatcher
        self._committer = committer
        self._answers: deque[tuple[bytes, Frames]] = deque()
        self._on_their_way: dict[bytes, deque[tuple[zmq.MessageTracker, int]]] = {}
        self._is_taking = True

    def stop_taking(self) -> None:
        """Take no more requests; answers still go out."""
        self._is_taking = False

    def _serve(self, poller: zmq.Poller) -> None:
        while not self._is_stopping:
            ready = dict(poller.poll())
            if self._bell.fileno() in ready:
                self._bell.hear()
            self._send_answers()
            if self._socket in ready and not self._is_taking:
                poller.unregister(self._socket)
            elif self._socket in ready:
                self._committer.hold()
                try:
                    for identity, *frames in receive_waiting(self._socket, _REQUESTS_AT_ONCE):
                        self._dispatcher.handle(frames, self._replier(identity))
                finally:
                    self._committer.let_go()
                self._send_answers()
        self._send_answers()
        # Long enough to write what was just queued; a peer that does not read cannot hold the hub up.
        self._socket.close(linger=200)

    def _replier(self, identity: bytes) -> Reply:
        def reply(frames: Frames) -> None:
            self._answers.append((identity, frames))
            if threading.current_thread() is not self._thread:
                self._bell.ring()

        return reply

    def _send_answers(self) -> None:
        while self._answers:
            identity, frames = self._answers.popleft()
            try:
                if len(frames) > 2:
                    self._send_messages(identity, frames)
                else:
                    self._socket.send_multipart([identity, *frames], zmq.NOBLOCK)
            except zmq.Again:
                # Its queue is full: a client that does not read its answers loses them, and asks again.
                continue

    def _send_messages(self, identity: bytes, frames: Frames) -> None:
        """Send messages to a client, unless too many bytes are already on their way to it."""
        on_their_way = self._on_their_way.setdefault(identity, deque())
        while on_their_way and on_their_way[0][0].done:
            on_their_way.popleft()
        size = sum(len(frame) for frame in frames)
        if sum(bytes_ for _, bytes_ in on_their_way) + size > _BYTES_ON_THEIR_WAY_MAX and on_their_way:
            return
        tracker = self._socket.send_multipart([identity, *frames], zmq.NOBLOCK, copy=False, track=True)
        assert tracker is not None
        # The tracker is of the last frame, which goes after the others.
        on_their_way.append((tracker, size))
        if len(self._on_their_way) > _CLIENTS_REMEMBERED_MAX:
            self._on_their_way = {who: rest for who, rest in self._on_their_way.items() if not rest[-1][0].done}
