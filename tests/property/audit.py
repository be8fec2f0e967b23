"""What must be true of a broker after everything that can happen to it: its books agree with each other.

Promises: nothing is changed by looking, and every disagreement is an AssertionError.
"""

from __future__ import annotations

from pregon.services.broker import Broker
from pregon.services.line import Line
from pregon.services.request import Request
from pregon.services.worker import LEAVING, LOST, READY
from pregon.wire.services import PRIORITY_MAX

_ENTRIES_SPARE = 200


def live_requests(broker: Broker) -> list[Request]:
    """Every request that was taken and not finished: what waits, and what workers have."""
    waiting = [request for line in broker.lines.values() for request in line.waiting.all()]
    in_hand = [request for line in broker.lines.values() for request in line.in_hand.values()]
    return [request for request in (*waiting, *in_hand) if not request.is_done]


def audit(broker: Broker) -> None:
    """All of it."""
    live = live_requests(broker)
    assert len(set(live)) == len(live), "a request is in two places"
    assert broker.held_bytes == sum(request.size for request in live)
    assert set(broker.under_way.values()) == {request for request in live if request.key is not None}
    assert all(broker.under_way[request.key] is request for request in live if request.key is not None)
    refused = sum(line.refused for line in broker.lines.values())
    counts = broker.counts
    assert counts.requests == counts.answered + counts.failed + counts.cancelled + refused + len(live)
    for line in broker.lines.values():
        _audit_line(broker, line)
    _audit_workers(broker)


def _audit_line(broker: Broker, line: Line) -> None:
    waiting = line.waiting.all()
    assert len(waiting) == len(line.waiting) == line.waiting.count
    assert all(request.is_queued and not request.is_done and request.worker is None for request in waiting)
    again = line.waiting.ahead_of(PRIORITY_MAX + 1)
    assert len(waiting) == line.waiting.ahead_of(0)
    assert len(waiting) - again <= line.options.queue_max or any(request.durable_id for request in waiting)
    serving = [worker for worker in broker.workers.values() if line in worker.lines]
    ready = {worker for worker in serving if worker.state == READY}
    assert line.workers == ready
    assert line.known == len(serving)
    assert line.slots == sum(worker.slots for worker in ready)
    if waiting:
        assert not any(worker.free for worker in ready), "a worker with room is forgotten while a request waits"
    assert len(line.pool) <= 2 * line.slots + _ENTRIES_SPARE  # type: ignore[arg-type]
    assert list(line.in_hand.values()) == sorted(line.in_hand.values(), key=lambda one: one.sent_ms)
    for work_id, request in line.in_hand.items():
        worker = request.worker
        assert request.work_id == work_id and not request.is_queued
        assert worker is not None and worker.in_hand[work_id] is request
        assert broker.workers[worker.identity] is worker


def _audit_workers(broker: Broker) -> None:
    for identity, worker in broker.workers.items():
        assert identity == worker.identity
        assert worker.state in (READY, LEAVING, LOST)
        assert worker.free >= 0 and worker.withheld >= 0
        used = worker.free + len(worker.in_hand) + len(worker.overdue) + worker.withheld
        assert used == worker.slots, f"{worker.name} has {worker.slots} slots, and {used} are accounted for"
        assert not (worker.state == LOST and worker.in_hand)
        assert worker.in_hand or not worker.withheld, "nothing that it answers brings those slots back"
        assert worker.in_hand or worker.state != LEAVING, "one that left and owes nothing is still there"
        for work_id, request in worker.in_hand.items():
            assert request.line.in_hand[work_id] is request


def audit_time(broker: Broker) -> None:
    """What is true right after a tick: nothing is past its time."""
    for line in broker.lines.values():
        options = line.options
        for request in line.waiting.all():
            assert request.durable_id or request.queued_ms + options.wait_ms > broker.now_ms
        for request in line.in_hand.values():
            assert request.sent_ms + options.answer_ms > broker.now_ms
    for request in live_requests(broker):
        assert request.deadline_ms is None or request.deadline_ms > broker.now_ms
