"""Write down how pushes failed, and what was decided because of it.

Lives in the pusher's event loop. Promise: what was delivered before a failure is written before it.
"""

from __future__ import annotations

import logging

from pregon.clock import wall_us
from pregon.delivery.attempt import Target
from pregon.delivery.desk import PushDesk, Tries
from pregon.delivery.outcome import Outcome
from pregon.delivery.settling import Settling
from pregon.errors import LimitReached
from pregon.hub.deliver import Disable, Failure, ParkPoison, PushedFrom, PushFailed

log = logging.getLogger("pregon.delivery")


class FailureNotes:
    """The failures of one subscription on their way to the store, and to who is to be told."""

    __slots__ = ("_desk", "_settling")

    def __init__(self, desk: PushDesk, settling: Settling) -> None:
        self._desk = desk
        self._settling = settling

    async def write(
        self, of: PushedFrom, seq: int, outcome: Outcome, tries: Tries, next_try: str, wait_ms: int = 0
    ) -> None:
        """A push failed, and is tried again after a wait; `next_try` says that to people."""
        await self._settling.settled()
        now_us = wall_us()
        failure = Failure(
            seq=seq,
            attempt=tries.attempts,
            refusals=tries.refusals,
            reason=outcome.reason,
            latency_ms=outcome.latency_ms,
            next_try_us=now_us + wait_ms * 1_000,
            next_try=next_try,
        )
        self._desk.notifier.push_failed(of.topic, of.subscriber, outcome.reason, now_us)
        await self._desk.bridge.answer(self._desk.hub.submit(PushFailed(of, failure)))

    async def park(self, of: PushedFrom, seq: int, outcome: Outcome, tries: Tries) -> bool | None:
        """A message was refused too often: set it aside; whether it was, None if there is no room for it."""
        await self.write(of, seq, outcome, tries, "to be parked")
        reason = f"refused {tries.refusals} times: {outcome.reason}"
        try:
            is_parked = await self._desk.bridge.answer(self._desk.hub.submit(ParkPoison(of, seq, reason)))
        except LimitReached as error:
            log.warning(
                "poison not parked", extra={"topic": of.topic, "subscriber": of.subscriber, "reason": str(error)}
            )
            return None
        if is_parked:
            self._desk.notifier.parked(of.topic, of.subscriber, seq, outcome.reason)
        return bool(is_parked)

    async def disable(self, target: Target, of: PushedFrom, seq: int, outcome: Outcome, tries: Tries) -> bool:
        """The subscriber said that it is gone: everything waits to be pulled; whether it is disabled by that."""
        await self.write(of, seq, outcome, tries, "no more tries: the subscriber is disabled")
        disable = Disable(target.subscriber, target.endpoint, outcome.reason)
        is_disabled = await self._desk.bridge.answer(self._desk.hub.submit(disable))
        if is_disabled:
            self._desk.notifier.disabled(target.subscriber, outcome.reason)
        return bool(is_disabled)
