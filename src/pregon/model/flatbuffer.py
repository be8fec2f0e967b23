"""Arrow's metadata, read and written by hand where Arrow itself would be too late or too slow.

Is a batch compressed? One of 4 MiB may unpack to a gigabyte, and Arrow has no option that says how much is too
much. So the hub looks at the one field that tells, with every offset checked, before it decodes.

One column more, and perhaps others fewer: a batch that is served gets its numbers without a byte of the others being
moved; only the metadata is written anew, and the column's bytes go after those of the columns that are kept
(`with_column`).

The bytes, in the order in which they are followed (all little-endian; an *offset* counts from where it stands):

    0   ff ff ff ff            continuation marker
    4   u32                    length of the metadata
    8   u32                    offset to the root table, Message
    Message                    i32: distance back to its vtable
      vtable                   u16 size, u16 table size, then u16 field positions (0: absent)
        field 1                header type, 3 is RecordBatch
        field 2                offset to the RecordBatch table
        field 4                offset to custom metadata: Arrow 0.17 wrote there that a batch is compressed
        field 3                length of the body, which comes after the metadata
    RecordBatch
        fields 0, 1, 2         rows; a (rows, nulls) pair for each column; an (offset, length) pair for each buffer
        field 3                offset to BodyCompression: absent when the batch is not compressed
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

_RECORD_BATCH = 3
_HEADER_TYPE_FIELD, _HEADER_FIELD, _CUSTOM_METADATA_FIELD = 1, 2, 4
_NODES_FIELD, _BUFFERS_FIELD, _COMPRESSION_FIELD = 1, 2, 3
_VERSION_5 = 4
_PAIR = struct.Struct("<qq")
# Message (its vtable first, then the table), then RecordBatch likewise, then the count of the nodes. What stands
# where is written as positions in these 72 bytes.
_HEAD = struct.Struct("<I 4H2H iIqhBx HHHHH2x iIqI I")


def is_compressed(message: memoryview) -> bool:
    """Whether the record batch message is or may be compressed; raises ValueError if it is not such a message.

    One with custom metadata may be: nobody needs any, so it need not be read.
    """
    try:
        marker, size = struct.unpack_from("<II", message, 0)
        if marker != 0xFFFFFFFF or size > len(message) - 8:
            raise ValueError("it does not begin as an Arrow message")
        metadata = message[8 : 8 + size]
        root = struct.unpack_from("<I", metadata, 0)[0]
        kind_at = _field(metadata, root, _HEADER_TYPE_FIELD)
        header_at = _field(metadata, root, _HEADER_FIELD)
        if not kind_at or not header_at or metadata[kind_at] != _RECORD_BATCH:
            raise ValueError("it is not a record batch")
        if _field(metadata, root, _CUSTOM_METADATA_FIELD):
            return True
        header = header_at + struct.unpack_from("<I", metadata, header_at)[0]
        return _field(metadata, header, _COMPRESSION_FIELD) != 0
    except (struct.error, IndexError) as error:
        raise ValueError("its metadata points outside itself") from error


@dataclass(frozen=True, slots=True)
class Kept:
    """Which columns of a batch are kept: the places of their nodes and of their buffers."""

    nodes: tuple[int, ...]
    buffers: tuple[int, ...]


def with_column(
    message: memoryview, rows: int, column_bytes: int, kept: Kept | None = None
) -> tuple[bytes, list[memoryview]]:
    """A record batch message with one more column of fixed width and without nulls, the last; the others, or some.

    Returns the new beginning, and what of the body goes after it, as it was; after that come the column's bytes, a
    multiple of 8. Raises ValueError if the message is not such a batch.
    """
    try:
        marker, size = struct.unpack_from("<II", message, 0)
        metadata, body = message[8 : 8 + size], message[8 + size :]
        root = struct.unpack_from("<I", metadata, 0)[0]
        header_at = _field(metadata, root, _HEADER_FIELD)
        header = header_at + struct.unpack_from("<I", metadata, header_at)[0]
        all_nodes = _pairs(metadata, _field(metadata, header, _NODES_FIELD))
        all_buffers = _pairs(metadata, _field(metadata, header, _BUFFERS_FIELD))
        nodes: bytes | memoryview = all_nodes
        buffers: bytes | memoryview = all_buffers
        pieces = [body]
        if kept is not None:
            nodes = b"".join(_PAIR.pack(*_PAIR.unpack_from(all_nodes, 16 * place)) for place in kept.nodes)
            buffers, pieces = _picked(all_buffers, body, kept.buffers)
    except (struct.error, IndexError) as error:
        raise ValueError("its metadata points outside itself") from error
    if marker != 0xFFFFFFFF or column_bytes % 8 or len(body) % 8:
        raise ValueError("it is not a record batch whose body is a multiple of 8 bytes")
    length = sum(map(len, pieces))
    node_count, buffer_count = len(nodes) // 16 + 1, len(buffers) // 16 + 2
    buffers_at = 72 + 16 * node_count + 4
    head = _HEAD.pack(
        16,
        *(12, 20, 16, 18, 4, 8),
        *(12, 48 - 20, length + column_bytes, _VERSION_5, _RECORD_BATCH),
        *(10, 20, 8, 4, 16),
        *(12, 68 - 52, rows, buffers_at - 64),
        node_count,
    )
    parts: list[bytes | memoryview] = [
        *(head, nodes, _PAIR.pack(rows, 0)),
        *(bytes(4), buffer_count.to_bytes(4, "little"), buffers),
        *(_PAIR.pack(length, 0), _PAIR.pack(length, column_bytes)),
    ]
    new = b"".join(parts)
    return struct.pack("<II", 0xFFFFFFFF, len(new)) + new, pieces


def _picked(buffers: memoryview, body: memoryview, places: tuple[int, ...]) -> tuple[bytes, list[memoryview]]:
    """Some buffers, said anew: where each is in the pieces of the body that they take, one after another."""
    said, runs = bytearray(), [[0, 0]]
    length = 0
    for place in places:
        start, size = _PAIR.unpack_from(buffers, 16 * place)
        end = start + (size + 7 & ~7)
        if not 0 <= start <= end <= len(body) or start % 8:
            raise ValueError("its metadata points outside its body")
        said += _PAIR.pack(length, size)
        length += end - start
        if start == runs[-1][1]:
            runs[-1][1] = end
        elif end > start:
            runs.append([start, end])
    return bytes(said), [body[start:end] for start, end in runs if end > start]


def _pairs(metadata: memoryview, field_at: int) -> memoryview:
    """The bytes of a vector of pairs."""
    start = field_at + struct.unpack_from("<I", metadata, field_at)[0]
    count = struct.unpack_from("<I", metadata, start)[0]
    if not field_at or start + 4 + 16 * count > len(metadata):
        raise ValueError("its metadata points outside itself")
    return metadata[start + 4 : start + 4 + 16 * count]


def _field(metadata: memoryview, table: int, number: int) -> int:
    """Where a field of a table stands, or 0 if it is absent."""
    vtable = table - struct.unpack_from("<i", metadata, table)[0]
    if vtable < 0:
        raise ValueError("its metadata points before itself")
    size = struct.unpack_from("<H", metadata, vtable)[0]
    position = 4 + 2 * number
    if position + 2 > size:
        return 0
    offset = int(struct.unpack_from("<H", metadata, vtable + position)[0])
    return table + offset if offset else 0
