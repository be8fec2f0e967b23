"""Statements of the hot path: written with SQLAlchemy Core, compiled once, run by the driver itself.

Compiling is cached by SQLAlchemy too, but everything around it (an execution context, a result object) costs
60 to 100 µs a statement, and a publication has five of them; run like this they cost about 5 µs each. The
text still comes from Core, so it is right for whichever database is underneath.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Executable
from sqlalchemy.exc import DBAPIError


class Prepared:
    """A statement whose parameters are the names of its binds (or, for an INSERT, of its columns)."""

    def __init__(self, statement: Executable, columns: Sequence[str] | None = None) -> None:
        self._statement = statement
        self._columns = columns
        self._texts: dict[str, tuple[str, list[str] | None, dict[str, Any]]] = {}

    def _compile(self, connection: Connection) -> tuple[str, list[str] | None, dict[str, Any]]:
        """The text for this database, the order of its parameters if they have no names, and its constants."""
        compiled = self._statement.compile(dialect=connection.dialect, column_keys=self._columns)  # type: ignore[attr-defined]
        order = list(compiled.positiontup) if compiled.positional else None
        constants = {name: value for name, value in compiled.params.items() if value is not None}
        text = self._texts[connection.dialect.name] = (str(compiled), order, constants)
        return text

    def run(self, connection: Connection, *rows: Mapping[str, Any]) -> list[Any]:
        """Run it once for each row of parameters; the rows that it returns (for one row of parameters)."""
        dialect = connection.dialect
        text, order, constants = self._texts.get(dialect.name) or self._compile(connection)
        values: Sequence[Any] = [{**constants, **row} for row in rows] if constants else rows
        driver = connection.connection.dbapi_connection
        assert driver is not None
        cursor = driver.cursor()
        try:
            if len(values) == 1:
                row = values[0]
                cursor.execute(text, row if order is None else [row[name] for name in order])
                return cursor.fetchall() if cursor.description else []  # type: ignore[return-value]
            cursor.executemany(text, values if order is None else [[row[name] for name in order] for row in values])
            return []
        except dialect.loaded_dbapi.Error as error:
            raise DBAPIError(text, None, error) from error
        finally:
            cursor.close()
