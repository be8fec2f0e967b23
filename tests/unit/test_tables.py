"""Tables from outside and for outside: what is cast, what is refused, and that nothing of it can end the process."""

from __future__ import annotations

import struct
import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregon.errors import BadBatch, BadRequest, StoreCorrupt, TooLarge
from pregon.limits import BATCH_BYTES_MAX, BATCH_MESSAGES_MAX
from pregon.model.batch import END_OF_STREAM, SCHEMA_SENT, Packing, StoredBatch, encode, stamp
from pregon.model.message import Outgoing
from pregon.model.tables import SCHEMA_SERVED, batch_of_stream, select_columns, served, served_stream

VIEW = struct.Struct("<i4sii")
LARGE = b"x" * 200_000


def stream_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def stored(base_seq: int, *bodies: bytes) -> StoredBatch:
    packing = Packing()
    for body in bodies:
        packing.add(Outgoing(body, key=None, headers={"a": "b"}), 5)
    return StoredBatch(base_seq, len(bodies), encode(stamp(packing.pack("id-"), "dgrec", 7)))


def views(count: int, null_length: int | None = None) -> pa.Array:
    """A column whose rows are all the same large bytes; its first row null, with a view that says this length."""
    rows = VIEW.pack(len(LARGE), LARGE[:4], 0, 0) * count
    valid = None
    if null_length is not None:
        rows = VIEW.pack(null_length, bytes(4), 0, 0) + rows[VIEW.size :]
        valid = pa.py_buffer(bytes([0xFE]) + b"\xff" * (count // 8))
    return pa.Array.from_buffers(pa.string_view(), count, [valid, pa.py_buffer(rows), pa.py_buffer(LARGE)])


def test_served_batches_are_one_stream_with_their_numbers() -> None:
    batches = [stored(1, b"a", b"b"), stored(3, b"c"), stored(100, b"d", b"e", b"f")]

    table = pa.ipc.open_stream(b"".join(served_stream(batches))).read_all()

    table.validate(full=True)
    assert table.schema == SCHEMA_SERVED
    assert table.column("seq").to_pylist() == [1, 2, 3, 100, 101, 102]
    assert table.column("body").to_pylist() == [b"a", b"b", b"c", b"d", b"e", b"f"]
    assert set(table.column("producer").to_pylist()) == {"dgrec"}
    assert table.column("headers").to_pylist() == [[("a", "b")]] * 6


@pytest.mark.parametrize(
    "columns", ["body", "seq", "headers", "key,body", "body,key", "accepted_at,id", ",".join(SCHEMA_SERVED.names)]
)
def test_only_the_columns_that_are_asked_for_are_served(columns: str) -> None:
    batches = [stored(1, b"a", b"bcd"), stored(3, b""), stored(100, b"d" * 1_000, b"e", b"f")]

    selection = select_columns(columns)
    pieces = [selection.head, *(piece for batch in batches for piece in served(batch, selection)), END_OF_STREAM]

    table = pa.ipc.open_stream(b"".join(pieces)).read_all()
    whole = pa.ipc.open_stream(b"".join(served_stream(batches))).read_all()
    table.validate(full=True)
    assert set(table.column_names) == {*columns.split(","), "seq"}
    assert table == whole.select(table.column_names)


@given(where=st.integers(min_value=8, max_value=900), value=st.integers(min_value=0, max_value=255))
def test_a_damaged_batch_is_never_served_with_what_is_beside_it_in_memory(where: int, value: int) -> None:
    batch = stored(1, b"a", b"b")
    damaged = bytearray(batch.arrow)
    damaged[where % len(damaged)] = value

    try:
        pieces = served(StoredBatch(1, 2, bytes(damaged)), select_columns("body"))
    except StoreCorrupt:
        return
    assert all(len(piece) <= len(damaged) for piece in pieces[1:])


def test_a_column_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(BadRequest, match=r"there is no column 'cuerpo': columns are id, key, .*body"):
        select_columns("body,cuerpo")


def test_no_batches_are_a_stream_without_rows() -> None:
    table = pa.ipc.open_stream(b"".join(served_stream([]))).read_all()

    assert (table.schema, table.num_rows) == (SCHEMA_SERVED, 0)


def test_a_stream_with_only_bodies_gets_the_rest() -> None:
    batch = batch_of_stream(stream_of(pa.table({"body": [b"a", b"b"]})), 5, "p")

    assert batch.schema == SCHEMA_SENT
    assert batch.column("id").to_pylist() == ["p-0000", "p-0001"]
    assert batch.column("published_at").cast(pa.int64()).to_pylist() == [5, 5]
    assert batch.column("key").to_pylist() == [None, None]
    assert batch.column("headers").to_pylist() == [[], []]


def test_several_batches_of_a_stream_become_one() -> None:
    table = pa.concat_tables([pa.table({"body": [bytes([n])], "id": [str(n)]}) for n in range(10)])

    batch = batch_of_stream(stream_of(table), 0, "p")

    assert batch.column("body").to_pylist() == [bytes([n]) for n in range(10)]
    assert batch.column("id").to_pylist() == [str(n) for n in range(10)]


def test_views_that_share_their_bytes_are_counted_as_often_as_they_are_there() -> None:
    count = BATCH_BYTES_MAX // len(LARGE) + 1

    with pytest.raises(TooLarge):
        batch_of_stream(stream_of(pa.table({"body": views(count)})), 0, "p")

    assert batch_of_stream(stream_of(pa.table({"body": views(10)})), 0, "p").nbytes > 10 * len(LARGE)


@pytest.mark.parametrize("rows", [0, BATCH_MESSAGES_MAX + 1])
def test_a_stream_has_rows_and_not_too_many(rows: int) -> None:
    data = stream_of(pa.table({"body": pa.array([b""] * rows, pa.binary())}))

    with pytest.raises(BadBatch):
        batch_of_stream(data, 0, "p")


def test_many_small_batches_are_refused_before_they_are_read() -> None:
    table = pa.concat_tables([pa.table({"body": [b""]})] * (BATCH_MESSAGES_MAX + 2))

    with pytest.raises((TooLarge, BadBatch)):
        batch_of_stream(stream_of(table), 0, "p")


CHILD = """
import sys
from pregon.errors import PregonError
from pregon.model.tables import batch_of_stream
for line in sys.stdin:
    try:
        batch_of_stream(bytes.fromhex(line), 0, "p").validate(full=True)
        print("taken", flush=True)
    except PregonError as error:
        print(error.code, flush=True)
"""


def with_null_view(column: str, length: int) -> bytes:
    """A stream whose column has a null row that says this length, in a buffer that is not there."""
    mark = VIEW.pack(0x0BADCAFE, bytes(4), 0, 0)
    data = stream_of(pa.table({"body": pa.array([b""] * 16), column: views(16, 0x0BADCAFE)}))
    assert data.count(mark) == 1
    return data.replace(mark, VIEW.pack(length, bytes(4), 99, 0))


def test_a_view_of_a_row_that_is_null_cannot_end_the_process() -> None:
    columns, lengths = ("body", "key", "id", "content_type"), (13, -1, 2**31 - 1, -(2**31))
    lines = [with_null_view(column, length).hex() for column in columns for length in lengths]

    ended = subprocess.run(
        [sys.executable, "-c", CHILD], input="\n".join(lines), capture_output=True, timeout=60, check=False, text=True
    )

    assert ended.returncode == 0, f"ended by {ended.returncode} after {ended.stdout.split()}"
    assert len(ended.stdout.split()) == len(lines)
    assert set(ended.stdout.split()) <= {"taken", "bad_batch", "too_large"}


def test_a_null_row_does_not_make_room_for_others() -> None:
    count = BATCH_BYTES_MAX // len(LARGE) + 10
    data = stream_of(pa.table({"body": [b""] * count, "key": views(count, 0)}))

    with pytest.raises(TooLarge):
        batch_of_stream(data, 0, "p")
