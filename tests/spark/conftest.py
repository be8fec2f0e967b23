"""One Spark session for all the tests of this folder, and hubs to read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession
from scenario.conftest import client, hub, make_hub, module_hub, topic
from web.chromium import give_up

from pregon.errors import SettingsInvalid
from pregon.spark import session
from pregon.spark.java import require_java

__all__ = ["client", "hub", "make_hub", "module_hub", "topic"]

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "1g",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}


@pytest.fixture(scope="session")
def java() -> None:
    """Without a Java these tests are skipped on a laptop and fail in CI."""
    try:
        require_java()
    except SettingsInvalid as missing:
        give_up(str(missing))


@pytest.fixture(scope="session")
def spark(java: None) -> Iterator[SparkSession]:
    """The session: tasks are tried again, as on a cluster."""
    running = session("tests", master="local[2,3]", settings=SETTINGS)
    yield running
    running.stop()
    end_java()


def end_java() -> None:
    """End the Java process, which would otherwise live until this one ends."""
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    # What tells it to end is that nobody can write to it any more.
    gateway.proc.stdin.close()
    assert gateway.proc.wait(30) is not None
    SparkContext._gateway = SparkContext._jvm = None
