"""The hub's end of a child process that examines bodies (`worker` is the other end).

Promises:
- `examine` comes back: with every verdict that the child gave, and why there are no more if it stopped giving them.
- A child that did not answer in time, died, or said what it should not, is of no more use: `is_usable` is False.
- `kill` may be called from any thread, and makes an `examine` that waits come back at once.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

import msgspec

from pregon.filters.expression import Verdict
from pregon.filters.pipe import Task, Wire

START_MS_MAX = 30_000
"""How long a child may take to start, on a machine that has other things to do."""
PATIENCE = 5
"""How many times its time limit a message may take by the clock on the wall.

The limit itself is of processor time, which the kernel counts: a busy machine makes no filter fail. This is for a
child that gets no processor at all."""
GATHERING_S = 0.001
"""How long verdicts gather when there are more to come: to be woken for each would cost more than most of them."""

_DIED = "its process died"


class Child:
    """One child process, starting or started."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            # In a session of its own: Ctrl-C on the hub's terminal is for the hub. And without the working
            # directory on its path (-P), where a file that is called like a module may lie.
            command = [sys.executable, "-P", "-m", "pregon.filters.worker", str(theirs.fileno())]
            try:
                self._process = subprocess.Popen(
                    command,
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError:
                ours.close()
                raise
        self._wire = Wire(ours)
        self._decoder: msgspec.msgpack.Decoder[Verdict | None] = msgspec.msgpack.Decoder(Verdict | None)
        self._is_ready = False
        self._is_lost = False

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_usable(self) -> bool:
        """Whether it lives, as far as is known, and may be given a task."""
        return not self._is_lost and self._process.poll() is None

    def wait_until_ready(self) -> bool:
        """Whether the child has started; False if it died or took too long."""
        if not self._is_ready and self.is_usable:
            try:
                self._is_ready = self._next(START_MS_MAX) is None
            except (OSError, EOFError, msgspec.MsgspecError):
                self._is_lost = True
        return self._is_ready and self.is_usable

    def examine(self, task: Task) -> tuple[list[Verdict], str]:
        """The verdicts on the first rows, at least one or else a failure; and the failure on the next, "" if none."""
        verdicts: list[Verdict] = []
        patience_ms = PATIENCE * task.time_limit_ms
        try:
            self._wire.send(task, timeout_ms=patience_ms)
            while (verdict := self._next(patience_ms)) is not None:
                verdicts.append(verdict)
                if not self._wire.has_more:
                    time.sleep(GATHERING_S)
            if verdicts:
                return verdicts, ""
            failure = _DIED
        except TimeoutError:
            failure = f"it got no processor for {patience_ms} ms"
        except (OSError, EOFError, msgspec.MsgspecError):
            failure = _DIED
        self._is_lost = True
        self.kill()
        if self._process.wait() == -signal.SIGPROF:
            failure = f"it took more than {task.time_limit_ms} ms"
        return verdicts, failure

    def _next(self, timeout_ms: float) -> Verdict | None:
        frame = self._wire.receive(timeout_ms)
        if frame is None:
            raise EOFError
        return self._decoder.decode(frame)

    def kill(self) -> None:
        """End the process."""
        self._process.kill()

    def close(self) -> None:
        """End the process and let go of everything; not while another thread examines."""
        self.kill()
        self._process.wait()
        self._wire.close()


def pids_of(children: Sequence[Child | None]) -> list[int]:
    """The process ids of those that live."""
    return [child.pid for child in children if child is not None and child.is_usable]
