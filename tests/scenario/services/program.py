"""A program in a process of its own, whose two outputs are files that a test may read at any time.

Promises:
- `start` may be called again after `kill` or `stop`; what was shown before is kept, and told apart.
- Whoever waits for a program that ended by itself is told so at once, with what it said.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..hub_process import clean_environment, wait_until

PATIENCE_S = 30.0


class Program:
    """A command, and what a test does to it."""

    def __init__(self, name: str, command: Sequence[str], place: Path) -> None:
        self.name = name
        self.command = list(command)
        self.place = place
        self.out = place / f"{name}.out"
        self.err = place / f"{name}.err"
        self._process: subprocess.Popen[bytes] | None = None
        self._seen = 0

    @property
    def running(self) -> subprocess.Popen[bytes]:
        """The process, started and not yet given up."""
        assert self._process is not None, f"{self.name} was not started"
        return self._process

    @property
    def is_alive(self) -> bool:
        """Whether the process was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process, and do not wait for anything."""
        assert not self.is_alive, f"{self.name} is running already"
        self._seen = len(self.out.read_bytes()) if self.out.exists() else 0
        with self.out.open("ab") as out, self.err.open("ab") as err:
            self._process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=out, stderr=err, cwd=self.place, env=clean_environment()
            )

    def lines(self) -> list[str]:
        """What it has shown since it was last started; a line that is not whole yet is not there yet."""
        return self.out.read_bytes()[self._seen :].decode().split("\n")[:-1]

    def told(self, prefix: str) -> list[str]:
        """What its lines say that begin so."""
        return [line.removeprefix(prefix) for line in self.lines() if line.startswith(prefix)]

    def wait_for_line(self, line: str) -> None:
        """Wait until it shows a line; fails if it ends without."""

        def is_shown() -> bool:
            is_alive = self.is_alive
            is_there = line in self.lines()
            assert is_there or is_alive, f"{self.name} ended without showing {line!r}:\n{self.said()}"
            return is_there

        wait_until(is_shown, f"{self.name} shows {line!r}", PATIENCE_S)

    def tell(self, line: str) -> None:
        """Write a line to its standard input."""
        entry = self.running.stdin
        assert entry is not None, "its standard input is a pipe"
        entry.write(line.encode() + b"\n")
        entry.flush()

    def finish(self, status: int = 0) -> list[str]:
        """Wait until it ends by itself with this status; what it showed."""
        try:
            ended = self.running.wait(PATIENCE_S)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"{self.name} does not end:\n{self.said()}") from error
        assert ended == status, f"{self.name} ended with {ended}:\n{self.said()}"
        return self.lines()

    def kill(self) -> None:
        """End it as nothing in it can notice."""
        self._signal(signal.SIGKILL)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end, and wait; its exit status."""
        return self._signal(number)

    def end(self) -> None:
        """Leave nothing behind, whatever the test did."""
        if self._process is not None:
            self.kill()

    def said(self) -> str:
        """Both outputs, for the message of an assertion."""
        return f"{self.out.read_text()}\n{self.err.read_text()}"

    def _signal(self, number: int) -> int:
        process = self.running
        process.send_signal(number)
        status = process.wait(PATIENCE_S)
        if process.stdin is not None:
            process.stdin.close()
        self._process = None
        return status
