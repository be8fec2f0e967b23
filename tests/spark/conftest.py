"""One Spark session for all the tests of this folder, and hubs to read."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession
from scenario.conftest import client, hub, make_hub, module_hub, topic
from web.chromium import give_up

from pregon.errors import SettingsInvalid
from pregon.spark import session
from pregon.spark.java import require_java

from .beside import MARK, Program, find_program, put_last, running

__all__ = ["client", "hub", "make_hub", "module_hub", "topic"]

SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "2",
    # A few rows are sooner read than planned for or compiled.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "1g",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}


def pytest_configure(config: pytest.Config) -> None:
    """The mark of this folder."""
    config.addinivalue_line(
        "markers", f"{MARK}(program): what runs beside the other tests; `ended` is what it returned"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who waits for a program waits at the end."""
    put_last(items, Path(__file__).parent)


@pytest.fixture(scope="session", autouse=True)
def programs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Program, Future[Any]]]:
    """What runs beside the tests."""
    with running(request.session.items, tmp_path_factory.mktemp) as futures:
        yield futures


@pytest.fixture
def ended(request: pytest.FixtureRequest, programs: dict[Program, Future[Any]]) -> Any:
    """What the program of the test returned."""
    program = find_program(request.node)
    assert program is not None
    return programs[program].result()


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
