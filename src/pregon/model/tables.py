"""Messages as tables for everybody's tools: what the hub serves as an Arrow stream, and takes as one.

A stored batch does not carry its numbers (row i of a batch has base_seq + i). Somebody who reads a topic with
pyarrow, Polars, DuckDB or pandas wants them, so what is served has one more column, `seq`, the last; of the others it
has all, or those that were asked for. What is taken needs only a column `body`; the types of other tools (large or view
strings, other time units) are cast.

Promises:
- A stream from outside is bounded before it is read: no compression, no dictionaries, at most one batch's worth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa

from pregon import limits
from pregon.errors import BadBatch, BadRequest, StoreCorrupt, TooLarge
from pregon.model.batch import END_OF_STREAM, SCHEMA_SENT, SCHEMA_STORED, StoredBatch
from pregon.model.flatbuffer import Kept, is_compressed, with_column
from pregon.model.message import DEFAULT_CONTENT_TYPE

SCHEMA_SERVED = pa.schema([*SCHEMA_STORED, pa.field("seq", pa.int64(), nullable=False)])
SERVED_HEAD: bytes = SCHEMA_SERVED.serialize().to_pybytes()
"""How every served stream begins."""


@lru_cache(maxsize=64)
def _rows(count: int) -> pa.Array:
    """0, 1, 2 …"""
    return pa.array(range(count), pa.int64())


@dataclass(frozen=True, slots=True)
class Selection:
    """Which columns are served."""

    head: bytes
    """How a stream of them begins."""
    kept: Kept | None = None
    """None: all of them."""


EVERYTHING = Selection(SERVED_HEAD)


def select_columns(text: str) -> Selection:
    """The columns that a text names, with commas between them, and `seq`, which is always served; raises BadRequest."""
    names = frozenset(name.strip() for name in text.split(","))
    unknown = names - set(SCHEMA_SERVED.names)
    if unknown:
        raise BadRequest(
            f"there is no column {min(unknown)[:80]!r}: columns are {', '.join(SCHEMA_SERVED.names)}, "
            "with commas between them"
        )
    return _selection(tuple(name for name in SCHEMA_STORED.names if name in names))


@lru_cache(maxsize=256)
def _selection(names: tuple[str, ...]) -> Selection:
    if len(names) == len(SCHEMA_STORED.names):
        return EVERYTHING
    nodes: list[int] = []
    buffers: list[int] = []
    node = buffer = 0
    for field in SCHEMA_STORED:
        node_count, buffer_count = _layout(field.type)
        if field.name in names:
            nodes += range(node, node + node_count)
            buffers += range(buffer, buffer + buffer_count)
        node, buffer = node + node_count, buffer + buffer_count
    schema = pa.schema([SCHEMA_SERVED.field(name) for name in (*names, "seq")])
    return Selection(schema.serialize().to_pybytes(), Kept(tuple(nodes), tuple(buffers)))


def _layout(kind: pa.DataType) -> tuple[int, int]:
    """How many nodes and buffers a column has in a record batch."""
    if pa.types.is_map(kind):
        # A list of structures of two texts.
        (key_nodes, key_buffers), (item_nodes, item_buffers) = _layout(kind.key_type), _layout(kind.item_type)
        return 2 + key_nodes + item_nodes, 3 + key_buffers + item_buffers
    return 1, 3 if pa.types.is_string(kind) or pa.types.is_binary(kind) else 2


def served(batch: StoredBatch, selection: Selection = EVERYTHING) -> list[bytes | memoryview]:
    """A stored batch with its numbers, as it goes into a served stream: in pieces, the large ones not copied.

    Raises StoreCorrupt if the bytes are damaged.
    """
    # Imported here: it costs 50 ms that a start need not pay.
    import pyarrow.compute as pc

    numbers = pc.add(_rows(batch.count), pa.scalar(batch.base_seq, pa.int64()))
    seqs = memoryview(numbers.buffers()[1])[: 8 * batch.count]
    try:
        head, pieces = with_column(memoryview(batch.arrow), batch.count, len(seqs), selection.kept)
    except ValueError as error:
        raise StoreCorrupt(f"the batch at {batch.base_seq} cannot be read: {error}") from error
    return [head, *pieces, seqs]


def served_stream(batches: Iterable[StoredBatch]) -> Iterator[bytes | memoryview]:
    """Batches as an Arrow IPC stream that any Arrow library reads."""
    yield SERVED_HEAD
    for batch in batches:
        yield from served(batch)
    yield END_OF_STREAM


def batch_of_stream(data: bytes, now_us: int, id_prefix: str) -> pa.RecordBatch:
    """The messages of an Arrow stream from outside as one batch to send, not yet checked against our limits.

    Missing ids are made of the prefix and the row. Raises BadBatch or TooLarge.
    """
    try:
        _require_plain(data)
        table = pa.ipc.open_stream(pa.py_buffer(data)).read_all()
        names = [field.name for field in SCHEMA_SENT if field.name in table.column_names]
        if any(table.column_names.count(name) > 1 for name in names):
            raise BadBatch("the stream has several columns of one name")
        table = table.select(names)
        _require_types(table.schema)
        table.validate(full=True)
        if table.num_rows == 0 or table.num_rows > limits.BATCH_MESSAGES_MAX:
            raise BadBatch(f"a batch has 1 to {limits.BATCH_MESSAGES_MAX} messages, this one {table.num_rows}")
        _require_size(table)
        columns = [_column(table, field, now_us, id_prefix) for field in SCHEMA_SENT]
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA_SENT)
    except (pa.ArrowException, OSError, ValueError, TypeError, UnicodeDecodeError) as error:
        raise BadBatch(f"not an Arrow stream of messages: {str(error)[:200]}") from error


def _require_plain(data: bytes) -> None:
    """Raises for streams that could grow when they are read."""
    reader = pa.ipc.MessageReader.open_stream(pa.py_buffer(data))
    for count, message in enumerate(reader):
        if count > limits.BATCH_MESSAGES_MAX:
            raise TooLarge(f"the stream has over {limits.BATCH_MESSAGES_MAX} batches")
        if message.type == "dictionary":
            raise BadBatch("the stream has dictionaries: decode them before sending")
        if message.type == "record batch" and is_compressed(memoryview(message.serialize())):
            raise BadBatch("the stream is compressed or has custom metadata: send it without")


def _require_types(schema: pa.Schema) -> None:
    """Raises BadBatch for columns of types that we do not cast: some grow without a limit when they are."""
    for field in schema:
        allowed = _TYPES.get(field.name, _is_text)
        if not allowed(field.type):
            raise BadBatch(f"the column {field.name} is {field.type}: send it as {SCHEMA_SENT.field(field.name).type}")


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    plain = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(is_one(kind) for is_one in plain) or _is_view(kind)


def _is_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _is_headers(kind: pa.DataType) -> bool:
    if not pa.types.is_map(kind):
        return False
    return all(_is_text(one) and not _is_view(one) for one in (kind.key_type, kind.item_type))


_TYPES: dict[str, Callable[[pa.DataType], bool]] = {"headers": _is_headers, "published_at": pa.types.is_timestamp}


def _require_size(table: pa.Table) -> None:
    """Raises TooLarge when the values take more than a batch may: views may share their bytes, copies of them not."""
    size = sum(_bytes_of(chunk) for column in table.columns for chunk in column.chunks)
    if size > limits.BATCH_BYTES_MAX:
        raise TooLarge(f"the messages have {size} bytes; at most {limits.BATCH_BYTES_MAX}: send smaller batches")


def _bytes_of(chunk: pa.Array) -> int:
    if not _is_view(chunk.type):
        return int(chunk.nbytes)
    # A view is 16 bytes, and its first four say how long the text is. Those of rows that are null say nothing: Arrow
    # has not checked them.
    views = memoryview(chunk.buffers()[1])[16 * chunk.offset : 16 * (chunk.offset + len(chunk))]
    lengths = views.cast("i").tolist()[::4]
    return sum(length for length, is_valid in zip(lengths, chunk.is_valid().to_pylist(), strict=True) if is_valid)


def _column(table: pa.Table, field: pa.Field, now_us: int, id_prefix: str) -> pa.Array:
    if field.name in table.column_names:
        if _is_view(table.column(field.name).type):
            # Not by Arrow's own cast, which follows the views of rows that are null wherever they point.
            values = table.column(field.name).to_pylist()
            return pa.array([one.encode() if isinstance(one, str) else one for one in values], pa.binary()).cast(
                field.type
            )
        # Fractions of a microsecond are dropped.
        is_safe = field.name != "published_at"
        column = table.column(field.name).cast(field.type, safe=is_safe).combine_chunks()
        return column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)
    count = table.num_rows
    defaults: dict[str, Any] = {
        "id": lambda: [f"{id_prefix}-{row:04d}" for row in range(count)],
        "key": lambda: [None] * count,
        "content_type": lambda: [DEFAULT_CONTENT_TYPE] * count,
        "headers": lambda: [[]] * count,
        "published_at": lambda: [now_us] * count,
    }
    if field.name not in defaults:
        raise BadBatch("the stream has no column body")
    return pa.array(defaults[field.name](), field.type)
