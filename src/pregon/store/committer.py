"""The committer: one transaction at a time, for everybody.

It takes whatever operations have arrived while the last commit was syncing, carries them out in one
transaction, syncs once, and only then answers them. No timer: an idle hub answers after one sync, a busy
one shares it among everybody who came meanwhile.

A thread does this. A door that takes many small requests may do it itself instead: it says `hold` before it
reads a burst of them and `let_go` after, and if what has gathered is small and nobody is writing, the burst is
committed right there. Nothing is handed from thread to thread, which on a small machine takes as long as a sync.

Promises:
- No ticket is resolved with a value before its transaction is on disk (operations that say that they are
  not durable, such as an acknowledgement, only need to be committed).
- An operation that fails does not harm its neighbours: when a transaction breaks, it is undone and each of
  its operations is tried alone.
- The queue is bounded in operations and bytes: `submit` raises HubBusy instead of growing.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from pregon import limits
from pregon.clock import WallClock
from pregon.errors import HubBusy, HubStopping, InternalError, PregonError, Unavailable
from pregon.store.database import LOG_BYTES_HARD_MAX, LOG_BYTES_SOFT_MAX, Database
from pregon.store.transaction import Operation, Transaction

log = logging.getLogger("pregon.store")

HERE_BYTES_MAX = 64 * 1024
"""More than this is left to the thread, so that the door can check what comes next while it is written."""
_PAGES_BYTES = 32 * 1024
"""What a transaction writes to the log besides its messages: pages of indexes, cursors and traces."""


class CommitListener(Protocol):
    """Who wants to know what was committed; called in the committer's thread, so it must be quick."""

    def finishing(self, transaction: Transaction) -> None:
        """Everything is in the transaction: what the listener adds goes with it."""
        ...

    def committed(self, transaction: Transaction) -> None:
        """The transaction is on disk."""
        ...

    def undone(self) -> None:
        """A transaction was undone: forget what was read in it."""
        ...


class Committer:
    """The one writer: whoever holds `_writing` has the connection."""

    def __init__(self, database: Database, clock: WallClock, listener: CommitListener) -> None:
        self._database = database
        self._clock = clock
        self._listener = listener
        self._connection: Connection = database.connect()
        self._queue: deque[Operation] = deque()
        self._queue_bytes = 0
        self._arrived = threading.Condition()
        self._writing = threading.Lock()
        self._is_held = False
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="pregon-committer", daemon=True)
        self._checkpointer = _Checkpointer(database)
        self.commits = 0
        self.operations = 0

    def start(self) -> None:
        """Begin to work."""
        self._database.prepare_log()
        self._checkpointer.start()
        self._thread.start()

    def stop(self) -> None:
        """Carry out what is queued, then end; later operations get HubStopping."""
        with self._arrived:
            self._is_stopping = True
            self._arrived.notify()
        if self._thread.is_alive():
            self._thread.join()
        # A door may still be committing its last burst.
        with self._writing:
            self._checkpointer.stop()
            self._connection.close()

    def submit(self, operation: Operation) -> None:
        """Queue an operation; raises HubBusy when the queue is full, HubStopping after `stop`."""
        with self._arrived:
            if self._is_stopping:
                raise HubStopping("the hub is stopping: connect again in a moment")
            if (
                len(self._queue) >= limits.COMMIT_QUEUE_OPERATIONS_MAX
                or self._queue_bytes >= limits.COMMIT_QUEUE_BYTES_MAX
            ):
                raise HubBusy("the hub has more to write than it can queue: send again after a pause")
            self._queue.append(operation)
            self._queue_bytes += operation.size_bytes
            if len(self._queue) == 1 and not self._is_held:
                self._arrived.notify()

    def hold(self) -> None:
        """A burst of operations comes from the calling thread: do not wake the committer's for each."""
        self._is_held = True

    def let_go(self, here_bytes_max: int = HERE_BYTES_MAX) -> None:
        """The burst is over: commit it here if it is small and nobody is writing, else wake the thread."""
        with self._arrived:
            self._is_held = False
            if not self._queue:
                return
            is_small = self._queue_bytes <= here_bytes_max
            if not is_small or self._is_stopping or not self._writing.acquire(blocking=False):
                self._arrived.notify()
                return
        try:
            self._commit_some()
        finally:
            self._writing.release()
            with self._arrived:
                if self._queue:
                    self._arrived.notify()

    @property
    def queued(self) -> int:
        """Operations waiting now."""
        return len(self._queue)

    def _take(self) -> list[Operation]:
        """What has arrived, at most one transaction's worth."""
        with self._arrived:
            taken: list[Operation] = []
            size = 0
            while self._queue and len(taken) < limits.COMMIT_OPERATIONS_MAX:
                size += self._queue[0].size_bytes
                if taken and size > limits.COMMIT_BYTES_MAX:
                    break
                operation = self._queue.popleft()
                self._queue_bytes -= operation.size_bytes
                taken.append(operation)
            return taken

    def _run(self) -> None:
        while True:
            with self._arrived:
                while not self._queue and not self._is_stopping:
                    self._arrived.wait()
                if not self._queue:
                    return
            with self._writing:
                self._commit_some()

    def _commit_some(self) -> None:
        """One transaction of what is queued; for whoever holds `_writing`, so that the order is kept."""
        operations = self._take()
        if not operations:
            return
        try:
            self._commit(operations)
        except Exception as error:  # The top of the writer's loop: whatever broke must not end it.
            self._listener.undone()
            if len(operations) > 1 and not isinstance(error, Unavailable):
                self._commit_one_by_one(operations)
            else:
                _fail_all(operations, self._explain(error))
        self._checkpointer.wrote(sum(operation.size_bytes for operation in operations), self._connection)

    def _commit(self, operations: list[Operation]) -> None:
        """Carry out the operations together; raises, with nothing done and no ticket resolved, if that fails."""
        transaction = Transaction(self._connection, self._clock.now_us())
        rejections: list[tuple[Operation, PregonError]] = []
        try:
            durable = any(operation.is_durable for operation in operations)
            self._database.begin_write(self._connection, durable=durable)
            for operation in operations:
                try:
                    operation.apply(transaction)
                except PregonError as error:
                    rejections.append((operation, error))
            self._listener.finishing(transaction)
            transaction.finish()
            self._database.commit(self._connection)
        except DBAPIError as error:
            self._database.rollback(self._connection)
            raise self._database.translate(error) from error
        except BaseException:  # Whatever it was, the transaction must not stay open.
            self._database.rollback(self._connection)
            raise
        self.commits += 1
        self.operations += len(operations)
        # It is on disk: whatever a listener or a callback breaks from here on, it is not undone nor done again.
        _carefully(lambda: self._listener.committed(transaction))
        for ticket, answer in transaction.results:
            settle = ticket.fail if isinstance(answer, PregonError) else ticket.resolve
            _carefully(settle, answer)
        for operation, rejection in rejections:
            _carefully(operation.ticket.fail, rejection)

    def _commit_one_by_one(self, operations: list[Operation]) -> None:
        for operation in operations:
            try:
                self._commit([operation])
            except Exception as error:  # One operation's failure is told to it alone.
                self._listener.undone()
                _fail_all([operation], self._explain(error))

    def _explain(self, error: Exception) -> PregonError:
        if isinstance(error, PregonError):
            log.error("transaction undone", extra={"code": error.code, "reason": str(error)})
            return error
        log.exception("transaction undone by a bug")
        return InternalError("the hub failed to carry this out; its log says why")


