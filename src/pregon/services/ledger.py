"""The ledger: every request that was taken, from when it is until it is finished, and who is told.

Which worker has a request is left to `broker`, which is a ledger with workers. What is to be sent is left in
`to_front` and `to_back`, in order.

Promises:
- A request is entered once and leaves once; `held_bytes` and `under_way` are exactly those that have not left.
- Who asked is told once; not at all if it has cancelled or is gone.
"""

from __future__ import annotations

from typing import Protocol

from pregon.errors import DeadlinePassed, PoisonRequest, PregonError, QueueFull
from pregon.limits import SERVICE_QUEUED_BYTES_MAX
from pregon.services.counts import Counts
from pregon.services.lines import DEFAULT_TYPE, Lines
from pregon.services.options import ServiceOptions
from pregon.services.poison import PoisonShelf
from pregon.services.replies import ANSWERED, Replies
from pregon.services.request import Asker, Body, Key, Request
from pregon.services.worker import Worker
from pregon.wire.services import DROP, encode_head

Frames = list[bytes]
_NOTHING: Frames = []


class Keeper(Protocol):
    """Who keeps durable requests."""

    def finished(self, request: Request, outcome: Body | PregonError) -> None:
        """A durable request has its outcome."""
        ...

    def attempted(self, request: Request) -> None:
        """A worker was lost with it."""
        ...

    def client_gone(self, identity: bytes) -> None:
        """Nobody is there any more to collect what it waited for."""
        ...


class Ledger:
    """What is under way, and what it weighs."""

    def __init__(self, options: ServiceOptions | None = None, default_type: str = DEFAULT_TYPE) -> None:
        self.lines = Lines(options or ServiceOptions(), default_type)
        self.under_way: dict[Key, Request] = {}
        """Requests with a number of their client's, by its turn and that number."""
        self.with_deadline: list[Request] = []
        """New ones, for `watch` to look after."""
        self.keeper: Keeper | None = None
        self.poison = PoisonShelf()
        self.counts = Counts()
        self.replies = Replies(self.counts)
        self.now_ms = 0.0
        self.held_bytes = 0
        self.to_front = self.replies.to_front
        self.to_back: list[Frames] = []

    def at(self, now_ms: float) -> None:
        """It is this time, for all that happens until the next call."""
        self.now_ms = now_ms

    def refuse(self, asker: Asker, id: bytes, error: PregonError) -> None:
        """Tell who asked that its request is not taken."""
        self.counts.refused += 1
        self.replies.reply(asker, id, error)

    def refusal(self, request: Request) -> PregonError | None:
        """Why a request cannot wait; None if it can."""
        line = request.line
        if request.durable_id:
            return None  # It was let in before it was stored.
        if line.waiting.count >= line.options.queue_max:
            return QueueFull(f"{line.waiting.count} requests wait for {line.name} already: ask again after a pause")
        if self.held_bytes + request.size > SERVICE_QUEUED_BYTES_MAX:
            return QueueFull("the broker holds as many bytes as it may: ask again after a pause")
        if request.deadline_ms is not None:
            expected_ms = line.expected_ms(request.priority)
            if self.now_ms + expected_ms > request.deadline_ms:
                return DeadlinePassed(
                    f"{line.name} would answer in about {expected_ms:.0f} ms, after the deadline: allow more time"
                )
        return None

    def cancel(self, request: Request) -> None:
        """Nobody waits for it any more; who works on it may know."""
        if request.is_done:
            return
        self.counts.cancelled += 1
        self._leave(request)
        request.body = _NOTHING
        if not request.line.waiting.remove(request):
            self.not_wanted(request)

    def not_wanted(self, request: Request) -> None:
        """Tell the worker that has a request, if one has, that nobody waits for it."""
        worker = request.worker
        if worker is not None and request.work_id in worker.in_hand:
            self.tell_to_drop(worker, request.work_id)

    def tell_to_drop(self, worker: Worker, work_id: bytes) -> None:
        """The answer to a piece of work will be dropped; a worker of the plain form cannot be told."""
        if not worker.is_plain:
            self.to_back.append([worker.identity, encode_head(DROP, work_id)])

    def client_gone(self, identity: bytes) -> None:
        """An answer could not be brought: what else this client has waiting is not worked on."""
        self.counts.answers_undeliverable += 1
        if self.keeper is not None:
            self.keeper.client_gone(identity)
        for line in self.lines.values():
            for request in line.waiting.of_client(identity) if line.waiting.count else ():
                if not request.durable_id:
                    self.cancel(request)

    def finish(self, request: Request, outcome: Body | PregonError) -> None:
        """Tell who asked; once."""
        if request.is_done:
            return
        self._leave(request)
        request.ended_ms = self.now_ms
        if isinstance(outcome, PregonError):
            self._fail(request, outcome)
            return
        self.counts.answered += 1
        request.outcome = ANSWERED
        self.replies.trace(request)
        if request.durable_id and self.keeper is not None:
            self.keeper.finished(request, outcome)
        else:
            self.replies.answer(request.asker, request.id, outcome)
        request.body = _NOTHING  # It is remembered for a while; what it asked need not be.

    def _fail(self, request: Request, error: PregonError) -> None:
        request.line.failed += 1
        self.counts.failed += 1
        request.outcome = error.code
        self.replies.trace(request)
        if request.durable_id and self.keeper is not None:
            self.keeper.finished(request, error)
        else:
            self.replies.reply(request.asker, request.id, error)
        if not isinstance(error, PoisonRequest):
            request.body = _NOTHING

    def _leave(self, request: Request) -> None:
        request.is_done = True
        self.held_bytes -= request.size
        if request.key is not None:
            del self.under_way[request.key]
