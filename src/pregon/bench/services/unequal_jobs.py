"""Jobs of very different cost: what the clients wait under each policy.

Four workers, each with eight slots and one pair of hands: it takes what it is given into a queue of its own and does
one job after another. A job is a wait of so long, so that the machine's cores do not matter. Costs are log-normal,
median 2 ms, sigma 1.5, at most 250 ms: mean about 6 ms, one in a hundred over 65 ms. Requests come at random times
(Poisson), whether or not earlier ones are answered, so many that the workers are busy for two thirds of the time. All
policies get the same ones, and at the same time, each from a broker and workers of its own, so that whatever else the
machine does is done to all of them. A worker's load is the work in its queue, in milliseconds: it tells it with every
answer, and in a sign of life when a job arrives.

What a client waits is counted from when it meant to ask. `beyond its own cost` is that without the job itself: the time
spent in queues.
"""

from __future__ import annotations

import random
import struct
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

import msgspec
import zmq

from pregon.bench.peers.process import PeerFailed
from pregon.bench.rounds import ROUNDS, Run
from pregon.bench.services.actors import Actor, play, say_ready
from pregon.bench.services.asking import percentile
from pregon.bench.services.pregon_broker import SERVICE, join, serve
from pregon.bench.services.raw_zmq import Socket, connect
from pregon.services.options import POLICIES
from pregon.wire.services import ANSWER, BEAT, REQUEST, Hello, encode_head

WORKERS = 4
SLOTS = 8
MEDIAN_MS, SIGMA, COST_MS_MAX = 2.0, 1.5, 250.0
PER_S = 440
_JOB = struct.Struct("!If")
"""The body: the number of the request, and the cost of the job in milliseconds."""


class Jobs(msgspec.Struct):
    """Ask for so long, by this throw of the dice."""

    seed: int
    seconds: float


class Waits(msgspec.Struct):
    """What the clients waited, in milliseconds."""

    p50: float
    p99: float
    beyond_p50: float
    beyond_p99: float


# A worker.


def _worker(address: str) -> None:
    with zmq.Context() as context, connect(context, zmq.DEALER, address) as socket:
        join(socket, Hello(types=[SERVICE], slots=SLOTS))
        say_ready()
        _Hands(socket).work()


