"""Which worker gets the next request: the workers of one service that have room, in an order.

    round robin     each in turn: who was given a request goes to the end         constant
    longest idle    the free slot that has waited longest                         constant
    least loaded    the smallest load, then the longest idle: a heap              logarithmic

Where every worker takes one request at a time, the first two choose the same.

A worker is taken out lazily: it may be in several pools with the same free slots, so an entry counts only if the
worker still has room when its turn comes.

Promises:
- `take` returns a worker with room, if one was offered since it last had none.
- A pool has at most twice as many entries as its workers' slots, and a few.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import Protocol

from pregon.services.options import LEAST_LOADED, ROUND_ROBIN
from pregon.services.worker import Worker

_SPARE_ENTRIES = 64


class Pool(Protocol):
    """Workers with room, in an order."""

    def offer(self, worker: Worker) -> None:
        """A slot of it is free: called once for each."""
        ...

    def take(self) -> Worker | None:
        """Whose turn it is to be given one request, None if nobody has room."""
        ...

    def forget(self, worker: Worker) -> None:
        """It takes no more, until it is offered again."""
        ...


class _Place:
    """A worker in a queue, however many times: once for each free slot, or once."""

    __slots__ = ("count", "worker")

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.count = 0
        """How many of its turns in the queue count; after it left, none."""


class InTurn:
    """A queue of workers; `is_by_slot` has each free slot stand in it, else each worker stands in it once."""

    def __init__(self, *, is_by_slot: bool) -> None:
        self._is_by_slot = is_by_slot
        self._turns: deque[_Place] = deque()
        self._places: dict[Worker, _Place] = {}
        self._passed_over = 0
        """Turns in the queue of workers that left."""

    def __len__(self) -> int:
        return len(self._turns)

    def offer(self, worker: Worker) -> None:
        """At the end of the queue."""
        place = self._places.get(worker)
        if place is None:
            place = self._places[worker] = _Place(worker)
        if place.count < (worker.slots if self._is_by_slot else 1):
            place.count += 1
            self._turns.append(place)

    def take(self) -> Worker | None:
        """The first that has room."""
        turns = self._turns
        while turns:
            place = turns.popleft()
            if not place.count:
                self._passed_over -= 1
                continue
            place.count -= 1
            worker = place.worker
            if worker.free:
                if worker.free > 1 and not self._is_by_slot:
                    self.offer(worker)
                return worker
        return None

    def forget(self, worker: Worker) -> None:
        """Its turns are passed over when they come, or removed now if there are many like them."""
        place = self._places.pop(worker, None)
        if place is None:
            return
        self._passed_over += place.count
        place.count = 0
        if self._passed_over > len(self._turns) // 2 + _SPARE_ENTRIES:
            self._turns = deque(one for one in self._turns if one.count)
            self._passed_over = 0


class ByLoad:
    """A heap by load. The last entry of a worker counts; older ones are passed over."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, int, Worker]] = []
        self._newest: dict[Worker, int] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._heap)

    def offer(self, worker: Worker) -> None:
        """By its load, and by how much of it is taken already, which it could not tell yet."""
        self._push(worker, worker.load + (worker.slots - worker.free) / worker.slots)

    def _push(self, worker: Worker, weight: float) -> None:
        self._count = count = self._count + 1
        self._newest[worker] = count
        heapq.heappush(self._heap, (weight, worker.idle_mark, count, worker))
        self._tidy()

    def _tidy(self) -> None:
        if len(self._heap) > 2 * len(self._newest) + _SPARE_ENTRIES:
            self._heap = [entry for entry in self._heap if self._newest.get(entry[3]) == entry[2]]
            heapq.heapify(self._heap)

    def take(self) -> Worker | None:
        """The least loaded that has room."""
        newest = self._newest
        while self._heap:
            weight, _, count, worker = heapq.heappop(self._heap)
            if newest.get(worker) != count:
                continue
            del newest[worker]
            if not worker.free:
                continue
            now = worker.load + (worker.slots - worker.free) / worker.slots
            if now > weight:
                # Another pool has given it work since.
                self._push(worker, now)
                continue
            if worker.free > 1:
                self._push(worker, worker.load + (worker.slots - worker.free + 1) / worker.slots)
            return worker
        return None

    def forget(self, worker: Worker) -> None:
        """Its entry is passed over when it comes up."""
        if self._newest.pop(worker, None) is not None:
            self._tidy()


def make_pool(policy: str) -> Pool:
    """The pool of a policy."""
    if policy == LEAST_LOADED:
        return ByLoad()
    return InTurn(is_by_slot=policy != ROUND_ROBIN)
