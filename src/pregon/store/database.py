"""The database underneath, and everything in which one database differs from another.

`Database` is what the rest of `store` needs of it. `SqliteDatabase` is the embedded one: WAL mode, every
connection in the driver's autocommit, transactions begun and ended here by name.

Promises:
- When `commit` of a transaction begun as durable returns, it is on disk: SQLite has synced its log.
- One begun as not durable survives the end of this process, and the next durable commit syncs it too.
- A data directory has one hub at a time: the second one is refused before it touches a file.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import sqlite3
from pathlib import Path
from typing import IO, Protocol

from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from pregon.errors import (
    DataDirectoryInUse,
    DataDirectoryReadOnly,
    InternalError,
    PregonError,
    StoreCorrupt,
    StoreFailed,
    StoreFull,
)
from pregon.store.prepared import Prepared

log = logging.getLogger("pregon.store")

DATABASE_FILE = "pregon.db"
LOCK_FILE = "pregon.lock"
LOG_BYTES_SOFT_MAX = 8 * 1024 * 1024
"""Past this the write-ahead log is copied into the database beside the writer."""
LOG_BYTES_HARD_MAX = 32 * 1024 * 1024
"""Past this the writer itself copies it, and waits."""

_SYNCED = Prepared(text("PRAGMA synchronous=FULL"))
_NOT_SYNCED = Prepared(text("PRAGMA synchronous=NORMAL"))
_BEGIN = Prepared(text("BEGIN IMMEDIATE"))
_COMMIT = Prepared(text("COMMIT"))
_CHECKPOINT = Prepared(text("PRAGMA wal_checkpoint(PASSIVE)"))

_FULL = {"SQLITE_FULL"}
_CORRUPT = {"SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_CORRUPT_VTAB", "SQLITE_CORRUPT_INDEX"}


class Database(Protocol):
    """What the store needs of a database."""

    engine: Engine

    def connect(self) -> Connection:
        """A new connection, its own transactions, for one thread at a time."""
        ...

    def begin_write(self, connection: Connection, *, durable: bool) -> None:
        """Begin a transaction that will write, and say whether its commit must reach the disk."""
        ...

    def commit(self, connection: Connection) -> None:
        """End it; if it was begun as durable, only return when it is on disk."""
        ...

    def rollback(self, connection: Connection) -> None:
        """Undo it; never raises."""
        ...

    def prepare_log(self) -> None:
        """Get the write-ahead log ready, if it is our job."""
        ...

    def checkpoint(self, connection: Connection) -> bool:
        """Copy the write-ahead log into the database, as far as readers allow; whether all of it was copied."""
        ...

    def translate(self, error: DBAPIError) -> PregonError:
        """The error of the driver as one of ours."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


class SqliteDatabase:
    """The embedded database: one file and its log, in a directory that this process holds alone."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / DATABASE_FILE
        self._wal_path = directory / (DATABASE_FILE + "-wal")
        self._lock = _lock_directory(directory)
        self._is_synced = True
        """How the one connection that writes is set; every connection begins synced."""
        self.engine = create_engine(
            URL.create("sqlite", database=str(self.path)),
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            connect_args={"check_same_thread": False, "timeout": 10.0},
        )
        event.listen(self.engine, "connect", _configure_connection)

    def connect(self) -> Connection:
        """A new connection; raises StoreCorrupt if the file is not a database."""
        try:
            return self.engine.connect()
        except DBAPIError as error:
            raise self.translate(error) from error
        except sqlite3.Error as error:
            raise translate_sqlite(error, self.path) from error

    def begin_write(self, connection: Connection, *, durable: bool) -> None:
        """Begin, and take the write lock at once."""
        if durable is not self._is_synced:
            # SQLite takes this only between transactions. FULL syncs the log at the commit, and with it every
            # earlier commit; NORMAL leaves the log to the operating system until then.
            (_SYNCED if durable else _NOT_SYNCED).run(connection, {})
            self._is_synced = durable
        _BEGIN.run(connection, {})

    def commit(self, connection: Connection) -> None:
        """Commit, synced or not as the transaction was begun."""
        _COMMIT.run(connection, {})

    def rollback(self, connection: Connection) -> None:
        """Undo; after some errors SQLite has already done it."""
        try:
            connection.exec_driver_sql("ROLLBACK")
        except DBAPIError:
            pass

    def prepare_log(self) -> None:
        """Give the log its usual size at once, so that a sync need not also record that the file grew.

        Measured: a sync takes 130 µs where the file has its blocks, 280 µs where it grows. SQLite finds the end
        of its log by checksums, so zeros after it mean nothing; they are only ever written past its end.
        """
        with self._wal_path.open("ab", buffering=0) as file:
            begun = file.tell()
            try:
                while file.tell() < LOG_BYTES_HARD_MAX:
                    file.write(bytes(min(LOG_BYTES_HARD_MAX - file.tell(), 4 * 1024 * 1024)))
                os.fsync(file.fileno())
            except OSError as error:
                # No room for it: the log grows as it is needed instead, or says that the disk is full.
                file.truncate(begun)
                log.warning("the log was not given its size", extra={"reason": error.strerror})

    def checkpoint(self, connection: Connection) -> bool:
        """Copy the log into the database; readers and the writer go on meanwhile."""
        ((is_busy, frames, copied),) = _CHECKPOINT.run(connection, {})
        return not is_busy and frames == copied

    def translate(self, error: DBAPIError) -> PregonError:
        """SQLite's error codes as our errors."""
        return translate_sqlite(error.orig, self.path)

    def close(self) -> None:
        """Close the engine and let another hub have the directory."""
        self.engine.dispose()
        self._lock.close()


