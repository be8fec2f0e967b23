"""Bytes from outside: a batch, or BadBatch, or TooLarge; never a crash, never more memory than they took."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregon import limits
from pregon.errors import BadBatch, TooLarge
from pregon.model.batch import SCHEMA_SENT, StoredBatch, decode_sent, encode, pack, stamp
from pregon.model.flatbuffer import is_compressed
from pregon.model.message import Outgoing

from .batches import sent_frames
from .forgery import BUFFERS, compressed_as_in_arrow_0_17, shared, stretched

LARGE = pack([Outgoing(bytes(10_000), f"id-{row}") for row in range(20)], [1] * 20)


@st.composite
def mutated_frames(draw: st.DrawFn) -> bytes:
    """A valid batch of which some bytes were changed, cut off or added."""
    frame = bytearray(draw(sent_frames()))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(frame) - 1))
        kind = draw(st.sampled_from(["byte", "number", "cut", "insert", "repeat"]))
        if kind == "byte":
            frame[at] = draw(st.sampled_from([0, 1, 3, 4, 127, 128, 255]) | st.integers(0, 255))
        elif kind == "number":
            value = draw(st.sampled_from([-1, 0, 1, 8, 2**31 - 1, -(2**31)]) | st.integers(-200, 2_000))
            frame[at - at % 4 : at - at % 4 + 4] = value.to_bytes(4, "little", signed=True)
        elif kind == "cut":
            del frame[max(at, 1) :]
        elif kind == "insert":
            frame[at:at] = draw(st.binary(min_size=1, max_size=8))
        else:
            frame += frame[at:]
    return bytes(frame)


def use(batch: pa.RecordBatch, frame: bytes) -> None:
    """Everything that the hub and a subscriber do with a batch that was accepted."""
    assert 0 < batch.num_rows <= limits.BATCH_MESSAGES_MAX
    assert batch.nbytes <= len(frame)
    stored = StoredBatch(1, batch.num_rows, encode(stamp(batch, "registry", 1)))
    for message in (*stored.messages("topic"), *stored.cut(1, 1).messages("topic")):
        assert 0 < len(message.id.encode()) <= limits.MESSAGE_ID_BYTES_MAX
        assert 0 < len(message.content_type.encode()) <= limits.CONTENT_TYPE_BYTES_MAX
        assert len(message.body) <= limits.BODY_BYTES_MAX
        assert len(message.headers) <= limits.HEADERS_MAX
        message.describe()


def decode_and_use(frame: bytes) -> None:
    """Decode, and if it is accepted, use it; any other error than ours is a crash."""
    try:
        batch = decode_sent(frame)
    except (BadBatch, TooLarge):
        return
    use(batch, frame)


@given(frame=sent_frames())
def test_an_honest_batch_is_accepted(frame: bytes) -> None:
    batch = decode_sent(frame)

    use(batch, frame)


@given(frame=st.binary(max_size=400))
def test_random_bytes_are_refused(frame: bytes) -> None:
    with pytest.raises(BadBatch):
        decode_sent(frame)


@given(frame=st.binary(max_size=400).map(lambda tail: b"\xff\xff\xff\xff" + len(tail).to_bytes(4, "little") + tail))
def test_random_metadata_is_refused(frame: bytes) -> None:
    with pytest.raises(BadBatch):
        decode_sent(frame)


@settings(max_examples=400)
@given(frame=mutated_frames())
def test_a_mutated_batch_is_refused_or_is_a_batch(frame: bytes) -> None:
    decode_and_use(frame)


@settings(max_examples=400)
@given(frame=mutated_frames())
def test_whether_mutated_bytes_are_compressed_is_answered_or_refused(frame: bytes) -> None:
    try:
        answer = is_compressed(memoryview(frame))
    except ValueError:
        return

    assert answer in (True, False)


@given(frame=st.binary(max_size=200))
def test_whether_random_bytes_are_compressed_is_refused(frame: bytes) -> None:
    with pytest.raises(ValueError):
        is_compressed(memoryview(frame))


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_a_compressed_batch_is_refused(codec: str) -> None:
    frame = LARGE.serialize(memory_pool=None)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA_SENT, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_batch(LARGE)
    reader = pa.ipc.MessageReader.open_stream(sink.getvalue())
    reader.read_next_message()
    compressed = reader.read_next_message().serialize()

    assert not is_compressed(memoryview(frame))
    assert is_compressed(memoryview(compressed))
    with pytest.raises(BadBatch, match="compressed"):
        decode_sent(compressed)


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_a_batch_compressed_as_in_arrow_0_17_is_refused(codec: str) -> None:
    frame = compressed_as_in_arrow_0_17(LARGE, codec)

    with pytest.raises(BadBatch):
        decode_sent(frame)


def test_a_batch_whose_columns_share_their_bytes_is_refused() -> None:
    frame = shared(b"x" * 150, 100)

    with pytest.raises(BadBatch):
        decode_sent(frame)


@given(frame=sent_frames(), row=st.integers(0, BUFFERS - 1), more=st.sampled_from([1, 3, 4, 8]))
def test_a_buffer_longer_than_its_values_need_is_no_crash(frame: bytes, row: int, more: int) -> None:
    decode_and_use(stretched(frame, row, more))


@given(instant=st.sampled_from([-(2**63), 2**63 - 1, 253_402_300_800_000_000, -62_135_596_800_000_001]))
def test_a_time_that_no_calendar_has_is_refused(instant: int) -> None:
    frame = encode(pack([Outgoing(b"", "id")], [instant])).to_pybytes()

    with pytest.raises(BadBatch):
        decode_sent(frame)


@pytest.mark.parametrize(
    "message",
    [
        Outgoing(b"", "x" * 201),
        Outgoing(b"", "id", key="k" * 1_025),
        Outgoing(b"", "id", content_type="t" * 256),
        Outgoing(b"", "id", content_type=""),
        Outgoing(b"", "id", headers={str(row): "" for row in range(65)}),
        Outgoing(b"", "id", headers={"h": "v" * 16 * 1_024}),
    ],
)
def test_a_value_past_its_limit_is_refused(message: Outgoing) -> None:
    frame = encode(pack([Outgoing(b"", "first"), message], [1, 2]))

    with pytest.raises(BadBatch):
        decode_sent(frame)


def test_what_is_too_large_is_said_to_be_too_large() -> None:
    with pytest.raises(TooLarge):
        decode_sent(bytes(limits.BATCH_BYTES_MAX + 1))

    with pytest.raises(TooLarge):
        decode_sent(encode(pack([Outgoing(bytes(11), "id")], [1])), body_bytes_max=10)


@pytest.mark.parametrize("rows", [0, limits.BATCH_MESSAGES_MAX + 1])
def test_a_batch_of_none_or_too_many_is_refused(rows: int) -> None:
    frame = encode(pa.RecordBatch.from_arrays([column.slice(0, 0) for column in LARGE.columns], schema=SCHEMA_SENT))
    if rows:
        frame = encode(pack([Outgoing(b"", "id")] * rows, [1] * rows))

    with pytest.raises(BadBatch):
        decode_sent(frame)
