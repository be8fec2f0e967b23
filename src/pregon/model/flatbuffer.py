"""One question asked of Arrow's metadata before Arrow reads it: is the batch compressed?

A compressed batch of 4 MiB may unpack to a gigabyte, and Arrow has no option that says how much is too
much. So the hub looks at the one field that tells, with every offset checked, before it decodes.

The bytes, in the order in which they are followed (all little-endian; an *offset* counts from where it stands):

    0   ff ff ff ff            continuation marker
    4   u32                    length of the metadata
    8   u32                    offset to the root table, Message
    Message                    i32: distance back to its vtable
      vtable                   u16 size, u16 table size, then u16 field positions (0: absent)
        field 1                header type, 3 is RecordBatch
        field 2                offset to the RecordBatch table
        field 4                offset to custom metadata: Arrow 0.17 wrote there that a batch is compressed
    RecordBatch
        field 3                offset to BodyCompression: absent when the batch is not compressed
"""

from __future__ import annotations

import struct

_RECORD_BATCH = 3
_HEADER_TYPE_FIELD, _HEADER_FIELD, _CUSTOM_METADATA_FIELD = 1, 2, 4
_COMPRESSION_FIELD = 3


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