class _Hands:
    """Does one job after another, and takes in others meanwhile."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        self._queue: deque[tuple[bytes, bytes, float]] = deque()
        """The number of the work, its body, its cost in milliseconds."""
        self._load_ms = 0.0

    def work(self) -> None:
        """For ever."""
        ends_s = 0.0
        while True:
            wait_ms = max(0, round((ends_s - perf_counter()) * 1_000)) if self._queue else None
            if self._socket.poll(wait_ms):
                was_idle = not self._queue
                self._take(*self._socket.recv_multipart())
                if was_idle and self._queue:
                    ends_s = perf_counter() + self._queue[0][2] / 1_000
            elif self._queue and perf_counter() >= ends_s - 0.0005:
                self._answer()
                if self._queue:
                    ends_s = perf_counter() + self._queue[0][2] / 1_000

    def _take(self, head: bytes, *body: bytes) -> None:
        if head[4] == REQUEST:
            cost_ms = _JOB.unpack(body[0])[1]
            self._queue.append((head[5:13], body[0], cost_ms))
            self._load_ms += cost_ms
        self._socket.send(encode_head(BEAT, tail=self._load()))

    def _answer(self) -> None:
        work_id, body, cost_ms = self._queue.popleft()
        self._load_ms -= cost_ms
        self._socket.send_multipart([encode_head(ANSWER, work_id, self._load()), body])

    def _load(self) -> bytes:
        return b"%.1f" % max(self._load_ms, 0.0)


# All clients in one process: what they ask, and when, is decided before.


def _client(address: str) -> None:
    with zmq.Context() as context, connect(context, zmq.DEALER, address) as socket:
        say_ready()
        for line in sys.stdin:
            waits = _ask_all(socket, msgspec.json.decode(line, type=Jobs))
            print(msgspec.json.encode(waits).decode(), flush=True)


def _ask_all(socket: Socket, jobs: Jobs) -> Waits:
    chance = random.Random(jobs.seed)
    due_s = [chance.expovariate(PER_S)]
    while due_s[-1] < jobs.seconds:
        due_s.append(due_s[-1] + chance.expovariate(PER_S))
    costs_ms = [min(MEDIAN_MS * chance.lognormvariate(0, SIGMA), COST_MS_MAX) for _ in due_s]
    came_s: dict[int, float] = {}
    begun_s, asked = perf_counter(), 0
    while len(came_s) < len(due_s):
        now_s = perf_counter() - begun_s
        while asked < len(due_s) and due_s[asked] <= now_s:
            head = encode_head(REQUEST, asked.to_bytes(8, "big"), SERVICE.encode())
            socket.send_multipart([head, _JOB.pack(asked, costs_ms[asked])])
            asked += 1
        wait_ms = (due_s[asked] - now_s) * 1_000 if asked < len(due_s) else socket.rcvtimeo
        if socket.poll(max(0, int(wait_ms))):
            head, body = socket.recv_multipart()
            if head[4] != ANSWER:
                raise PeerFailed(f"the broker answered {head[:500]!r}")
            came_s[_JOB.unpack(body)[0]] = perf_counter() - begun_s
    waited = sorted((came_s[n] - due) * 1_000 for n, due in enumerate(due_s))
    beyond = sorted((came_s[n] - due) * 1_000 - costs_ms[n] for n, due in enumerate(due_s))
    return Waits(percentile(waited, 50), percentile(waited, 99), percentile(beyond, 50), percentile(beyond, 99))


# The measurement.


def measure_unequal_jobs(run: Run) -> None:
    """The three policies, each with a broker of its own, beside each other."""
    rounds, seconds = (1, 3.0) if run.plan.quick else (ROUNDS, 10.0)
    waits: dict[str, list[Waits]] = {policy: [] for policy in POLICIES}
    with ExitStack() as stack:
        started = [_start(run.folder("unequal"), stack, policy) for policy in POLICIES]
        for actor in (one for actors in started for one in actors):
            actor.wait_until_ready()
        clients = [actors[-1] for actors in started]
        with ThreadPoolExecutor(len(clients)) as askers:
            list(askers.map(partial(_waits, Jobs(seed=0, seconds=0.5)), clients))
            for number in range(rounds):
                told = askers.map(partial(_waits, Jobs(seed=number, seconds=seconds)), clients)
                for policy, one in zip(POLICIES, told, strict=True):
                    waits[policy].append(one)
    run.results["services_unequal_ms"] = {
        policy: [msgspec.to_builtins(one) for one in values] for policy, values in waits.items()
    }
    rows = []
    for policy, values in waits.items():
        columns = ([getattr(one, name) for one in values] for name in ("p50", "p99", "beyond_p50", "beyond_p99"))
        rows.append((policy, *(f"{median(column):.1f}" for column in columns)))
    run.show(
        "jobs of very different cost: what clients wait, ms",
        ("policy", "p50", "p99", "p50 beyond its own cost", "p99 beyond its own cost"),
        rows,
    )


def _start(directory: Path, stack: ExitStack, policy: str) -> list[Actor]:
    """A broker with this policy, its workers and, last, the process with the clients."""
    doors = serve(directory, stack, "--policy", policy)
    workers = [
        stack.enter_context(Actor(directory / f"worker-{n}.log", "unequal_jobs", "worker", doors.back))
        for n in range(WORKERS)
    ]
    client = stack.enter_context(Actor(directory / "client.log", "unequal_jobs", "client", doors.front))
    return [*workers, client]


def _waits(jobs: Jobs, client: Actor) -> Waits:
    return msgspec.json.decode(client.ask(msgspec.json.encode(jobs).decode()), type=Waits)


if __name__ == "__main__":
    play({"worker": _worker, "client": _client}, sys.argv[1:])
