"""Messages and Arrow batches: limits, packing, stamping, cutting, streams."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pregon import limits
from pregon.errors import BadBatch, BadName, BadRequest, StoreCorrupt, TooLarge
from pregon.model.batch import (
    SCHEMA_SENT,
    SCHEMA_STORED,
    Packing,
    StoredBatch,
    decode_sent,
    encode,
    join,
    pack,
    stamp,
    stream_of,
)
from pregon.model.message import Outgoing, check_outgoing, with_reasons
from pregon.model.names import check_name
from pregon.wire.commands import Match


def stored(count: int, base_seq: int = 1) -> StoredBatch:
    messages = [Outgoing(f"body {row}".encode(), id=f"id{row}", key="k" if row % 2 else None) for row in range(count)]
    batch = stamp(pack(messages, range(count)), "DGREC", 77)
    return StoredBatch(base_seq, count, encode(batch))


def test_a_message_comes_out_as_it_went_in() -> None:
    sent = Outgoing("año".encode(), id="7", key="llave", content_type="text/plain", headers={"a": "b", "c": ""})

    (message,) = StoredBatch(9, 1, encode(stamp(pack([sent], [5]), "BPS", 6))).messages("fallecidos")

    assert (message.body, message.text, message.id, message.key) == (sent.body, "año", "7", "llave")
    assert (message.content_type, message.headers) == ("text/plain", {"a": "b", "c": ""})
    assert (message.seq, message.topic, message.producer) == (9, "fallecidos", "BPS")
    assert (message.published_us, message.accepted_us) == (5, 6)
    assert message.describe()["accepted_at"] == "1970-01-01T00:00:00.000006Z"


def test_a_message_says_why_a_filter_wanted_it_and_which_did_not_says_nothing() -> None:
    messages = stored(6, base_seq=11).messages("t")
    matches = [Match(1, 3, "long before"), Match(9, 11, "a"), Match(13, 14, "b"), Match(16, 99, "c")]

    told = list(with_reasons(messages, matches))

    assert [one.matched for one in told] == ["a", "", "b", "b", "", "c"]
    assert [(one.seq, one.topic, one.body) for one in told] == [(one.seq, one.topic, one.body) for one in messages]
    assert told[0].describe()["matched"] == "a"
    assert "matched" not in told[1].describe()


def test_bodies_alone_pack_as_full_messages_do() -> None:
    short, long = Packing(), Packing()
    for row in range(3):
        short.add_body(b"x%d" % row, row)
        long.add(Outgoing(b"x%d" % row), row)

    assert short.pack("p-").equals(long.pack("p-"))
    assert short.pack("p-").column("id").to_pylist() == ["p-0000", "p-0001", "p-0002"]


def test_a_body_alone_may_follow_a_full_message_and_precede_one() -> None:
    packing = Packing()

    packing.add_body(b"a", 1)
    packing.add(Outgoing(b"b", id="mine", key="k", headers={"h": "v"}), 2)
    packing.add_body(b"c", 3)

    batch = packing.pack("p")
    assert batch.column("id").to_pylist() == ["p0000", "mine", "p0002"]
    assert batch.column("key").to_pylist() == [None, "k", None]
    assert batch.column("headers").to_pylist() == [[], [("h", "v")], []]
    assert batch.column("body").to_pylist() == [b"a", b"b", b"c"]


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (Outgoing(bytes(limits.BODY_BYTES_MAX + 1)), TooLarge),
        (Outgoing(b"", id=""), BadRequest),
        (Outgoing(b"", id="x" * (limits.MESSAGE_ID_BYTES_MAX + 1)), BadRequest),
        (Outgoing(b"", id="ñ" * (limits.MESSAGE_ID_BYTES_MAX // 2 + 1)), BadRequest),
        (Outgoing(b"", id="\ud800"), BadRequest),
        (Outgoing(b"", key="x" * (limits.KEY_BYTES_MAX + 1)), BadRequest),
        (Outgoing(b"", content_type=""), BadRequest),
        (Outgoing(b"", content_type="x" * (limits.CONTENT_TYPE_BYTES_MAX + 1)), BadRequest),
        (Outgoing(b"", headers={str(n): "" for n in range(limits.HEADERS_MAX + 1)}), BadRequest),
        (Outgoing(b"", headers={"a": "x" * limits.HEADERS_BYTES_MAX}), BadRequest),
        (Outgoing(b"", headers={"a": "\ud800"}), BadRequest),
    ],
)
def test_a_message_past_a_limit_is_refused(message: Outgoing, error: type[Exception]) -> None:
    with pytest.raises(error):
        check_outgoing(message)


@pytest.mark.parametrize("name", ["", ".a", "-a", "a b", "a/b", "año", "a\n", "x" * 129, "#1"])
def test_a_name_that_cannot_go_everywhere_is_refused(name: str) -> None:
    with pytest.raises(BadName):
        check_name("topic", name)


def columns(**changed: pa.Array) -> pa.RecordBatch:
    whole = {
        "id": pa.array(["a", "b"]),
        "key": pa.nulls(2, pa.string()),
        "content_type": pa.array(["t", "t"]),
        "headers": pa.array([[], []], SCHEMA_SENT.field("headers").type),
        "published_at": pa.array([1, 2], SCHEMA_SENT.field("published_at").type),
        "body": pa.array([b"x", b"y"]),
    }
    return pa.RecordBatch.from_arrays(list((whole | changed).values()), schema=SCHEMA_SENT)


@pytest.mark.parametrize(
    "changed",
    [
        {"id": pa.array(["a", None])},
        {"id": pa.array(["a", ""])},
        {"id": pa.array(["a", "x" * 201])},
        {"key": pa.array(["a", "x" * 1025])},
        {"content_type": pa.array(["t", "t" * 256])},
        {"body": pa.array([b"x", None])},
        {"headers": pa.array([[], None], SCHEMA_SENT.field("headers").type)},
        {"headers": pa.array([[], [("a", None)]], SCHEMA_SENT.field("headers").type)},
        {"headers": pa.array([[], [(str(n), "") for n in range(65)]], SCHEMA_SENT.field("headers").type)},
        {"headers": pa.array([[], [("a", "x" * 17_000)]], SCHEMA_SENT.field("headers").type)},
    ],
)
def test_a_batch_with_a_value_past_a_limit_is_refused(changed: dict[str, pa.Array]) -> None:
    with pytest.raises(BadBatch):
        decode_sent(encode(columns(**changed)))


def test_a_good_batch_is_taken() -> None:
    assert decode_sent(encode(columns())).num_rows == 2


def test_a_body_past_its_limit_in_a_batch_is_too_large() -> None:
    batch = columns(body=pa.array([b"x", bytes(2_000)]))

    with pytest.raises(TooLarge):
        decode_sent(encode(batch), body_bytes_max=1_000)


def test_a_compressed_batch_is_refused_before_it_is_unpacked() -> None:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, SCHEMA_SENT, options=options) as writer:
        writer.write_batch(columns(body=pa.array([bytes(500_000), b"y"])))
    whole = pa.py_buffer(sink.getvalue())
    reader = pa.ipc.MessageReader.open_stream(whole)
    reader.read_next_message()
    message = reader.read_next_message().serialize()

    with pytest.raises(BadBatch, match="compressed"):
        decode_sent(message)


@pytest.mark.parametrize("rows", [0, limits.BATCH_MESSAGES_MAX + 1])
def test_a_batch_has_some_messages_but_not_too_many(rows: int) -> None:
    batch = columns().slice(0, 0) if not rows else pack([Outgoing(b"", id="x")] * rows, [1] * rows)

    with pytest.raises(BadBatch, match="messages"):
        decode_sent(encode(batch))


def test_a_batch_past_its_size_is_too_large() -> None:
    with pytest.raises(TooLarge):
        decode_sent(bytes(limits.BATCH_BYTES_MAX + 1))


def test_cutting_gives_the_part_and_all_of_it_is_itself() -> None:
    whole = stored(10, base_seq=100)

    part = whole.cut(103, 105)

    assert whole.cut(1, 1_000) is whole
    assert (part.base_seq, part.count, part.last_seq) == (103, 3, 105)
    assert [message.id for message in part.messages("t")] == ["id3", "id4", "id5"]


def test_leaving_numbers_out_gives_the_runs_between_them() -> None:
    pieces = stored(10, base_seq=100).without({100, 104, 105, 109, 500})

    assert [(piece.base_seq, piece.last_seq) for piece in pieces] == [(101, 103), (106, 108)]


def test_joined_neighbours_are_one_batch() -> None:
    joined = join([stored(3, 10), stored(2, 13)])

    assert (joined.base_seq, joined.count) == (10, 5)
    assert [message.seq for message in joined.messages("t")] == [10, 11, 12, 13, 14]


def test_damaged_bytes_are_told_from_good_ones() -> None:
    good = stored(3)

    with pytest.raises(StoreCorrupt):
        StoredBatch(1, 3, bytes(good.arrow)[:200]).rows()
    with pytest.raises(StoreCorrupt):
        StoredBatch(1, 4, good.arrow).rows()


def test_stored_batches_make_a_stream_that_arrow_reads_by_itself() -> None:
    table = pa.ipc.open_stream(b"".join(stream_of([stored(3), stored(2, 4)]))).read_all()

    assert table.schema.equals(SCHEMA_STORED)
    assert table.num_rows == 5
