"""The Arrow batch: what a producer sends, the disk keeps, a subscriber gets and Spark reads.

A batch travels as one *encapsulated Arrow record batch message*, without its schema: the schema is fixed
by the version, so a stream that any Arrow library reads is `schema message + batches + end of stream`,
with no byte of a batch changed (`stream_of` makes it).

Version 1, as a producer sends it: id, key, content_type, headers, published_at, body.
As the hub stores it, two more: producer, accepted_at. The number of row i is base_seq + i.

Promises:
- Bytes from outside pass `decode_sent` or raise BadBatch or TooLarge; they never crash the hub, nor make it
  use more memory than the bytes themselves took (compressed batches are refused: they could).
- What `stamp` returns is valid: nobody below checks it again.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa

from pregon import limits
from pregon.clock import INSTANT_US_MAX
from pregon.errors import BadBatch, StoreCorrupt, TooLarge
from pregon.model.flatbuffer import is_compressed
from pregon.model.message import DEFAULT_CONTENT_TYPE, NO_HEADERS, Message, Outgoing, Rows

_INSTANT = pa.timestamp("us", "UTC")
_HEADERS = pa.map_(pa.string(), pa.string())

SCHEMA_SENT = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("key", pa.string()),
        pa.field("content_type", pa.string(), nullable=False),
        pa.field("headers", _HEADERS, nullable=False),
        pa.field("published_at", _INSTANT, nullable=False),
        pa.field("body", pa.binary(), nullable=False),
    ]
)
SCHEMA_STORED = pa.schema(
    [
        *SCHEMA_SENT,
        pa.field("producer", pa.string(), nullable=False),
        pa.field("accepted_at", _INSTANT, nullable=False),
    ]
)
END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"


@lru_cache(maxsize=256)
def _repeated_text(text: str, count: int) -> pa.Array:
    return pa.array([text] * count, pa.string())


@lru_cache(maxsize=256)
def _no_headers(count: int) -> pa.Array:
    return pa.array([[]] * count, _HEADERS)


def _column_of_texts(texts: Sequence[str]) -> pa.Array:
    """A column of texts; the usual case, all the same, is made once and kept."""
    first = texts[0]
    if texts.count(first) == len(texts):
        return _repeated_text(first, len(texts))
    return pa.array(texts, pa.string())


class Packing:
    """Messages on their way to becoming a batch, column by column.

    The usual message has a body and nothing else, so the other columns are only kept once somebody says more.
    """

    __slots__ = ("_content_types", "_headers", "_ids", "_keys", "bodies", "is_plain", "published_us", "size_bytes")

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.published_us = array("q")
        self.size_bytes = 0
        """Bytes of the bodies and of what else was said."""
        self.is_plain = True
        """Whether every message is only a body."""
        self._ids: list[str | None] = []
        self._keys: list[str | None] = []
        self._content_types: list[str] = []
        self._headers: list[Mapping[str, str]] = []

    def __len__(self) -> int:
        return len(self.bodies)

    def add(self, message: Outgoing, published_us: int, id: str | None = None) -> None:
        """One more message, already checked; with an id of its own, or the one that is given."""
        if self.is_plain:
            self._say_more()
        self._ids.append(id or message.id)
        self._keys.append(message.key)
        self._content_types.append(message.content_type)
        self._headers.append(message.headers)
        self.bodies.append(message.body)
        self.published_us.append(published_us)
        self.size_bytes += message.size_bytes

    def add_body(self, body: bytes, published_us: int) -> None:
        """One more message that is only a body, already checked."""
        if not self.is_plain:
            self.add(Outgoing(body), published_us)
            return
        self.bodies.append(body)
        self.published_us.append(published_us)
        self.size_bytes += len(body)

    def add_bodies(self, bodies: Sequence[bytes], published_us: int) -> None:
        """Several messages that are only bodies, already checked, published at one time."""
        if not self.is_plain:
            for body in bodies:
                self.add(Outgoing(body), published_us)
            return
        self.bodies.extend(bodies)
        self.published_us.extend([published_us] * len(bodies))
        self.size_bytes += sum(map(len, bodies))

    def _say_more(self) -> None:
        count = len(self.bodies)
        self.is_plain = False
        self._ids = [None] * count
        self._keys = [None] * count
        self._content_types = [DEFAULT_CONTENT_TYPE] * count
        self._headers = [NO_HEADERS] * count

    def pack(self, prefix: str) -> pa.RecordBatch:
        """The batch, to send; a message without an id gets the prefix and its row."""
        count = len(self.bodies)
        keys = self._keys
        if self.is_plain:
            id_column = _numbered(prefix, count)
        else:
            id_column = pa.array([given or f"{prefix}{row:04d}" for row, given in enumerate(self._ids)], pa.string())
        has_keys = keys.count(None) < len(keys)
        headers: pa.Array
        if any(self._headers):
            headers = pa.array([list(one.items()) for one in self._headers], _HEADERS)
        else:
            headers = _no_headers(count)
        return pa.RecordBatch.from_arrays(
            [
                id_column,
                pa.array(keys, pa.string()) if has_keys else pa.nulls(count, pa.string()),
                _repeated_text(DEFAULT_CONTENT_TYPE, count) if self.is_plain else _column_of_texts(self._content_types),
                headers,
                pa.Array.from_buffers(_INSTANT, count, [None, pa.py_buffer(self.published_us)]),
                pa.array(self.bodies, pa.binary()),
            ],
            schema=SCHEMA_SENT,
        )


@lru_cache(maxsize=64)
def _row_texts(count: int) -> list[bytes]:
    return [b"%04d" % row for row in range(count)]


@lru_cache(maxsize=64)
def _even_offsets(width: int, count: int) -> pa.Buffer:
    return pa.py_buffer(array("i", range(0, (count + 1) * width, width)))


def _numbered(prefix: str, count: int) -> pa.Array:
    """prefix0000, prefix0001, prefix0002 …, laid out as Arrow has texts: all alike in length, so joined at once."""
    begin = prefix.encode()
    data = begin + begin.join(_row_texts(count))
    return pa.Array.from_buffers(pa.string(), count, [None, _even_offsets(len(begin) + 4, count), pa.py_buffer(data)])


def pack(messages: Iterable[Outgoing], published_us: Iterable[int]) -> pa.RecordBatch:
    """Messages that have ids, as a batch to send."""
    packing = Packing()
    for message, us in zip(messages, published_us, strict=True):
        packing.add(message, us)
    return packing.pack("")


def encode(batch: pa.RecordBatch) -> pa.Buffer:
    """The batch as bytes to send or store."""
    return batch.serialize()


def decode_sent(frame: Any, body_bytes_max: int = limits.BODY_BYTES_MAX) -> pa.RecordBatch:
    """The batch in bytes that came from outside, all of it checked; raises BadBatch or TooLarge."""
    buffer = pa.py_buffer(frame)
    if buffer.size > limits.BATCH_BYTES_MAX:
        raise TooLarge(f"the batch has {buffer.size} bytes; at most {limits.BATCH_BYTES_MAX}: send smaller ones")
    try:
        if is_compressed(memoryview(buffer)):
            raise BadBatch("the batch is compressed or has custom metadata: send it without")
        batch = pa.ipc.read_record_batch(buffer, SCHEMA_SENT)
        batch.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadBatch(f"not an Arrow record batch of version 1: {str(error)[:200]}") from error
    if batch.nbytes > buffer.size:
        raise BadBatch("columns of the batch share their bytes: give each its own")
    if not 0 < batch.num_rows <= limits.BATCH_MESSAGES_MAX:
        raise BadBatch(f"a batch has 1 to {limits.BATCH_MESSAGES_MAX} messages, this one {batch.num_rows}")
    _check_values(batch, body_bytes_max)
    return batch


def _check_values(batch: pa.RecordBatch, body_bytes_max: int) -> None:
    """The limits of each value, as for a single message."""
    ids, keys, content_types, headers, published_at, bodies = columns = batch.columns
    for field, column in zip(SCHEMA_SENT, columns, strict=True):
        if column.null_count and not field.nullable:
            raise BadBatch(f"{field.name} is missing in a message of the batch")
    if not _is_even(ids, limits.MESSAGE_ID_BYTES_MAX):
        _check_lengths("id", ids, limits.MESSAGE_ID_BYTES_MAX, is_required=True)
    if not content_types.equals(_repeated_text(DEFAULT_CONTENT_TYPE, batch.num_rows)):
        _check_lengths("content_type", content_types, limits.CONTENT_TYPE_BYTES_MAX, is_required=True)
    instants = memoryview(published_at.buffers()[1])[: 8 * batch.num_rows].cast("q").tolist()
    if min(instants) < 0 or max(instants) > INSTANT_US_MAX:
        raise BadBatch("published_at of a message in the batch is no time between 1970 and 9999")
    if keys.null_count < batch.num_rows:
        _check_lengths("key", keys, limits.KEY_BYTES_MAX)
    if bodies.nbytes > body_bytes_max:
        _check_lengths("body", bodies, body_bytes_max)
    if len(headers.keys):
        _check_header_sizes(headers)


def _is_even(column: pa.Array, bytes_max: int) -> bool:
    """Whether every text has the same length, not 0 and within the limit: the quick answer for usual ids."""
    offsets, data = column.buffers()[1:]
    if column.offset or data is None:
        return False
    count = len(column)
    width = int.from_bytes(memoryview(offsets)[4:8], "little")
    even = _even_offsets(width, count) if 0 < width <= bytes_max else None
    return even is not None and offsets.slice(0, even.size).equals(even)


def _check_lengths(name: str, column: pa.Array, bytes_max: int, is_required: bool = False) -> None:
    # Imported here: it costs 50 ms that a start without batches need not pay.
    import pyarrow.compute as pc

    lengths = pc.min_max(pc.binary_length(column))
    if (lengths["max"].as_py() or 0) > bytes_max:
        problem = TooLarge if name == "body" else BadBatch
        raise problem(f"{name} of a message in the batch has over {bytes_max} bytes")
    if is_required and not lengths["min"].as_py():
        raise BadBatch(f"{name} of a message in the batch is empty")


def _check_header_sizes(headers: pa.Array) -> None:
    for pairs in headers.to_pylist():
        if len(pairs) > limits.HEADERS_MAX:
            raise BadBatch(f"a message of the batch has over {limits.HEADERS_MAX} headers")
        if any(value is None for _, value in pairs):
            raise BadBatch("a header of a message in the batch has no value")
        if sum(len(name.encode()) + len(value.encode()) for name, value in pairs) > limits.HEADERS_BYTES_MAX:
            raise BadBatch(f"the headers of a message in the batch have over {limits.HEADERS_BYTES_MAX} bytes")


def stamp(batch: pa.RecordBatch, producers: str | Sequence[str], accepted_us: int) -> pa.RecordBatch:
    """The sent batch with the hub's two columns: who published it, and when it was accepted."""
    count = batch.num_rows
    who = _repeated_text(producers, count) if isinstance(producers, str) else _column_of_texts(producers)
    when = pa.Array.from_buffers(_INSTANT, count, [None, pa.py_buffer(accepted_us.to_bytes(8, "little") * count)])
    return pa.RecordBatch.from_arrays([*batch.columns, who, when], schema=SCHEMA_STORED)


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """A run of messages of one topic, as stored: `base_seq` is the number of the first of `count`."""

    base_seq: int
    count: int
    arrow: bytes | memoryview | pa.Buffer

    @property
    def last_seq(self) -> int:
        """The number of the last message."""
        return self.base_seq + self.count - 1

    def rows(self) -> pa.RecordBatch:
        """The Arrow batch, without copying; raises StoreCorrupt if the bytes are damaged."""
        try:
            batch = pa.ipc.read_record_batch(pa.py_buffer(self.arrow), SCHEMA_STORED)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise StoreCorrupt(f"the batch at {self.base_seq} cannot be read: {str(error)[:200]}") from error
        if batch.num_rows != self.count:
            raise StoreCorrupt(f"the batch at {self.base_seq} has {batch.num_rows} messages, not {self.count}")
        return batch

    def cut(self, first_seq: int, last_seq: int) -> StoredBatch:
        """The part between two numbers, both included; itself, untouched, when that is all of it."""
        first, last = max(first_seq, self.base_seq), min(last_seq, self.last_seq)
        if first == self.base_seq and last == self.last_seq:
            return self
        part = self.rows().slice(first - self.base_seq, last - first + 1)
        return StoredBatch(first, last - first + 1, encode(part))

    def without(self, seqs: Iterable[int]) -> list[StoredBatch]:
        """What remains when these numbers are left out: one batch for each run that stays."""
        pieces: list[StoredBatch] = []
        start = self.base_seq
        for seq in sorted(seq for seq in seqs if self.base_seq <= seq <= self.last_seq):
            if seq > start:
                pieces.append(self.cut(start, seq - 1))
            start = seq + 1
        if start <= self.last_seq:
            pieces.append(self.cut(start, self.last_seq))
        return pieces

    def messages(self, topic: str) -> list[Message]:
        """The messages, in order."""
        rows, base = Rows(self.rows()), self.base_seq
        return [Message(rows, row, base + row, topic) for row in range(self.count)]


def join(batches: Sequence[StoredBatch]) -> StoredBatch:
    """Neighbouring batches as one."""
    table = pa.Table.from_batches([batch.rows() for batch in batches], SCHEMA_STORED).combine_chunks()
    (joined,) = table.to_batches()
    return StoredBatch(batches[0].base_seq, joined.num_rows, encode(joined))


def stream_of(batches: Iterable[StoredBatch]) -> Iterator[bytes]:
    """The batches as an Arrow IPC stream that any Arrow library reads."""
    yield SCHEMA_STORED.serialize().to_pybytes()
    for batch in batches:
        yield bytes(batch.arrow)
    yield END_OF_STREAM
