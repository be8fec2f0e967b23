"""The waiting room of long polls: pulls that found nothing and stay until something comes or their time is up.

Promises:
- Nobody misses a message: a pull asks for the topic's version before it reads, and if the topic has moved on
  since then, it is called at once.
- At most `limits.WAITERS_MAX` wait.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pregon import limits
from pregon.clock import monotonic_ms
from pregon.errors import HubBusy

_NO_TOPIC = ""
_FORGOTTEN_MAX = 1_000
"""Waiters that nobody waits for and that still stand in line for their deadline."""


def _nothing() -> None:
    """There is nothing to forget."""


@dataclass(order=True, slots=True)
class _Waiter:
    deadline_ms: float
    number: int
    topic: str = field(compare=False)
    call: Callable[[bool], None] | None = field(compare=False)
    """Called once, with whether there may be something new; None when it has been called."""


class WaitingRoom:
    """Waits for topics to move; calls back in its own thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._by_topic: dict[str, list[_Waiter]] = {}
        self._by_deadline: list[_Waiter] = []
        self._versions: dict[str, int] = {}
        self._ready: list[tuple[Callable[[bool], None], bool]] = []
        self._numbers = itertools.count(1)
        self._count = 0
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="pregon-waiting", daemon=True)

    def start(self) -> None:
        """Begin to call."""
        self._thread.start()

    def stop(self) -> None:
        """Call everybody, with nothing new, and end."""
        with self._changed:
            self._is_stopping = True
            for waiter in self._by_deadline:
                self._release(waiter, False)
            self._by_topic.clear()
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def count(self) -> int:
        """How many wait now."""
        return self._count

    def version(self, topic: str) -> int:
        """Which changes of the topic who reads from now on will see."""
        return self._versions.get(topic, 0)

    def wait(self, topic: str, seen_version: int, wait_ms: float, call: Callable[[bool], None]) -> Callable[[], None]:
        """Call with True when the topic moves on from the version that was seen, with False when the time is up.

        Returns what to call when nobody waits for it any more. Raises HubBusy when too many wait.
        """
        with self._changed:
            is_stopping = self._is_stopping
            if self.version(topic) != seen_version and not is_stopping:
                self._ready.append((call, True))
                self._changed.notify()
                return _nothing
            if not is_stopping:
                waiter = self._keep(topic, wait_ms, call)
                return lambda: self._forget(waiter)
        # Nobody calls any more: the one who came says it to itself.
        call(False)
        return _nothing

    def call_after(self, wait_ms: float, call: Callable[[bool], None]) -> None:
        """Call when the time is up, or the room closes: somebody who is no pull, and is not counted as one."""
        with self._changed:
            if self._is_stopping:
                return
            waiter = _Waiter(monotonic_ms() + wait_ms, next(self._numbers), _NO_TOPIC, call)
            heapq.heappush(self._by_deadline, waiter)
            self._changed.notify()

    def _forget(self, waiter: _Waiter) -> None:
        """Its place is free; it is never called."""
        with self._changed:
            if waiter.call is not None:
                waiter.call = None
                self._count -= 1
                waiters = self._by_topic.get(waiter.topic, [])
                if waiter in waiters:
                    waiters.remove(waiter)
                if not waiters:
                    self._by_topic.pop(waiter.topic, None)
                if len(self._by_deadline) > 2 * self._count + _FORGOTTEN_MAX:
                    self._by_deadline = [one for one in self._by_deadline if one.call is not None]
                    heapq.heapify(self._by_deadline)

    def _keep(self, topic: str, wait_ms: float, call: Callable[[bool], None]) -> _Waiter:
        if self._count >= limits.WAITERS_MAX:
            raise HubBusy(f"{self._count} pulls are waiting already: pull again without waiting")
        waiter = _Waiter(monotonic_ms() + wait_ms, next(self._numbers), topic, call)
        self._count += 1
        self._by_topic.setdefault(topic, []).append(waiter)
        heapq.heappush(self._by_deadline, waiter)
        if self._by_deadline[0] is waiter:
            self._changed.notify()
        return waiter

    def topics_moved(self, topics: Iterable[str]) -> None:
        """Something in these topics became pending: published, unparked, replayed."""
        with self._changed:
            if len(self._versions) > 2 * limits.TOPICS_MAX:
                # Whoever reads now finds another version than it saw, and reads once more: nobody is forgotten.
                self._versions.clear()
            for topic in topics:
                self._versions[topic] = next(self._numbers)
                for waiter in self._by_topic.pop(topic, ()):
                    self._release(waiter, True)

    def _release(self, waiter: _Waiter, is_new: bool) -> None:
        if waiter.call is not None:
            self._ready.append((waiter.call, is_new))
            waiter.call = None
            self._count -= waiter.topic != _NO_TOPIC
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                timeout_s = self._expire()
                if not self._ready and not self._is_stopping:
                    self._changed.wait(timeout_s)
                    self._expire()
                ready, self._ready = self._ready, []
                if self._is_stopping and not ready:
                    return
            for call, is_new in ready:
                call(is_new)

    def _expire(self) -> float | None:
        """Release those whose time is up; seconds until the next one's is."""
        now_ms = monotonic_ms()
        while self._by_deadline:
            first = self._by_deadline[0]
            if first.call is not None and first.deadline_ms > now_ms:
                return (first.deadline_ms - now_ms) / 1_000
            heapq.heappop(self._by_deadline)
            if first.call is not None:
                waiters = self._by_topic.get(first.topic)
                if waiters is not None:
                    waiters.remove(first)
                    if not waiters:
                        del self._by_topic[first.topic]
                self._release(first, False)
        return None
