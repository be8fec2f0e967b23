"""Write traces, find one by its time, forget old ones. Searching them is left to `trace_search`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, insert

from pregon import limits
from pregon.model.trace import Trace
from pregon.store.by_time import ByTime
from pregon.store.prepared import Prepared
from pregon.store.schema import trace

_INSERT = Prepared(insert(trace), [column.name for column in trace.columns if column.name != "id"])
_BY_TIME = ByTime(trace)


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
    return _BY_TIME.first_id_at(connection, at_us)


def newest_trace_us(connection: Connection) -> int:
    """When the newest trace was written, 0 if there is none."""
    return _BY_TIME.newest_us(connection)


def newest_trace_id(connection: Connection) -> int:
    """The id of the newest trace, 0 if there is none."""
    return _BY_TIME.newest_id(connection)


def forget_traces(connection: Connection, before_us: int, rows_max: int, last_id: int | None = None) -> int:
    """Remove at most `rows_max` traces older than `before_us`, up to `last_id`, the oldest first; how many it was.

    The newest one stays.
    """
    return _BY_TIME.forget(connection, before_us, rows_max, last_id)
