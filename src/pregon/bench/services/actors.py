"""The processes of a contender: brokers, workers and clients written in Python, each started by its module and role.

    python -m pregon.bench.services.majordomo worker tcp://127.0.0.1:40001

An actor says `ready` on a line of its own when it is, ends when its standard input does, and writes what goes wrong
into a log. Servers of others are started by `pregon.bench.peers.process`.

Promises:
- No actor outlives the benchmark, however that ends.
- Every wait has an end, and an actor that fails is reported with the last lines of its log.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

from pregon.bench.peers.process import PeerFailed

READY_SECONDS_MAX = 60.0
ANSWER_SECONDS_MAX = 120.0
STOP_SECONDS_MAX = 10.0
LOG_TAIL_BYTES = 2_000


class Actor:
    """One of them, from entering to leaving."""

    def __init__(self, log: Path, module: str, *arguments: str) -> None:
        self._command = [sys.executable, "-m", f"pregon.bench.services.{module}", *arguments]
        self._log = log
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it; `wait_until_ready` says when it is."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def wait_until_ready(self) -> None:
        """Wait for its first word; raises `PeerFailed`."""
        if self._line(READY_SECONDS_MAX) != "ready":
            raise PeerFailed(f"{' '.join(self._command[2:])} did not start; its log ends:\n{self._log_tail()}")

    def ask(self, line: str) -> str:
        """Say a line, and wait for the one that answers it; raises `PeerFailed`."""
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
            answer = self._line(ANSWER_SECONDS_MAX)
        except OSError:
            answer = ""
        if not answer:
            raise PeerFailed(f"{' '.join(self._command[2:])} did not answer; its log ends:\n{self._log_tail()}")
        return answer

    def stop(self) -> None:
        """End it; does nothing when it is not running."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.communicate(timeout=STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()

    def _line(self, seconds: float) -> str:
        """The next line that it says; nothing if it ends or the time does. It never says two without being asked."""
        assert self._process is not None and self._process.stdout is not None
        last_s = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(max(last_s - time.monotonic(), 0)):
                return ""
        return self._process.stdout.readline().strip()

    def _log_tail(self) -> str:
        return self._log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")

    def __enter__(self) -> Actor:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def play(roles: Mapping[str, Callable[..., None]], arguments: list[str]) -> None:
    """Be an actor: the role that is named first, with the rest as its arguments."""
    role, *rest = arguments
    if not role.endswith("client"):
        # A client notices by itself, because it reads lines; the others are at their sockets.
        threading.Thread(target=_end_with_input, daemon=True).start()
    roles[role](*rest)
    # Whatever else a library has running must not keep a process whose work is done.
    os._exit(0)


def say_ready() -> None:
    """Tell the benchmark that requests may come."""
    print("ready", flush=True)


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)
