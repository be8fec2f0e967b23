"""Batches from outside: bytes that claim to be Arrow, and are wrong in every way that we could think of.

Each is refused with a reason, stores nothing, and harms nobody: afterwards a good batch is taken. Arrow reads
with C++; a hub that died of one of these would be seen to be dead.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
import zmq

from pregon.client import Client
from pregon.wire.commands import Command

from .hub_process import HubProcess, wait_until
from .raw_peer import Answer, RawPeer, connected, header, prelude

MIB = 1024 * 1024
_HEADERS = pa.map_(pa.string(), pa.string())
_INSTANT = pa.timestamp("us", "UTC")
TYPES: dict[str, pa.DataType] = {
    "id": pa.string(),
    "key": pa.string(),
    "content_type": pa.string(),
    "headers": _HEADERS,
    "published_at": _INSTANT,
    "body": pa.binary(),
}


@pytest.fixture
def peer(hub: HubProcess) -> Iterator[RawPeer]:
    with connected(hub.url) as peer:
        yield peer


def good_columns(count: int = 3, body: bytes = b"body") -> dict[str, pa.Array]:
    """The columns of a batch that is as it should be, made here by hand and not by our own code."""
    values: dict[str, list[Any]] = {
        "id": [f"id-{row}" for row in range(count)],
        "key": [None] * count,
        "content_type": ["text/plain"] * count,
        "headers": [[("a", "b")]] * count,
        "published_at": list(range(count)),
        "body": [body] * count,
    }
    return {name: pa.array(values[name], kind) for name, kind in TYPES.items()}


def batch_of(columns: dict[str, pa.Array], options: pa.ipc.IpcWriteOptions | None = None) -> bytes:
    """The columns as a record batch message."""
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    stream = pa.BufferReader(sink.getvalue())
    reader = pa.ipc.MessageReader.open_stream(stream)
    reader.read_next_message()
    message: bytes = reader.read_next_message().serialize().to_pybytes()
    return message


def text(*values: bytes) -> pa.Array:
    """A column of texts that need not be UTF-8."""
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values, pa.binary()).buffers())


def with_column(name: str, column: pa.Array) -> bytes:
    """A good batch but for one column."""
    return batch_of({**good_columns(), name: column})


def offsets(*values: int) -> bytes:
    """The buffer of offsets of a column of texts or bytes."""
    return b"".join(value.to_bytes(4, "little", signed=True) for value in values)


GOOD = batch_of(good_columns())


def with_ids_at(*values: int) -> bytes:
    """A good batch but for the offsets of its ids."""
    return GOOD.replace(offsets(0, 4, 8, 12), offsets(*values), 1)


def with_bodies_at(*values: int) -> bytes:
    """A good batch but for the offsets of its bodies."""
    before, _, after = GOOD.rpartition(offsets(0, 4, 8, 12))
    return before + offsets(*values) + after


HOSTILE: dict[str, bytes] = {
    "nothing": b"",
    "one byte": b"\xff",
    "random": random.Random(1).randbytes(2_000),
    "random after a marker": b"\xff\xff\xff\xff\x00\x02\x00\x00" + random.Random(2).randbytes(2_000),
    "a marker and a huge length": b"\xff\xff\xff\xff\xff\xff\xff\x7f" + bytes(100),
    "JSON": b'[{"id": "a", "body": "b"}]',
    "the schema instead": pa.schema(list(TYPES.items())).serialize().to_pybytes(),
    "compressed with LZ4": batch_of(good_columns(300, bytes(500)), pa.ipc.IpcWriteOptions(compression="lz4")),
    "compressed with zstd": batch_of(good_columns(300, bytes(500)), pa.ipc.IpcWriteOptions(compression="zstd")),
    "no messages": batch_of(good_columns(0)),
    "10,001 messages": batch_of(good_columns(10_001, b"")),
    "a column too few": batch_of({name: column for name, column in good_columns().items() if name != "body"}),
    "another schema": batch_of({name: pa.array([1, 2, 3]) for name in TYPES}),
    "no id": with_column("id", pa.array(["a", None, "c"])),
    "an empty id": with_column("id", pa.array(["a", "", "c"])),
    "a long id": with_column("id", pa.array(["a", "b" * 201, "c"])),
    "no body": with_column("body", pa.array([b"a", None, b"c"], pa.binary())),
    "no headers": with_column("headers", pa.array([[], None, []], _HEADERS)),
    "no content type": with_column("content_type", pa.array([None] * 3, pa.string())),
    "no time": with_column("published_at", pa.array([None] * 3, _INSTANT)),
    "a header without a value": with_column("headers", pa.array([[("a", None)], [], []], _HEADERS)),
    "65 headers": with_column("headers", pa.array([[(str(n), "") for n in range(65)], [], []], _HEADERS)),
    "long headers": with_column("headers", pa.array([[("a", "b" * 17_000)], [], []], _HEADERS)),
    "a long key": with_column("key", pa.array(["a" * 1_025, None, None])),
    "a long content type": with_column("content_type", pa.array(["a" * 256, "b", "c"])),
    "an id that is no UTF-8": with_column("id", text(b"a", b"\xff\xfe", b"c")),
    "a key that is no UTF-8": with_column("key", text(b"a", b"\xc3", b"c")),
    "ids that go back": with_ids_at(0, 4, 1, 8),
    "ids beyond the end": with_ids_at(0, 4, 8, 2**31 - 1),
    "bodies that begin before the beginning": with_bodies_at(-100, 4, 8, 12),
    "bodies that overlap": with_bodies_at(0, 12, 0, 12),
    "bodies beyond the end": with_bodies_at(0, 4, 8, 2**30),
}


def publish(peer: RawPeer, topic: str, batch: bytes) -> Answer:
    return peer.ask(Command.PUBLISH_BATCH, {"topic": topic, "producer": "stranger"}, [batch])


@pytest.mark.parametrize("name", HOSTILE)
def test_a_batch_that_is_wrong_is_refused_and_stores_nothing(
    client: Client, peer: RawPeer, topic: str, name: str
) -> None:
    answer = publish(peer, topic, HOSTILE[name])
    good = publish(peer, topic, GOOD)

    assert answer.code == "bad_batch"
    assert 0 < len(answer.header["message"]) < 500
    assert (good.header["seq"], good.header["count"]) == (1, 3)
    assert [message.body for message in client.read(topic, 1)] == [b"body"] * 3


def test_a_good_batch_cut_short_anywhere_is_refused(peer: RawPeer, topic: str) -> None:
    codes = {publish(peer, topic, GOOD[:length]).code for length in range(0, len(GOOD) - 8, 8)}

    assert codes == {"bad_batch"}
    assert publish(peer, topic, GOOD).header["seq"] == 1


def test_two_thousand_batches_with_a_few_wrong_bytes_harm_nobody(
    hub: HubProcess, client: Client, peer: RawPeer, topic: str
) -> None:
    rng = random.Random(3)

    codes = set()
    taken = 0
    for _ in range(2_000):
        wrong = bytearray(GOOD)
        for _ in range(rng.choice((1, 1, 2, 8))):
            wrong[rng.randrange(len(wrong))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        answer = publish(peer, topic, bytes(wrong))
        codes.add(answer.code)
        taken += answer.header.get("count", 0) if not answer.code else 0

    assert codes <= {"", "bad_batch", "too_large"}
    assert "bad_batch" in codes
    assert hub.is_alive
    # Bytes that are wrong and yet make a batch (another letter in a body) were stored, and can be read.
    read = [message for first in range(1, taken + 1, 500) for message in client.read(topic, first, max=500)]
    assert [message.seq for message in read] == list(range(1, taken + 1))
    assert all(message.describe() and message.body is not None for message in read)


def test_times_beyond_the_calendar_in_a_batch_harm_nobody(
    hub: HubProcess, client: Client, peer: RawPeer, topic: str
) -> None:
    far = with_column("published_at", pa.array([2**62, -(2**62), 0], _INSTANT))
    with zmq.Context() as context, context.socket(zmq.SUB) as feed:
        feed.setsockopt(zmq.SUBSCRIBE, topic.encode())
        feed.connect(hub.addresses.feed)
        wait_until(lambda: client.publish(topic, "x") and feed.poll(50), "the feed shows the topic", 5)

        answer = publish(peer, topic, far)
        client.publish(topic, "last")
        shown = wait_until(lambda: feed.poll(50) and feed.recv_multipart()[2] == b"last", "the last is shown", 5)

    assert answer.code in ("", "bad_batch")
    assert shown
    assert all(message.describe() for message in client.read(topic, 1))


def test_a_batch_just_over_four_mebibytes_is_too_large(peer: RawPeer, topic: str) -> None:
    around = [batch_of(good_columns(count, bytes(64 * 1024))) for count in (62, 66)]

    answers = [publish(peer, topic, one) for one in around]

    assert len(around[0]) < 4 * MIB < len(around[1]) < 5 * MIB
    assert [answer.code for answer in answers] == ["", "too_large"]
    assert str(4 * MIB) in answers[1].header["message"]


def test_a_body_over_its_limit_in_a_batch_is_too_large(peer: RawPeer, topic: str) -> None:
    answer = publish(peer, topic, batch_of(good_columns(1, bytes(MIB + 1))))

    assert answer.code == "too_large"


def test_a_frame_over_sixteen_mebibytes_closes_its_connection_and_no_other(
    hub: HubProcess, client: Client, peer: RawPeer, topic: str
) -> None:
    monitor = peer.socket.get_monitor_socket(zmq.Event.DISCONNECTED)
    malformed = hub.counters()["frames_malformed"]
    try:
        peer.send(prelude(Command.PUBLISH_BATCH), header(topic=topic, producer="stranger"), bytes(16 * MIB + 1))
        is_closed = monitor.poll(10_000)
    finally:
        peer.socket.disable_monitor()
        monitor.close()

    assert is_closed
    assert client.publish(topic, "still here").seq == 1
    assert hub.counters()["frames_malformed"] == malformed
