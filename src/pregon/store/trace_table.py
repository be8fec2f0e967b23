"""Traces as a table: rows in the order of their ids, a part at a time. Searching them is left to `trace_search`.

Promises:
- A part is one walk of the table's own key, however many traces there are. It has at most `TRACE_ROWS_MAX` rows, and at
  most `TRACE_BYTES_MAX` bytes unless one row alone has more.
"""

from __future__ import annotations

import pyarrow as pa
from sqlalchemy import Connection, bindparam, func, select

from pregon.limits import MIB
from pregon.store.prepared import Prepared
from pregon.store.schema import trace

TRACE_ROWS_MAX = 4_000
"""Rows of one part: what takes about 10 ms, because who publishes meanwhile feels it."""
TRACE_BYTES_MAX = 2 * MIB
"""Arrow bytes of one part: four times what such rows usually take, and what a slow client keeps us from giving back."""

_US = pa.timestamp("us", tz="UTC")
SCHEMA_TRACES = pa.schema(
    [
        pa.field(name, kind, nullable=False)
        for name, kind in (
            ("id", pa.int64()),
            ("at", _US),
            ("kind", pa.string()),
            ("topic", pa.string()),
            ("producer", pa.string()),
            ("subscriber", pa.string()),
            ("first_seq", pa.int64()),
            ("last_seq", pa.int64()),
            ("attempt", pa.int32()),
            ("latency_ms", pa.int32()),
            ("detail", pa.string()),
        )
    ]
)
_PART = Prepared(
    select(*(trace.c["at_us" if name == "at" else name] for name in SCHEMA_TRACES.names))
    .where(trace.c.id.between(bindparam("first_id"), bindparam("last_id")))
    .order_by(trace.c.id)
    .limit(bindparam("rows"))
)
_ENDS = Prepared(select(select(func.min(trace.c.id)).scalar_subquery(), select(func.max(trace.c.id)).scalar_subquery()))


def trace_ends(connection: Connection) -> tuple[int, int]:
    """The ids of the oldest and of the newest trace; 0 and 0 if there is none."""
    ((oldest, newest),) = _ENDS.run(connection, {})
    return int(oldest or 0), int(newest or 0)


def read_trace_rows(connection: Connection, first_id: int, last_id: int) -> pa.RecordBatch:
    """The traces between two ids, oldest first, as many as a part may have."""
    rows = _PART.run(connection, {"first_id": first_id, "last_id": last_id, "rows": TRACE_ROWS_MAX})
    columns = zip(*rows, strict=True) if rows else ([] for _ in SCHEMA_TRACES)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA_TRACES, strict=True)]
    return _shrink(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA_TRACES))


def _shrink(part: pa.RecordBatch) -> pa.RecordBatch:
    """The beginning of a part that fits, or its first row alone."""
    while part.num_rows > 1 and part.nbytes > TRACE_BYTES_MAX:
        # Rows differ in size, so a guess may need another.
        part = part.slice(0, max(1, min(part.num_rows - 1, part.num_rows * TRACE_BYTES_MAX // part.nbytes)))
    return part
