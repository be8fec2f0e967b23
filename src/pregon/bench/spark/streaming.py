"""Streams: a topic into Parquet, steadily; and how soon a single message is in a query."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

from pyspark.sql import DataFrame

from pregon.bench.rounds import bodies
from pregon.bench.spark.stage import TOPIC, Stage, seconds

_QUICK_CHECKPOINTS = (
    "spark.sql.streaming.checkpointFileManagerClass",
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
)
"""On a local disk, where this is safe and saves a third of what a small batch costs."""
_BATCHES = 5
_WARM_BATCHES = 1
_MESSAGES = 30


def measure_streaming(stage: Stage) -> None:
    """Both."""
    rate = _into_parquet(stage)
    copy = stage.run.folder("copied")
    native = stage.rows / seconds(
        lambda: stage.spark.read.parquet(str(stage.parquet)).write.mode("overwrite").parquet(str(copy))
    )
    delays = _delays_ms(stage)
    stage.run.results["spark_streaming"] = {"rows_per_s": rate, "parquet_to_parquet_per_s": native, "delays_ms": delays}
    stage.run.show(
        "Spark streams a topic into Parquet, rows a second",
        ("", "", "of the batch"),
        [
            ('format("pregon") into Parquet, steady', f"{rate:,.0f}", f"{rate / native:.0%}"),
            ("the same rows, Parquet to Parquet, one batch", f"{native:,.0f}", ""),
        ],
    )
    rows = [("", f"{median(delays):,.0f}", f"{max(delays):,.0f}")]
    stage.run.show("from publish() to the rows of a streaming query, ms", ("", "median", "longest"), rows)


def _into_parquet(stage: Stage) -> float:
    """Rows a second after the first batches, in which everything is started."""
    folder = stage.run.folder("stream")
    at_once = str(stage.rows // _BATCHES)
    options = stage.options(subscribe=TOPIC, startingOffsets="earliest", maxOffsetsPerTrigger=at_once)
    query = (
        stage.spark.readStream.format("pregon")
        .options(**options)
        .load()
        .writeStream.format("parquet")
        .option("path", str(folder / "rows"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    done: list[Any] = [one for one in query.recentProgress if one["numInputRows"]][_WARM_BATCHES:]
    return float(
        sum(one["numInputRows"] for one in done) / sum(one["durationMs"]["triggerExecution"] for one in done) * 1_000
    )


def _delays_ms(stage: Stage) -> list[float]:
    """Publish a message, wait until the query has it, publish the next."""
    seen: dict[bytes, float] = {}
    stage.spark.conf.set(*_QUICK_CHECKPOINTS)

    def keep(rows: DataFrame, _batch: int) -> None:
        now = time.perf_counter()
        seen.update((bytes(row.body), now) for row in rows.select("body").collect())

    query = (
        stage.spark.readStream.format("pregon")
        .options(**stage.options(subscribe="single", startingOffsets="earliest"))
        .load()
        .writeStream.foreachBatch(keep)
        .option("checkpointLocation", str(stage.run.folder("checkpoint")))
        .start()
    )
    delays = []
    try:
        with stage.hub.client() as client:
            for number, body in enumerate(bodies(_MESSAGES + 3)):
                begun = time.perf_counter()
                client.publish("single", body)
                while body not in seen:
                    time.sleep(0.002)
                if number >= 3:
                    delays.append((time.perf_counter() - begun) * 1_000)
    finally:
        query.stop()
    return delays
