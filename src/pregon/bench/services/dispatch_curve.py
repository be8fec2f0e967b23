"""What it costs to choose a worker, by how many there are: the broker's state machine alone, without sockets.

Half of the workers are busy. A step is one request given to a worker and the answer of another that has had its own
for longest; loads, where they matter, change with every answer. The cost of a step is told, not that of the choice
alone, because that is what a request pays. Ten thousand workers do not fit into a processor's caches as ten do, so the
same steps are also taken with no policy at all, the next worker of a list: what that costs more is not the choice.
The processor's time is counted, so that others on the machine do not matter much.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import cycle
from statistics import median
from time import process_time

from pregon.bench.rounds import ROUNDS, Run, in_turns
from pregon.services.broker import Broker
from pregon.services.options import POLICIES, ServiceOptions
from pregon.services.request import Asker, Request
from pregon.services.worker import Worker

WORKERS = (10, 100, 1_000, 10_000)
NO_POLICY = "none"
_STEPS = 10_000
_SEED = 5


class _NoChoice:
    """A pool that chooses nobody: the next of a list, which is known to have room."""

    def __init__(self, workers: list[Worker]) -> None:
        self._turns = cycle(workers)

    def offer(self, worker: Worker) -> None:
        """It is in the list."""

    def take(self) -> Worker | None:
        """The next."""
        return next(self._turns)

    def forget(self, worker: Worker) -> None:
        """Nobody leaves."""


class _Stage:
    """A broker with so many workers, half of them busy."""

    def __init__(self, policy: str, workers: int) -> None:
        is_policy = policy in POLICIES
        self._broker = Broker(ServiceOptions(policy=policy) if is_policy else None)
        self._line = self._broker.lines.require("echo")
        self._asker = Asker(b"client")
        self._chance = random.Random(_SEED)
        self._asked = 0
        self._busy: deque[Request] = deque()
        all_workers = [
            Worker(number.to_bytes(5, "big"), [self._line], slots=1, load=self._chance.random(), now_ms=0.0)
            for number in range(workers)
        ]
        for worker in all_workers:
            self._broker.join(worker)
        if not is_policy:
            self._line.pool = _NoChoice(all_workers)
        for _ in range(workers // 2):
            self._ask()

    def _ask(self) -> None:
        self._asked += 1
        request = Request(self._asker, self._asked.to_bytes(8, "big"), self._line, [b"four"], 0.0)
        self._broker.ask(request)
        self._busy.append(request)

    def step_us(self, steps: int) -> float:
        """The mean cost of a step."""
        broker, busy, chance = self._broker, self._busy, self._chance.random
        begun_s = process_time()
        for _ in range(steps):
            self._ask()
            answered = busy.popleft()
            worker = answered.worker
            assert worker is not None
            worker.load = chance()
            broker.answered(worker, answered.work_id, answered.body)
            # Who sends and who writes traces take these away.
            broker.to_front.clear()
            broker.to_back.clear()
        took_s = process_time() - begun_s
        broker.replies.take_traces()
        return took_s / steps * 1e6


def measure_dispatch(run: Run) -> None:
    """Each policy with 10 to 10,000 workers, in turns."""
    steps = _STEPS // 4 if run.plan.quick else _STEPS
    timed: dict[str, Callable[[int], float]] = {}
    for policy in (NO_POLICY, *POLICIES):
        for workers in WORKERS:
            stage = _Stage(policy, workers)
            stage.step_us(workers)
            timed[f"{policy} {workers}"] = partial(_step_us, stage, steps)
    costs = in_turns(3 if run.plan.quick else 3 * ROUNDS, timed)
    run.results["services_dispatch_us"] = costs
    rows = []
    for policy in (NO_POLICY, *POLICIES):
        cells = [median(costs[f"{policy} {workers}"]) for workers in WORKERS]
        rows.append((policy, *(f"{cell:.2f}" for cell in cells), f"{cells[-1] / cells[0]:.2f}"))
    run.show(
        "dispatch and answer in the state machine, µs, by registered workers",
        ("policy", *(f"{workers:,}" for workers in WORKERS), f"{WORKERS[-1]:,} × {WORKERS[0]}"),
        rows,
    )


def _step_us(stage: _Stage, steps: int, _round: int) -> float:
    return stage.step_us(steps)
