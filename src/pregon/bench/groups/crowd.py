"""A process with many talkers in it, each with a connection of its own, in one loop.

    the benchmark  -- a line of JSON, `Task` -->   the process
                   <-- a line of JSON, `Told` --

The loop sends, waits for whatever socket has an answer, shows it to its talker and asks for more. It is the same for
every way of talking. A message begins with its round, its sender and the time at which it was made to be sent.

Promises:
- A round is over when every talker of this process was shown every message of every other one, wherever that is, and
  every message of this process is acknowledged; it fails if that takes longer than `ROUND_SECONDS_MAX`.
- What is to be sent at the same time is sent before anything is read: those messages are concurrent.
"""

from __future__ import annotations

import gc
import struct
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
import zmq

from pregon.bench.groups.connected import Connected
from pregon.bench.groups.talkers import TALKERS
from pregon.bench.peers.process import PeerFailed
from pregon.bench.physical import BODY_BYTES
from pregon.client.link import open_socket

ROUND_SECONDS_MAX = 60.0
_HEAD = struct.Struct(">IId")
_POLL_MS = 1_000


class Task(msgspec.Struct, kw_only=True):
    """What to do."""

    do: str
    """join: have more talkers; leave: have these no more; round: send and be shown."""
    way: str
    place: str = ""
    """The group or topic, to join."""
    numbers: list[int] = []
    """Who joins or leaves; or who sends, of all processes: once for each message."""
    round: int = 0
    at_s: float = 0.0
    """When to begin, by the machine's monotonic clock."""
    apart_s: float = 0.0
    """From one message to the next, of all processes; 0: all at once. From one join to the next, too."""
    settles: bool = False
    """Whether what was read is acknowledged: not in a round that is measured."""


class Told(msgspec.Struct, kw_only=True):
    """What came of it; times are of the machine's monotonic clock, in seconds."""

    sent: dict[int, float] = {}
    """When each talker of this process sent, the last time."""
    acked: dict[int, float] = {}
    """When the hub's answer to that came."""
    shown: dict[int, float] = {}
    """When the message of each talker, its last one, was shown to the last one of this process."""
    took_ms: list[float] = []
    """From sending a message to showing it, for each message and talker; only if they are sent one after another."""
    joined_ms: list[float] = []
    """How long each join took, from the first request to the answer to `joined`."""
    waited: int = 0
    """Messages that talkers of this process were shown later than they came, since they joined."""
    processor_s: float = 0.0
    """What this process used."""


class Crowd:
    """The talkers of one process."""

    def __init__(self, hub: str, context: zmq.Context[Any]) -> None:
        self._hub = hub
        self._context = context
        self._by_way: dict[str, dict[int, Connected]] = {}

    def do(self, task: Task) -> Told:
        """What was asked."""
        deeds: dict[str, Callable[[Task], Told]] = {"join": self._join, "leave": self._leave, "round": self._take_part}
        used = time.process_time()
        told = deeds[task.do](task)
        told.processor_s = time.process_time() - used
        return told

    def _join(self, task: Task) -> Told:
        told = Told()
        crowd = self._by_way.setdefault(task.way, {})
        for place, number in enumerate(task.numbers):
            _wait_until(task.at_s + place * task.apart_s)
            begun = time.monotonic()
            make = partial(TALKERS[task.way], task.place, f"{task.way}-{number}")
            crowd[number] = Connected(number, open_socket(self._context, self._hub), make)
            told.joined_ms.append((time.monotonic() - begun) * 1e3)
            crowd[number].read()
        return told

    def _leave(self, task: Task) -> Told:
        crowd = self._by_way[task.way]
        for number in task.numbers:
            gone = crowd.pop(number)
            # Its own connection still waits for something to read.
            gone.socket.close(linger=0)
            gone.reconnect(open_socket(self._context, self._hub))
            gone.talker.leave(gone.ask_and_wait)
            gone.socket.close(linger=0)
        return Told()

    def _take_part(self, task: Task) -> Told:
        crowd = self._by_way.get(task.way, {})
        taking = _Round(task, crowd)
        _wait_until(task.at_s)
        taking.run()
        taking.told.waited = sum(one.talker.waited for one in crowd.values())
        return taking.told


class _Round:
    """A round under way."""

    def __init__(self, task: Task, crowd: dict[int, Connected]) -> None:
        self._task = task
        self._crowd = crowd
        self._due = iter([(place, crowd[number]) for place, number in enumerate(task.numbers) if number in crowd])
        self._next: tuple[int, Connected] | None = next(self._due, None)
        # Each is shown every message or, if it is its own, told that the hub has it.
        self._missing = len(crowd) * len(task.numbers)
        self.told = Told()
        self._poller = zmq.Poller()
        for one in crowd.values():
            self._poller.register(one.socket, zmq.POLLIN)
        self._by_socket = {one.socket: one for one in crowd.values()}

    def run(self) -> None:
        """Until everything is sent, acknowledged and shown."""
        last_s = time.monotonic() + ROUND_SECONDS_MAX + len(self._task.numbers) * self._task.apart_s
        while self._missing:
            self._send_due()
            for socket, _ in self._poller.poll(self._wait_ms()):
                self._take(self._by_socket[socket])
            if time.monotonic() > last_s:
                raise PeerFailed(f"{self._missing} messages were not shown or acknowledged in time")

    def _send_due(self) -> None:
        task, told = self._task, self.told
        while self._next is not None and task.at_s + self._next[0] * task.apart_s <= time.monotonic():
            one = self._next[1]
            now = told.sent[one.number] = time.monotonic()
            one.send(_HEAD.pack(task.round, one.number, now).ljust(BODY_BYTES, b"."))
            self._next = next(self._due, None)

    def _wait_ms(self) -> int:
        if self._next is None:
            return _POLL_MS
        return max(0, int((self._task.at_s + self._next[0] * self._task.apart_s - time.monotonic()) * 1e3))

    def _take(self, one: Connected) -> None:
        told, clock = self.told, time.monotonic
        pulled = one.answer()
        if pulled is None:
            told.acked[one.number] = clock()
            self._missing -= 1
            return
        is_apart = self._task.apart_s > 0
        for body in one.talker.took(pulled):
            round_, sender, sent_s = _HEAD.unpack_from(body)
            if round_ == self._task.round:
                now = told.shown[sender] = clock()
                self._missing -= 1
                if is_apart:
                    told.took_ms.append((now - sent_s) * 1e3)
        one.read(settles=self._task.settles)


def _wait_until(at_s: float) -> None:
    while (rest := at_s - time.monotonic()) > 0:
        time.sleep(rest)


def _lines() -> Iterator[str]:
    print("ready", flush=True)
    yield from sys.stdin


def _play(hub: str) -> None:
    # A member by itself would have a hundredth of the objects to look through: here nobody pays for all the others'.
    gc.disable()
    crowd = Crowd(hub, zmq.Context())
    for line in _lines():
        told = crowd.do(msgspec.json.decode(line, type=Task))
        print(msgspec.json.encode(told).decode(), flush=True)


if __name__ == "__main__":
    _play(sys.argv[1])
