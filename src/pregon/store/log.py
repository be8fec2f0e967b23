"""The log of a topic: append batches at its head, read them by number, remove them at its tail.

A batch has one key: 23 bits of topic, 40 bits of its last number. One B-tree then holds the log, and storing
a message alone writes one page of it instead of two.

Promises:
- Numbers are dense: an append takes the numbers right after the head, in the transaction that stores it.
- Acceptance times never go back within a topic, whatever the clock does.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, case, delete, insert, select, update

from pregon.errors import NotFound
from pregon.model.batch import StoredBatch
from pregon.store.prepared import Prepared
from pregon.store.schema import batch, topic

_ADVANCE = Prepared(
    update(topic)
    .where(topic.c.id == bindparam("topic_id"))
    .values(
        head_seq=topic.c.head_seq + bindparam("added"),
        bytes=topic.c.bytes + bindparam("size"),
        accepted_us=case((topic.c.accepted_us > bindparam("now_us"), topic.c.accepted_us), else_=bindparam("now_us")),
    )
    .returning(topic.c.head_seq)
)
_INSERT = Prepared(insert(batch), [column.name for column in batch.columns])
_READ = Prepared(
    select(batch.c.key, batch.c.messages, batch.c.arrow)
    .where(batch.c.key.between(bindparam("first_key"), bindparam("last_key")))
    .order_by(batch.c.key)
    .limit(bindparam("rows"))
)
_SIZES = Prepared(
    select(batch.c.key, batch.c.messages, batch.c.bytes, batch.c.first_us, batch.c.last_us)
    .where(batch.c.key.between(bindparam("first_key"), bindparam("last_key")))
    .order_by(batch.c.key)
    .limit(bindparam("rows"))
)
_ENDS = Prepared(
    select(topic.c.id, topic.c.tail_seq, topic.c.head_seq).where(topic.c.name == bindparam("name"), ~topic.c.deleted)
)
_ROWS_READ_AT_ONCE = 8
_WHOLE_BATCHES_MAX = 32
_FEW_MESSAGES = 100
_KEPT_BATCHES = 4
"""Of at most 4 MiB each, for each of a few readers."""
SEQ_BITS = 40
_SEQ_MAX = (1 << SEQ_BITS) - 1
TOPIC_ID_MAX = (1 << (63 - SEQ_BITS)) - 1


@dataclass(frozen=True, slots=True)
class BatchSize:
    """A stored batch without its contents."""

    last_seq: int
    messages: int
    bytes: int
    first_us: int
    last_us: int


def find_ends(connection: Connection, topic_name: str) -> tuple[int, int, int] | None:
    """A topic's id, and the numbers of its oldest and its newest message; None if there is no such topic."""
    found = _ENDS.run(connection, {"name": topic_name})
    return tuple(found[0]) if found else None


def batch_key(topic_id: int, seq: int) -> int:
    """Where a batch of the topic that ends at a number stands in the log."""
    return topic_id << SEQ_BITS | max(0, min(seq, _SEQ_MAX))


def _span(topic_id: int, first_seq: int, rows: int) -> dict[str, int]:
    """The batches of a topic from a number on, as parameters."""
    return {"first_key": batch_key(topic_id, first_seq), "last_key": batch_key(topic_id, _SEQ_MAX), "rows": rows}


def append(connection: Connection, topic_id: int, count: int, arrow: Any, now_us: int) -> int:
    """Store a batch of `count` messages accepted at `now_us` and return the number of its first."""
    size = len(arrow)
    ((head_seq,),) = _ADVANCE.run(connection, {"topic_id": topic_id, "added": count, "size": size, "now_us": now_us})
    if head_seq > _SEQ_MAX:
        raise OverflowError(f"topic {topic_id} is at its last number, {_SEQ_MAX}")
    _INSERT.run(
        connection,
        {
            "key": batch_key(topic_id, head_seq),
            "messages": count,
            "bytes": size,
            "first_us": now_us,
            "last_us": now_us,
            "arrow": arrow,
        },
    )
    return int(head_seq) - count + 1


