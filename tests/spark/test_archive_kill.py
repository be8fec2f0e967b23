"""An archive whose writer is killed in the middle of batches, while messages come and retention removes what it has."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from scenario.conftest import MakeHub
from scenario.hub_process import HubProcess, clean_environment, wait_until

from pregon.spark.archive import archived, clean, table

from . import archive_program
from .archiving import archive_all, commits, history, sum_of, sum_to
from .tables import address, publish

TOPICS = ("fallecidos", "nacidos")
MESSAGES = 10_000
_DEADLINE_S = 240.0


@contextmanager
def archiving(hub: HubProcess, archive: Path) -> Iterator[None]:
    """The program in a process group of its own, all of which is killed at the end."""
    command = [sys.executable, archive_program.__file__, address(hub), str(archive), ".*idos"]
    log = archive.with_name("program.log")
    with log.open("ab") as out:
        program = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=clean_environment(), start_new_session=True
        )
    try:
        yield
        assert program.poll() is None, log.read_text()
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()


def wait_for(is_met: Callable[[], object], what: str) -> None:
    wait_until(is_met, what, _DEADLINE_S)


def test_killed_in_the_middle_of_batches_it_has_every_message_once(
    spark: SparkSession, make_hub: MakeHub, tmp_path: Path
) -> None:
    hub = make_hub(maintenance_every_ms="50").start()
    archive = tmp_path / "archive"
    staging = archive / "_pregon" / "messages" / "staging"
    with hub.client() as client:
        for topic in TOPICS:
            client.create("topic", name=topic, retention={"when_acknowledged": True})

        def publish_all(topic: str) -> None:
            with hub.client() as own:
                publish(own, topic, MESSAGES)

        publishers = [threading.Thread(target=publish_all, args=[topic]) for topic in TOPICS]
        for publisher in publishers:
            publisher.start()

        with archiving(hub, archive):
            wait_for(lambda: len(commits(archive)) >= 2, "two batches are archived")
            wait_for(lambda: any(staging.glob("*/topic=*")), "a batch is being written")
        killed_writing = len(commits(archive))
        with archiving(hub, archive):
            wait_for(lambda: len(commits(archive)) > killed_writing, "a batch is archived that Spark has not noted yet")
        for publisher in publishers:
            publisher.join()
        archive_all(spark, hub, archive, subscribePattern=".*idos")

        for topic in TOPICS:
            wait_for(lambda topic=topic: client.show("topic", topic)["tail_seq"] > MESSAGES // 2, "retention removed")
            assert sum_of(history(spark, archive, topic)) == sum_to(MESSAGES)
            assert sum_of(table(spark, topic, hub=address(hub), archive=str(archive))) == sum_to(MESSAGES)
            assert history(spark, archive, topic).where("cast(body AS STRING) != cast(seq AS STRING)").count() == 0
    assert [(one.first, one.rows) for one in archived(spark, str(archive))] == [(1, MESSAGES)] * 2
    assert clean(spark, str(archive), "messages", grace_ms=0) > 0
    assert all(sum_of(history(spark, archive, topic)) == sum_to(MESSAGES) for topic in TOPICS)
    assert list(staging.iterdir()) == []
