"""Cutting, leaving out and joining batches loses nothing and changes nothing."""

from itertools import pairwise

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pregon.model.batch import SCHEMA_STORED, StoredBatch, join, stream_of

from .batches import contents, neighbours, stored_batches


@given(batch=stored_batches(), data=st.data())
def test_a_cut_has_exactly_the_messages_between_its_numbers(batch: StoredBatch, data: st.DataObject) -> None:
    first = data.draw(st.integers(batch.base_seq, batch.last_seq))
    last = data.draw(st.integers(first, batch.last_seq))

    piece = batch.cut(first, last)

    assert (piece.base_seq, piece.last_seq) == (first, last)
    assert contents(piece) == contents(batch)[first - batch.base_seq : last - batch.base_seq + 1]


@given(batch=stored_batches(), before=st.integers(0, 50), after=st.integers(0, 50))
def test_a_cut_wider_than_the_batch_is_the_batch_itself(batch: StoredBatch, before: int, after: int) -> None:
    piece = batch.cut(batch.base_seq - before, batch.last_seq + after)

    assert piece is batch


@given(batch=stored_batches(), data=st.data())
def test_a_cut_of_a_cut_is_a_cut(batch: StoredBatch, data: st.DataObject) -> None:
    ends = sorted(data.draw(st.lists(st.integers(batch.base_seq, batch.last_seq), min_size=4, max_size=4)))

    twice, once = batch.cut(ends[0], ends[3]).cut(ends[1], ends[2]), batch.cut(ends[1], ends[2])

    assert contents(twice) == contents(once)


@given(batch=stored_batches(), data=st.data())
def test_a_cut_is_never_larger_than_what_it_was_cut_from(batch: StoredBatch, data: st.DataObject) -> None:
    first = data.draw(st.integers(batch.base_seq, batch.last_seq))

    piece = batch.cut(first, batch.last_seq)

    assert len(piece.arrow) <= len(batch.arrow)


@given(batch=stored_batches(), left_out=st.sets(st.integers(0, 1_010), max_size=6), data=st.data())
def test_what_remains_is_everything_but_what_was_left_out(
    batch: StoredBatch, left_out: set[int], data: st.DataObject
) -> None:
    left_out |= data.draw(st.sets(st.integers(batch.base_seq, batch.last_seq)))

    pieces = batch.without(left_out)

    assert contents(*pieces) == [row for row in contents(batch) if row[0] not in left_out]
    assert all(piece.count > 0 for piece in pieces)
    assert all(one.last_seq + 1 < other.base_seq for one, other in pairwise(pieces))


@given(batch=stored_batches())
def test_leaving_out_strangers_leaves_the_batch_untouched(batch: StoredBatch) -> None:
    pieces = batch.without([batch.base_seq - 1, batch.last_seq + 1])

    assert len(pieces) == 1
    assert pieces[0] is batch


@given(batches=neighbours())
def test_joined_batches_have_the_same_messages(batches: list[StoredBatch]) -> None:
    joined = join(batches)

    assert (joined.base_seq, joined.last_seq) == (batches[0].base_seq, batches[-1].last_seq)
    assert contents(joined) == contents(*batches)


@given(batch=stored_batches(), data=st.data())
def test_what_was_cut_in_two_is_joined_again(batch: StoredBatch, data: st.DataObject) -> None:
    middle = data.draw(st.integers(batch.base_seq, batch.last_seq))
    halves = [batch.cut(batch.base_seq, middle)]
    if middle < batch.last_seq:
        halves.append(batch.cut(middle + 1, batch.last_seq))

    joined = join(halves)

    assert contents(joined) == contents(batch)


@given(batches=neighbours())
def test_any_arrow_library_reads_batches_as_a_stream(batches: list[StoredBatch]) -> None:
    stream = b"".join(stream_of(batches))

    table = pa.ipc.open_stream(stream).read_all()

    assert table.schema == SCHEMA_STORED
    assert table.column("body").to_pylist() == [row[5] for row in contents(*batches)]
