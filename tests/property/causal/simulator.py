"""A network and a time that exist only here: the same seed gives the same history, to the last message.

Every link has its own delay, and what travels on it may overtake, be lost, come twice, or meet a partition. Nothing
sleeps and there are no threads: time is a number, and jumps to whatever happens next.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from itertools import count
from random import Random
from typing import Any

import msgspec


class Weather(msgspec.Struct, frozen=True):
    """How bad the network is."""

    delay_ms_max: float = 200.0
    """Each link has a delay of its own up to this, and what travels on it up to twice that."""
    loss: float = 0.1
    copies: float = 0.1
    partition_every_ms: float = 3_000.0
    partition_ms_max: float = 1_500.0


CALM = Weather(delay_ms_max=20.0, loss=0.0, copies=0.0, partition_every_ms=0.0)


class Simulator:
    """Virtual time, and what happens in it."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.now_ms = 0.0
        self._order = count()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self.steps = 0

    def after(self, delay_ms: float, act: Callable[[], None]) -> None:
        """Do something later. What is set for the same moment is done in the order in which it was set."""
        heapq.heappush(self._events, (self.now_ms + delay_ms, next(self._order), act))

    def run(self, is_done: Callable[[], bool], until_ms: float) -> bool:
        """Let time pass until it is done, or too late; whether it was done."""
        while self._events and self.now_ms < until_ms:
            self.now_ms, _, act = heapq.heappop(self._events)
            act()
            self.steps += 1
            if self.steps % 16 == 0 and is_done():
                return True
        return is_done()


class Network:
    """Carries things from one process to another, as the weather allows."""

    def __init__(self, simulator: Simulator, weather: Weather, take: Callable[[int, int, Any], None]) -> None:
        self._simulator = simulator
        self.weather = weather
        self._take = take
        self._base_ms: dict[tuple[int, int], float] = {}
        self._side: dict[int, int] = {}
        self.lost = self.copied = self.cut = 0
        if weather.partition_every_ms:
            simulator.after(weather.partition_every_ms, self._part)

    def send(self, source: int, to: int, thing: Any) -> None:
        """Bring it there, perhaps."""
        chance = self._simulator.chance
        if self.weather.loss and chance.random() < self.weather.loss:
            self.lost += 1
            return
        self._carry(source, to, thing)
        if self.weather.copies and chance.random() < self.weather.copies:
            self.copied += 1
            self._carry(source, to, thing)

    def calm_down(self) -> None:
        """From now on nothing is lost, and everybody can be reached."""
        self.weather = CALM
        self._side.clear()

    def may_reach(self, source: int, to: int) -> bool:
        """Whether these are on the same side of a partition."""
        return self._side.get(source, 0) == self._side.get(to, 0)

    def _carry(self, source: int, to: int, thing: Any) -> None:
        chance = self._simulator.chance
        base = self._base_ms.get((source, to))
        if base is None:
            base = self._base_ms[source, to] = chance.random() * self.weather.delay_ms_max
        self._simulator.after(base * (1 + chance.random()), lambda: self._arrive(source, to, thing))

    def _arrive(self, source: int, to: int, thing: Any) -> None:
        if self.may_reach(source, to):
            self._take(source, to, thing)
        else:
            self.cut += 1

    def _part(self) -> None:
        weather, chance = self.weather, self._simulator.chance
        if not weather.partition_every_ms:
            return
        # Who was never seen is on side 0: a partition takes some of the others away.
        self._side = {process: chance.choice((0, 0, 1)) for link in self._base_ms for process in link}
        self._simulator.after(chance.random() * weather.partition_ms_max, self._side.clear)
        self._simulator.after(weather.partition_every_ms * (0.5 + chance.random()), self._part)


def pick(chance: Random, among: Iterable[int]) -> int:
    """One of these, the same for the same seed whatever they are kept in."""
    return chance.choice(sorted(among))
