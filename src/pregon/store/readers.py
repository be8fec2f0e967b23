"""Reader threads: reads happen beside the writer, each thread with a connection of its own.

The queue is bounded: `submit` raises HubBusy instead of growing. A read never waits for the writer. A small read is
carried out by who asks, if nobody else is doing that: handing it to a thread and back takes longer than the read.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from pregon import limits
from pregon.errors import HubBusy, HubStopping, InternalError, PregonError
from pregon.store.database import Database
from pregon.store.prepared import Prepared
from pregon.store.ticket import Ticket

log = logging.getLogger("pregon.store")
_BEGIN, _COMMIT = Prepared(text("BEGIN")), Prepared(text("COMMIT"))
T = TypeVar("T")

_Job = tuple[Callable[[Connection], Any], Ticket[Any]]


class Readers:
    """A few threads that read."""

    def __init__(self, database: Database, threads: int) -> None:
        self._database = database
        # The simple queue is written in C; its bound is kept in `submit`.
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._is_stopping = False
        self._here = threading.Lock()
        self._here_connection: Connection | None = None
        self._threads = [
            threading.Thread(target=self._run, name=f"pregon-reader-{number}", daemon=True)
            for number in range(1, threads + 1)
        ]

    def start(self) -> None:
        """Begin to work."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Carry out what is queued, then end."""
        self._is_stopping = True
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        with self._here:
            if self._here_connection is not None:
                self._here_connection.close()
                self._here_connection = None

    def submit(self, read: Callable[[Connection], T], ticket: Ticket[T], *, is_small: bool = False) -> None:
        """Resolve the ticket with what `read` returns; raises HubBusy or HubStopping."""
        if self._is_stopping:
            raise HubStopping("the hub is stopping: connect again in a moment")
        if is_small and self._jobs.empty() and self._here.acquire(blocking=False):
            try:
                self._read_here(read, ticket)
            finally:
                self._here.release()
            return
        if self._jobs.qsize() >= limits.READ_QUEUE_MAX:
            raise HubBusy("the hub has more to read than it can queue: ask again after a pause")
        self._jobs.put((read, ticket))

    def _read_here(self, read: Callable[[Connection], T], ticket: Ticket[T]) -> None:
        try:
            if self._here_connection is None:
                self._here_connection = self._database.connect()
        except PregonError as error:
            ticket.fail(error)
        else:
            _answer(ticket, self._database, self._here_connection, read)

    def _run(self) -> None:
        connection = self._database.connect()
        while (job := self._jobs.get()) is not None:
            read, ticket = job
            try:
                _answer(ticket, self._database, connection, read)
            except Exception:  # The top of a reader's loop: a bug in who is told must not end the thread.
                log.exception("a callback failed by a bug")
        connection.close()


def _answer(ticket: Ticket[T], database: Database, connection: Connection, read: Callable[[Connection], T]) -> None:
    try:
        answer = read_now(database, connection, read)
    except PregonError as error:
        ticket.fail(error)
    else:
        ticket.resolve(answer)


def read_now(database: Database, connection: Connection, read: Callable[[Connection], T]) -> T:
    """Read in one snapshot of the database; raises only our errors."""
    try:
        _BEGIN.run(connection, {})
        try:
            return read(connection)
        finally:
            _COMMIT.run(connection, {})
    except DBAPIError as error:
        raise database.translate(error) from error
    except PregonError:
        raise
    except Exception as error:  # The top of a reader's loop: a bug in one read must not end the thread.
        log.exception("a read failed by a bug")
        raise InternalError("the hub failed to read this; its log says why") from error
