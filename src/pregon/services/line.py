"""A line: the requests of one job type (or of one version of it), and the workers that serve it."""

from __future__ import annotations

from pregon.services.options import ServiceOptions
from pregon.services.policies import Pool, make_pool
from pregon.services.request import Request
from pregon.services.waiting import FairQueue
from pregon.services.worker import Worker

_SMOOTHING = 0.05
_SAMPLES_MIN = 10


class Line:
    """One queue and one pool. `sqrt` and `sqrt@2` are two lines; a worker of version 2 stands in both."""

    __slots__ = (
        "accepting", "answered", "failed", "in_hand", "key", "known", "name", "options", "pool", "redispatched",
        "refused", "samples", "slots", "type", "version", "waiting", "work_ms", "workers",
    )  # fmt: skip

    def __init__(self, name: str, options: ServiceOptions) -> None:
        self.name = name
        self.type, _, self.version = name.partition("@")
        self.key = name.encode()
        self.options = options
        self.pool: Pool = make_pool(options.policy)
        self.waiting = FairQueue()
        self.workers: set[Worker] = set()
        """Those that take work."""
        self.slots = 0
        """All of theirs."""
        self.known = 0
        """Workers that stand in it, those included that were given up and may come back."""
        self.accepting = 0
        """Durable requests that are being stored."""
        self.in_hand: dict[bytes, Request] = {}
        """What workers have, by number, the oldest first."""
        self.answered = 0
        self.failed = 0
        """Requests that ended with an error, whoever is to blame."""
        self.refused = 0
        """Those that were never queued."""
        self.redispatched = 0
        self.work_ms = 0.0
        """How long a worker takes, smoothed."""
        self.samples = 0

    @property
    def is_unused(self) -> bool:
        """Whether nothing would be lost if it were forgotten."""
        return not (self.known or self.in_hand or self.waiting.count or self.accepting)

    def set_options(self, options: ServiceOptions) -> None:
        """Run it in another way, from now on; what waits and what is under way stays."""
        if options.policy != self.options.policy:
            self.pool = make_pool(options.policy)
            for worker in sorted(self.workers, key=lambda one: one.idle_mark):
                for _ in range(worker.free):
                    self.pool.offer(worker)
        self.options = options

    def worked(self, took_ms: float) -> None:
        """A request was answered: remember how long that takes."""
        weight = _SMOOTHING
        if self.samples < _SAMPLES_MIN:
            self.samples += 1
            weight = 1 / self.samples
        self.work_ms += (took_ms - self.work_ms) * weight

    def expected_ms(self, priority: int) -> float:
        """When a request of this priority would be answered if it came now; 0 while that cannot be told."""
        if self.samples < _SAMPLES_MIN or not self.slots:
            return 0.0
        turns = (self.waiting.ahead_of(priority) + len(self.in_hand)) // self.slots
        return self.work_ms * (turns + 1)
