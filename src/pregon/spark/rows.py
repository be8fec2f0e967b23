"""What the hub serves, turned into the columns that Spark asked for: whole Arrow batches, never rows.

The tables `requests` and `group_deliveries` are bodies of messages; those, small and rare, are decoded here. A body
that cannot be decoded gives no row of its table: its message is in the topic, as it was published.

Promises:
- Types are exactly those that Spark expects, or the plan is refused before anything is read.
- Small batches are joined: Spark reads batches of ten thousand rows faster than batches of a hundred.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Annotated, Any

import msgspec
import pyarrow as pa
from msgspec import Meta
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pregon.clock import parse_us
from pregon.errors import PregonError, SettingsInvalid
from pregon.limits import INTEGER_MAX
from pregon.spark.schemas import GROUP_DELIVERIES, REQUESTS, TABLES, schema_of

log = logging.getLogger("pregon.spark")

ROWS_AT_ONCE = 10_000
BYTES_AT_ONCE = 16 * 1024 * 1024


def arrow_schema(table: str, wanted: StructType) -> pa.Schema:
    """The columns that were asked for, as Arrow; raises SettingsInvalid for those that the table does not have."""
    known = {field.name: field.dataType for field in schema_of(table).fields}
    for field in wanted.fields:
        if field.name not in known:
            raise SettingsInvalid(f"{table} has no column {field.name[:80]}: it has {', '.join(known)}")
        if field.dataType != known[field.name]:
            raise SettingsInvalid(
                f"column {field.name} of {table} is {known[field.name].simpleString().upper()}: ask for it as that, "
                "and cast it in the query"
            )
    return to_arrow_schema(wanted, timezone="UTC")


@lru_cache(maxsize=32)
def _repeated(text: str, count: int) -> pa.Array:
    return pa.array([text] * count, pa.string())


def columns_of(batch: pa.RecordBatch, schema: pa.Schema, topic: str) -> pa.RecordBatch:
    """A served batch with just the wanted columns, in their order."""
    names = batch.schema.names
    count = batch.num_rows
    columns = []
    for field in schema:
        column = _repeated(topic, count) if field.name == "topic" and "topic" not in names else batch.column(field.name)
        columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches that are neither small nor larger than Spark likes."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        if waiting and (rows + batch.num_rows > ROWS_AT_ONCE or size + batch.nbytes > BYTES_AT_ONCE):
            yield _one(waiting)
            waiting, rows, size = [], 0, 0
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
    if waiting:
        yield _one(waiting)


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


_Long = Annotated[int, Meta(ge=0, le=INTEGER_MAX)]
_Int = Annotated[int, Meta(ge=0, le=2**31 - 1)]
_Instant = Annotated[int, Meta(ge=0, le=253_402_300_799_999_999)]
"""What fits into the columns: a number that does not is no row, and stops nobody else's."""


class _Shown(msgspec.Struct, array_like=True):
    """A row of a report, as `model.group.DeliveryRow`, and what fits into its columns."""

    stamp: str
    received_us: _Instant
    delivered_us: _Instant
    waited_for: str = ""


class _Report(msgspec.Struct):
    """What a member says that it was shown."""

    group: str
    member: _Long
    name: str
    rows: list[_Shown]


class _Request(msgspec.Struct):
    """How a request ended."""

    ended_at: str
    service: str
    client: str = ""
    worker: str = ""
    policy: str = ""
    load: float = 0.0
    waited_ms: float = 0.0
    worked_ms: float = 0.0
    attempts: _Int = 0
    outcome: str = ""
    durable_id: str = ""


_report_of = msgspec.json.Decoder(_Report).decode
_request_of = msgspec.json.Decoder(_Request).decode


def _rows_of_report(seq: int, body: bytes) -> list[dict[str, Any]]:
    report = _report_of(body)
    same = {"seq": seq, "group": report.group, "member": report.member, "name": report.name}
    return [
        {
            **same,
            "row": row,
            "stamp": one.stamp,
            "received_at": one.received_us,
            "delivered_at": one.delivered_us,
            "waited_for": one.waited_for or None,
        }
        for row, one in enumerate(report.rows)
    ]


def _rows_of_request(seq: int, body: bytes) -> list[dict[str, Any]]:
    request = _request_of(body)
    values = msgspec.structs.asdict(request)
    return [{**values, "seq": seq, "ended_at": parse_us(request.ended_at)}]


_DECODERS: dict[str, Callable[[int, bytes], list[dict[str, Any]]]] = {
    GROUP_DELIVERIES: _rows_of_report,
    REQUESTS: _rows_of_request,
}
assert set(_DECODERS) < set(TABLES)


def decoded(table: str, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The rows of a table that are in the bodies of messages."""
    decode = _DECODERS[table]
    wanted = schema.names
    rows: list[dict[str, Any]] = []
    poison: list[tuple[int, str]] = []
    for seq, body in zip(batch.column("seq").to_pylist(), batch.column("body").to_pylist(), strict=True):
        try:
            rows += decode(seq, body)
        except (ValueError, OverflowError, PregonError) as error:
            poison.append((seq, str(error)))
    if poison:
        first, why = poison[0]
        log.warning(
            "%d messages are no rows of %s and are left out; the first is %d: %s", len(poison), table, first, why[:200]
        )
    return pa.RecordBatch.from_pylist([{name: row[name] for name in wanted} for row in rows], schema=schema)
