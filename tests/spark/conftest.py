"""One Spark session for all the tests of this folder, and hubs to read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from scenario.conftest import client, hub, make_hub, module_hub, topic

from pregon.spark import session

__all__ = ["client", "hub", "make_hub", "module_hub", "topic"]

_SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "1g",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session: tasks are tried again, as on a cluster."""
    running = session("tests", master="local[2,3]", settings=_SETTINGS)
    yield running
    running.stop()