def translate_sqlite(error: BaseException | None, path: Path) -> PregonError:
    """An error of the sqlite3 driver as one of ours, saying what to do."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name in _FULL:
        return StoreFull(f"the disk of {path.parent} is full: free space; nothing of this request was stored")
    if name.split("_BTREE")[0] in _CORRUPT or name.startswith("SQLITE_CORRUPT"):
        return StoreCorrupt(
            f"{path} is damaged or is not a database of Pregón ({error}): stop the hub, keep a copy of the "
            "directory, run `pregon doctor`, and restore from a backup"
        )
    if name.startswith("SQLITE_READONLY") or name == "SQLITE_CANTOPEN":
        return DataDirectoryReadOnly(f"{path} cannot be written ({error}): give this user the right to write there")
    if name.startswith("SQLITE_CONSTRAINT"):
        # Every rule of the schema is checked before it is written: this is a bug, of one operation alone.
        return InternalError(f"the hub tried to write what its own schema forbids ({error})")
    return StoreFailed(f"the database refused the transaction ({name or type(error).__name__}: {error})")


def _configure_connection(connection: sqlite3.Connection, _record: object) -> None:
    cursor = connection.cursor()
    # Measured: 8 KiB pages are as quick as 4 KiB for a message alone and a tenth quicker for batches of 500; 16 KiB
    # ones are slower for both. It only counts when the file is made.
    cursor.execute("PRAGMA page_size=8192")
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute("PRAGMA cache_size=-16384")
    # The committer decides when to copy the log; see store.committer.
    cursor.execute("PRAGMA wal_autocheckpoint=0")
    cursor.execute(f"PRAGMA journal_size_limit={LOG_BYTES_HARD_MAX}")
    cursor.close()


def _lock_directory(directory: Path) -> IO[str]:
    """Make the directory and hold it; raises DataDirectoryReadOnly or DataDirectoryInUse."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = (directory / LOCK_FILE).open("a+")
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StoreFull(f"the disk of {directory} is full: free space and start again") from error
        raise DataDirectoryReadOnly(
            f"the data directory {directory} cannot be written ({error.strerror}): choose another with --data "
            "or give this user the right to write there"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.seek(0)
        holder = lock.read(40).strip()
        lock.close()
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise DataDirectoryReadOnly(f"{directory} cannot be locked: {error.strerror}") from error
        raise DataDirectoryInUse(
            f"another hub (process {holder or 'unknown'}) runs on {directory}: stop it, or choose another with --data"
        ) from error
    # Who holds it is written for people; on a full disk the lock holds without.
    with contextlib.suppress(OSError):
        os.truncate(lock.fileno(), 0)
        os.write(lock.fileno(), f"{os.getpid()}\n".encode())
    return lock
