"""Examines messages by filters: those that look into bodies in child processes, where they can take too long.

Called by threads of the hub, one for each lane. Which filter is in which lane is `lanes`' to decide, and what a
child is told is `child`'s; when to examine what, and what to do with a verdict, is the hub's.

Promises:
- Every message gets a verdict or is left for the next call. What cannot be examined passes: it took too long, its
  process died, the filter cannot be read or is suspended. The reason then begins with "the filter".
- A call gives way to others: it holds its lane for `TURN_MS` and one message more, by the limits in `lanes`. So
  one slow filter holds up the quick ones for its first message, once in `lanes.SLOW_FOR_MS`.
- A child is started when it is first needed, and again when it is lost. From then on one more stands by, started
  and idle, so that the lane of a filter that was killed does not wait for Python to start.
- After `stop` no child lives, and a call that was waiting has come back with what it had.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from pregon import limits
from pregon.clock import monotonic_ms
from pregon.errors import BadFilter
from pregon.filters.cache import FilterCache
from pregon.filters.child import Child, pids_of
from pregon.filters.conditions import cut
from pregon.filters.expression import Verdict, failure
from pregon.filters.lanes import QUICK, SLOW, TIME_LIMIT_MS, Lane, Lanes
from pregon.filters.pipe import TASK_BYTES_MAX, Row, Task
from pregon.model.message import Message

log = logging.getLogger("pregon.filters")

TURN_MS: dict[Lane, int] = TIME_LIMIT_MS
"""When a call has worked this long it comes back with what it has, and another filter may have its turn."""
_NO_CHILD = "no process could be started for it"


class _Desk:
    """Where one lane works: a child, and who holds it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.child: Child | None = None


class Examiner:
    """Examines messages; made once for a hub."""

    def __init__(self) -> None:
        self._cache = FilterCache()
        self._lanes = Lanes()
        self._desks: dict[Lane, _Desk] = {QUICK: _Desk(), SLOW: _Desk()}
        self._spare: Child | None = None
        self._is_stopping = True
        self._lock = threading.Lock()
        """Held for moments, to look at or change the lanes, the spare child and whether all this is stopping."""

    def start(self) -> None:
        """From now on children may be started; none is until it is needed."""
        with self._lock:
            self._is_stopping = False

    def stop(self) -> None:
        """End the children; returns when they have ended and no call waits for one."""
        with self._lock:
            self._is_stopping = True
            spare, self._spare = self._spare, None
            for desk in self._desks.values():
                if desk.child is not None:
                    desk.child.kill()
        if spare is not None:
            spare.close()
        for desk in self._desks.values():
            with desk.lock:
                self._dismiss(desk)

    @property
    def pids(self) -> list[int]:
        """The process ids of the children that live, the one that stands by last."""
        return pids_of([*(desk.child for desk in self._desks.values()), self._spare])

    def lane_of(self, filter_text: str) -> Lane:
        """In which lane the filter is to be examined now."""
        with self._lock:
            return self._lanes.lane_of(filter_text, monotonic_ms())

    def examine(self, filter_text: str, messages: Sequence[Message], *, lane: Lane) -> list[Verdict]:
        """The verdicts on the first of the messages, in order: as many as there was time for.

        There is at least one, but in two cases: the filter is not in the quick lane any more while this is it, or
        the examiner is stopping. Examine the rest in another turn, in the lane that `lane_of` then says.
        """
        try:
            wanted = self._cache.require(filter_text)
        except BadFilter as error:
            return [failure(str(error))] * len(messages)
        if not wanted.needs_body:
            return [wanted.examine(message) for message in messages]
        desk = self._desks[lane]
        with desk.lock:
            return self._take_turn(filter_text, messages, lane, desk)

    def _take_turn(self, text: str, messages: Sequence[Message], lane: Lane, desk: _Desk) -> list[Verdict]:
        verdicts: list[Verdict] = []
        ends_ms = monotonic_ms() + TURN_MS[lane]
        while len(verdicts) < len(messages):
            now_ms = monotonic_ms()
            with self._lock:
                suspension = self._lanes.find_suspension(text, now_ms)
                is_elsewhere = lane == QUICK and self._lanes.lane_of(text, now_ms) != QUICK
            if suspension is not None:
                suspended = Verdict(True, cut(f"the filter is suspended: {suspension}"))
                return verdicts + [suspended] * (len(messages) - len(verdicts))
            if is_elsewhere or self._is_stopping or (verdicts and now_ms >= ends_ms):
                break
            rows = _rows(messages, len(verdicts))
            task = Task(text, TIME_LIMIT_MS[lane], max(0.0, ends_ms - now_ms), rows)
            given, failed = self._ask(desk, task)
            verdicts += given
            with self._lock:
                if given:
                    self._lanes.passed(text)
                if failed and not self._is_stopping:
                    verdicts.append(failure(failed))
                    self._lanes.failed(text, lane, monotonic_ms(), failed)
            if failed and not self._is_stopping:
                log.warning("a filter failed", extra={"filter": cut(text), "lane": lane, "reason": failed})
        return verdicts

    def _ask(self, desk: _Desk, task: Task) -> tuple[list[Verdict], str]:
        """What the lane's child says to a task, and why it did not say more, if it did not."""
        child = self._child_of(desk)
        if child is None:
            return [], _NO_CHILD
        given, failed = child.examine(task)
        if failed:
            self._dismiss(desk)
        return given, failed

    def _child_of(self, desk: _Desk) -> Child | None:
        """The lane's child, ready to work; None if there is none to be had. One more is made to stand by."""
        # Three times: children may have died while nobody looked, this one and the spare, and no filter is to blame.
        for _ in range(3):
            try:
                if desk.child is None:
                    self._employ(desk)
                if desk.child is not None and desk.child.wait_until_ready():
                    self._provide_spare()
                    return desk.child
            except OSError as error:
                log.error("no process for filters", extra={"reason": str(error)})
            self._dismiss(desk)
        return None

    def _employ(self, desk: _Desk) -> None:
        """Give a lane the child that stands by, or a new one."""
        with self._lock:
            if not self._is_stopping:
                spare, self._spare = self._spare, None
                desk.child = spare or Child()

    def _provide_spare(self) -> None:
        with self._lock:
            if self._spare is None and not self._is_stopping:
                self._spare = Child()

    def _dismiss(self, desk: _Desk) -> None:
        """Let go of a lane's child, if it has one."""
        with self._lock:
            child, desk.child = desk.child, None
        if child is not None:
            child.close()


def _rows(messages: Sequence[Message], first: int) -> list[Row]:
    """The rows of the next messages, as many as fit into a task."""
    rows: list[Row] = []
    size = 0
    for message in messages[first : first + limits.EXAMINE_MESSAGES_MAX]:
        size += len(message.body)
        if rows and size > TASK_BYTES_MAX:
            break
        rows.append(Row.of(message))
    return rows
