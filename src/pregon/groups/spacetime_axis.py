"""From instants to places on paper: real time with its long silences left out, or only the order.

Promises:
- What is later is never further left; with `Order`, what was caused is further right than its cause.
- Between two breaks, equal times are equally long, and the same as between any other two.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

BREAK_WIDTH = 34.0
"""What a silence takes that is left out."""
_SILENCE_US_MIN = 100_000
_SILENCE_GAPS = 20
_SILENCE_WHILE_WAITING = 100
"""While something is on its way nothing else may happen for so many times longer before time is left out."""
_JOURNEY_WIDTH = 24.0
"""What the usual message takes from its sender to its receiver, if there is room."""
_MESSAGE_WIDTH_MAX = 48.0
_TICK_WIDTH_MIN = 110.0


@dataclass(frozen=True, slots=True)
class Silence:
    """Time that is left out, in the middle of its break."""

    x: float
    span_us: int


@dataclass(frozen=True, slots=True)
class Tick:
    """An instant that is written at the axis."""

    x: float
    at_us: int


class TimeAxis:
    """Real time. Journeys are pairs of instants between which something was on its way."""

    def __init__(self, journeys: Sequence[tuple[int, int]], messages: int, room: float) -> None:
        instants = sorted({instant for journey in journeys for instant in journey})
        gaps = [later - earlier for earlier, later in pairwise(instants)]
        self._instants = instants
        self._is_silent = _find_silences(instants, gaps, journeys)
        active_us = sum(gap for gap, is_silent in zip(gaps, self._is_silent, strict=True) if not is_silent)
        room = max(room - BREAK_WIDTH * sum(self._is_silent), 1.0)
        self._scale = _find_scale(active_us, journeys, room, max(room, messages * _MESSAGE_WIDTH_MAX))
        self._places = [0.0]
        for gap, is_silent in zip(gaps, self._is_silent, strict=True):
            self._places.append(self._places[-1] + (BREAK_WIDTH if is_silent else gap * self._scale))

    @property
    def width(self) -> float:
        """What all of it takes."""
        return self._places[-1]

    def place(self, at_us: int) -> float:
        """Where one of the instants is."""
        return self._places[max(0, bisect_right(self._instants, at_us) - 1)]

    def silences(self) -> list[Silence]:
        """What is left out."""
        return [
            Silence(self._places[row] + BREAK_WIDTH / 2, self._instants[row + 1] - self._instants[row])
            for row, is_silent in enumerate(self._is_silent)
            if is_silent
        ]

    def ticks(self) -> list[Tick]:
        """The beginning of each stretch between silences, and round instants in it, as many as can be read."""
        step_us = _round_step(_TICK_WIDTH_MIN / self._scale) if self._scale else 0
        found: list[Tick] = []
        for first, last in self._stretches():
            begin_us, begin, end = self._instants[first], self._places[first], self._places[last]
            wanted = [Tick(begin, begin_us)]
            if step_us and end - begin >= _TICK_WIDTH_MIN:
                after_us = begin_us - begin_us % step_us + step_us
                wanted += [
                    Tick(begin + (at_us - begin_us) * self._scale, at_us)
                    for at_us in range(after_us, self._instants[last] + 1, step_us)
                ]
            for tick in wanted:
                if not found or tick.x - found[-1].x >= _TICK_WIDTH_MIN * 0.8:
                    found.append(tick)
        return found

    def _stretches(self) -> Iterable[tuple[int, int]]:
        first = 0
        for row, is_silent in enumerate(self._is_silent):
            if is_silent:
                yield first, row
                first = row + 1
        if self._instants:
            yield first, len(self._instants) - 1


def _find_silences(instants: list[int], gaps: list[int], journeys: Sequence[tuple[int, int]]) -> list[bool]:
    """Which gaps are so long that they are left out."""
    if not gaps:
        return []
    silence_us = max(_SILENCE_US_MIN, _SILENCE_GAPS * median(gaps))
    found = []
    busy_until_us, ahead = 0, sorted(journeys)
    place = 0
    for instant, gap in zip(instants, gaps, strict=False):
        while place < len(ahead) and ahead[place][0] <= instant:
            busy_until_us = max(busy_until_us, ahead[place][1])
            place += 1
        patience = _SILENCE_WHILE_WAITING if busy_until_us > instant else 1
        found.append(gap > silence_us * patience)
    return found


def _find_scale(active_us: int, journeys: Sequence[tuple[int, int]], room: float, room_max: float) -> float:
    """How wide a microsecond is: all the room, and more if the usual journey could not be seen otherwise."""
    if active_us == 0:
        return 0.0
    spans_us = [end_us - begin_us for begin_us, end_us in journeys if end_us > begin_us]
    wanted = _JOURNEY_WIDTH / median(spans_us) if spans_us else 0.0
    return max(room / active_us, min(wanted, room_max / active_us))


def _round_step(least_us: float) -> int:
    """The first of 1, 2, 5, 10, 20 … microseconds that is at least so long."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= least_us:
                return factor * power
        power *= 10


class Order:
    """Only what came before what: each event on a line is one step after the last of that line and after its causes."""

    def __init__(self, room: float, step_min: float = 20.0) -> None:
        self._room, self._step_min = room, step_min
        self._last_of: dict[int, int] = {}
        self.steps = 0

    def add(self, line: int, causes: Iterable[int] = ()) -> int:
        """One more event of a line; its step."""
        step = 1 + max([self._last_of.get(line, -1), *causes])
        self._last_of[line] = step
        self.steps = max(self.steps, step)
        return step

    @property
    def width(self) -> float:
        """What all of it takes."""
        return max(self._room, self.steps * self._step_min) if self.steps else 0.0

    def place(self, step: int) -> float:
        """Where a step is."""
        return self.width * step / self.steps if self.steps else 0.0
