"""A talker with its socket: what it has asked, and what the answers say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import zmq

from pregon.bench.groups.talkers import Talker
from pregon.bench.peers.process import PeerFailed
from pregon.client.calls import Call, Pulled
from pregon.wire.frames import decode_answer

ASK_SECONDS_MAX = 30.0


class Connected:
    """One of a crowd."""

    def __init__(self, number: int, socket: Any, make: Callable[[Callable[[Call[Any]], Any]], Talker]) -> None:
        self.number = number
        self.socket = socket
        self._asked: dict[int, Call[Any]] = {}
        self._next_id = 0
        self._reading_id = 0
        self.talker = make(self.ask_and_wait)

    def reconnect(self, socket: Any) -> None:
        """Go on with another socket; what was asked by the old one is not waited for."""
        self.socket = socket
        self._asked.clear()
        self._reading_id = 0

    def ask_and_wait(self, call: Call[Any]) -> Any:
        """Send a request, and wait for its answer; nothing else is under way."""
        assert not self._asked
        self._ask(call)
        if not self.socket.poll(ASK_SECONDS_MAX * 1_000):
            raise PeerFailed(f"the hub did not answer in {ASK_SECONDS_MAX:.0f} s")
        return self._take()[1]

    def send(self, body: bytes) -> None:
        """Send a message; its acknowledgement comes by `answer`."""
        self._ask(self.talker.send(body))

    def read(self, *, settles: bool = False) -> None:
        """Ask for more, unless that is under way."""
        if not self._reading_id:
            self._reading_id = self._ask(self.talker.read(settles=settles))

    def answer(self) -> Pulled | None:
        """Take an answer: what was read, or None for an acknowledgement; raises the error that it carries."""
        request_id, said = self._take()
        if request_id != self._reading_id:
            return None
        self._reading_id = 0
        assert isinstance(said, Pulled)
        return said

    def _ask(self, call: Call[Any]) -> int:
        self._next_id += 1
        self._asked[self._next_id] = call
        self.socket.send_multipart(call.frames(self._next_id))
        return self._next_id

    def _take(self) -> tuple[int, Any]:
        answer = decode_answer(self.socket.recv_multipart(zmq.NOBLOCK))
        if answer is None or answer.id not in self._asked:
            raise PeerFailed("the hub said something that answers nothing")
        return answer.id, self._asked.pop(answer.id).finish(answer)
