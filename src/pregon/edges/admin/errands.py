"""Errands to somebody else's server, for a page that must not wait long.

Pages are made by few threads, and whoever asks for one may be anybody. So one page at a time waits for such a server,
and not for long, and nobody waits for that page's turn to end; when the server gave no answer, nobody asks it again for
a while.

Promises:
- `run` returns or raises within `_ANSWER_S_MAX`, whatever the server does, and at once for all but one who call it.
- An errand that nobody waits for any more ends by itself; there are never more than `_WORKERS_MAX`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, InvalidStateError
from typing import Any, TypeVar

from pregon.clock import monotonic_ms
from pregon.errors import HubBusy, HubStopping, KeysUnavailable

T = TypeVar("T")

_ANSWER_S_MAX = 5.0
_PAUSE_MS = 5_000.0
"""For how long a server that gave no answer is left alone."""
_WORKERS_MAX = 3


class Errands:
    """Runs errands to one server. For many threads."""

    def __init__(self, now_ms: Callable[[], float] = monotonic_ms, answer_s_max: float = _ANSWER_S_MAX) -> None:
        self._now_ms = now_ms
        self._answer_s_max = answer_s_max
        self._turn = threading.Lock()
        self._workers = threading.BoundedSemaphore(_WORKERS_MAX)
        self._pause_until_ms = -1.0
        self._awaited: Future[Any] | None = None
        self._is_stopping = False

    def run(self, errand: Callable[[], T]) -> T:
        """What the errand brings, or raises; KeysUnavailable when it brings nothing in time, HubBusy for no turn."""
        self._require_no_pause()
        # Not even for a moment: who waits here holds one of the few threads that make everybody's pages.
        if not self._turn.acquire(blocking=False):
            raise HubBusy("many people are entering at this moment: try again in a moment")
        try:
            # Whoever had the turn before may have waited in vain.
            self._require_no_pause()
            return self._run(errand)
        except KeysUnavailable:
            self._pause_until_ms = self._now_ms() + _PAUSE_MS
            raise
        finally:
            self._turn.release()

    def stop(self) -> None:
        """Whoever waits is told that the hub stops."""
        self._is_stopping = True
        awaited = self._awaited
        if awaited is not None:
            awaited.cancel()

    def _require_no_pause(self) -> None:
        if self._now_ms() < self._pause_until_ms:
            raise KeysUnavailable("it gave no answer a moment ago: try again in some seconds")

    def _run(self, errand: Callable[[], T]) -> T:
        if not self._workers.acquire(blocking=False):
            raise KeysUnavailable("it still owes answers to others: try again in some seconds")
        answer: Future[T] = Future()
        self._awaited = answer
        threading.Thread(target=self._carry_out, args=(errand, answer), name="pregon-errand", daemon=True).start()
        if self._is_stopping:
            answer.cancel()
        try:
            return answer.result(self._answer_s_max)
        except CancelledError as error:
            raise HubStopping("the hub is stopping: try again in a moment") from error
        except TimeoutError as error:
            answer.cancel()
            raise KeysUnavailable(f"it gave no answer in {self._answer_s_max:g} seconds") from error

    def _carry_out(self, errand: Callable[[], T], answer: Future[T]) -> None:
        try:
            brought = errand()
        except Exception as error:  # The top of a thread: whoever waits gets it, whatever it is.
            _settle(answer.set_exception, error)
        else:
            _settle(answer.set_result, brought)
        finally:
            self._workers.release()


def _settle(tell: Callable[[Any], None], what: object) -> None:
    try:
        tell(what)
    except InvalidStateError:
        return  # Nobody waits for it any more.
