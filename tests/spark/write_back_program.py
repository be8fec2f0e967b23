"""A program that reads a topic as a stream and writes it to another, to be killed: `python -m … HUB CHECKPOINT`.

Rows go through a shuffle on their way, so that they come in another order whenever a batch is run again.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pregon.spark import session

from .conftest import SETTINGS

AT_ONCE = 40_000


def start(spark: SparkSession, hub: str, checkpoint: str) -> StreamingQuery:
    """Begin to write back all there is."""
    rows = spark.readStream.format("pregon").options(
        hub=hub, subscribe="in", startingOffsets="earliest", maxOffsetsPerTrigger=str(AT_ONCE), minPartitions="4"
    )
    return (
        rows.load()
        .select("body", "key")
        .repartition(2, "body")
        .writeStream.format("pregon")
        .options(hub=hub, topic="out", checkpointLocation=checkpoint)
        .trigger(availableNow=True)
        .start()
    )


def main(hub: str, checkpoint: str) -> None:
    """Write back all there is."""
    spark = session("write back", master="local[2]", settings=SETTINGS)
    start(spark, hub, checkpoint).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
