"""What a broker counts, for metrics and for who looks."""

from __future__ import annotations

from typing import NamedTuple


class Counts:
    """Since the broker began."""

    __slots__ = (
        "answered",
        "answers_late",
        "answers_undeliverable",
        "answers_unknown",
        "cancelled",
        "duplicates",
        "failed",
        "malformed",
        "poisoned",
        "redispatched",
        "refused",
        "requests",
        "traces_dropped",
        "workers_lost",
    )

    def __init__(self) -> None:
        self.requests = 0
        self.answered = 0
        self.failed = 0
        """Ended with an error, whoever is to blame."""
        self.refused = 0
        """Never queued: a limit, a deadline, no right."""
        self.cancelled = 0
        self.duplicates = 0
        self.redispatched = 0
        self.poisoned = 0
        self.workers_lost = 0
        self.answers_late = 0
        """Of workers that were given up meanwhile."""
        self.answers_unknown = 0
        """For work that the worker did not have: twice, or for someone else."""
        self.answers_undeliverable = 0
        """Their client had gone."""
        self.malformed = 0
        self.traces_dropped = 0

    def all(self) -> dict[str, int]:
        """Each by its name."""
        return {name: getattr(self, name) for name in self.__slots__}


class Finished(NamedTuple):
    """What became of a request: one row of the trace."""

    ended_ms: float
    service: str
    client: str
    worker: str
    """Who was chosen last; empty for nobody."""
    policy: str
    load: float
    """Of the worker that was chosen, when it was."""
    waited_ms: float
    worked_ms: float
    attempts: int
    outcome: str
    """`answered`, or the code of an error."""
    durable_id: str

    def described(self) -> dict[str, object]:
        """All but when it ended, which each reader says by a clock of its own."""
        return {
            "service": self.service,
            "client": self.client,
            "worker": self.worker,
            "policy": self.policy,
            "load": self.load,
            "waited_ms": round(self.waited_ms, 3),
            "worked_ms": round(self.worked_ms, 3),
            "attempts": self.attempts,
            "outcome": self.outcome,
            "durable_id": self.durable_id,
        }
