"""The hub's own tables, a part at a time: traces, the accounting of subscriptions, what a producer stored.

Each part is read in one snapshot, and is Arrow already. Who may read what is left to `table_gate`.

Promises:
- A part has a bounded number of rows or bytes, whatever the whole has.
- What was removed between one part and the next is never passed over in silence: the next one raises DataLost.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pyarrow as pa
from sqlalchemy import Connection

from pregon import limits
from pregon.errors import DataLost
from pregon.hub.private_topics import without_private_rows
from pregon.model.runs import Run
from pregon.model.tables import served
from pregon.store.accounts import read_accounts
from pregon.store.log import find_ends, read_whole
from pregon.store.session_rows import find_session_batches
from pregon.store.trace_table import read_trace_rows, trace_ends


class TablePart(msgspec.Struct, frozen=True, kw_only=True):
    """Record batches as they go into an Arrow stream."""

    arrow: bytes
    """Empty when there are no rows."""
    next: int
    """Where the next part begins; 0: this was the last."""


NOTHING = TablePart(arrow=b"", next=0)
"""The only part of a table without rows."""


class TraceStart(msgspec.Struct, frozen=True, kw_only=True):
    """Which traces there are, and the first part of those that somebody wants: all of one moment."""

    tail_id: int
    """The oldest; 0 if there is none."""
    head_id: int
    """The newest; 0 if there is none."""
    last_id: int = 0
    """Where the wanted ones end, whatever is written meanwhile."""
    part: TablePart = NOTHING


class SessionQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which batches: of a producer's session on a topic, from a number on."""

    topic: str
    producer: str
    session: str
    from_number: int = 1


class SessionPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Where in the log the messages of a session are, as it was when somebody began to read them."""

    wanted: SessionQuery
    topic_id: int = 0
    runs: Sequence[Run] = ()
    first_number: int = 1
    """The oldest batch that the hub remembers."""
    next_number: int = 1
    """The batch that is to come."""


def _arrow(batch: pa.RecordBatch, *, shows_private: bool) -> bytes:
    shown = batch if shows_private else without_private_rows(batch)
    return shown.serialize().to_pybytes() if shown.num_rows else b""


def begin_traces(connection: Connection, first_id: int, last_id: int | None, *, shows_private: bool) -> TraceStart:
    """The first part of the traces between two ids, None for the newest; forgotten ones are not among them."""
    tail_id, head_id = trace_ends(connection)
    last_id = head_id if last_id is None else min(last_id, head_id)
    first_id = max(first_id, tail_id)
    if first_id > last_id:
        return TraceStart(tail_id=tail_id, head_id=head_id)
    part = read_traces(connection, first_id, last_id, shows_private=shows_private)
    return TraceStart(tail_id=tail_id, head_id=head_id, last_id=last_id, part=part)


def read_traces(connection: Connection, first_id: int, last_id: int, *, shows_private: bool) -> TablePart:
    """Traces between two ids. Raises DataLost if the first ones are gone."""
    tail_id, head_id = trace_ends(connection)
    last_id = min(last_id, head_id)
    if tail_id > first_id:
        raise DataLost(f"traces {first_id} to {tail_id - 1} were forgotten while they were read: go on from {tail_id}")
    rows = read_trace_rows(connection, first_id, last_id)
    next_id = rows.column("id")[-1].as_py() + 1 if rows.num_rows else last_id + 1
    return TablePart(arrow=_arrow(rows, shows_private=shows_private), next=next_id if next_id <= last_id else 0)


def read_subscriptions(connection: Connection, after_id: int, now_us: int, *, shows_private: bool) -> TablePart:
    """The accounting of a page of subscriptions."""
    rows, last_id = read_accounts(connection, after_id, now_us)
    return TablePart(arrow=_arrow(rows, shows_private=shows_private), next=last_id)


def plan_session(connection: Connection, wanted: SessionQuery) -> SessionPlan:
    """Which messages a session has stored, none if the hub knows no such session; raises DataLost if some are gone."""
    found = find_session_batches(connection, wanted.topic, wanted.producer, wanted.session)
    if found is None:
        return SessionPlan(wanted=wanted)
    runs = found.runs(wanted.from_number)
    if runs and runs[0][0] < found.tail_seq:
        raise _lost(wanted.topic, runs[0][0], found.tail_seq)
    return SessionPlan(
        wanted=wanted,
        topic_id=found.topic_id,
        runs=runs,
        first_number=found.first_number,
        next_number=found.next_number,
    )


def _lost(topic: str, first_seq: int, tail_seq: int) -> DataLost:
    return DataLost(
        f"messages of this session from {first_seq} on were removed: {topic} begins at {tail_seq} now. "
        "Ask from a later batch on, or begin a new session"
    )


def read_session(connection: Connection, plan: SessionPlan, from_seq: int) -> TablePart:
    """The messages of a session from a number on; raises DataLost if they were removed since it was planned."""
    topic = plan.wanted.topic
    topic_id, tail_seq, _ = find_ends(connection, topic) or (0, 0, 0)
    if topic_id != plan.topic_id:
        raise DataLost(f"the topic {topic} was deleted while it was read: begin a new session")
    pieces: list[bytes | memoryview] = []
    room_bytes = limits.STREAM_RANGE_BYTES_MAX
    for first_seq, last_seq in plan.runs:
        seq = max(first_seq, from_seq)
        while seq <= last_seq:
            if room_bytes <= 0:
                return TablePart(arrow=b"".join(pieces), next=seq)
            batches = read_whole(connection, topic_id, seq, last_seq, bytes_max=room_bytes) if seq >= tail_seq else []
            if not batches or batches[0].base_seq != seq:
                raise _lost(topic, seq, tail_seq)
            for batch in batches:
                room_bytes -= len(batch.arrow)
                pieces += served(batch)
            seq = batches[-1].last_seq + 1
    return TablePart(arrow=b"".join(pieces), next=0)
