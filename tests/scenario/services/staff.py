"""The workers of a test, each in a process of its own; none outlives it. How they work is in `workers`."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType

from .asking import DEFAULT_TYPE
from .program import Program
from .workers import RICH

_PROGRAM = Path(__file__).with_name("workers.py")


class Staff:
    """Workers of one broker, who serve the same unless told otherwise."""

    def __init__(self, back: str, place: Path, service: str = DEFAULT_TYPE) -> None:
        self._back = back
        self._place = place
        self._service = service
        self.all: list[Program] = []

    def __enter__(self) -> Staff:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.all:
            worker.end()

    @property
    def alive(self) -> list[Program]:
        """Those who were not killed."""
        return [worker for worker in self.all if worker.is_alive]

    def call_in(self, name: str, *options: str, form: str = RICH) -> Program:
        """Start a worker, and do not wait for it."""
        command = [sys.executable, str(_PROGRAM), self._back, "--name", name, "--form", form]
        worker = Program(name, [*command, "--types", self._service, *options], self._place)
        worker.start()
        self.all.append(worker)
        return worker

    def hire(self, name: str, *options: str, form: str = RICH) -> Program:
        """Start a worker; one of PGS/1 is known to the broker when this returns, a plain one has just told it."""
        worker = self.call_in(name, *options, form=form)
        worker.wait_for_line("ready")
        return worker
