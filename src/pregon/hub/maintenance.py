"""The housekeeping thread: retention, merging, and forgetting what need not be remembered any longer.

Everything it changes goes through the committer in small operations, so publishing waits for none of it
longer than for a commit.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection, or_, select

from pregon.clock import format_us
from pregon.errors import PregonError
from pregon.hub.merging import WAITING_MIN, Merge
from pregon.hub.retention import Retain
from pregon.model.trace import TraceMark
from pregon.store import catalog, dedupe, trace_marks, traces
from pregon.store.admin_sessions import SEEN_EVERY_MS, forget_sessions
from pregon.store.audit import forget_audit
from pregon.store.committer import Committer
from pregon.store.schema import subscription, topic
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction

log = logging.getLogger("pregon.hub")

_ROWS_AT_ONCE = 2_000
_IDS_AT_ONCE = 20_000
"""Remembered ids looked at in one run: more than a day's worth of publications goes by in a day of runs."""
_ROUNDS_MAX = 1_000
"""Operations of one kind for one topic in one run: a run always ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """How long things are remembered."""

    dedupe_ms: int
    traces_ms: int
    trace_mark_ms: int
    every_ms: int
    audit_ms: int
    session_idle_ms: int
    """A session of the administration pages in which nothing is done for so long is over."""


class _Forget:
    """Forget old ids, sessions, traces and the like, and sweep deleted topics; answers with whether there is more."""

    size_bytes = 200
    is_durable = False

    def __init__(self, keeping: Keeping, forgetting: dedupe.Forgetting) -> None:
        self._keeping = keeping
        self._forgetting = forgetting
        # That something was done in a session is written down once a minute.
        self._idle_ms = keeping.session_idle_ms + SEEN_EVERY_MS
        self.ticket: Ticket[bool] = Ticket()

    def apply(self, transaction: Transaction) -> None:
        """Forget a bounded number of rows of each."""
        connection, now_us = transaction.connection, transaction.now_us
        published_before_us = now_us - self._keeping.dedupe_ms * 1_000
        self._forgetting.step(connection, published_before_us, _IDS_AT_ONCE)
        self._drop_marks(transaction)
        forgotten = (
            dedupe.forget_sessions(connection, published_before_us, _ROWS_AT_ONCE),
            traces.forget_traces(
                connection,
                now_us - self._keeping.traces_ms * 1_000,
                _ROWS_AT_ONCE,
                last_id=trace_marks.find_lowest(connection),
            ),
            catalog.sweep_deleted(connection, _ROWS_AT_ONCE // 10) * 10,
            forget_audit(connection, now_us - self._keeping.audit_ms * 1_000, _ROWS_AT_ONCE),
            forget_sessions(connection, now_us, now_us - self._idle_ms * 1_000, _ROWS_AT_ONCE),
        )
        transaction.results.append((self.ticket, max(forgotten) >= _ROWS_AT_ONCE))

    def _drop_marks(self, transaction: Transaction) -> None:
        """Marks of archives that are no more do not hold traces for ever."""
        before_us = transaction.now_us - self._keeping.trace_mark_ms * 1_000
        for mark in trace_marks.drop_abandoned(transaction.connection, before_us):
            transaction.after_commit.append(partial(_tell_of_dropped, mark))


def _tell_of_dropped(mark: TraceMark) -> None:
    log.warning(
        "a mark among the traces was dropped: nobody has put it for too long, and what it held may be forgotten now",
        extra={"mark": mark.name, "trace_id": mark.id, "put_at": format_us(mark.put_us)},
    )


class Maintenance:
    """Runs housekeeping now and then, and whenever it is asked to."""

    def __init__(
        self,
        committer: Committer,
        read: Callable[[Callable[[Connection], list[int]]], list[int]],
        keeping: Keeping,
    ) -> None:
        self._committer = committer
        self._read = read
        self._keeping = keeping
        self._forgetting = dedupe.Forgetting()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pregon-maintenance", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self) -> None:
        """End after the operation at hand."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(self._keeping.every_ms / 1_000):
            try:
                self.run_once()
            except PregonError as error:
                log.warning("housekeeping put off", extra={"code": error.code, "reason": str(error)})
            except Exception:  # The top of the thread's loop: housekeeping must go on tomorrow.
                log.exception("housekeeping failed by a bug")

    def run_once(self) -> None:
        """One whole round, now."""
        for topic_id in self._read(_topics_to_retain):
            self._repeat(lambda topic_id=topic_id: Retain(topic_id))  # type: ignore[misc]
        for topic_id in self._read(_topics_to_merge):
            self._repeat(lambda topic_id=topic_id: Merge(topic_id))  # type: ignore[misc]
        self._repeat(lambda: _Forget(self._keeping, self._forgetting))

    def _repeat(self, make: Callable[[], Retain | Merge | _Forget]) -> None:
        """One operation after another, while there is more to do."""
        for _ in range(_ROUNDS_MAX):
            operation = make()
            self._committer.submit(operation)
            if not operation.ticket.result() or self._stopping.is_set():
                return


def _topics_to_retain(connection: Connection) -> list[int]:
    has_limits = select(subscription.c.topic_id).where(
        subscription.c.pending_max.is_not(None) | subscription.c.pending_age_ms.is_not(None)
    )
    statement = select(topic.c.id).where(
        ~topic.c.deleted,
        or_(
            topic.c.retention_age_ms.is_not(None),
            topic.c.retention_bytes_max.is_not(None),
            topic.c.retention_when_acknowledged,
            topic.c.id.in_(has_limits),
        ),
    )
    return list(connection.execute(statement).scalars())


def _topics_to_merge(connection: Connection) -> list[int]:
    statement = select(topic.c.id).where(~topic.c.deleted, topic.c.head_seq - topic.c.merged_seq >= WAITING_MIN)
    return list(connection.execute(statement).scalars())
