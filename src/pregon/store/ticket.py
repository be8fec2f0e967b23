"""A ticket: the promise of an answer that another thread will give.

Much lighter than `concurrent.futures.Future`, because there is one for every message that is published
alone: no lock and no condition unless somebody blocks on it. One callback at most, called in the thread
that resolves the ticket.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from pregon.errors import HubUnreachable, PregonError

T = TypeVar("T")
U = TypeVar("U")

_callback_lock = threading.Lock()
"""Held for two assignments; one for all tickets, so that a ticket stays small."""


class Ticket(Generic[T]):
    """Resolved once, with a value or an error."""

    __slots__ = ("_callback", "_error", "_event", "_value", "give_up", "is_done")

    def __init__(self) -> None:
        self.is_done = False
        self._value: T | None = None
        self._error: PregonError | None = None
        self._callback: Callable[[Ticket[T]], None] | None = None
        self._event: threading.Event | None = None
        self.give_up: Callable[[], None] | None = None
        """What to call when nobody waits for the answer any more; only an answer that takes long has it."""

    def abandon(self) -> None:
        """Nobody waits for the answer any more; it may still come."""
        if self.give_up is not None and not self.is_done:
            self.give_up()

    def resolve(self, value: T) -> None:
        """Answer with a value."""
        self._value = value
        self._finish()

    def fail(self, error: PregonError) -> None:
        """Answer with an error."""
        self._error = error
        self._finish()

    def _finish(self) -> None:
        with _callback_lock:
            self.is_done = True
            callback, self._callback = self._callback, None
        if callback is not None:
            callback(self)
        # Whoever waits made its event before it looked at is_done, so one of the two sees the other.
        if self._event is not None:
            self._event.set()

    def when_done(self, callback: Callable[[Ticket[T]], None]) -> None:
        """Call back once, now if it is resolved already."""
        with _callback_lock:
            is_done = self.is_done
            if not is_done:
                self._callback = callback
        if is_done:
            callback(self)

    def result(self, timeout_s: float = 30.0) -> T:
        """Wait for the answer; raises its error, or HubUnreachable when it does not come in time."""
        if not self.is_done:
            with _callback_lock:
                event = self._event = self._event or threading.Event()
            if not self.is_done and not event.wait(timeout_s):
                raise HubUnreachable(f"no answer in {timeout_s} s")
        return self.value()

    def value(self) -> T:
        """The answer of a resolved ticket; raises its error."""
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]


def then(ticket: Ticket[T], go_on: Callable[[T], U]) -> Ticket[U]:
    """The answer of a ticket, changed; its error, or that of the change."""
    answer: Ticket[U] = Ticket()
    answer.give_up = ticket.abandon

    def done(resolved: Ticket[T]) -> None:
        try:
            changed = go_on(resolved.value())
        except PregonError as error:
            answer.fail(error)
        else:
            answer.resolve(changed)

    ticket.when_done(done)
    return answer


def pass_on(ask: Callable[[], Ticket[T]], answer: Ticket[T]) -> None:
    """Answer with what another ticket is answered with, or with the error that asking for it raises."""

    def done(resolved: Ticket[T]) -> None:
        try:
            value = resolved.value()
        except PregonError as error:
            answer.fail(error)
        else:
            answer.resolve(value)

    try:
        ask().when_done(done)
    except PregonError as error:
        answer.fail(error)
