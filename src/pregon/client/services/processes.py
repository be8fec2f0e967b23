"""Services that run in processes: one child for each slot, kept by a thread that talks to it.

A child that dies, or takes too long and is killed, fails only the request that it had, and is replaced. Frames go to it
as they came: arguments are read and results written there, beside the other children.

Children ignore SIGINT and SIGTERM, which a terminal or a supervisor may send to all of a worker's processes: the worker
itself drains and ends them. A child whose worker is gone ends after what it is doing.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

import msgspec

from pregon.client.services.runners import Done, Threads, dropped, too_long
from pregon.client.services.service import Outcome, Prepared, Service, log
from pregon.client.services.worker_talk import Work
from pregon.clock import monotonic_ms
from pregon.errors import SettingsInvalid
from pregon.wire.services import Failure

_CLOSE_S = 2.0
_LOOK_S = 0.1
# Children that die before they can be asked anything are replaced ever more slowly.
_START_PAUSE_S_MAX = 5.0
_STARTS_MAX = 3
_START_MS_MAX = 60_000.0
_READY = b"ready"

_encode = msgspec.msgpack.Encoder().encode
_decode_body = msgspec.msgpack.Decoder(list[bytes]).decode
_decode_outcome = msgspec.msgpack.Decoder(list[bytes] | Failure).decode


class ChildGone(Exception):
    """A child ended, or could not be started; nothing of what it was to be given was begun."""


class Child:
    """One process that calls one service."""

    def __init__(self, of: Service[..., Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process: SpawnProcess = context.Process(
            target=run_child, args=(theirs, of), name=f"pregon-{of.name}", daemon=True
        )
        try:
            self._process.start()
        except OSError as error:
            self._ours.close()
            raise ChildGone(f"cannot be started: {error}") from error
        finally:
            theirs.close()

    def wait_until_ready(self, closing: threading.Event) -> None:
        """Wait until it has imported what it needs; raises ChildGone if it never will."""
        until_ms = monotonic_ms() + _START_MS_MAX
        try:
            while not self._ours.poll(_LOOK_S):
                if closing.is_set() or monotonic_ms() >= until_ms:
                    raise ChildGone(f"was not ready: it {self.kill()}")
            self._ours.recv_bytes()
        except (EOFError, OSError) as error:
            raise ChildGone(f"{self.ending()} before it was ready") from error

    def send(self, body: list[bytes]) -> None:
        """Give it something to do; raises ChildGone if there is nobody to do it."""
        try:
            self._ours.send_bytes(_encode(body))
        except OSError as error:
            raise ChildGone(self.ending()) from error

    def outcome_within(self, wait_s: float) -> Outcome | None:
        """What came of it, if it comes in time; raises EOFError or OSError if the process is gone."""
        return _decode_outcome(self._ours.recv_bytes()) if self._ours.poll(wait_s) else None

    def kill(self) -> str:
        """End it; how it ended, for people."""
        self._process.kill()
        return self.ending()

    def ending(self) -> str:
        """Wait for the end of one that is gone; how it ended, for people."""
        self._ours.close()
        self._process.join(_CLOSE_S)
        code = self._process.exitcode
        if code is None:
            self._process.kill()
            self._process.join(_CLOSE_S)
            return "was killed"
        with contextlib.suppress(ValueError):
            self._process.close()
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"


def run_child(connection: Connection, of: Service[..., Any]) -> None:
    """What a child does: call the service with what it is sent, until nobody sends any more."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    prepared = Prepared(of)
    with contextlib.suppress(EOFError, OSError):
        connection.send_bytes(_READY)
        while True:
            connection.send_bytes(_encode(prepared.call(_decode_body(connection.recv_bytes()))))
    os._exit(0)