def read_batches(connection: Connection, topic_id: int, first_seq: int) -> Iterator[StoredBatch]:
    """The batches from the one that holds `first_seq` on, whole, as the caller asks for them."""
    rows = 1
    while True:
        found = _READ.run(connection, _span(topic_id, first_seq, rows))
        for key, messages, arrow in found:
            yield StoredBatch((key & _SEQ_MAX) - messages + 1, messages, arrow)
        if len(found) < rows:
            return
        first_seq = (found[-1][0] & _SEQ_MAX) + 1
        # The first answer is often enough; a long read takes more at once.
        rows = _ROWS_READ_AT_ONCE


def read_whole(
    connection: Connection, topic_id: int, first_seq: int, last_seq: int, *, bytes_max: int
) -> list[StoredBatch]:
    """What the log has between two numbers, batches as they are but at the ends; the first, however large it is."""
    if first_seq > last_seq:
        return []
    rows = size = 0
    for key, messages, size_bytes, *_ in _SIZES.run(connection, _span(topic_id, first_seq, _WHOLE_BATCHES_MAX)):
        size += size_bytes
        if (key & _SEQ_MAX) - messages + 1 > last_seq or (rows and size > bytes_max):
            break
        rows += 1
    found = _READ.run(connection, _span(topic_id, first_seq, rows)) if rows else []
    batches = [StoredBatch((key & _SEQ_MAX) - messages + 1, messages, arrow) for key, messages, arrow in found]
    return [batch.cut(first_seq, last_seq) for batch in batches]


def read_range(
    connection: Connection, topic_id: int, first_seq: int, last_seq: int, *, messages_max: int, bytes_max: int
) -> list[StoredBatch]:
    """What the log has between two numbers, cut to fit; the first message goes however large it is."""
    if first_seq > last_seq:
        return []
    if messages_max <= _FEW_MESSAGES:
        few = _read_few(connection, topic_id, first_seq, min(last_seq, first_seq + messages_max - 1))
        if few is not None:
            return [_shrink(few, bytes_max)]
    pieces: list[StoredBatch] = []
    size = count = 0
    for stored in read_batches(connection, topic_id, first_seq):
        if stored.base_seq > last_seq or count >= messages_max:
            break
        room = min(last_seq, max(first_seq, stored.base_seq) + messages_max - count - 1)
        piece = stored.cut(first_seq, room)
        if size + len(piece.arrow) > bytes_max:
            piece = _shrink(piece, bytes_max - size)
            if size + len(piece.arrow) <= bytes_max or not pieces:
                pieces.append(piece)
            break
        pieces.append(piece)
        size += len(piece.arrow)
        count += piece.count
    return pieces


def _read_few(connection: Connection, topic_id: int, first_seq: int, last_seq: int) -> StoredBatch | None:
    """A few messages out of a larger batch that has them all; None if there is no such batch.

    Who takes a few at a time comes back for the next: the batch is kept for it, a few of them for each connection.
    """
    found = _SIZES.run(connection, _span(topic_id, first_seq, 1))
    if not found:
        return None
    key, messages, *_ = found[0]
    batch_last = key & _SEQ_MAX
    if not batch_last - messages < first_seq <= last_seq <= batch_last or last_seq - first_seq + 1 == messages:
        return None
    kept: OrderedDict[tuple[int, ...], StoredBatch] = connection.info.setdefault("recent batches", OrderedDict())
    # Merging puts another batch in the place of one, but never one of the same size and times.
    known = kept.get(tuple(found[0]))
    if known is None:
        ((_, _, arrow),) = _READ.run(connection, _span(topic_id, first_seq, 1))
        known = kept[tuple(found[0])] = StoredBatch(batch_last - messages + 1, messages, arrow)
        if len(kept) > _KEPT_BATCHES:
            kept.popitem(last=False)
    else:
        kept.move_to_end(tuple(found[0]))
    return known.cut(first_seq, last_seq)


