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
from pregon.services.worker import READY, Worker

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
        """It takes no more."""
        ...


class InTurn:
    """A queue of workers; `is_by_slot` has each free slot stand in it, else each worker stands in it once."""

    def __init__(self, *, is_by_slot: bool) -> None:
        self._is_by_slot = is_by_slot
        self._turns: deque[Worker] = deque()
        self._entries: dict[Worker, int] = {}
        """How many places of each worker count; any more of them are passed over."""
        self._count = 0

    def offer(self, worker: Worker) -> None:
        """At the end of the queue."""
        count = self._entries.get(worker, 0)
        if count < (worker.slots if self._is_by_slot else 1):
            self._entries[worker] = count + 1
            self._count += 1
            self._turns.append(worker)

    def take(self) -> Worker | None:
        """The first that has room."""
        turns, entries = self._turns, self._entries
        while turns:
            worker = turns.popleft()
            count = entries.get(worker, 0)
            if not count:
                continue
            entries[worker] = count - 1
            self._count -= 1
            if worker.free > 0 and worker.state == READY:
                if worker.free > 1 and not self._is_by_slot:
                    self.offer(worker)
                return worker
        return None

    def forget(self, worker: Worker) -> None:
        """Its places are passed over when their turn comes, or removed now if there are many like them."""
        self._count -= self._entries.pop(worker, 0)
        if len(self._turns) > 2 * self._count + _SPARE_ENTRIES:
            left = dict(self._entries)
            kept: deque[Worker] = deque()
            for one in self._turns:
                if left.get(one, 0):
                    left[one] -= 1
                    kept.append(one)
            self._turns = kept


class ByLoad:
    """A heap by load. The last offer of a worker counts; older ones are passed over."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, int, Worker]] = []
        self._newest: dict[Worker, int] = {}
        self._count = 0

    def offer(self, worker: Worker) -> None:
        """By its load, and by how much of it is taken already, which it could not tell yet."""
        self._push(worker, worker.slots - worker.free)

    def _push(self, worker: Worker, busy: int) -> None:
        self._count = count = self._count + 1
        self._newest[worker] = count
        heapq.heappush(self._heap, (worker.load + busy / worker.slots, worker.idle_mark, count, worker))
        if len(self._heap) > 2 * len(self._newest) + _SPARE_ENTRIES:
            self._heap = [entry for entry in self._heap if self._newest.get(entry[3]) == entry[2]]
            heapq.heapify(self._heap)

    def take(self) -> Worker | None:
        """The least loaded that has room."""
        heap, newest = self._heap, self._newest
        while heap:
            _, _, count, worker = heapq.heappop(heap)
            if newest.get(worker) != count:
                continue
            del newest[worker]
            if worker.free > 0 and worker.state == READY:
                if worker.free > 1:
                    self._push(worker, worker.slots - worker.free + 1)
                return worker
        return None

    def forget(self, worker: Worker) -> None:
        """Its entry is passed over when it comes up."""
        self._newest.pop(worker, None)


def make_pool(policy: str) -> Pool:
    """The pool of a policy."""
    if policy == LEAST_LOADED:
        return ByLoad()
    return InTurn(is_by_slot=policy != ROUND_ROBIN)
