"""An archive whose writer is killed in the middle of a batch, while retention removes what it has: nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from scenario.conftest import MakeHub
from scenario.hub_process import COMMAND, HubProcess, clean_environment, wait_until

from pregon.model.pipeline_figures import ARCHIVE
from pregon.spark.archive import archived, clean, table
from pregon.spark.pipelines.results import Results
from pregon.spark.pipelines.streaming import find_progress

from . import archive_program
from .archiving import archive_all, commits, history, sum_of, sum_to
from .tables import address, publish

TOPICS = ("fallecidos", "nacidos")
BEFORE, MESSAGES = 10_000, 10_500
OF_MESSAGES = "pregon-archive-messages"
_DEADLINE_S = 240.0


@contextmanager
def archiving(hub: HubProcess, archive: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The program in a process group of its own, all of which is killed at the end."""
    command = [sys.executable, archive_program.__file__, address(hub), str(archive), ".*idos"]
    log = archive.with_name("program.log")
    with log.open("ab") as out:
        program = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=clean_environment(), start_new_session=True
        )
    try:
        yield program
        assert program.poll() is None, log.read_text()
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()


def stream_and_stop(hub: HubProcess, archive: Path) -> list[str]:
    """`pregon pipeline stream archive` until it has archived something, then told to stop; the queries it told of."""
    output = archive.with_name("output")
    command = [*COMMAND, "pipeline", "stream", "archive", "--hub", address(hub), "--pattern", ".*idos", "--json"]
    places = ["--archive", str(archive), "--output", str(output), "--every", "1s", "--master", "local[2]"]
    java = ["--conf", f"spark.driver.extraJavaOptions={archive_program.QUICK}"]
    running = subprocess.Popen(
        [*command, *places, *java],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(),
        start_new_session=True,
        text=True,
    )

    def has_read() -> bool:
        assert running.poll() is None, running.communicate()
        return any(one.query == OF_MESSAGES and one.rows for one in find_progress(Results(output), ARCHIVE) or [])

    try:
        wait_for(has_read, "a batch is archived")
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=120)
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
    assert (running.returncode, err) == (0, "")
    return [json.loads(line)["query"] for line in out.splitlines()]


def wait_for(is_met: Callable[[], object], what: str) -> None:
    wait_until(is_met, what, _DEADLINE_S)


@pytest.mark.timeout(600)
def test_killed_in_the_middle_of_a_batch_and_stopped_after_one_it_has_every_message_once(
    spark: SparkSession, make_hub: MakeHub, tmp_path: Path
) -> None:
    hub = make_hub(maintenance_every_ms="50").start()
    archive = tmp_path / "archive"
    staging = archive / "_pregon" / "messages" / "staging"
    with hub.client() as client:
        for topic in TOPICS:
            client.create("topic", name=topic, retention={"when_acknowledged": True})
            publish(client, topic, BEFORE)

        with archiving(hub, archive) as program:
            wait_for(lambda: len(commits(archive)) >= 2 or program.poll() is not None, "two batches are archived")
            wait_for(lambda: any(staging.glob("*/topic=*")) or program.poll() is not None, "a batch is being written")
        told = stream_and_stop(hub, archive)
        for topic in TOPICS:
            publish(client, topic, MESSAGES - BEFORE, BEFORE + 1)
        archive_all(spark, hub, archive, subscribePattern=".*idos")

        for topic in TOPICS:
            wait_for(lambda topic=topic: client.show("topic", topic)["tail_seq"] > BEFORE // 2, "retention removed")
            assert sum_of(table(spark, topic, hub=address(hub), archive=str(archive))) == sum_to(MESSAGES)
            assert history(spark, archive, topic).where("cast(body AS STRING) != cast(seq AS STRING)").count() == 0
    assert OF_MESSAGES in told
    assert [(one.first, one.rows) for one in archived(spark, str(archive))] == [(1, MESSAGES)] * 2
    assert clean(spark, str(archive), "messages", grace_ms=0) > 0
    assert all(sum_of(history(spark, archive, topic)) == sum_to(MESSAGES) for topic in TOPICS)
    assert list(staging.iterdir()) == []