def _shrink(piece: StoredBatch, bytes_max: int) -> StoredBatch:
    """The beginning of a batch that fits, or its first message alone."""
    count = piece.count
    while count > 1 and len(piece.arrow) > bytes_max:
        # Messages differ in size and a batch has a price of its own, so a guess may need another.
        count = max(1, min(count - 1, bytes_max * count // len(piece.arrow)))
        piece = piece.cut(piece.base_seq, piece.base_seq + count - 1)
    return piece


def require_message(connection: Connection, topic_id: int, seq: int) -> StoredBatch:
    """The message with this number, a batch of one; raises NotFound if the log has it no more, or not yet."""
    for stored in read_batches(connection, topic_id, seq):
        if stored.base_seq <= seq:
            return stored.cut(seq, seq)
        break
    raise NotFound(f"message {seq} is not in the log")


def seq_at(connection: Connection, topic_id: int, at_us: int) -> int:
    """The number of the first message accepted at `at_us` or later; the next one to come if there is none.

    Acceptance times follow the numbers, so the numbers are searched by halves: no index is needed.
    """
    row = connection.execute(select(topic.c.tail_seq, topic.c.head_seq).where(topic.c.id == topic_id)).one()
    low, high = int(row.tail_seq), int(row.head_seq) + 1
    while low < high:
        middle = (low + high) // 2
        found = next(iter(batch_sizes(connection, topic_id, middle - 1, 1)), None)
        if found is None:
            high = middle
        elif found.last_us < at_us:
            low = found.last_seq + 1
        elif found.first_us >= at_us:
            high = max(low, min(middle, found.last_seq - found.messages + 1))
        else:
            return _seq_within(connection, topic_id, found.last_seq, at_us)
    return low


def _seq_within(connection: Connection, topic_id: int, last_seq: int, at_us: int) -> int:
    """The same inside one (merged) batch, whose messages were accepted at different times."""
    stored = next(read_batches(connection, topic_id, last_seq))
    times = stored.rows().column("accepted_at").cast("int64").to_pylist()
    return stored.base_seq + next(row for row, us in enumerate(times) if us >= at_us)


def batch_sizes(connection: Connection, topic_id: int, after_seq: int, rows: int) -> list[BatchSize]:
    """The batches that end after a number, without their contents."""
    found = _SIZES.run(connection, _span(topic_id, after_seq + 1, rows))
    return [BatchSize(key & _SEQ_MAX, *rest) for key, *rest in found]


def remove_through(connection: Connection, topic_id: int, last_seq: int, size: int) -> None:
    """Remove the batches up to `last_seq`, which must end one; `size` is what they took."""
    connection.execute(delete(batch).where(batch.c.key.between(batch_key(topic_id, 0), batch_key(topic_id, last_seq))))
    connection.execute(
        update(topic).where(topic.c.id == topic_id).values(tail_seq=last_seq + 1, bytes=topic.c.bytes - size)
    )


def replace(connection: Connection, topic_id: int, merged: StoredBatch) -> None:
    """Put one batch in the place of all those with the same numbers."""
    span = batch.c.key.between(batch_key(topic_id, merged.base_seq), batch_key(topic_id, merged.last_seq))
    rows = connection.execute(select(batch.c.bytes, batch.c.first_us, batch.c.last_us).where(span)).all()
    connection.execute(delete(batch).where(span))
    _INSERT.run(
        connection,
        {
            "key": batch_key(topic_id, merged.last_seq),
            "messages": merged.count,
            "bytes": len(merged.arrow),
            "first_us": min(row.first_us for row in rows),
            "last_us": max(row.last_us for row in rows),
            "arrow": merged.arrow,
        },
    )
    saved = sum(row.bytes for row in rows) - len(merged.arrow)
    connection.execute(update(topic).where(topic.c.id == topic_id).values(bytes=topic.c.bytes - saved))
