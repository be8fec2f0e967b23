"""A program that archives topics until it is killed: `python -m tests.spark.archive_program HUB ARCHIVE PATTERN`."""

from __future__ import annotations

import sys

from pregon.spark import session
from pregon.spark.archive import ArchiveSettings, archive_stream

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": QUICK,
    "spark.driver.memory": "1g",
}


def main(hub: str, archive: str, pattern: str) -> None:
    """Small batches, one after the other, joined often."""
    spark = session("archive", master="local[2]", settings=SETTINGS)
    source = {"hub": hub, "subscribePattern": pattern, "maxOffsetsPerTrigger": "1000"}
    settings = ArchiveSettings(compact_files=4)
    archive_stream(spark, archive, source, every="0 seconds", settings=settings).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
