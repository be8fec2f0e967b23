"""What every part of the scenario works with: a hub with messages in it, a session, and a query that touches bodies."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pregon.bench import ours
from pregon.bench.hub_process import HubProcess
from pregon.bench.rounds import Run

TOPIC = "bench"
_AT_ONCE = 200_000


@dataclass(frozen=True, slots=True)
class Stage:
    """A run of the scenario."""

    run: Run
    hub: HubProcess
    spark: SparkSession
    rows: int
    parquet: Path
    """The same rows as Parquet, written by Spark."""

    def options(self, **more: str) -> dict[str, str]:
        """Options of `format("pregon")`."""
        return {"hub": f"http://{self.hub.http}", **more}

    def read(self, source: str = "pregon", **more: str) -> DataFrame:
        """The topic, made anew."""
        return self.spark.read.format(source).options(**self.options(subscribe=TOPIC, **more)).load()


def fill(hub: HubProcess, count: int) -> None:
    """Publish 200-byte messages."""
    for first in range(0, count, _AT_ONCE):
        ours.publish(hub, TOPIC, records(first, min(_AT_ONCE, count - first)), 500, at_once=True)


def records(first: int, count: int) -> list[bytes]:
    """JSON of 200 bytes, most of it different in each, so that Parquet does not shrink it to nothing."""
    noise = base64.b64encode(os.urandom(132 * count))
    head = b'{"number":%012d,"signature":"'
    return [head % (first + row) + noise[176 * row : 176 * row + 162] + b'"}' for row in range(count)]


def touch_bodies(table: DataFrame) -> None:
    """An aggregation that reads every body."""
    table.groupBy("topic").agg(f.count("*"), f.sum(f.length("body"))).collect()


def consume(table: DataFrame) -> None:
    """Compute every column of every row, and keep nothing."""
    table.write.format("noop").mode("overwrite").save()


def seconds(work: Callable[[], None]) -> float:
    """How long it takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
