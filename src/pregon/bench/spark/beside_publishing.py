"""What reading costs those who publish: a producer beside Spark that reads the hub as fast as it can, beside Spark that
reads the same rows from Parquet, and alone. The second shares the machine and not the hub; so the hub's part is the
difference between the first two.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

from pregon.bench.rounds import in_turns
from pregon.bench.spark.stage import Stage, touch_bodies

_ROUNDS = 3
_PUBLISH = """
import sys, time
from pregon import Client
from pregon.client.outbox import ProducerOptions
from pregon.bench.rounds import bodies
hub, topic, lasts = sys.argv[1], sys.argv[2], float(sys.argv[3])
some, sent = bodies(20_000), 0
with Client(hub, producer="bench", timeout_ms=60_000) as client:
    client.ping()
    begun = time.perf_counter()
    while time.perf_counter() - begun < lasts:
        with client.producer(topic, ProducerOptions(batch_messages=500, in_flight_max=32)) as out:
            out.send_many(some)
        sent += len(some)
    print(sent / (time.perf_counter() - begun))
"""


def measure_beside_publishing(stage: Stage) -> None:
    """Messages a second of one producer in a process of its own."""
    lasts_s = 3 if stage.run.plan.quick else 8

    def publish(number: int) -> float:
        command = [sys.executable, "-c", _PUBLISH, stage.hub.url, f"beside-{number}", str(lasts_s)]
        return float(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)

    def beside(work: Callable[[], None], number: int) -> float:
        with _again_and_again(work):
            return publish(number)

    parquet, hub = "beside Spark that reads Parquet", "beside Spark that reads the hub"
    rates = in_turns(
        _ROUNDS,
        {
            "alone": publish,
            parquet: lambda n: beside(lambda: touch_bodies(stage.spark.read.parquet(str(stage.parquet))), n),
            hub: lambda n: beside(lambda: touch_bodies(stage.read()), n),
        },
    )
    stage.run.results["spark_beside_publishing"] = rates
    other = median(rates[parquet])
    stage.run.show(
        "one producer, batches of 500, messages a second",
        ("", "median", "range", "beside Parquet's"),
        [
            (name, f"{median(one):,.0f}", f"{min(one):,.0f} – {max(one):,.0f}", f"{median(one) / other - 1:+.0%}")
            for name, one in rates.items()
        ],
    )


@contextmanager
def _again_and_again(work: Callable[[], None]) -> Iterator[None]:
    """Have it done, over and over, until the end."""
    stop, begun = threading.Event(), threading.Event()

    def run() -> None:
        while not stop.is_set():
            begun.set()
            work()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        begun.wait()
        yield
    finally:
        stop.set()
        thread.join()
