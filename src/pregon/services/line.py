"""A line: the requests of one job type (or of one version of it), and the workers that serve it."""

from __future__ import annotations

from collections import OrderedDict

from pregon.services.options import ServiceOptions
from pregon.services.policies import Pool, make_pool
from pregon.services.request import Request
from pregon.services.waiting import FairQueue
from pregon.services.worker import READY, Worker

_SMOOTHING = 0.05
_SAMPLES_MIN = 10


class Line:
    """One queue and one pool. `sqrt` and `sqrt@2` are two lines; a worker of version 2 stands in both."""

    __slots__ = (
        "answered", "failed", "in_hand", "key", "name", "options", "pool", "redispatched", "refused", "samples", "tail",
        "type", "version", "waiting", "work_ms", "workers",
    )  # fmt: skip

    def __init__(self, name: str, options: ServiceOptions) -> None:
        self.name = name
        self.type, _, self.version = name.partition("@")
        self.key = name.encode()
        self.options = options
        self.pool: Pool = make_pool(options.policy)
        self.waiting = FairQueue()
        self.workers: set[Worker] = set()
        self.in_hand: OrderedDict[bytes, Request] = OrderedDict()
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
        return not self.workers and not self.in_hand and not self.waiting

    def set_options(self, options: ServiceOptions) -> None:
        """Run it in another way, from now on; what waits and what is under way stays."""
        if options.policy != self.options.policy:
            self.pool = make_pool(options.policy)
            for worker in sorted(self.workers, key=lambda one: one.idle_mark):
                for _ in range(worker.free if worker.state == READY else 0):
                    self.pool.offer(worker)
        self.options = options

    def worked(self, took_ms: float) -> None:
        """A request was answered: remember how long that takes."""
        self.samples += 1
        self.work_ms += (took_ms - self.work_ms) * (_SMOOTHING if self.samples > _SAMPLES_MIN else 1 / self.samples)

    def expected_ms(self, priority: int) -> float:
        """When a request of this priority would be answered if it came now; 0 while that cannot be told."""
        if self.samples < _SAMPLES_MIN:
            return 0.0
        slots = sum(worker.slots for worker in self.workers if worker.state == READY)
        if not slots:
            return 0.0
        ahead = self.waiting.ahead_of(priority)
        turns = (ahead + len(self.in_hand)) // slots
        return self.work_ms * (turns + 1)
