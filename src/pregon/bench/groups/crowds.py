"""The processes in which talkers are, as the benchmark sees them: told the same things at the same time.

Talkers are dealt out evenly. Two processes, because there are as many cores here as that, and the hub is a third.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import msgspec

from pregon.bench.groups.crowd import Task, Told
from pregon.bench.peers.process import PeerFailed
from pregon.bench.services.actors import Actor

PROCESSES = 2
_LEAD_S = 0.1
"""From telling them to beginning: all have read what to do by then, and the hub has done what the last round left."""


class _CrowdActor(Actor):
    """One of them."""

    def __init__(self, log: Path, hub: str) -> None:
        super().__init__(log, "", hub)
        self._command = [sys.executable, "-m", "pregon.bench.groups.crowd", hub]


class Crowds:
    """All of them, from entering to leaving."""

    def __init__(self, directory: Path, hub: str, processes: int = PROCESSES) -> None:
        self._actors = [_CrowdActor(directory / f"crowd-{number}.log", hub) for number in range(processes)]
        self._pool = ThreadPoolExecutor(processes)
        self._stack = ExitStack()
        self._rounds = 0

    def join(self, way: str, place: str, numbers: Sequence[int], apart_s: float = 0.0) -> list[Told]:
        """Have these talkers too; a number is always in the same process."""
        count = len(self._actors)
        return self._tell(
            Task(
                do="join",
                way=way,
                place=place,
                numbers=[number for number in numbers if number % count == which],
                at_s=time.monotonic() + _LEAD_S,
                apart_s=apart_s,
            )
            for which in range(count)
        )

    def leave(self, way: str, numbers: Sequence[int]) -> None:
        """Have these no more."""
        count = len(self._actors)
        self._tell(
            Task(do="leave", way=way, numbers=[number for number in numbers if number % count == which])
            for which in range(count)
        )

    def round(self, way: str, senders: Sequence[int], apart_s: float = 0.0, *, settles: bool = False) -> list[Told]:
        """These send, at once or one after another; until everybody was shown everything."""
        self._rounds += 1
        task = Task(do="round", way=way, numbers=list(senders), round=self._rounds, apart_s=apart_s, settles=settles)
        task.at_s = time.monotonic() + (0 if settles else _LEAD_S)
        return self._tell(task for _ in self._actors)

    def _tell(self, tasks: Iterable[Task]) -> list[Told]:
        return list(self._pool.map(_ask, self._actors, tasks))

    def __enter__(self) -> Crowds:
        self._stack.callback(self._pool.shutdown)
        for actor in self._actors:
            self._stack.enter_context(actor)
        for actor in self._actors:
            actor.wait_until_ready()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def _ask(actor: Actor, task: Task) -> Told:
    answer = actor.ask(msgspec.json.encode(task).decode())
    try:
        return msgspec.json.decode(answer, type=Told)
    except msgspec.DecodeError as error:
        raise PeerFailed(f"a crowd said {answer[:200]!r}") from error
