"""A stream that writes back is killed in the middle of its batches, and its hub too: each message is stored once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from scenario.conftest import MakeHub
from scenario.hub_process import HubProcess, clean_environment, wait_until

from pregon import Client
from pregon.errors import NotFound

from .tables import address
from .write_back_program import AT_ONCE, start

TESTS = Path(__file__).parents[1]
COUNT = 3 * AT_ONCE


@pytest.mark.timeout(600)
def test_a_stream_whose_hub_is_killed_and_that_is_killed_itself_writes_each_message_once(
    spark: SparkSession, make_hub: MakeHub, tmp_path: Path
) -> None:
    hub, checkpoint = make_hub().start(), str(tmp_path / "checkpoint")
    with hub.client() as client:
        with client.producer("in") as producer:
            producer.send_many([b"%d" % number for number in range(COUNT)])

        with writing_back(hub, checkpoint) as program:
            wait_until(lambda: stored(client) > 0, "a batch is being written", 240)
            hub.kill()
            hub.start()
            wait_until(
                lambda: stored(client) > AT_ONCE or program.poll() is not None, "it has gone on, to the next batch", 240
            )
            assert program.poll() is None
        before = stored(client)
        start(spark, address(hub), checkpoint).awaitTermination()
        found = Counter(bodies(client))

    assert AT_ONCE < before < COUNT
    assert found.total() == COUNT
    assert len(found) == COUNT


@contextmanager
def writing_back(hub: HubProcess, checkpoint: str) -> Iterator[subprocess.Popen[bytes]]:
    """The program in a group of its own, all of which is killed at the end: Java and the Pythons of its tasks too."""
    command = [sys.executable, "-m", "spark.write_back_program", address(hub), checkpoint]
    program = subprocess.Popen(command, cwd=TESTS, env=clean_environment(), start_new_session=True)
    try:
        yield program
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()


def stored(client: Client) -> int:
    """How many have been written back."""
    try:
        return int(client.show("topic", "out")["head_seq"])
    except NotFound:
        return 0


def bodies(client: Client) -> list[bytes]:
    """What has been written back."""
    found: list[bytes] = []
    while page := client.read("out", len(found) + 1, max=10_000):
        found += [message.body for message in page]
    return found
