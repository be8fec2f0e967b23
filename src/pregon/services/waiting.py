"""Requests that wait for a worker, fair among clients.

The higher priority goes first. Within one, clients take turns, each with its oldest request, so that one who asks
for a thousand things does not keep the others waiting. What was taken from a lost worker goes before all of them:
it has waited once already.

Promises:
- Adding, taking and removing cost the same however many wait.
- Of one client and one priority, requests leave in the order in which they came.
"""

from __future__ import annotations

from collections import OrderedDict

from pregon.services.request import Request, Turn
from pregon.wire.services import PRIORITY_MAX

_Queue = OrderedDict[Request, None]


class FairQueue:
    """Who is next."""

    def __init__(self) -> None:
        self.count = 0
        """How many wait."""
        self._levels: list[OrderedDict[Turn, _Queue]] = [OrderedDict() for _ in range(PRIORITY_MAX + 1)]
        self._highest_first = self._levels[::-1]
        self._sizes = [0] * (PRIORITY_MAX + 1)
        """How many wait in each of them."""
        self._again: _Queue = OrderedDict()
        self._order: _Queue = OrderedDict()
        """Those that do not wait for ever, by when they were queued."""

    def __len__(self) -> int:
        return self.count

    def add(self, request: Request) -> None:
        """At the end of its client's queue."""
        self._enter(request)
        clients = self._levels[request.priority]
        turn = request.asker.turn
        queue = clients.get(turn)
        if queue is None:
            clients[turn] = queue = OrderedDict()
        queue[request] = None
        self._sizes[request.priority] += 1

    def add_again(self, request: Request) -> None:
        """Before all that wait."""
        self._enter(request)
        self._again[request] = None

    def _enter(self, request: Request) -> None:
        self.count += 1
        request.is_queued = True
        if not request.durable_id:
            self._order[request] = None

    def _leave(self, request: Request) -> None:
        self.count -= 1
        request.is_queued = False
        if not request.durable_id:
            del self._order[request]

    def take(self) -> Request:
        """The next one; for who knows that there is one."""
        if self._again:
            request, _ = self._again.popitem(last=False)
            self._leave(request)
            return request
        for clients in self._highest_first:
            if clients:
                turn, queue = next(iter(clients.items()))
                request, _ = queue.popitem(last=False)
                if queue:
                    clients.move_to_end(turn)
                else:
                    del clients[turn]
                self._sizes[request.priority] -= 1
                self._leave(request)
                return request
        raise AssertionError("nothing waits here")

    def remove(self, request: Request) -> bool:
        """It waits no more; whether it did."""
        if not request.is_queued:
            return False
        self._leave(request)
        if request in self._again:
            del self._again[request]
            return True
        clients = self._levels[request.priority]
        queue = clients[request.asker.turn]
        del queue[request]
        if not queue:
            del clients[request.asker.turn]
        self._sizes[request.priority] -= 1
        return True

    def oldest(self) -> Request | None:
        """Who, of those that do not wait for ever, was queued first."""
        return next(iter(self._order)) if self._order else None

    def of_client(self, turn: Turn) -> list[Request]:
        """What a client has waiting."""
        again = [request for request in self._again if request.asker.turn == turn]
        return again + [request for clients in self._levels for request in clients.get(turn, ())]

    def ahead_of(self, priority: int) -> int:
        """How many of this priority or a higher one wait."""
        return len(self._again) + sum(self._sizes[priority:])

    def all(self) -> list[Request]:
        """All of them, in no order that matters."""
        queues = [queue for clients in self._highest_first for queue in clients.values()]
        return [request for queue in (self._again, *queues) for request in queue]
