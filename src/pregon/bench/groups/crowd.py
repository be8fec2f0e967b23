"""A process with many talkers in it, each with a connection of its own, in one loop.

    the benchmark  -- a line of JSON, `Task` -->   the process
                   <-- a line of JSON, `Told` --

The loop sends, waits for whatever socket has an answer, shows it to its talker and asks for more. It is the same for
every way of talking. Messages have who sent them and in which round in their first bytes.

Promises:
- A round is over when every talker of this process was shown every message of every other one, wherever that is, and
  every message of this process is acknowledged; it fails if that takes longer than `ROUND_SECONDS_MAX`.
- All talkers of this process send before any of them is shown something: what they send at once is concurrent.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import msgspec
import zmq

from pregon.bench.groups.talkers import TALKERS, Talker
from pregon.bench.peers.process import PeerFailed
from pregon.bench.physical import BODY_BYTES
from pregon.client.calls import Call
from pregon.client.link import open_socket
from pregon.wire.frames import decode_answer

ROUND_SECONDS_MAX = 60.0
ASK_SECONDS_MAX = 30.0
NOBODY = -1


class Task(msgspec.Struct, kw_only=True):
    """What to do: have more talkers, or take part in a round."""

    way: str
    place: str = ""
    """To have more talkers: of this group or topic."""
    numbers: list[int] = []
    """Their numbers."""
    round: int = 0
    """To take part in a round: which one."""
    senders: list[int] = []
    """Who sends in it, of all processes."""
    at_s: float = 0.0
    """When to send, by the machine's monotonic clock."""


class Told(msgspec.Struct, kw_only=True):
    """What came of it; the times are of the machine's monotonic clock, in seconds."""

    sent: dict[int, float] = {}
    """When each talker of this process sent its message."""
    acked: dict[int, float] = {}
    """When the hub's answer to it came."""
    shown: dict[int, float] = {}
    """When each message was shown to the last talker of this process that was to be shown it."""
    held: int = 0
    """Deliveries so far that had waited for others."""


class _Connected:
    """A talker with its socket, and what it has asked."""

    def __init__(self, number: int, socket: Any) -> None:
        self.number = number
        self.socket = socket
        self.talker: Talker | None = None
        self._asked: dict[int, Call[Any]] = {}
        self._next_id = 0
        self.is_reading = False

    def ask(self, call: Call[Any]) -> int:
        """Send a request."""
        self._next_id += 1
        self._asked[self._next_id] = call
        self.socket.send_multipart(call.frames(self._next_id))
        return self._next_id

    def answer(self) -> tuple[int, Any]:
        """Take an answer: of which request, and what it says; raises the error that it carries."""
        answer = decode_answer(self.socket.recv_multipart(zmq.NOBLOCK))
        if answer is None:
            raise PeerFailed("the hub said something that is no answer")
        return answer.id, self._asked.pop(answer.id).finish(answer)

    def ask_and_wait(self, call: Call[Any]) -> Any:
        """Send a request, and wait for its answer; nothing else is under way."""
        asked = self.ask(call)
        if not self.socket.poll(ASK_SECONDS_MAX * 1_000):
            raise PeerFailed("the hub did not answer")
        number, said = self.answer()
        assert number == asked
        return said

    def keep_reading(self) -> None:
        """Ask for more, unless that is under way."""
        if not self.is_reading:
            assert self.talker is not None
            self.is_reading = True
            self._reading_id = self.ask(self.talker.read())

    def is_read(self, request_id: int) -> bool:
        """Whether an answer is to what it reads."""
        if self.is_reading and request_id == self._reading_id:
            self.is_reading = False
            return True
        return False


class Crowd:
    """The talkers of one process."""

    def __init__(self, hub: str, context: zmq.Context[Any]) -> None:
        self._hub = hub
        self._context = context
        self._by_way: dict[str, dict[int, _Connected]] = {}
        self._pollers: dict[str, zmq.Poller] = {}

    def do(self, task: Task) -> Told:
        """What was asked."""
        if task.place:
            for number in task.numbers:
                self._add(task, number)
            return Told()
        return self._take_part(task)

    def _add(self, task: Task, number: int) -> None:
        socket = open_socket(self._context, self._hub)
        one = _Connected(number, socket)
        one.talker = TALKERS[task.way](task.place, f"{task.way}-{number}", one.ask_and_wait)
        self._by_way.setdefault(task.way, {})[number] = one
        self._pollers.setdefault(task.way, zmq.Poller()).register(socket, zmq.POLLIN)
        one.keep_reading()

    def _take_part(self, task: Task) -> Told:
        crowd = self._by_way.get(task.way, {})
        told = Told()
        mark = task.round.to_bytes(4, "big")
        bodies = {number: mark + number.to_bytes(4, "big") + bytes(BODY_BYTES - 8) for number in task.senders}
        mine = [crowd[number] for number in task.senders if number in crowd]
        missing = sum(len(task.senders) - (one.number in bodies) for one in crowd.values())
        sending: dict[int, int] = {}
        clock = time.monotonic
        while clock() < task.at_s:
            time.sleep(max(0.0, task.at_s - clock() - 0.0005))
        for one in mine:
            assert one.talker is not None
            told.sent[one.number] = clock()
            sending[one.number] = one.ask(one.talker.send(bodies[one.number]))
        missing += len(mine)
        poller = self._pollers.get(task.way)
        by_socket = {one.socket: one for one in crowd.values()}
        last_s = clock() + ROUND_SECONDS_MAX
        shown = told.shown
        while missing and poller is not None:
            for socket, _ in poller.poll(1_000):
                one = by_socket[socket]
                request_id, said = one.answer()
                if not one.is_read(request_id):
                    told.acked[one.number] = clock()
                    missing -= 1
                    continue
                assert one.talker is not None
                for body in one.talker.took(said):
                    if body[:4] == mark:
                        shown[int.from_bytes(body[4:8], "big")] = clock()
                        missing -= 1
                one.keep_reading()
            if clock() > last_s:
                raise PeerFailed(f"{missing} messages were not shown in {ROUND_SECONDS_MAX:.0f} s")
        told.held = sum(getattr(one.talker, "held", 0) for one in crowd.values())
        return told


def _play(hub: str) -> None:
    context: zmq.Context[Any] = zmq.Context()
    crowd = Crowd(hub, context)
    print("ready", flush=True)
    for line in sys.stdin:
        told = crowd.do(msgspec.json.decode(line, type=Task))
        print(msgspec.json.encode(told).decode(), flush=True)


if __name__ == "__main__":
    _play(sys.argv[1])
_unused: tuple[Any, ...] = (Callable, ExitStack)
