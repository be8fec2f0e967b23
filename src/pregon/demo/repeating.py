"""Something that is done again and again in a thread of its own, until it is told to stop.

Promise: what goes wrong in there is not lost: `check` raises it for whoever asks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from pregon.errors import HubStopping

_JOIN_S_MAX = 20.0


class Repeating:
    """Calls a function, waits, and calls it again."""

    def __init__(self, work: Callable[[], object], every_s: float) -> None:
        self._work = work
        self._every_s = every_s
        self._stop = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="pregon-demo", daemon=True)

    def start(self) -> None:
        """Begin, with a wait."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """Let what is under way be the last."""
        self._stop.set()

    def stop(self) -> None:
        """The same, and wait for it; harmless if it was never started."""
        self.ask_to_stop()
        if self._thread.is_alive():
            self._thread.join(_JOIN_S_MAX)

    def check(self) -> None:
        """Raise what went wrong, if something did."""
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._every_s):
                self._work()
        except HubStopping:
            return  # The demo ends while this was asking.
        except Exception as error:  # The top of the thread: whoever directs the demo is told by `check`.
            self._failure = error
