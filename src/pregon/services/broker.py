"""The broker: which request is with which worker. A state machine: events and the time in, frames out.

    a client asks ──► a worker with room? ──yes──► given to it ──► it answers ──► told to the client
                            │ no                       │ lost, or too slow
                            ▼                          ▼
                    waits, in its turn  ◄──── goes before all that wait, at most so often

How frames are read is left to `front` and `back`; time limits and signs of life to `watch`; what is durable to
`durables`. What is to be sent is left in `to_front` and `to_back`, in order.

Promises:
- A request that was taken is finished exactly once: answered, or told why not; unless its client is gone.
- A request is with one worker at most, and an answer counts only from the worker that has it.
- While a request waits, no worker that serves it has room.
"""

from __future__ import annotations

from typing import Protocol

from pregon.errors import DeadlinePassed, PoisonRequest, PregonError, QueueFull, ServiceFailed
from pregon.limits import SERVICE_QUEUED_BYTES_MAX
from pregon.services.counts import Counts
from pregon.services.lines import DEFAULT_TYPE, Lines
from pregon.services.options import ServiceOptions
from pregon.services.poison import PoisonShelf
from pregon.services.replies import ANSWERED, Replies
from pregon.services.request import Asker, Body, Request
from pregon.services.worker import GONE, LEAVING, LOST, READY, Worker
from pregon.wire.services import DROP, encode_head, encode_json

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


