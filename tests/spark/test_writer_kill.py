"""A stream that writes back is killed in the middle of its batches, and its hub too: each message is stored once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from scenario.conftest import MakeHub
from scenario.hub_process import HubProcess, clean_environment, wait_until

from pregon import Client
from pregon.errors import NotFound

from .tables import address
from .write_back_program import AT_ONCE

TESTS = Path(__file__).parents[1]
COUNT = 3 * AT_ONCE


@pytest.mark.timeout(600)
def test_a_stream_and_its_hub_that_are_killed_again_and_again_write_each_message_once(
    make_hub: MakeHub, tmp_path: Path
) -> None:
    hub = make_hub().start()
    with hub.client() as client:
        with client.producer("in") as producer:
            producer.send_many([b"%d" % number for number in range(COUNT)])

        for enough in (1, AT_ONCE + 1):
            program = start(hub, tmp_path)
            wait_until(lambda enough=enough: stored(client) >= enough, "something was written", 240)  # type: ignore[misc]
            # The whole group: the driver, its Java and the Python processes of its tasks.
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()
            hub.kill()
            hub.start()
            assert stored(client) < COUNT
        assert start(hub, tmp_path).wait(240) == 0

        found = Counter(bodies(client))

    assert found.total() == COUNT
    assert len(found) == COUNT


def start(hub: HubProcess, folder: Path) -> subprocess.Popen[bytes]:
    """The program, in a group of its own."""
    command = [sys.executable, "-m", "spark.write_back_program", address(hub), str(folder / "checkpoint")]
    return subprocess.Popen(command, cwd=TESTS, env=clean_environment(), start_new_session=True)


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
