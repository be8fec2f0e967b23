"""A program for a cluster whose executors do not have the package: it reads, counts, writes back, and streams.

It prints what it saw as one line of JSON. In the middle of the stream a task kills the executor it runs on.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pregon.spark import session, ship


def main(master: str, hub: str, topic: str, folder: str) -> dict[str, object]:
    """What the test is to check."""
    settings = {
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
    }
    spark = session("cluster", master=master, settings=settings)
    try:
        ship(spark)
        messages = spark.read.format("pregon").option("hub", hub).option("subscribe", topic).option("minPartitions", 8)
        places = messages.load().select("seq").mapInArrow(add_place, "seq BIGINT, place STRING").localCheckpoint()
        seen = places.agg(f.count("seq").alias("rows"), f.sum("seq").alias("sum")).first()
        executors = sorted(row.place for row in places.select("place").distinct().collect())
        per_place = places.groupBy("place").count().select(f.to_json(f.struct("place", "count")).alias("body"))
        per_place.write.format("pregon").option("hub", hub).option("topic", f"{topic}.places").mode("append").save()
        batches = copy(spark, hub, topic, Path(folder))
        assert seen is not None
        return {"rows": seen.rows, "sum": seen.sum, "executors": executors, "batches": batches}
    finally:
        spark.stop()


def copy(spark: SparkSession, hub: str, topic: str, folder: Path) -> int:
    """Stream the topic into another; how many batches it took."""
    source = spark.readStream.format("pregon").options(hub=hub, subscribe=topic, startingOffsets="earliest")
    limited: DataFrame = source.option("maxOffsetsPerTrigger", 2_000).option("minPartitions", 2).load()
    killing = limited.select("body", "id").mapInArrow(kill_once(folder / "killed"), "body BINARY, id STRING")
    sink = killing.writeStream.format("pregon").option("hub", hub).option("topic", f"{topic}.copy")
    query = sink.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    assert query.lastProgress is not None
    return int(query.lastProgress["batchId"]) + 1


def add_place(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Which executor had each row: each has a working directory of its own."""
    for batch in batches:
        place = pa.array([os.getcwd()] * batch.num_rows)
        yield pa.record_batch([batch.column("seq"), place], names=["seq", "place"])


def kill_once(mark: Path) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Rows as they are; but the first task of all kills its executor after having passed some on."""

    def pass_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            try:
                mark.touch(exist_ok=False)
            except FileExistsError:
                yield batch.slice(batch.num_rows // 2)
                continue
            # This process is a child of a daemon, and that is the executor's.
            daemon = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
            os.kill(int(daemon[1]), signal.SIGKILL)

    return pass_on


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
