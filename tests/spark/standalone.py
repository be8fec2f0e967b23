"""A standalone cluster of Spark on this machine: a master and two workers, from the package that `pip` installs.

Promises: every process is in a group of its own, and `stop` ends them all with whatever they have started.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pyspark
from scenario.hub_process import clean_environment, find_port, wait_until

from pregon.spark.java import home_of, require_java

WORKERS = 2
SPARK_HOME = Path(pyspark.__file__).parent
_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Standalone:
    """The processes, and where the master is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.master = f"spark://127.0.0.1:{find_port()}"
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start the master, then the workers, and wait until it knows them."""
        host, port = self.master.removeprefix("spark://").split(":")
        self._launch("master", "deploy.master.Master", "--host", host, "--port", port, "--webui-port", "0")
        self._wait_for("master", "New state: ALIVE")
        for number in range(WORKERS):
            work = self.folder / f"work-{number}"
            size = ["--cores", "1", "--memory", "640m", "--work-dir", str(work)]
            options = [*size, "--host", host, "--webui-port", "0", self.master]
            self._launch(f"worker-{number}", "deploy.worker.Worker", *options)
        for number in range(WORKERS):
            self._wait_for(f"worker-{number}", "Successfully registered with master")

    def stop(self) -> None:
        """End everything, the workers first, so that no executor is started again."""
        for process in reversed(self._processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in self._processes:
            process.wait(30)

    def executors(self) -> set[int]:
        """The processes of executors that are running: the children of the workers."""
        parents = {process.pid for process in self._processes}
        return {pid for pid, parent in _parents().items() if parent in parents}

    def _launch(self, name: str, kind: str, *options: str) -> None:
        environment = clean_environment(
            SPARK_HOME=str(SPARK_HOME),
            JAVA_HOME=str(home_of(require_java())),
            SPARK_DAEMON_JAVA_OPTS=_OPTIONS,
            SPARK_DAEMON_MEMORY="256m",
            SPARK_LOCAL_DIRS=str(self.folder),
        )
        with (self.folder / f"{name}.log").open("wb") as log:
            command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.{kind}", *options]
            self._processes.append(
                subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
            )

    def _wait_for(self, name: str, words: str) -> None:
        log = self.folder / f"{name}.log"

        def is_said() -> bool:
            assert all(process.poll() is None for process in self._processes), log.read_text(errors="replace")
            return words in log.read_text(errors="replace")

        wait_until(is_said, f"{log} says {words!r}", 120)


def _parents() -> dict[int, int]:
    """The parent of every process of this machine."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name stands in brackets and may have anything in it.
            rest = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[int(status.parent.name)] = int(rest[1])
    return found


def bare_python(folder: Path, *packages: str) -> Path:
    """A Python with these packages and no other: what an executor has where nobody installed anything."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    ours = Path(sysconfig.get_paths()["platlib"])
    for package in packages:
        for entry in ours.glob(f"{package}*"):
            (site / entry.name).symlink_to(entry)
    return folder / "bin" / "python"
