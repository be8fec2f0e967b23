"""The source on a cluster of two workers, whose executors have nothing of ours but what is shipped to them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pyarrow as pa
import pytest
from scenario.hub_process import HubProcess, clean_environment

from .standalone import WORKERS, Standalone, bare_python
from .tables import address, hub_in, publish

MESSAGES = 6_000
PROGRAM = Path(__file__).with_name("cluster_program.py")


class Ran(NamedTuple):
    """What the program said, and the hub had, at the end."""

    said: dict[str, Any]
    copied: list[bytes]
    places: list[bytes]
    has_killed: bool


def run_cluster(folder: Path) -> Ran:
    """The program, on a cluster that is started for it."""
    python = bare_python(folder / "bare", "pyarrow", "msgspec", "zmq", "pyzmq", "httptools")
    cluster = Standalone(folder)
    with hub_in(folder) as hub:
        try:
            cluster.start()
            with hub.client() as client:
                publish(client, "avisos", MESSAGES)
            said = run(python, cluster.master, address(hub), "avisos", str(folder))
        finally:
            cluster.stop()
        return Ran(said, stored(hub, "avisos.copy"), stored(hub, "avisos.places"), (folder / "killed").exists())


@pytest.mark.timeout(500)
@pytest.mark.beside(program=run_cluster)
def test_a_cluster_reads_and_writes_everything_once_though_an_executor_is_killed(java: None, ended: Ran) -> None:
    said = ended.said

    assert (said["rows"], said["sum"]) == (MESSAGES, MESSAGES * (MESSAGES + 1) // 2)
    assert len(said["executors"]) == WORKERS
    assert said["batches"] >= 3
    assert ended.has_killed
    assert sorted(map(int, ended.copied)) == list(range(1, MESSAGES + 1))
    assert sum(json.loads(body)["count"] for body in ended.places) == MESSAGES


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
