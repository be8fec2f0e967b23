"""Rows whose ids follow their times: found by a time, and forgotten from the oldest on.

Traces and the audit are such tables: each row is written with the time of its transaction, which never goes back, and
gets the next id. So the id of a time is found in a few steps, without an index on the time.
"""

from __future__ import annotations

from sqlalchemy import Connection, Table, bindparam, delete, select

from pregon.store.prepared import Prepared


class ByTime:
    """A table with the columns `id` and `at_us`, both growing."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._at = Prepared(
            select(table.c.id, table.c.at_us).where(table.c.id >= bindparam("from_id")).order_by(table.c.id).limit(1)
        )

    def oldest_id(self, connection: Connection) -> int:
        """The id of the oldest row, 0 if there is none."""
        return connection.execute(select(self._table.c.id).order_by(self._table.c.id).limit(1)).scalar() or 0

    def newest_id(self, connection: Connection) -> int:
        """The id of the newest row, 0 if there is none."""
        return connection.execute(select(self._table.c.id).order_by(self._table.c.id.desc()).limit(1)).scalar() or 0

    def newest_us(self, connection: Connection) -> int:
        """When the newest row was written, 0 if there is none."""
        return connection.execute(select(self._table.c.at_us).order_by(self._table.c.id.desc()).limit(1)).scalar() or 0

    def first_id_at(self, connection: Connection, at_us: int) -> int:
        """The id of the first row at that time or later; the next one to come if there is none."""
        oldest = self.oldest_id(connection)
        if not oldest:
            return 1
        low, high = oldest, self.newest_id(connection) + 1
        while low < high:
            middle = (low + high) // 2
            ((found_id, found_us),) = self._at.run(connection, {"from_id": middle})
            if found_us < at_us:
                low = found_id + 1
            else:
                high = middle
        return low

    def forget(self, connection: Connection, before_us: int, rows_max: int, last_id: int | None = None) -> int:
        """Remove at most `rows_max` rows older than `before_us`, up to `last_id`, the oldest first; how many it was.

        The newest one stays: the next id is counted from it, and an id that was given twice would lead astray whoever
        remembers how far it has read.
        """
        oldest = self.oldest_id(connection)
        if not oldest:
            return 0
        end = min(self.first_id_at(connection, before_us), oldest + rows_max, self.newest_id(connection))
        if last_id is not None:
            end = min(end, last_id + 1)
        return connection.execute(delete(self._table).where(self._table.c.id < end)).rowcount
