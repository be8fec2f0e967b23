"""What a broker shows of itself: services, workers, requests, poison. Rows of plain values, for every door."""

from __future__ import annotations

from typing import Any

import msgspec

from pregon.services.broker import Broker
from pregon.services.line import Line
from pregon.services.request import Request
from pregon.services.worker import printable
from pregon.wire.services import body_bytes

_BODY_SHOWN_BYTES_MAX = 500


def list_services(broker: Broker) -> list[dict[str, Any]]:
    """Every line, by name."""
    return [_service(broker, line) for _, line in sorted(broker.lines.items())]


def _service(broker: Broker, line: Line) -> dict[str, Any]:
    oldest = line.waiting.oldest()
    return {
        "type": line.type,
        "version": line.version,
        "workers": len(line.workers),
        "slots": sum(worker.slots for worker in line.workers),
        "free": sum(worker.free for worker in line.workers),
        "waiting": len(line.waiting),
        "waiting_ms": round(broker.now_ms - oldest.queued_ms) if oldest is not None else 0,
        "in_hand": len(line.in_hand),
        "answered": line.answered,
        "failed": line.failed,
        "refused": line.refused,
        "redispatched": line.redispatched,
        "work_ms": round(line.work_ms, 3),
        "options": msgspec.to_builtins(line.options),
    }


def list_workers(broker: Broker) -> list[dict[str, Any]]:
    """Every worker, by name."""
    return [
        {
            "name": worker.name,
            "identity": printable(worker.identity),
            "form": "plain" if worker.is_plain else "PGS/1",
            "user": worker.user,
            "types": [line.name for line in worker.lines],
            "state": worker.state,
            "load": worker.load,
            "slots": worker.slots,
            "free": worker.free,
            "in_hand": len(worker.in_hand),
            "heard_ms_ago": round(broker.now_ms - worker.heard_ms),
            "answered": worker.answered,
            "failed": worker.failed,
            "lost": worker.lost_count,
        }
        for worker in sorted(broker.workers.values(), key=lambda one: (one.name, one.identity))
    ]


def list_requests(broker: Broker, rows_max: int) -> list[dict[str, Any]]:
    """What workers have, then what waits; at most so many."""
    rows: list[dict[str, Any]] = []
    for line in broker.lines.values():
        for request in (*line.in_hand.values(), *line.waiting.all()):
            if len(rows) >= rows_max:
                return rows
            rows.append(_request(broker, request))
    return rows


def _request(broker: Broker, request: Request) -> dict[str, Any]:
    worker = request.worker
    return {
        "service": request.line.name,
        "state": "waiting" if worker is None else "in hand" if not request.is_done else "given up by its client",
        "client": request.asker.user or printable(request.asker.identity),
        "worker": "" if worker is None else worker.name,
        "since_ms": round(broker.now_ms - request.arrived_ms),
        "priority": request.priority,
        "attempts": request.attempts,
        "bytes": body_bytes(request.body),
        "durable_id": request.durable_id,
    }


def list_recent(broker: Broker, rows_max: int) -> list[dict[str, Any]]:
    """The last requests that ended, the newest first."""
    rows = broker.replies.list_recent(rows_max)
    return [{"ended_ms_ago": round(broker.now_ms - row.ended_ms), **row.described()} for row in rows]


def list_poison(broker: Broker) -> list[dict[str, Any]]:
    """Requests that were set aside, the oldest first."""
    return [
        {
            "number": one.number,
            "service": one.request.line.name,
            "client": one.request.asker.user or printable(one.request.asker.identity),
            "lost_workers": one.request.killed or [],
            "reason": one.reason,
            "ms_ago": round(broker.now_ms - one.at_ms),
            "bytes": one.size,
            "durable_id": one.request.durable_id,
            "body": [frame[:_BODY_SHOWN_BYTES_MAX].decode("utf-8", "replace") for frame in one.request.body],
        }
        for one in broker.poison
    ]
