"""Any messages served as a table are those messages; any bytes taken as a table are messages or are refused."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pregon.errors import BadBatch, TooLarge
from pregon.model.batch import SCHEMA_SENT, Packing, StoredBatch, encode, stamp
from pregon.model.message import Outgoing
from pregon.model.tables import SCHEMA_SERVED, batch_of_stream, served_stream

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
messages = st.builds(
    Outgoing,
    body=st.binary(max_size=50),
    id=texts.filter(bool),
    key=st.none() | texts,
    content_type=texts.filter(bool),
    headers=st.dictionaries(texts, texts, max_size=3),
)
binaries = st.sampled_from([pa.binary(), pa.large_binary(), pa.binary_view()])
strings = st.sampled_from([pa.string(), pa.large_string(), pa.string_view()])


def stored(base_seq: int, listed: list[Outgoing]) -> StoredBatch:
    packing = Packing()
    for message in listed:
        packing.add(message, 5)
    return StoredBatch(base_seq, len(listed), encode(stamp(packing.pack("id-"), "dgrec", 7)))


def stream_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@given(st.lists(st.lists(messages, min_size=1, max_size=4), max_size=4), st.integers(1, 2**62))
def test_what_is_served_is_what_was_stored(batches: list[list[Outgoing]], base_seq: int) -> None:
    made: list[StoredBatch] = []
    for listed in batches:
        made.append(stored(base_seq + sum(batch.count for batch in made), listed))

    table = pa.ipc.open_stream(b"".join(served_stream(made))).read_all()

    table.validate(full=True)
    said = [message for listed in batches for message in listed]
    assert table.schema == SCHEMA_SERVED
    assert table.column("seq").to_pylist() == list(range(base_seq, base_seq + len(said)))
    assert table.column("body").to_pylist() == [message.body for message in said]
    assert table.column("key").to_pylist() == [message.key for message in said]
    assert [dict(one) for one in table.column("headers").to_pylist()] == [dict(message.headers) for message in said]


@given(st.lists(messages, min_size=1, max_size=6), binaries, strings, st.integers(1, 3))
def test_a_table_of_any_types_is_the_same_messages(
    listed: list[Outgoing], binary: pa.DataType, string: pa.DataType, rows: int
) -> None:
    table = pa.table(
        {
            "body": pa.array([one.body for one in listed], binary),
            "id": pa.array([one.id for one in listed], string),
            "key": pa.array([one.key for one in listed], string),
        }
    )
    chunked = pa.Table.from_batches(table.to_batches(max_chunksize=rows), table.schema)

    batch = batch_of_stream(stream_of(chunked), 5, "p")

    batch.validate(full=True)
    assert batch.schema == SCHEMA_SENT
    assert batch.column("body").to_pylist() == [one.body for one in listed]
    assert batch.column("id").to_pylist() == [one.id for one in listed]
    assert batch.column("key").to_pylist() == [one.key for one in listed]


@given(st.data())
def test_bytes_that_are_wrong_somewhere_are_taken_or_refused(data: st.DataObject) -> None:
    # Only types whose null rows cannot hurt: what those of views may do is proved in a process of its own.
    kind = data.draw(st.sampled_from([pa.binary(), pa.large_binary()]))
    good = stream_of(pa.table({"body": pa.array([b"a", b"bc" * 20], kind), "key": ["k", None]}))
    place = data.draw(st.integers(0, len(good) - 1))
    piece = data.draw(st.binary(max_size=4))
    bad = good[:place] + piece + good[place + len(piece) :] if data.draw(st.booleans()) else good[:place]

    try:
        batch = batch_of_stream(bad, 5, "p")
    except (BadBatch, TooLarge):
        return

    batch.validate(full=True)
    assert 1 <= batch.num_rows <= 10_000
