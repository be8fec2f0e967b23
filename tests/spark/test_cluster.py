"""The source on a cluster of two workers, whose executors have nothing of ours but what is shipped to them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from scenario.conftest import MakeHub
from scenario.hub_process import HubProcess, clean_environment

from .standalone import WORKERS, Standalone, bare_python

MESSAGES = 6_000
PROGRAM = Path(__file__).with_name("cluster_program.py")


@pytest.fixture
def cluster(java: None, tmp_path: Path) -> Iterator[Standalone]:
    """A cluster that is ready."""
    running = Standalone(tmp_path)
    try:
        running.start()
        yield running
    finally:
        running.stop()


@pytest.mark.timeout(500)
def test_a_cluster_reads_and_writes_everything_once_though_an_executor_is_killed(
    cluster: Standalone, make_hub: MakeHub, tmp_path: Path
) -> None:
    hub = make_hub().start()
    python = bare_python(tmp_path / "bare", "pyarrow", "msgspec", "zmq", "pyzmq", "httptools")
    published = [b"%d" % number for number in range(MESSAGES)]
    with hub.client() as client, client.producer("avisos") as out:
        for body in published:
            out.send(body)

    said = run(python, cluster.master, f"http://{hub.addresses.http}", "avisos", str(tmp_path))

    assert (said["rows"], said["sum"]) == (MESSAGES, MESSAGES * (MESSAGES + 1) // 2)
    assert len(said["executors"]) == WORKERS
    assert said["batches"] >= 3
    assert (tmp_path / "killed").exists()
    assert sorted(stored(hub, "avisos.copy")) == sorted(published)
    assert sum(json.loads(body)["count"] for body in stored(hub, "avisos.places")) == MESSAGES


def run(python: Path, *arguments: str) -> dict[str, Any]:
    """What the program printed."""
    environment = clean_environment(PYSPARK_PYTHON=str(python))
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *arguments], env=environment, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def stored(hub: HubProcess, topic: str) -> list[bytes]:
    """The bodies of a topic, as the hub has them."""
    answer = httpx.get(f"http://{hub.addresses.http}/v1/topics/{topic}/batches")
    bodies: list[bytes] = pa.ipc.open_stream(answer.raise_for_status().content).read_all()["body"].to_pylist()
    return bodies
