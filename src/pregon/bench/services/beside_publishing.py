"""What a hub's other work costs its broker: the time of one request, while the hub does nothing and while it publishes.

The broker is a thread of the hub, so that they share an interpreter. Beside it a broker by itself, which shares only
the machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median

from pregon.bench import ours
from pregon.bench.hub_process import HubProcess
from pregon.bench.rounds import ROUNDS, Run, bodies, in_turns
from pregon.bench.services import pregon_broker
from pregon.bench.services.asking import Ask, Asked
from pregon.bench.services.contender import Contender, Doors
from pregon.bench.services.raw_zmq import free_doors

_BATCHES = 20_000


def measure_beside_publishing(run: Run) -> None:
    """One request at a time to the broker of a hub and to one by itself, with and without a hub that publishes."""
    started: list[HubProcess] = []

    def serve(directory: Path, stack: ExitStack) -> Doors:
        doors = free_doors()
        hub = HubProcess(directory, "--services-front", doors.front, "--services-back", doors.back)
        started.append(stack.enter_context(hub))
        return doors

    alone = pregon_broker.by_heads()
    within = Contender("of the hub", serve, alone.worker, alone.client)
    ask = Ask(0.2 if run.plan.quick else 1.0, in_flight=1)
    with ExitStack() as stack:
        for one in (within, alone):
            one.start(run.folder("services"))
            stack.callback(one.stop)
        (hub,) = started
        timed: dict[str, Callable[[int], Asked]] = {
            "the hub's, idle": lambda _: within.ask(ask),
            "the hub's, while it publishes": partial(_while_publishing, hub, within, ask),
            "by itself, idle": lambda _: alone.ask(ask),
            "by itself, while a hub publishes": partial(_while_publishing, hub, alone, ask),
        }
        asked = in_turns(2 if run.plan.quick else ROUNDS, timed)
    run.results["services_beside_publishing_us"] = {
        name: [[one.p50_us, one.p99_us] for one in values] for name, values in asked.items()
    }
    rows = [
        (name, f"{median(one.p50_us for one in values):,.0f}", f"{median(one.p99_us for one in values):,.0f}")
        for name, values in asked.items()
    ]
    run.show("one request at a time to a broker, µs", ("", "p50", "p99"), rows)


def _while_publishing(hub: HubProcess, contender: Contender, ask: Ask, number: int) -> Asked:
    with _publishing(hub, f"beside-{number}"):
        return contender.ask(ask)


@contextmanager
def _publishing(hub: HubProcess, topic: str) -> Iterator[None]:
    """Publish batches of 500 to the hub, as fast as it takes them, until the end."""
    stop = threading.Event()
    messages = bodies(_BATCHES)

    def publish() -> None:
        while not stop.is_set():
            ours.publish(hub, topic, messages, 500, at_once=True)

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        # Begun, when it is asked: the first batches are on disk.
        stop.wait(0.3)
        yield
    finally:
        stop.set()
        thread.join()