class Broker:
    """Lines, workers, and what is under way."""

    def __init__(self, options: ServiceOptions | None = None, default_type: str = DEFAULT_TYPE) -> None:
        self.lines = Lines(options or ServiceOptions(), default_type)
        self.workers: dict[bytes, Worker] = {}
        self.under_way: dict[tuple[bytes, bytes], Request] = {}
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
        self._work_number = 0
        self._idle_number = 0

    def at(self, now_ms: float) -> None:
        """It is this time, for all that happens until the next call."""
        self.now_ms = now_ms

    # Requests.

    def ask(self, request: Request) -> None:
        """A new request: to a worker at once, or into the queue, or refused."""
        line = request.line
        self.counts.requests += 1
        if not line.waiting:
            worker = line.pool.take()
            if worker is not None:
                self._enter(request)
                self._give(worker, request)
                return
        refusal = self._refusal(request)
        if refusal is not None:
            self.refuse(request.asker, request.id, refusal)
            line.refused += 1
            return
        self._enter(request)
        line.waiting.add(request)

    def _enter(self, request: Request) -> None:
        self.held_bytes += request.size
        if not request.asker.is_plain:
            self.under_way[request.asker.turn, request.id] = request
        if request.deadline_ms is not None:
            self.with_deadline.append(request)

    def _refusal(self, request: Request) -> PregonError | None:
        """Why a request cannot wait; None if it can."""
        line = request.line
        if request.durable_id:
            return None  # It was let in before it was stored.
        if len(line.waiting) >= line.options.queue_max:
            return QueueFull(f"{len(line.waiting)} requests wait for {line.name} already: ask again after a pause")
        if self.held_bytes + request.size > SERVICE_QUEUED_BYTES_MAX:
            return QueueFull("the broker holds as many bytes as it may: ask again after a pause")
        if request.deadline_ms is not None:
            expected_ms = line.expected_ms(request.priority)
            if self.now_ms + expected_ms > request.deadline_ms:
                return DeadlinePassed(
                    f"{line.name} would answer in about {expected_ms:.0f} ms, after the deadline: allow more time"
                )
        return None

    def refuse(self, asker: Asker, id: bytes, error: PregonError) -> None:
        """Tell who asked that its request is not taken."""
        self.counts.refused += 1
        self.replies.reply(asker, id, error)

    def cancel(self, request: Request) -> None:
        """Nobody waits for it any more; who works on it may know."""
        if request.is_done:
            return
        self.counts.cancelled += 1
        self._leave(request)
        if not request.line.waiting.remove(request) and request.worker is not None:
            worker = request.worker
            if not worker.is_plain and request.work_id in worker.in_hand:
                self.to_back.append([worker.identity, encode_head(DROP, request.work_id)])

    def _leave(self, request: Request) -> None:
        request.is_done = True
        self.held_bytes -= request.size
        if not request.asker.is_plain:
            self.under_way.pop((request.asker.turn, request.id), None)

    def finish(self, request: Request, outcome: Body | PregonError) -> None:
        """Tell who asked; once."""
        if request.is_done:
            return
        self._leave(request)
        line = request.line
        if isinstance(outcome, PregonError):
            line.failed += 1
            self.counts.failed += 1
            request.outcome = outcome.code
        else:
            self.counts.answered += 1
            request.outcome = ANSWERED
        request.ended_ms = self.now_ms
        self.replies.trace(request)
        if request.durable_id and self.keeper is not None:
            self.keeper.finished(request, outcome)
        else:
            self.replies.reply(request.asker, request.id, outcome)
        if not isinstance(outcome, PoisonRequest):
            request.body = _NOTHING  # It is remembered for a while; what it asked need not be.

    # Workers and their work.

    def _give(self, worker: Worker, request: Request) -> None:
        line = request.line
        self._work_number = number = self._work_number + 1
        request.work_id = work_id = number.to_bytes(8, "big")
        request.worker = worker
        request.sent_ms = self.now_ms
        request.load = worker.load
        request.policy = line.options.policy
        worker.free -= 1
        worker.in_hand[work_id] = line.in_hand[work_id] = request
        if worker.is_plain:
            self.to_back.append([worker.identity, b"", request.asker.identity, b"", *request.body])
            return
        tail = line.key
        if request.attempts or request.deadline_ms is not None:
            options: dict[str, float] = {"attempt": request.attempts + 1}
            if request.deadline_ms is not None:
                options["deadline_ms"] = max(1, int(request.deadline_ms - self.now_ms))
            tail = b"%b\n%b" % (tail, encode_json(options))
        self.to_back.append([worker.identity, b"PGS1R%b%b" % (work_id, tail), *request.body])

    def answered(self, worker: Worker, work_id: bytes, body: Body | ServiceFailed) -> None:
        """A worker brings an answer; it has a slot free again."""
        request = worker.in_hand.pop(work_id, None)
        if request is None:
            self._answered_too_late(worker, work_id)
            return
        line = request.line
        del line.in_hand[work_id]
        line.worked(self.now_ms - request.sent_ms)
        if isinstance(body, PregonError):
            worker.failed += 1
        else:
            worker.answered += 1
            line.answered += 1
        self.finish(request, body)
        self._regain(worker)

    def _answered_too_late(self, worker: Worker, work_id: bytes) -> None:
        if work_id not in worker.overdue and work_id not in worker.late:
            self.counts.answers_unknown += 1
            return
        self.counts.answers_late += 1
        worker.late.discard(work_id)
        worker.overdue.discard(work_id)
        self._regain(worker)

    def given_back(self, worker: Worker, work_id: bytes) -> None:
        """A worker has no room for what it was given: that goes to another, and it gets no more until it answers."""
        request = worker.in_hand.pop(work_id, None)
        if request is None:
            self.counts.answers_unknown += 1
            return
        del request.line.in_hand[work_id]
        if not worker.in_hand:
            # Nothing that it answers would bring it back: its next sign of life does.
            self._withdraw(worker)
            worker.state, worker.free = LOST, worker.slots
        self.dispatch_again(request)

    def take_away(self, request: Request) -> None:
        """A request takes too long: it goes to another worker, and its slot is lost until this one answers."""
        worker = request.worker
        assert worker is not None
        del worker.in_hand[request.work_id], request.line.in_hand[request.work_id]
        worker.overdue.add(request.work_id)
        self.lost_with(request, worker, f"no answer in {request.line.options.answer_ms} ms")

    def _regain(self, worker: Worker) -> None:
        """Slots that are neither in use nor held by something overdue are free."""
        while worker.free + len(worker.in_hand) + len(worker.overdue) < worker.slots:
            worker.free += 1
            self.slot_freed(worker)
            if worker.state != READY:
                return

    def dispatch_again(self, request: Request) -> None:
        """To another worker, or before all that wait."""
        if request.is_done:
            return
        request.worker = None
        request.queued_ms = self.now_ms
        worker = request.line.pool.take()
        if worker is not None:
            self._give(worker, request)
        else:
            request.line.waiting.add_again(request)

    def slot_freed(self, worker: Worker) -> None:
        """A slot of a worker is free: the next request that it serves, or into the pools."""
        self._idle_number = worker.idle_mark = self._idle_number + 1
        if worker.state != READY:
            if worker.state == LEAVING and not worker.in_hand:
                self.forget(worker)
            return
        lines = worker.lines
        count = len(lines)
        if count > 1:
            # Its lines take turns, so that a busy one does not starve the others.
            worker.turn = turn = (worker.turn + 1) % count
            lines = lines[turn:] + lines[:turn]
        for line in lines:
            if line.waiting:
                request = line.waiting.take()
                assert request is not None
                self._give(worker, request)
                return
        for line in lines:
            line.pool.offer(worker)

    def join(self, worker: Worker) -> None:
        """A worker takes work from now on, in all its slots."""
        self.workers[worker.identity] = worker
        worker.state = READY
        for line in worker.lines:
            line.workers.add(worker)
        for _ in range(worker.free):
            self.slot_freed(worker)

    def leave(self, worker: Worker) -> None:
        """A worker says goodbye: it takes no more, and answers what it has."""
        self._withdraw(worker)
        worker.state = LEAVING
        if not worker.in_hand:
            self.forget(worker)

    def forget(self, worker: Worker) -> None:
        """A worker is gone for good."""
        self._withdraw(worker)
        worker.state = GONE
        if self.workers.get(worker.identity) is worker:
            del self.workers[worker.identity]

    def _withdraw(self, worker: Worker) -> None:
        for line in worker.lines:
            line.workers.discard(worker)
            line.pool.forget(worker)

    def give_up(self, worker: Worker, reason: str) -> None:
        """A worker is lost: what it had goes to others. It is taken back when it next speaks."""
        if worker.state in (LOST, GONE):
            return
        self.counts.workers_lost += 1
        worker.lost_count += 1
        self._withdraw(worker)
        worker.state = LOST
        taken = worker.in_hand
        worker.in_hand = {}
        worker.late = {*taken, *worker.overdue}
        worker.overdue = set()
        worker.free = worker.slots
        for work_id, request in taken.items():
            del request.line.in_hand[work_id]
            self.lost_with(request, worker, reason)

    def lost_with(self, request: Request, worker: Worker, reason: str) -> None:
        """A worker was lost with a request: to another one, or, if that is too many, to the shelf."""
        if request.is_done:
            return
        request.attempts += 1
        request.killed = [*(request.killed or ()), worker.name]
        line = request.line
        if request.attempts >= line.options.attempts_max:
            self.counts.poisoned += 1
            number = self.poison.add(request, self.now_ms, reason)
            names = ", ".join(request.killed[-3:])
            self.finish(
                request,
                PoisonRequest(
                    f"{request.attempts} workers were lost with this request ({names}: {reason}); it is set aside as "
                    f"number {number}: look at it before you send it again"
                ),
            )
            return
        self.counts.redispatched += 1
        line.redispatched += 1
        if request.durable_id and self.keeper is not None:
            self.keeper.attempted(request)
        self.dispatch_again(request)

    def client_gone(self, identity: bytes) -> None:
        """An answer could not be brought: what else this client has waiting is not worked on."""
        self.counts.answers_undeliverable += 1
        for line in self.lines.values():
            for request in line.waiting.of_client(identity) if line.waiting else ():
                if not request.durable_id:
                    self.cancel(request)