def _carefully(tell: Callable[..., None], *what: object) -> None:
    try:
        tell(*what)
    except Exception:  # One that is told must not keep the others from being told.
        log.exception("a listener failed by a bug")


def _fail_all(operations: list[Operation], error: PregonError) -> None:
    for operation in operations:
        _carefully(operation.ticket.fail, error)


class _Checkpointer:
    """Copies the write-ahead log into the database beside the writer, so that the writer seldom stops for it.

    The log begins anew when a copy has caught up with it. Under a load that never pauses that does not happen
    by itself, so past a hard limit the writer makes the copy.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._wanted = threading.Event()
        self._is_stopping = False
        self._log_bytes = 0
        """About how much the log holds: what was written since it last began anew."""
        self._copied_bytes = 0
        """How much of that a copy has been asked for."""
        self._thread = threading.Thread(target=self._run, name="pregon-checkpointer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._is_stopping = True
        self._wanted.set()
        if self._thread.is_alive():
            self._thread.join()

    def wrote(self, size_bytes: int, connection: Connection) -> None:
        """Called by the writer after each transaction."""
        self._log_bytes += size_bytes + _PAGES_BYTES
        if self._log_bytes > LOG_BYTES_HARD_MAX:
            self._checkpoint(connection)
        elif self._log_bytes - self._copied_bytes > LOG_BYTES_SOFT_MAX:
            self._copied_bytes = self._log_bytes
            self._wanted.set()

    def _checkpoint(self, connection: Connection) -> None:
        before = self._log_bytes
        try:
            is_complete = self._database.checkpoint(connection)
        except DBAPIError as error:
            # Nothing is lost by it (a full disk): the log still has everything.
            log.warning("checkpoint failed", extra={"reason": str(error.orig)})
            return
        self._copied_bytes = before
        if is_complete:
            self._log_bytes, self._copied_bytes = max(0, self._log_bytes - before), 0

    def _run(self) -> None:
        connection = self._database.connect()
        while not self._is_stopping:
            self._wanted.wait()
            self._wanted.clear()
            if not self._is_stopping:
                self._checkpoint(connection)
        connection.close()
