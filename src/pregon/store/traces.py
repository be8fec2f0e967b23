"""Write traces, find one by its time, forget old ones. Searching them is left to `trace_search`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, delete, insert, select

from pregon import limits
from pregon.model.trace import Trace
from pregon.store.prepared import Prepared
from pregon.store.schema import trace

_INSERT = Prepared(insert(trace), [column.name for column in trace.columns if column.name != "id"])
_AT = Prepared(
    select(trace.c.id, trace.c.at_us).where(trace.c.id >= bindparam("from_id")).order_by(trace.c.id).limit(1)
)


def write_traces(connection: Connection, traces: Sequence[Trace]) -> None:
    """Store the traces; a long range becomes several rows, so that looking a number up stays one short scan."""
    rows = []
    for entry in traces:
        for first in range(entry.first_seq, entry.last_seq + 1, limits.TRACE_SPAN_MAX):
            rows.append(
                {
                    "at_us": entry.at_us,
                    "kind": entry.kind,
                    "topic": entry.topic,
                    "producer": entry.producer,
                    "subscriber": entry.subscriber,
                    "first_seq": first,
                    "last_seq": min(entry.last_seq, first + limits.TRACE_SPAN_MAX - 1),
                    "detail": entry.detail,
                    "attempt": entry.attempt,
                    "latency_ms": entry.latency_ms,
                }
            )
    if rows:
        _INSERT.run(connection, *rows)


def first_id_at(connection: Connection, at_us: int) -> int:
    """The id of the first trace at that time or later; the next one to come if there is none."""
    oldest = connection.execute(select(trace.c.id).order_by(trace.c.id).limit(1)).scalar()
    if oldest is None:
        return 1
    newest = connection.execute(select(trace.c.id).order_by(trace.c.id.desc()).limit(1)).scalar_one()
    low, high = int(oldest), int(newest) + 1
    while low < high:
        middle = (low + high) // 2
        ((found_id, found_us),) = _AT.run(connection, {"from_id": middle})
        if found_us < at_us:
            low = found_id + 1
        else:
            high = middle
    return low


def newest_trace_us(connection: Connection) -> int:
    """When the newest trace was written, 0 if there is none."""
    return connection.execute(select(trace.c.at_us).order_by(trace.c.id.desc()).limit(1)).scalar() or 0


def newest_trace_id(connection: Connection) -> int:
    """The id of the newest trace, 0 if there is none."""
    return connection.execute(select(trace.c.id).order_by(trace.c.id.desc()).limit(1)).scalar() or 0


def forget_traces(connection: Connection, before_us: int, rows_max: int, last_id: int | None = None) -> int:
    """Remove at most `rows_max` traces older than `before_us`, up to `last_id`, the oldest first; how many it was.

    The newest one stays: the next id is counted from it, and an id that was given twice would lead astray whoever
    remembers how far it has read.
    """
    oldest = connection.execute(select(trace.c.id).order_by(trace.c.id).limit(1)).scalar()
    if oldest is None:
        return 0
    end = min(first_id_at(connection, before_us), oldest + rows_max, newest_trace_id(connection))
    if last_id is not None:
        end = min(end, last_id + 1)
    return connection.execute(delete(trace).where(trace.c.id < end)).rowcount
