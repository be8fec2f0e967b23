"""Many inputs, so many under way at once, results in the order of the inputs.

Pure: it only says when one more may be asked and which results are next.
"""

from __future__ import annotations

from collections import deque

from pregon.client.services.ask import Ask, Waiter
from pregon.client.services.conversation import UNDER_WAY_MAX
from pregon.errors import BadRequest

AHEAD = 4
"""Results that came before their turn are kept, this many times `in_flight`; then no more is asked until they go."""


class Window:
    """Asks, in order, of which at most `in_flight` wait for their answer."""

    def __init__(self, in_flight: int) -> None:
        if not 1 <= in_flight <= UNDER_WAY_MAX:
            raise BadRequest(f"in_flight is 1 to {UNDER_WAY_MAX}, not {in_flight}")
        self._in_flight = in_flight
        self._asks: deque[Ask] = deque()
        self._open = 0
        self.waiter: Waiter | None = None
        """Who is told whenever one of them is done."""

    def __len__(self) -> int:
        """How many were added and not yet taken."""
        return len(self._asks)

    @property
    def is_next_done(self) -> bool:
        """Whether the first has its answer."""
        return bool(self._asks) and self._asks[0].is_done

    @property
    def room(self) -> int:
        """How many more may be asked now."""
        return max(0, min(self._in_flight - self._open, AHEAD * self._in_flight - len(self._asks)))

    @property
    def has_much_room(self) -> bool:
        """Whether it is worth while to ask for more before the results that are there are dealt with."""
        return self.room * 8 >= self._in_flight

    def add(self, ask: Ask) -> None:
        """One more at the end."""
        self._open += 1
        self._asks.append(ask)

    def set(self) -> None:
        """One of them is done: the window is its asks' waiter."""
        self._open -= 1
        if self.waiter is not None:
            self.waiter.set()

    def take(self) -> Ask | None:
        """The first, if it is done."""
        return self._asks.popleft() if self._asks and self._asks[0].is_done else None

    def rest(self) -> list[Ask]:
        """Those that nobody will take any more."""
        rest = [ask for ask in self._asks if not ask.is_done]
        self._asks.clear()
        return rest
