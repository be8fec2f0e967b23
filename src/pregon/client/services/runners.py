"""Where a service's function runs: threads here, event loops in `coroutines`, processes in `processes`.

A runner is given work by the worker's own thread and says, from wherever it runs, what came of it. It is never given
more than its service has slots.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Protocol

from pregon.client.services.service import Outcome, Prepared
from pregon.client.services.worker_talk import Work
from pregon.clock import monotonic_ms
from pregon.wire.services import Failure

Done = Callable[[Work, Outcome], None]
"""Tells the worker what came of a work; from any thread, once for each."""


class Runner(Protocol):
    """Runs one service."""

    enforces_limits: bool
    """Whether it ends by itself what takes too long; the worker answers for it otherwise."""

    def start(self) -> None:
        """Make ready."""
        ...

    def give(self, work: Work) -> None:
        """Do this; `Done` is called once, later."""
        ...

    def drop(self, work: Work) -> None:
        """Nobody waits for it any more: end it early, if that can be done."""
        ...

    def close(self) -> None:
        """End, whatever is under way."""
        ...


def dropped() -> Failure:
    """The outcome of work that was ended because nobody waits for it."""
    return Failure(message="ended early: nobody waits for it any more")


def too_long(limit_ms: float) -> Failure:
    """The outcome of work that took longer than it may."""
    return Failure(message=f"it took longer than its time limit of {limit_ms:.0f} ms")


class Threads:
    """A plain function, in up to `slots` threads, which are started as they are needed."""

    enforces_limits = False

    def __init__(self, prepared: Prepared, done: Done) -> None:
        self._prepared = prepared
        self._done = done
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._open = 0
        """Given and not yet ended."""

    def start(self) -> None:
        """Nothing: the first work starts the first thread."""

    def give(self, work: Work) -> None:
        """To whichever thread is free first."""
        self._open += 1
        if self._open > len(self._threads) and len(self._threads) < self._prepared.manner.slots:
            self.add_thread()
        self._queue.put(work)

    def add_thread(self) -> None:
        """One more. It does not keep the program from ending: what hangs in it could do so for ever."""
        number = len(self._threads) + 1
        name = f"pregon-{self._prepared.name}-{number}"
        thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self) -> None:
        get, call = self._queue.get, self._prepared.call
        while (work := get()) is not None:
            if work.is_dropped:
                outcome: Outcome = dropped()
            else:
                work.started_ms = monotonic_ms()
                outcome = call(work.body)
            self._finish(work, outcome)

    def _finish(self, work: Work, outcome: Outcome) -> None:
        # A count that is wrong for a moment starts a thread too early, nothing more.
        self._open -= 1
        self._done(work, outcome)

    def drop(self, work: Work) -> None:
        """A thread cannot be ended; one that has not begun the work will not."""

    def close(self) -> None:
        """The threads end after what they have; nobody waits for them."""
        for _ in self._threads:
            self._queue.put(None)


class Inline:
    """A quick function, in the thread that gives it: at the price of a call."""

    enforces_limits = True

    def __init__(self, prepared: Prepared, done: Done) -> None:
        self._call = prepared.call
        self._done = done

    def start(self) -> None:
        """Nothing."""

    def give(self, work: Work) -> None:
        """Now."""
        self._done(work, self._call(work.body))

    def drop(self, work: Work) -> None:
        """It is done already."""

    def close(self) -> None:
        """Nothing."""
