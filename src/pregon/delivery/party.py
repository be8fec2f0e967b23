"""A subscriber to which messages are pushed, as its subscriptions share it: target, endpoint, pace.

Lives in the pusher's event loop. Promise: whoever waits for the endpoint is called when that changes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol

from pregon.clock import monotonic_ms, wall_us
from pregon.delivery.attempt import Target
from pregon.delivery.endpoint import Endpoint
from pregon.delivery.outcome import Outcome
from pregon.delivery.pace import Pace
from pregon.store.pushing import PushedSubscriber
from pregon.store.secrets import KeptSecret


class Rings(Protocol):
    """Who waits for an endpoint."""

    def ring(self) -> None:
        """Look again."""
        ...


class Party:
    """One subscriber."""

    def __init__(self, pushed: PushedSubscriber, secrets: Sequence[KeptSecret]) -> None:
        self.pushed = pushed
        self.options = pushed.push
        self.endpoint = Endpoint(pushed.push)
        self.pace = Pace(pushed.push.rate_per_s)
        self.waiting: set[Rings] = set()
        self.generation = 0
        """How often its entry changed."""
        self._secrets = tuple(secrets)
        self._target: Target | None = None
        self._target_until_us = 0

    def change(self, pushed: PushedSubscriber, secrets: Sequence[KeptSecret]) -> bool:
        """Take what its entry says now; whether something about the pushes changed, which begins the waits anew."""
        is_changed = pushed != self.pushed
        self._secrets, self._target = tuple(secrets), None
        if is_changed:
            self.pushed, self.options = pushed, pushed.push
            self.pace = Pace(pushed.push.rate_per_s)
            self.endpoint.options = pushed.push
            self.endpoint.failures, self.endpoint.next_try_ms = 0, 0.0
            self.generation += 1
            self.ring_all()
        return is_changed

    @property
    def target(self) -> Target:
        """Where to and how, signed with the secrets that are valid now."""
        now_us = wall_us()
        if self._target is None or now_us >= self._target_until_us:
            valid = [one for one in self._secrets if one.known.expires_us is None or one.known.expires_us > now_us]
            ends = [one.known.expires_us for one in valid if one.known.expires_us is not None]
            self._target_until_us = min(ends, default=2**63)
            self._target = Target(
                subscriber=self.pushed.name,
                endpoint=self.pushed.endpoint,
                format=self.pushed.format,
                time_limit_ms=self.options.time_limit_ms,
                secrets=tuple(one.secret for one in valid),
            )
        return self._target

    def try_at_once(self) -> None:
        """Somebody asks for it: an endpoint that fails is tried now, by one push, whatever it was to wait."""
        self.endpoint.next_try_ms = 0.0
        self.ring_all()

    def end_push(self, outcome: Outcome | None, generation: int) -> int:
        """A push came back that set out in a generation; how long the endpoint is to be left alone."""
        was_failing = self.endpoint.is_failing
        if generation != self.generation:
            # It went to what the entry said before.
            outcome = None
        wait_ms = self.endpoint.end(outcome, monotonic_ms(), random.random())
        if was_failing:
            self.ring_all()
        return wait_ms

    def ring_all(self) -> None:
        """The endpoint may be tried, or it is somebody else's turn: all look again."""
        for one in list(self.waiting):
            one.ring()
