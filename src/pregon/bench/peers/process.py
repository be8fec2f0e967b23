"""Finding, starting and ending the servers of other brokers.

A peer says which command runs its server and which bytes show that it is ready; this module does the rest,
the same way for every peer. It knows no broker by name: ports, child processes and waiting are all it does.

Promises:
- Only processes started here are ended, and each by its own process id (or the group that it leads).
- `stop` may be called at any time and any number of times; no child outlives it.
- Every wait has an end, and a server that does not start is reported with the last lines of its log.
"""

import atexit
import contextlib
import importlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
START_SECONDS_MAX = 90.0
STOP_SECONDS_MAX = 30.0
PROBE_SECONDS_MAX = 1.0
PROBE_PAUSE_SECONDS = 0.05
LOG_TAIL_LINES_MAX = 20

SILENCE_SECONDS_MAX = 10.0
"""How long a consumer waits for the next message before it says that there are too few."""

MEASURE_SECONDS_MAX = 600.0
"""How long one measurement of a peer may take."""

# Debian keeps servers out of an ordinary user's PATH, and RabbitMQ's own scripts out of everyone's.
SERVER_FOLDERS = ("/usr/lib/rabbitmq/bin", "/usr/local/sbin", "/usr/sbin")


class PeerMissing(Exception):
    """A peer's server or Python client is not on this machine, so the peer cannot be measured here."""


class PeerFailed(Exception):
    """A peer's server did not start, or did not do what the measurement asked of it."""


@dataclass(frozen=True)
class Greeting:
    """What to say on a new connection, and how the answer of a server that is ready begins."""

    say: bytes
    answer_begins: bytes


def find_executable(name: str) -> Path | None:
    """Where the executable is; RabbitMQ's own scripts win over the wrappers that change user."""
    folders = os.pathsep.join((SERVER_FOLDERS[0], os.environ.get("PATH", os.defpath), *SERVER_FOLDERS[1:]))
    found = shutil.which(name, path=folders)
    return Path(found) if found else None


def require_executable(name: str) -> Path:
    """Like `find_executable`, but raises `PeerMissing`."""
    found = find_executable(name)
    if found is None:
        raise PeerMissing(f"{name} is not installed: pregon.bench.peers.install can install it on Debian")
    return found


def require_client(module_name: str) -> Any:
    """Import a peer's Python client only when it is needed; raises `PeerMissing`."""
    try:
        return importlib.import_module(module_name)
    except ImportError as problem:
        raise PeerMissing(f"the Python client {module_name!r} is not installed") from problem


def free_ports(count: int) -> list[int]:
    """Distinct loopback ports that nobody listened on a moment ago."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return [int(each.getsockname()[1]) for each in sockets]


@dataclass
class ServerProcess:
    """One server: a child process that leads its own process group, with its log in a file."""

    command: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    _child: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        """Start the server; `wait_for_answer` says when it is ready."""
        if self._child is not None:
            raise PeerFailed(f"{self.command[0]} was already started")
        # A server may be stopped by an interrupt at the keyboard only through `stop`, hence its own session.
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                list(self.command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.environment},
                cwd=self.log.parent,
                start_new_session=True,
            )
        atexit.register(self.stop)

    def wait_for_answer(self, port: int, greeting: Greeting) -> None:
        """Wait until the server answers the greeting on a loopback port; raises `PeerFailed`."""
        deadline_s = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline_s:
            if self._child is None or self._child.poll() is not None:
                break
            if _answers(port, greeting):
                return
            time.sleep(PROBE_PAUSE_SECONDS)
        raise PeerFailed(f"{self.command[0]} did not start; its log ends:\n{self._log_tail()}")

    def stop(self) -> None:
        """Ask the server to end, then make it; does nothing when it is not running."""
        child, self._child = self._child, None
        atexit.unregister(self.stop)
        if child is None:
            return
        # Only the leader is asked: an Erlang server aborts when its helper processes die before it.
        child.terminate()
        try:
            child.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def _log_tail(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(lines[-LOG_TAIL_LINES_MAX:])


class RunningServers:
    """The servers of one peer, ended together."""

    def __init__(self) -> None:
        self._started: list[ServerProcess] = []

    def launch(self, server: ServerProcess, port: int, greeting: Greeting) -> None:
        """Start one more server and wait until it answers; otherwise end them all and raise `PeerFailed`."""
        self._started.append(server)
        try:
            server.start()
            server.wait_for_answer(port, greeting)
        # An interrupt at the keyboard must not leave a server behind either.
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End every server, the last started first."""
        while self._started:
            self._started.pop().stop()


def _answers(port: int, greeting: Greeting) -> bool:
    """Whether a server on this loopback port gives the greeting's answer now."""
    try:
        with socket.create_connection((LOOPBACK, port), PROBE_SECONDS_MAX) as connection:
            connection.sendall(greeting.say)
            return connection.recv(len(greeting.answer_begins), socket.MSG_WAITALL) == greeting.answer_begins
    except OSError:
        return False
