"""Rows of a DataFrame as messages to send: which columns mean what, and what is made where one is missing.

Promises:
- Columns that mean nothing here are refused by name when the query is planned, before anything is sent; but those
  of the table `messages` may be there, so that a topic is copied to another as it is.
- What is sent fits the hub's limits: pieces are cut by rows and by bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import BinaryType, DataType, MapType, StringType, StructType, TimestampType

from pregon import limits
from pregon.errors import SettingsInvalid, TooLarge
from pregon.model.batch import SCHEMA_SENT
from pregon.model.message import DEFAULT_CONTENT_TYPE
from pregon.spark.options import BY_ID, SourceOptions
from pregon.spark.schemas import MESSAGES, schema_of

BODY, VALUE = "body", "value"
TEXT_CONTENT_TYPE = "text/plain; charset=utf-8"
_PIECE_BYTES = limits.BATCH_BYTES_MAX - limits.MIB // 2
_TEXT, _BYTES = (StringType,), (BinaryType, StringType)
_ALLOWED: dict[str, tuple[type[DataType], ...]] = {
    BODY: _BYTES,
    VALUE: _BYTES,
    "topic": _TEXT,
    "id": _TEXT,
    "key": _TEXT,
    "content_type": _TEXT,
    "headers": (MapType,),
    "published_at": (TimestampType,),
}


def check_columns(schema: StructType, options: SourceOptions) -> None:
    """Raises SettingsInvalid for a DataFrame whose rows are no messages."""
    names = schema.fieldNames()
    copied = set(schema_of(MESSAGES).fieldNames())
    for field in schema.fields:
        allowed = _ALLOWED.get(field.name)
        if allowed is None:
            if field.name in copied:
                continue
            raise SettingsInvalid(
                f"column {field.name[:80]} is none of a message: select those that are ({', '.join(_ALLOWED)}), and "
                "put the rest into the body, with to_json(struct(…)) AS body for example"
            )
        if not isinstance(field.dataType, allowed):
            wanted = " or ".join(kind.typeName().upper() for kind in allowed)
            raise SettingsInvalid(f"column {field.name} is {field.dataType.simpleString()}: make it {wanted}")
    if (BODY in names) == (VALUE in names):
        raise SettingsInvalid("the rows need one column body, binary or string: to_json(struct(…)) AS body for example")
    if "topic" not in names and not options.topic:
        raise SettingsInvalid('say where to write: option("topic", "alertas"), or a column topic')
    if options.idempotence == BY_ID and "id" not in names:
        raise SettingsInvalid(
            "option idempotence is id, but the rows have no column id: add it, or leave the option out"
        )
    if options.idempotence == BY_ID and "published_at" in names:
        raise SettingsInvalid("option idempotence is id, and rows then cannot say published_at: leave the column out")


def by_topic(batch: pa.RecordBatch, options: SourceOptions) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each topic, in their order."""
    if options.topic:
        yield options.topic, batch
        return
    topics = batch.column("topic")
    if topics.null_count:
        raise SettingsInvalid("a row has no topic: fill the column topic, or use the option topic")
    for topic in sorted(pc.unique(topics).to_pylist()):
        yield topic, batch.filter(pc.equal(topics, topic))


def as_messages(batch: pa.RecordBatch, options: SourceOptions, now_us: int) -> pa.RecordBatch:
    """Rows as messages to send; ids that are missing are empty, to be filled when they are numbered."""
    count, names = batch.num_rows, batch.schema.names
    bodies = batch.column(BODY if BODY in names else VALUE)
    is_text = pa.types.is_string(bodies.type) or pa.types.is_large_string(bodies.type)
    usual = options.content_type or (TEXT_CONTENT_TYPE if is_text else DEFAULT_CONTENT_TYPE)
    if bodies.null_count:
        raise SettingsInvalid("a row has no body: leave such rows out, or write what is to be sent")
    made: dict[str, pa.Array] = {
        "id": _filled(batch, "id", ""),
        "key": batch.column("key") if "key" in names else pa.nulls(count, pa.string()),
        "content_type": _filled(batch, "content_type", usual),
        "headers": _headers(batch),
        "published_at": _filled(batch, "published_at", pa.scalar(now_us, pa.timestamp("us", "UTC"))),
        "body": bodies,
    }
    columns = [made[field.name].cast(field.type) for field in SCHEMA_SENT]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA_SENT)


def _filled(batch: pa.RecordBatch, name: str, usual: str | pa.Scalar) -> pa.Array:
    if name not in batch.schema.names:
        return pa.repeat(usual, batch.num_rows)
    column = batch.column(name)
    return column.fill_null(usual) if column.null_count else column


def _headers(batch: pa.RecordBatch) -> pa.Array:
    kind = SCHEMA_SENT.field("headers").type
    if "headers" not in batch.schema.names:
        return pa.repeat(pa.scalar([], kind), batch.num_rows)
    column = batch.column("headers")
    if not column.null_count:
        return column
    return pa.array([pairs or [] for pairs in column.to_pylist()], kind)


def with_ids(batch: pa.RecordBatch, prefix: str) -> pa.RecordBatch:
    """The same messages; those without an id get the prefix and their row."""
    ids = batch.column("id")
    is_missing = pc.equal(ids, "")
    if not pc.any(is_missing).as_py():
        return batch
    made = pa.array([f"{prefix}-{row:04d}" for row in range(batch.num_rows)], pa.string())
    return batch.set_column(0, SCHEMA_SENT.field("id"), pc.if_else(is_missing, made, ids))


def pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in parts that the hub takes; raises TooLarge for a message that alone is too large."""
    waiting = [batch]
    while waiting:
        one = waiting.pop()
        if not one.num_rows:
            continue
        if one.num_rows > limits.BATCH_MESSAGES_MAX or one.nbytes > _PIECE_BYTES:
            if one.num_rows == 1:
                raise TooLarge(f"{name_row(one, 0)} has {one.nbytes} bytes; at most {_PIECE_BYTES} go into a batch")
            half = one.num_rows // 2
            waiting += [one.slice(half), one.slice(0, half)]
        else:
            yield one


def digests(batch: pa.RecordBatch, *, has_ids: bool) -> list[bytes]:
    """What tells messages apart, whenever and under whatever made id they were sent."""
    names = ["key", "content_type", "headers", "body", *(["id"] if has_ids else [])]
    columns = [batch.column(name).to_pylist() for name in names]
    found = []
    for values in zip(*columns, strict=True):
        digest = hashlib.blake2b(digest_size=16)
        for value in values:
            data = (
                value
                if isinstance(value, bytes)
                else repr(sorted(value) if isinstance(value, list) else value).encode()
            )
            digest.update(len(data).to_bytes(8, "little") + data)
        found.append(digest.digest())
    return found


def name_row(batch: pa.RecordBatch, row: int) -> str:
    """A message in words: by its id and key if it has them, and how its body begins."""
    message = batch.slice(row, 1).to_pylist()[0]
    parts = [f"{name} {message[name]!r}" for name in ("id", "key") if message[name]]
    return " ".join(["the row with", *parts, f"body {message['body'][:60]!r}"])