class _Keeper:
    """Keeps one child: there is always one, or a reason why not."""

    def __init__(self, prepared: Prepared, closing: threading.Event) -> None:
        self._prepared = prepared
        self._closing = closing
        self._child: Child | None = None
        self._deaths = 0

    def prepare(self) -> None:
        """Have a child that is ready; if none can be started, it is tried again when there is something to do."""
        if self._child is None:
            if self._deaths:
                self._closing.wait(min(_START_PAUSE_S_MAX, 0.05 * 2.0 ** min(self._deaths - 1, 10)))
            try:
                child = Child(self._prepared.service)
                child.wait_until_ready(self._closing)
            except ChildGone as gone:
                self._lost(str(gone))
            else:
                self._child = child

    def call(self, work: Work) -> Outcome:
        """Have the child do it; what came of it."""
        if not self._send(work.body):
            return Failure(message="no process could be started for it: the worker's log has more")
        # From now on: what a new process takes to be ready is not the function's fault.
        started_ms = work.started_ms = monotonic_ms()
        limit_ms = self._prepared.manner.time_limit_ms
        until_ms = started_ms + limit_ms if limit_ms is not None else None
        if work.until_ms is not None:
            until_ms = work.until_ms if until_ms is None else min(until_ms, work.until_ms)
        return self._outcome(work, started_ms, until_ms)

    def _send(self, body: list[bytes]) -> bool:
        """Give it to a child that lives; whether there was one."""
        for _ in range(_STARTS_MAX):
            self.prepare()
            if self._closing.is_set():
                return False
            if self._child is None:
                continue
            try:
                self._child.send(body)
            except ChildGone as gone:
                self._lost(str(gone))
            else:
                return True
        return False

    def _outcome(self, work: Work, started_ms: float, until_ms: float | None) -> Outcome:
        child = self._child
        assert child is not None
        try:
            while True:
                # Looked at now and then: nobody may wait for it any more, or the worker may be ending.
                left_s = _LOOK_S if until_ms is None else min(_LOOK_S, (until_ms - monotonic_ms()) / 1_000)
                outcome = child.outcome_within(max(0.0, left_s))
                if outcome is not None:
                    self._deaths = 0
                    return outcome
                is_late = until_ms is not None and monotonic_ms() >= until_ms
                if is_late or work.is_dropped or self._closing.is_set():
                    self._child = None
                    child.kill()
                    return too_long((until_ms or started_ms) - started_ms) if is_late else dropped()
        except (EOFError, OSError, msgspec.DecodeError):
            ending = child.ending()
            self._lost(ending)
            return Failure(message=f"its process {ending}")

    def _lost(self, ending: str) -> None:
        if not self._closing.is_set():
            log.error("a process of %s %s", self._prepared.name, ending)
        self._child = None
        self._deaths += 1

    def close(self) -> None:
        """No more."""
        if self._child is not None:
            self._child.kill()


class Processes(Threads):
    """A plain function, in `slots` processes, which are started at once."""

    enforces_limits = True

    def __init__(self, prepared: Prepared, done: Done) -> None:
        """Raises SettingsInvalid for a function that a child cannot import."""
        super().__init__(prepared, done)
        self._closing = threading.Event()
        try:
            pickle.dumps(prepared.service)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise SettingsInvalid(
                f"{prepared.name}: with processes=True it stands at the top of a module, for a child to import: {error}"
            ) from error

    def start(self) -> None:
        """Start the processes."""
        for _ in range(self._prepared.manner.slots):
            self.add_thread()

    def _run(self) -> None:
        keeper = _Keeper(self._prepared, self._closing)
        try:
            keeper.prepare()
            while (work := self._queue.get()) is not None:
                self._finish(work, dropped() if work.is_dropped else keeper.call(work))
                # After the answer: who asked need not wait for the next process.
                keeper.prepare()
        finally:
            keeper.close()

    def close(self) -> None:
        """Kill the processes."""
        self._closing.set()
        super().close()
        for thread in self._threads:
            thread.join(_CLOSE_S)
