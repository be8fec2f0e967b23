"""Write and find traces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, bindparam, delete, insert, select

from pregon import limits
from pregon.errors import BadRequest
from pregon.limits import INTEGER_MAX
from pregon.model.trace import KINDS, Trace, TraceQuery
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
                }
            )
    if rows:
        _INSERT.run(connection, *rows)


def find_traces(connection: Connection, query: TraceQuery) -> list[Trace]:
    """The traces that match, newest first."""
    if query.kind and query.kind not in KINDS:
        raise BadRequest(f"{query.kind[:40]!r} is not a kind of trace: use one of {', '.join(KINDS)}")
    for name in ("seq", "since_us", "until_us", "before"):
        if not 0 <= getattr(query, name) <= INTEGER_MAX:
            raise BadRequest(f"{name} of a search is 0 to {INTEGER_MAX}")
    if query.seq and not query.topic:
        raise BadRequest("a message number means nothing without its topic: give both")
    statement = select(trace).order_by(trace.c.id.desc()).limit(max(1, min(query.max, limits.LIST_ROWS_MAX)))
    for column, value in (
        (trace.c.topic, query.topic),
        (trace.c.kind, query.kind),
        (trace.c.producer, query.producer),
        (trace.c.subscriber, query.subscriber),
    ):
        if value:
            statement = statement.where(column == value)
    if query.seq:
        statement = statement.where(
            trace.c.last_seq.between(query.seq, min(query.seq + limits.TRACE_SPAN_MAX, INTEGER_MAX)),
            trace.c.first_seq <= query.seq,
        )
    if query.since_us:
        statement = statement.where(trace.c.id >= first_id_at(connection, query.since_us))
    if query.until_us:
        statement = statement.where(trace.c.id < first_id_at(connection, query.until_us))
    if query.before:
        statement = statement.where(trace.c.id < query.before)
    rows = connection.execute(statement).mappings()
    return [Trace(**row) for row in rows]


def runs_of(seqs: Iterable[int]) -> list[tuple[int, int]]:
    """Ascending numbers as ranges: 1 2 3 7 8 become (1, 3) and (7, 8)."""
    runs: list[tuple[int, int]] = []
    for seq in seqs:
        if runs and seq == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], seq)
        else:
            runs.append((seq, seq))
    return runs


def runs_between(first_seq: int, last_seq: int, without: Iterable[int]) -> list[tuple[int, int]]:
    """The ranges that remain of first..last when some ascending numbers are left out."""
    runs: list[tuple[int, int]] = []
    start = first_seq
    for seq in without:
        if seq > start:
            runs.append((start, seq - 1))
        start = seq + 1
    if start <= last_seq:
        runs.append((start, last_seq))
    return runs


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


def forget_traces(connection: Connection, before_us: int, rows_max: int) -> int:
    """Remove at most `rows_max` traces older than `before_us`, the oldest first; how many it was."""
    oldest = connection.execute(select(trace.c.id).order_by(trace.c.id).limit(1)).scalar()
    if oldest is None:
        return 0
    end = min(first_id_at(connection, before_us), oldest + rows_max)
    return connection.execute(delete(trace).where(trace.c.id < end)).rowcount
