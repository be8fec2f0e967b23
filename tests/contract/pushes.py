"""What pushes write, as tests say it: these were delivered, that one failed."""

from __future__ import annotations

from typing import Any

from pregon.hub.deliver import Delivered, Delivery, Failure, PushedFrom, PushFailed
from pregon.hub.hub import Hub
from pregon.model.catalog import PushState
from pregon.store.cursors import find_place

from .verbs import SUBSCRIBER, TOPIC

NAMES = (TOPIC, SUBSCRIBER)


def pushed_from(hub: Hub, epoch: int = 0) -> PushedFrom:
    """The subscription that there is now."""
    place = hub.read(lambda connection: find_place(connection, *NAMES)).result()
    return PushedFrom(*NAMES, 0 if place is None else place.id, epoch)


def delivery(hub: Hub, *seqs: int, epoch: int = 0, attempt: int = 1, latency_ms: int = 5) -> Delivered:
    """That these were delivered, not yet submitted; in the subscription that there is now."""
    return Delivered(pushed_from(hub, epoch), [Delivery(seq, attempt, latency_ms) for seq in seqs])


def deliver(hub: Hub, *seqs: int, epoch: int = 0, attempt: int = 1, latency_ms: int = 5) -> int:
    """These were delivered; the cursor."""
    cursor: int = hub.submit(delivery(hub, *seqs, epoch=epoch, attempt=attempt, latency_ms=latency_ms)).result()
    return cursor


def failure(hub: Hub, seq: int, *, attempt: int = 1, refusals: int = 0, reason: str = "HTTP 503") -> PushFailed:
    """That a push failed, not yet submitted; in the subscription that there is now, before any replay."""
    failed = Failure(seq, attempt, refusals, reason, 7, 123_000_000, "next try in 4 s")
    return PushFailed(pushed_from(hub), failed)


def fail(hub: Hub, seq: int, **more: Any) -> None:
    """A push failed."""
    hub.submit(failure(hub, seq, **more)).result()


def state(hub: Hub) -> PushState:
    """How pushing goes."""
    return hub.push_state(*NAMES).result()
