"""Sending notices, whatever the other side does: a thread and a bounded queue for each channel.

A channel (`webhook`, `mail`) sends notices once, and raises OSError when it could not. When to try again and when
to give up is the sender's.

Promises:
- `put` never waits: when the queue is full the notice is dropped and counted. Every notice is in the log anyway.
- A notice is tried `len(DELAYS_S) + 1` times and then given up, with a line in the log. It keeps its id.
- A channel that hangs holds up only itself, and nobody who stops it.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pregon.delivery.alarms import Notice

log = logging.getLogger("pregon.notices")

QUEUE_MAX = 1_000
"""Notices waiting to be sent in one channel."""
DELAYS_S = (1.0, 5.0, 30.0, 120.0)
"""How long to wait after each failure; after one more the notice is given up."""


@dataclass(frozen=True, slots=True)
class Told:
    """A notice on its way, with the id by which it is known if it comes twice."""

    id: str
    notice: Notice


class Channel(Protocol):
    """A way to tell somebody."""

    @property
    def name(self) -> str:
        """What the log calls it."""
        ...

    @property
    def together_max(self) -> int:
        """How many notices are sent in one go."""
        ...

    def send(self, notices: Sequence[Told]) -> None:
        """Send them, within a time of its own; raises OSError, saying why not."""
        ...


class Sender:
    """Sends what is put in, in order, in a thread of its own."""

    def __init__(self, channel: Channel, delays_s: Sequence[float] = DELAYS_S) -> None:
        self._channel = channel
        self._delays_s = delays_s
        self._queue: deque[Told] = deque()
        self._dropped = 0
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"pregon-notices-{channel.name}", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def stop_soon(self) -> None:
        """Try once more what is waiting, and end; `join` waits for it."""
        self._stopping.set()
        with self._changed:
            self._changed.notify()

    def join(self, timeout_s: float) -> None:
        """Wait until it has ended, but not longer than this: what takes longer is left."""
        if self._thread.is_alive():
            self._thread.join(max(0.0, timeout_s))

    def put(self, told: Told) -> None:
        """Send this when its turn comes; never waits."""
        with self._changed:
            if len(self._queue) >= QUEUE_MAX:
                self._dropped += 1
                return
            self._queue.append(told)
            self._changed.notify()

    def _take(self) -> list[Told]:
        """The next ones, when there are any; none when it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._stopping.is_set())
            count = min(len(self._queue), self._channel.together_max)
            dropped, self._dropped = self._dropped, 0
            taken = [self._queue.popleft() for _ in range(count)]
        if dropped:
            log.warning("notices dropped", extra={"channel": self._channel.name, "count": dropped})
        return taken

    def _run(self) -> None:
        while taken := self._take():
            try:
                self._send(taken)
            except Exception:  # The top of the thread's loop: the next notice may be sendable.
                log.exception("a notice failed by a bug", extra={"channel": self._channel.name})

    def _send(self, taken: Sequence[Told]) -> None:
        """Send them, now or a few times later."""
        for delay_s in (*self._delays_s, None):
            try:
                self._channel.send(taken)
                return
            except OSError as error:
                reason = str(error) or type(error).__name__
            if delay_s is None or self._stopping.wait(delay_s):
                break
        extra = {"channel": self._channel.name, "count": len(taken), "reason": reason, "ids": [one.id for one in taken]}
        log.error("notices not sent", extra=extra)
