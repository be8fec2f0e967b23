"""Time: who is silent for too long, what waits for too long, what is answered too late.

Three ways to notice that a worker is lost, chosen by service:

    beats             every worker is asked, every so often, whether it is there
    beats-when-busy   only a worker that owes an answer is asked
    answers           nobody is asked: a worker that does not answer in time is lost

A worker of the plain form cannot be asked, so it is watched by its answers alone. A worker with several services is
watched in the strictest of their ways.

Promises:
- `tick` looks only at those whose time may have come.
"""

from __future__ import annotations

import heapq
from itertools import takewhile

from pregon.errors import AnswerTimeout, DeadlinePassed, PregonError, ServiceUnserved
from pregon.services.broker import Broker
from pregon.services.line import Line
from pregon.services.options import ANSWERS, BEATS, LIVENESS, ServiceOptions
from pregon.services.request import Request
from pregon.services.worker import GONE, LOST, Worker
from pregon.wire.services import BEAT, encode_head

_FORGET_LOST_MS = 10 * 60 * 1_000
_SPARE_ENTRIES = 1_024
_BEAT = encode_head(BEAT)


class Watch:
    """Looks after a broker as time goes by."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._deadlines: list[tuple[float, int, Request]] = []
        self._deadlines_max = _SPARE_ENTRIES
        """With so many it is time to drop those of requests that are done."""
        self._looks: list[tuple[float, int, Worker]] = []
        """When to look at each worker next."""
        self._changes = 0
        self._count = 0

    def joined(self, worker: Worker) -> None:
        """A worker that is to be watched from now on."""
        if len(self._looks) > 2 * len(self._broker.workers) + _SPARE_ENTRIES:
            # Of those that said hello again and again.
            self._looks = [entry for entry in self._looks if entry[2].state != GONE]
            heapq.heapify(self._looks)
        self._look_later(worker, options_of(worker).beat_ms)

    def tick(self, now_ms: float) -> None:
        """So late is it."""
        broker = self._broker
        broker.at(now_ms)
        for line in list(broker.lines.values()):
            if line.in_hand:
                self._end_overdue(line)
            if line.waiting.count:
                self._end_waiting(line)
        self._end_deadlines()
        if self._changes != broker.lines.changes:
            # Options were set: nobody is looked at later than they say now.
            self._changes = broker.lines.changes
            self._looks = [
                (min(due_ms, now_ms + options_of(worker).beat_ms), number, worker)
                for due_ms, number, worker in self._looks
            ]
            heapq.heapify(self._looks)
        while self._looks and self._looks[0][0] <= now_ms:
            _, _, worker = heapq.heappop(self._looks)
            self._look(worker)

    def _end_overdue(self, line: Line) -> None:
        limit_ms = self._broker.now_ms - line.options.answer_ms
        overdue = list(takewhile(lambda one: one.sent_ms <= limit_ms, line.in_hand.values()))
        for request in overdue:
            worker = request.worker
            if worker is None or request.sent_ms > limit_ms or request.work_id not in worker.in_hand:
                continue  # Its worker was given up a moment ago, for another one.
            if worker.is_plain or options_of(worker).liveness == ANSWERS:
                self._broker.give_up(worker, f"no answer in {line.options.answer_ms} ms")
            else:
                self._broker.take_away(request)

    def _end_waiting(self, line: Line) -> None:
        wait_ms = line.options.wait_ms
        while (request := line.waiting.oldest()) is not None and request.queued_ms + wait_ms <= self._broker.now_ms:
            line.waiting.remove(request)
            self._broker.finish(request, _waited_in_vain(line, wait_ms))

    def _end_deadlines(self) -> None:
        broker, deadlines = self._broker, self._deadlines
        for request in broker.with_deadline:
            assert request.deadline_ms is not None
            self._count += 1
            heapq.heappush(deadlines, (request.deadline_ms, self._count, request))
        broker.with_deadline.clear()
        while deadlines and deadlines[0][0] <= broker.now_ms:
            _, _, request = heapq.heappop(deadlines)
            if not request.is_done:
                late_ms = broker.now_ms - request.arrived_ms
                self._give_up_request(request, DeadlinePassed(f"not answered {late_ms:.0f} ms after it was asked"))
        if len(deadlines) > self._deadlines_max:
            self._deadlines = [entry for entry in deadlines if not entry[2].is_done]
            heapq.heapify(self._deadlines)
            self._deadlines_max = 2 * len(self._deadlines) + _SPARE_ENTRIES

    def _give_up_request(self, request: Request, error: PregonError) -> None:
        """End a request that may be with a worker: the worker goes on, and its answer will be dropped."""
        if not request.line.waiting.remove(request):
            self._broker.not_wanted(request)
        self._broker.finish(request, error)

    def _look(self, worker: Worker) -> None:
        """Is it there?"""
        broker = self._broker
        if worker.state == GONE or broker.workers.get(worker.identity) is not worker:
            return
        options = options_of(worker)
        silent_ms = broker.now_ms - worker.heard_ms
        if worker.state == LOST:
            if silent_ms > max(_FORGET_LOST_MS, options.patience_ms):
                broker.forget(worker)
                return
            self._beat(worker)
        elif not worker.is_plain and options.liveness != ANSWERS:
            if options.liveness != BEATS:
                if not worker.in_hand and not worker.overdue:
                    silent_ms = 0.0
                elif worker.in_hand:
                    # It was not asked while it owed nothing, so that its silence counts from when it was given work.
                    oldest_ms = next(iter(worker.in_hand.values())).sent_ms
                    silent_ms = min(silent_ms, broker.now_ms - oldest_ms)
            if worker.overdue:
                broker.write_off(worker, broker.now_ms - max(line.options.answer_ms for line in worker.lines))
            # Only one that was asked since it was last heard is silent.
            if silent_ms >= options.patience_ms and worker.beaten_ms > worker.heard_ms:
                broker.give_up(worker, f"silent for {silent_ms:.0f} ms")
            elif silent_ms >= options.beat_ms * 0.5:
                self._beat(worker)
        self._look_later(worker, options.beat_ms)

    def _beat(self, worker: Worker) -> None:
        if not worker.is_plain:
            worker.beaten_ms = self._broker.now_ms
            self._broker.to_back.append([worker.identity, _BEAT])

    def _look_later(self, worker: Worker, in_ms: float) -> None:
        self._count += 1
        heapq.heappush(self._looks, (self._broker.now_ms + in_ms, self._count, worker))


def options_of(worker: Worker) -> ServiceOptions:
    """The strictest of the options of a worker's services."""
    if len(worker.lines) == 1:
        return worker.lines[0].options
    return min((line.options for line in worker.lines), key=lambda one: (LIVENESS.index(one.liveness), one.patience_ms))


def _waited_in_vain(line: Line, wait_ms: int) -> PregonError:
    if line.workers:
        return AnswerTimeout(f"every worker of {line.name} was busy for {wait_ms} ms: ask again later")
    return ServiceUnserved(f"no worker that serves {line.name} came in {wait_ms} ms: start one, or ask for another")
