"""Worker programs and clients of our own library, for the scenarios that try it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..hub_process import wait_until
from .program import PATIENCE_S, Program

PROGRAM = Path(__file__).with_name("library_worker.py")


class WorkerProcess(Program):
    """`library_worker.py`, and what a test does to it."""

    def __init__(self, place: Path, name: str, *arguments: str) -> None:
        super().__init__(name, [sys.executable, str(PROGRAM), name, *arguments], place)

    def wait_until_ready(self) -> None:
        """Wait until the broker has taken it in."""

        def is_ready() -> bool:
            assert self.is_alive, f"{self.name} ended:\n{self.said()}"
            return " serves " in self.err.read_text()

        wait_until(is_ready, f"{self.name} is ready", PATIENCE_S)


StartWorker = Callable[..., WorkerProcess]


@contextmanager
def workers(place: Path, back: str) -> Iterator[StartWorker]:
    """Starts workers of a broker: `start("ana", "sqrt", "echo")`; they are gone at the end."""
    started: list[WorkerProcess] = []

    def start(name: str, *arguments: str, is_waited_for: bool = True) -> WorkerProcess:
        started.append(WorkerProcess(place, name, *arguments, "--back", back))
        started[-1].start()
        if is_waited_for:
            started[-1].wait_until_ready()
        return started[-1]

    try:
        yield start
    finally:
        for worker in started:
            worker.end()
