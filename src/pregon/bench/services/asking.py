"""What a client of a contender is asked to do, and how it tells what it did.

    the benchmark  -- a line of JSON, `Ask` -->       the client's process
                   <-- a line of JSON, `Asked` --

The client keeps so many requests in flight until its time is over, then waits for the answers that are still due. A
request is four bytes, a number that counts from zero, and a worker answers with the same four bytes. How they travel
is each contender's own matter; when to send, and whether every answer came, is decided here, for all in the same way.

Promises:
- Every request is answered exactly once with its own body, or the client fails.
- Nothing is sent after the time is over, nor more than `REQUESTS_MAX` in all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from time import perf_counter

import msgspec

from pregon.bench.peers.process import PeerFailed

BODY_BYTES = 4
REQUESTS_MAX = 2_000_000


class Ask(msgspec.Struct):
    """Ask for so long, with so many in flight."""

    seconds: float
    in_flight: int


class Asked(msgspec.Struct):
    """What came of it."""

    requests: int
    """Answered, which is all that were sent."""
    seconds: float
    """From the first request to the last answer."""
    p50_us: float = 0.0
    """Median time from one answer to the next: of a request, where only one is in flight."""
    p99_us: float = 0.0

    @property
    def per_s(self) -> float:
        """Requests answered in a second."""
        return self.requests / self.seconds


class Window:
    """The requests of one `Ask`: which to send first, what to send after an answer, and when it is over."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._answers: list[bytes] = []
        self._times_s: list[float] = []
        self._last_s = 0.0
        self._sent = 0

    def open(self) -> list[bytes]:
        """The bodies to send at once; the time begins now."""
        self._sent = min(self._ask.in_flight, REQUESTS_MAX)
        begun_s = perf_counter()
        self._times_s.append(begun_s)
        self._last_s = begun_s + self._ask.seconds
        return [number.to_bytes(BODY_BYTES, "big") for number in range(self._sent)]

    def answered(self, body: bytes) -> bytes | None:
        """Take an answer; the next body to send, unless the time is over."""
        self.note(body)
        return self.following()

    def note(self, body: bytes) -> None:
        """Take an answer, where what is sent next does not wait for it."""
        self._times_s.append(perf_counter())
        self._answers.append(body)

    def following(self) -> bytes | None:
        """The next body to send, unless the time was over at the last answer."""
        number = self._sent
        if self._times_s[-1] >= self._last_s or number >= REQUESTS_MAX:
            return None
        self._sent = number + 1
        return number.to_bytes(BODY_BYTES, "big")

    @property
    def in_flight(self) -> int:
        """How many may be in flight."""
        return self._ask.in_flight

    @property
    def is_over(self) -> bool:
        """Whether every request that was sent is answered."""
        return len(self._answers) >= self._sent

    def tell(self) -> Asked:
        """What was measured; raises `PeerFailed` if an answer is wrong, missing or there twice."""
        if sorted(self._answers) != [number.to_bytes(BODY_BYTES, "big") for number in range(self._sent)]:
            raise PeerFailed(f"{len(self._answers)} answers to {self._sent} requests, and not each its own")
        asked = Asked(requests=self._sent, seconds=self._times_s[-1] - self._times_s[0])
        if self._ask.in_flight == 1:
            took = sorted(later - earlier for earlier, later in pairwise(self._times_s))
            asked.p50_us, asked.p99_us = percentile(took, 50) * 1e6, percentile(took, 99) * 1e6
        return asked


def percentile(ordered: Sequence[float], percent: int) -> float:
    """A percentile of values in order."""
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def serve_asks(ask: Callable[[Window], None]) -> None:
    """Be a client's process: do what each line says, until there are no more."""
    print("ready", flush=True)
    for line in sys.stdin:
        window = Window(msgspec.json.decode(line, type=Ask))
        ask(window)
        print(msgspec.json.encode(window.tell()).decode(), flush=True)
