"""The broker: which request is with which worker. A state machine: events and the time in, frames out.

    a client asks ──► a worker with room? ──yes──► given to it ──► it answers ──► told to the client
                            │ no                       │ lost, or too slow
                            ▼                          ▼
                    waits, in its turn  ◄──── goes before all that wait, at most so often

What is under way and who is told is in `ledger`. How frames are read is left to `front` and `back`; time limits and
signs of life to `watch`; what is durable to `durables`.

Promises:
- A request that was taken is finished exactly once: answered, or told why not; unless its client is gone.
- A request is with one worker at most, and an answer counts only from the worker that has it.
- While a request waits, no worker that serves it has room.
- Of a worker's slots each is free, in use, held by something overdue, or withheld since it gave something back.
"""

from __future__ import annotations

from secrets import randbits

from pregon.errors import AnswerTimeout, PoisonRequest, PregonError, ServiceFailed
from pregon.limits import SERVICE_QUEUED_BYTES_MAX
from pregon.services.ledger import Ledger
from pregon.services.lines import DEFAULT_TYPE
from pregon.services.options import LEAST_LOADED, ServiceOptions
from pregon.services.request import Body, Request
from pregon.services.worker import GONE, LEAVING, LOST, READY, Worker
from pregon.wire.services import encode_json


class Broker(Ledger):
    """Lines, workers, and what is under way."""

    def __init__(self, options: ServiceOptions | None = None, default_type: str = DEFAULT_TYPE) -> None:
        super().__init__(options, default_type)
        self.workers: dict[bytes, Worker] = {}
        # Not where a broker before this one began: what a worker still answers of its work is nobody's here.
        self._work_number = randbits(62)
        self._idle_number = 0

    # Requests.

    def ask(self, request: Request) -> None:
        """A new request: to a worker at once, or into the queue, or refused; one that is under way is ignored."""
        key = request.key
        if key is not None and self.under_way.setdefault(key, request) is not request:
            self.counts.duplicates += 1
            return
        line = request.line
        self.counts.requests += 1
        held_bytes = self.held_bytes + request.size
        worker = None
        if not line.waiting.count and (held_bytes <= SERVICE_QUEUED_BYTES_MAX or request.durable_id):
            worker = line.pool.take()
        if worker is None:
            refusal = self.refusal(request)
            if refusal is not None:
                if key is not None:
                    del self.under_way[key]
                line.refused += 1
                self.refuse(request.asker, request.id, refusal)
                return
        self.held_bytes = held_bytes
        if request.deadline_ms is not None:
            self.with_deadline.append(request)
        if worker is None:
            line.waiting.add(request)
        else:
            self._give(worker, request)

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
        self.to_back.append([worker.identity, b"PGS1R" + work_id + tail, *request.body])

    # What becomes of work.

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
        if worker.withheld:
            self._regain(worker)
        worker.free += 1
        self.slot_freed(worker)

    def _answered_too_late(self, worker: Worker, work_id: bytes) -> None:
        if work_id in worker.overdue:
            self.counts.answers_late += 1
            del worker.overdue[work_id]
            self._regain(worker)
            worker.free += 1
            self.slot_freed(worker)
        elif work_id in worker.late:
            self.counts.answers_late += 1
            worker.late.remove(work_id)
            self._regain(worker)
        else:
            self.counts.answers_unknown += 1

    def write_off(self, worker: Worker, before_ms: float) -> None:
        """What a worker owes for too long it will never answer: its slots are free. If they are not, it gives back."""
        for work_id in [one for one, since_ms in worker.overdue.items() if since_ms <= before_ms]:
            del worker.overdue[work_id]
            worker.late.add(work_id)
            worker.free += 1
            self.slot_freed(worker)

    def _regain(self, worker: Worker) -> None:
        """It has answered, so that what it had no room for then it may have room for now."""
        while worker.withheld:
            worker.withheld -= 1
            worker.free += 1
            self.slot_freed(worker)

    def given_back(self, worker: Worker, work_id: bytes) -> None:
        """A worker has no room for what it was given: that goes to another, and it gets no more until it answers."""
        request = worker.in_hand.pop(work_id, None)
        if request is None:
            self._answered_too_late(worker, work_id)
            return
        line = request.line
        del line.in_hand[work_id]
        worker.withheld += worker.free + 1
        worker.free = 0
        if not worker.in_hand:
            self._owes_nothing(worker)
        life_ms = (line.options.wait_ms + line.options.answer_ms) * (request.attempts + 1)
        if self.now_ms - request.arrived_ms >= life_ms and not request.durable_id:
            # Whoever gives things back for ever does not keep a client waiting for ever.
            self.finish(request, AnswerTimeout(f"the workers of {line.name} gave it back again and again: ask later"))
        self.dispatch_again(request)

    def _owes_nothing(self, worker: Worker) -> None:
        """The last that it had was taken from it, or given back."""
        if worker.state == LEAVING:
            self.forget(worker)
        elif worker.withheld:
            # Nothing that it answers would bring those slots back: its next sign of life does.
            self._withdraw(worker)
            worker.state = LOST
            worker.free, worker.withheld = worker.withheld, 0

    def take_away(self, request: Request) -> None:
        """A request takes too long: it goes to another worker, and its slot is lost until this one answers."""
        worker = request.worker
        assert worker is not None
        del worker.in_hand[request.work_id], request.line.in_hand[request.work_id]
        worker.overdue[request.work_id] = self.now_ms
        self.tell_to_drop(worker, request.work_id)
        if not worker.in_hand:
            self._owes_nothing(worker)
        self.lost_with(request, worker, f"no answer in {request.line.options.answer_ms} ms")

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

    # Workers come and go.

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
            if line.waiting.count:
                self._give(worker, line.waiting.take())
                return
        for line in lines:
            line.pool.offer(worker)

    def load_told(self, worker: Worker, load: float) -> None:
        """A worker says how busy it is, beside anything that it answers."""
        worker.load = load
        if worker.state == READY and worker.free:
            for line in worker.lines:
                if line.options.policy == LEAST_LOADED:
                    line.pool.offer(worker)

    def join(self, worker: Worker) -> None:
        """A worker takes work from now on, in all its slots."""
        if self.workers.get(worker.identity) is not worker:
            self.workers[worker.identity] = worker
            for line in worker.lines:
                line.known += 1
        worker.state = READY
        for line in worker.lines:
            line.workers.add(worker)
            line.slots += worker.slots
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
            for line in worker.lines:
                line.known -= 1

    def _withdraw(self, worker: Worker) -> None:
        for line in worker.lines:
            if worker in line.workers:
                line.workers.remove(worker)
                line.slots -= worker.slots
                line.pool.forget(worker)

    def give_up(self, worker: Worker, reason: str) -> None:
        """A worker is lost: what it had goes to others. It is taken back when it next speaks, unless it was leaving."""
        if worker.state in (LOST, GONE):
            return
        self.counts.workers_lost += 1
        worker.lost_count += 1
        if worker.state == LEAVING:
            self.forget(worker)
        else:
            self._withdraw(worker)
            worker.state = LOST
        taken = worker.in_hand
        worker.in_hand = {}
        worker.late = {*taken, *worker.overdue}
        worker.overdue = {}
        worker.free, worker.withheld = worker.slots, 0
        for work_id, request in taken.items():
            del request.line.in_hand[work_id]
            self.lost_with(request, worker, reason)
