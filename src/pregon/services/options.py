"""How a service is run: by which policy workers are chosen, how they are watched, and what may wait.

Every service begins with the broker's own options; an operator changes those of one service while it runs.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from pregon.errors import BadRequest
from pregon.limits import SERVICE_QUEUE_MAX, SERVICE_WAIT_MS_MAX

ROUND_ROBIN, LONGEST_IDLE, LEAST_LOADED = POLICIES = ("round-robin", "longest-idle", "least-loaded")
BEATS, BEATS_WHEN_BUSY, ANSWERS = LIVENESS = ("beats", "beats-when-busy", "answers")

_Ms = Annotated[int, Meta(ge=10, le=SERVICE_WAIT_MS_MAX)]


class ServiceOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one service is run."""

    policy: Annotated[str, Meta(pattern=f"^({'|'.join(POLICIES)})$")] = LONGEST_IDLE
    """Which of the workers with room gets a request: the next in turn, who has waited longest, or the least loaded."""
    liveness: Annotated[str, Meta(pattern=f"^({'|'.join(LIVENESS)})$")] = BEATS
    """How a worker's death is noticed: beats to all, beats to those who owe an answer, or only its answers' time."""
    beat_ms: _Ms = 1_000
    """How often a worker is listened for."""
    patience: Annotated[int, Meta(ge=1, le=100)] = 3
    """So many beats without a sign of life, and it is given up."""
    answer_ms: _Ms = 60_000
    """A request that takes longer is given to another worker."""
    attempts_max: Annotated[int, Meta(ge=1, le=100)] = 3
    """So many workers lost with a request, and its client is told; it is set aside."""
    queue_max: Annotated[int, Meta(ge=1, le=SERVICE_QUEUE_MAX)] = 10_000
    """Requests that may wait."""
    wait_ms: _Ms = 60_000
    """How long one may wait for a worker, unless it is durable."""
    durable: bool = True
    """Whether requests may be durable."""
    keep_results_ms: _Ms = 24 * 60 * 60 * 1_000
    """How long the result of a durable request waits to be collected."""

    @property
    def patience_ms(self) -> int:
        """How long a silence is borne."""
        return self.beat_ms * self.patience


def changed_options(options: ServiceOptions, values: dict[str, Any]) -> ServiceOptions:
    """The options with some of them changed; raises BadRequest."""
    try:
        return msgspec.convert({**msgspec.to_builtins(options), **values}, ServiceOptions)
    except msgspec.ValidationError as error:
        raise BadRequest(f"options of a service: {error}") from error
