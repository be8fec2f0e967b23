"""The runners of one worker: who does which work, and what takes too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pregon.client.services.coroutines import Coroutines
from pregon.client.services.processes import Processes
from pregon.client.services.runners import Done, Inline, Runner, Threads, too_long
from pregon.client.services.service import Prepared, Service
from pregon.client.services.worker_talk import Work
from pregon.wire.services import Failure


class Staff:
    """Gives each work to the runner of its service, and watches the time of those that cannot be ended."""

    def __init__(self, services: Sequence[Service[..., Any]], done: Done, done_here: Done) -> None:
        """`done_here` is for who is done in the thread that gives. Raises SettingsInvalid for what cannot be run."""
        self._prepared = {one.type: Prepared(one) for one in services}
        waiting = [(name, prepared) for name, prepared in self._prepared.items() if prepared.service.is_async]
        coroutines = [Coroutines(waiting, done)] if waiting else []
        self._runner_of: dict[str, Runner] = {
            name: coroutines[0] if prepared.service.is_async else _plain_runner(prepared, done, done_here)
            for name, prepared in self._prepared.items()
        }
        self._limited: dict[bytes, Work] = {}
        """Under way, with a time limit that its runner does not see to."""

    def __str__(self) -> str:
        return ", ".join(self._prepared)

    def start(self) -> None:
        """Make ready."""
        for runner in self._runners():
            runner.start()

    def _runners(self) -> list[Runner]:
        return list(dict.fromkeys(self._runner_of.values()))

    def give(self, work: Work) -> None:
        """Have it done."""
        runner = self._runner_of[work.name]
        if not runner.enforces_limits and (work.until_ms is not None or self._limit_ms(work) is not None):
            self._limited[work.id] = work
        runner.give(work)

    def _limit_ms(self, work: Work) -> int | None:
        return self._prepared[work.name].manner.time_limit_ms

    def drop(self, work: Work) -> None:
        """Nobody waits for it any more."""
        self._runner_of[work.name].drop(work)

    def ended(self, work: Work) -> None:
        """It is done."""
        if self._limited:
            self._limited.pop(work.id, None)

    def overdue(self, now_ms: float) -> Iterator[tuple[Work, Failure]]:
        """Those that have run for too long, and are not ended: each once."""
        for work in list(self._limited.values()):
            limit_ms = self._limit_ms(work)
            if limit_ms is not None and work.started_ms is not None and now_ms - work.started_ms >= limit_ms:
                del self._limited[work.id]
                yield work, too_long(limit_ms)
            elif work.until_ms is not None and now_ms >= work.until_ms:
                del self._limited[work.id]
                yield work, Failure(message="the deadline of who asked has passed")

    def close(self) -> None:
        """End, whatever is under way."""
        for runner in self._runners():
            runner.close()


def _plain_runner(prepared: Prepared, done: Done, done_here: Done) -> Runner:
    if prepared.manner.inline:
        return Inline(prepared, done_here)
    return Processes(prepared, done) if prepared.manner.processes else Threads(prepared, done)
