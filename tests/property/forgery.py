"""Batches that no honest producer sends, written byte by byte.

The layout of Arrow's metadata is drawn in `pregon.model.flatbuffer`. Two forgeries take little on the wire and
much in memory, the third is only odd:
- *Compressed as in Arrow 0.17*: metadata of version 4 with a custom key says that the body is compressed, where
  today a field of the record batch does. Arrow still reads it.
- *Shared*: several columns point to the same bytes of the body, which Arrow allows.
- *Stretched*: a buffer is longer than its values need, and ends in the middle of one.
"""

import struct

import pyarrow as pa

from pregon.model.batch import SCHEMA_SENT

_VERSION_4, _RECORD_BATCH = 3, 3
_EXPERIMENTAL_KEY = b"ARROW:experimental_compression"
BUFFERS = 23
"""Buffers of a sent batch: three of each text, nine of the headers, two of the time, three of the body."""


def _find_field(metadata: bytes | bytearray, table: int, number: int) -> tuple[int, int]:
    """Where a field of a table stands, and where its vtable says so."""
    vtable = table - struct.unpack_from("<i", metadata, table)[0]
    slot = vtable + 4 + 2 * number
    return table + struct.unpack_from("<H", metadata, slot)[0], slot


def _split(frame: bytes) -> tuple[bytearray, bytes, int, int]:
    """The metadata and the body of a message, and where its record batch and its body's length stand."""
    size = struct.unpack_from("<I", frame, 4)[0]
    metadata = bytearray(frame[8 : 8 + size])
    root = struct.unpack_from("<I", metadata, 0)[0]
    header, _ = _find_field(metadata, root, 2)
    length, _ = _find_field(metadata, root, 3)
    return metadata, frame[8 + size :], header + struct.unpack_from("<I", metadata, header)[0], length


def _vector(metadata: bytearray, record_batch: int) -> int:
    field, _ = _find_field(metadata, record_batch, 2)
    return field + int(struct.unpack_from("<I", metadata, field)[0])


def _buffers(metadata: bytearray, record_batch: int) -> list[tuple[int, int]]:
    """Where each buffer of the columns begins in the body, and its length."""
    vector = _vector(metadata, record_batch)
    count = struct.unpack_from("<I", metadata, vector)[0]
    pairs = (struct.unpack_from("<qq", metadata, vector + 4 + 16 * row) for row in range(count))
    return [(offset, size) for offset, size in pairs]


def _write_buffers(metadata: bytearray, record_batch: int, buffers: list[tuple[int, int]]) -> None:
    vector = _vector(metadata, record_batch)
    for row, (offset, size) in enumerate(buffers):
        struct.pack_into("<qq", metadata, vector + 4 + 16 * row, offset, size)


def _padded(data: bytes | bytearray) -> bytes:
    return bytes(data) + bytes(-len(data) % 8)


def _encapsulated(metadata: bytes, body: bytes) -> bytes:
    return struct.pack("<II", 0xFFFFFFFF, len(metadata)) + metadata + body


def _text(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data + bytes(4 - len(data) % 4)


def compressed_as_in_arrow_0_17(batch: pa.RecordBatch, codec: str = "lz4") -> bytes:
    """The batch, compressed, saying so where only old versions of Arrow did."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA_SENT, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_batch(batch)
    reader = pa.ipc.MessageReader.open_stream(sink.getvalue())
    reader.read_next_message()
    old, body, record_batch, length = _split(reader.read_next_message().serialize().to_pybytes())
    struct.pack_into("<H", old, _find_field(old, record_batch, 3)[1], 0)

    # Message: back to its vtable, header, custom metadata, version, header type, length of the body.
    table, pairs = 24, 48
    key, value = _text(_EXPERIMENTAL_KEY), _text(codec.encode())
    strings = pairs + 8 + 8 + 12
    old_at = strings + len(key) + len(value) + -(strings + len(key) + len(value)) % 8
    forged = struct.pack("<I4x", table)
    forged += struct.pack("<7H2x", 14, 24, 12, 14, 4, 16, 8)
    forged += struct.pack("<iII", table - 8, old_at + record_batch - (table + 4), pairs - (table + 8))
    forged += struct.pack("<hBx", _VERSION_4, _RECORD_BATCH) + bytes(old[length : length + 8])
    # One pair of key and value: a vector, the vtable of the pair, the pair, its two texts.
    forged += struct.pack("<II", 1, 12) + struct.pack("<4H", 8, 12, 4, 8)
    forged += struct.pack("<iII", 8, 8, 4 + len(key)) + key + value
    return _encapsulated(_padded(_padded(forged) + bytes(old)), body)


def shared(text: bytes, rows: int) -> bytes:
    """A batch whose id, key, content type and body are the same bytes of the frame."""
    texts = pa.array([text.decode()] * rows)
    batch = pa.RecordBatch.from_arrays(
        [
            texts,
            texts,
            texts,
            pa.array([[]] * rows, SCHEMA_SENT.field("headers").type),
            pa.array([1] * rows, SCHEMA_SENT.field("published_at").type),
            texts.cast(pa.binary()),
        ],
        schema=SCHEMA_SENT,
    )
    metadata, body, record_batch, length = _split(batch.serialize().to_pybytes())
    buffers = _buffers(metadata, record_batch)
    count = len(buffers)
    kept = b""
    for row in (*range(3), *range(9, count - 3)):
        offset, size = buffers[row]
        buffers[row] = (len(kept), size)
        kept = _padded(kept + body[offset : offset + size])
    for first in (3, 6, count - 3):
        buffers[first : first + 3] = buffers[:3]
    _write_buffers(metadata, record_batch, buffers)
    struct.pack_into("<q", metadata, length, len(kept))
    return _encapsulated(bytes(metadata), kept)


def stretched(frame: bytes, row: int, more: int) -> bytes:
    """The batch with one of its buffers said to be longer than its values need."""
    metadata, body, record_batch, _ = _split(frame)
    buffers = _buffers(metadata, record_batch)
    buffers[row] = (buffers[row][0], buffers[row][1] + more)
    _write_buffers(metadata, record_batch, buffers)
    return _encapsulated(bytes(metadata), body)
