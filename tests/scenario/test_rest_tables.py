"""Arrow over REST: what other tools write is taken, what could hurt is refused, and topics are tables for them all."""

from __future__ import annotations

import io
import struct
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import duckdb
import httpx
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pregon.clock import monotonic_ms
from pregon.limits import BATCH_MESSAGES_MAX, BODY_BYTES_DEFAULT
from pregon.testing import RunningHub

from .rest import ARROW, messages_of, publish, publish_table, require_problem, rest_hub, stream_of

MANY = 50_000
BODIES = [b"\x00\xff", "ñandú".encode(), b"", b"x" * 100]
NOON = datetime(2026, 11, 15, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[RunningHub, httpx.Client]]:
    with rest_hub(maintenance_every_ms=50) as both:
        yield both


@pytest.fixture
def http(running: tuple[RunningHub, httpx.Client]) -> httpx.Client:
    return running[1]


@pytest.fixture(scope="module")
def long_topic(running: tuple[RunningHub, httpx.Client]) -> str:
    """A topic of so many messages, whose bodies are their numbers."""
    with running[0].client() as client, client.producer("long") as out:
        for number in range(1, MANY + 1):
            out.send(str(number))
    return "long"


def by_pyarrow(kind: pa.DataType) -> Callable[[], bytes]:
    return lambda: stream_of(pa.table({"body": pa.array(BODIES, kind), "key": pa.array(["k"] * 4, pa.string_view())}))


def by_polars() -> bytes:
    sink = io.BytesIO()
    pl.DataFrame({"body": BODIES, "key": ["k"] * 4}).write_ipc_stream(sink)
    return sink.getvalue()


def by_polars_with_views() -> bytes:
    sink = io.BytesIO()
    frame = pl.DataFrame({"body": BODIES, "key": ["k"] * 4})
    frame.write_ipc_stream(sink, compat_level=pl.CompatLevel.newest())
    return sink.getvalue()


def by_pandas() -> bytes:
    return stream_of(pa.Table.from_pandas(pd.DataFrame({"body": BODIES, "key": ["k"] * 4})))


def by_duckdb() -> bytes:
    source = pa.table({"body": BODIES, "key": ["k"] * 4})
    with duckdb.connect() as database:
        database.register("source", source)
        return stream_of(database.sql("SELECT body, key FROM source").to_arrow_table())


@pytest.mark.parametrize(
    "write",
    [
        by_pyarrow(pa.binary()),
        by_pyarrow(pa.large_binary()),
        by_pyarrow(pa.binary_view()),
        by_polars,
        by_polars_with_views,
        by_pandas,
        by_duckdb,
    ],
    ids=["binary", "large_binary", "binary_view", "polars", "polars views", "pandas", "duckdb"],
)
def test_what_other_tools_write_is_taken(http: httpx.Client, topic: str, write: Callable[[], bytes]) -> None:
    answer = publish_table(http, topic, write())

    assert answer.status_code == 201, answer.text
    assert answer.json() == {"topic": topic, "count": 4, "duplicates": 0, "seqs": [1, 2, 3, 4]}
    stored = messages_of(http, topic)
    assert [http.get(f"/v1/topics/{topic}/messages/{n}/body").content for n in range(1, 5)] == BODIES
    assert {one["key"] for one in stored} == {"k"}
    assert len({one["id"] for one in stored}) == 4


@pytest.mark.parametrize(
    "kind",
    [pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.timestamp("us", "America/Montevideo"), pa.timestamp("ns", "UTC")],
    ids=str,
)
def test_times_of_any_unit_and_zone_are_the_same_instant(http: httpx.Client, topic: str, kind: pa.DataType) -> None:
    instant = pa.array([NOON.replace(microsecond=0)], pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()[0]
    per_second = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[kind.unit]
    below = 7 if kind.unit == "ns" else 0
    column = pa.array([instant // 1_000_000 * per_second + below], pa.int64()).cast(kind)

    answer = publish_table(http, topic, pa.table({"body": [b"x"], "published_at": column}))

    assert answer.status_code == 201, answer.text
    assert messages_of(http, topic)[0]["published_at"] == "2026-11-15T12:00:00.000000Z"


def test_every_column_of_a_message_is_taken(http: httpx.Client, topic: str) -> None:
    headers = pa.array([[("a", "b")], []], pa.map_(pa.large_string(), pa.string()))
    table = pa.table(
        {
            "body": ["texto", "más"],
            "id": pa.array(["1", "2"], pa.large_string()),
            "content_type": ["text/plain", "text/plain"],
            "headers": headers,
            "of_mine": [1.5, None],
        }
    )

    answer = publish_table(http, topic, table)

    first, second = messages_of(http, topic)
    assert answer.status_code == 201, answer.text
    assert (first["id"], first["text"], first["headers"]) == ("1", "texto", {"a": "b"})
    assert (second["id"], second["text"], second.get("key")) == ("2", "más", None)


def test_an_arrow_stream_is_recognised_by_its_idempotency_key(http: httpx.Client, topic: str) -> None:
    table = pa.table({"body": [b"1", b"2"]})

    answers = [publish_table(http, topic, table, Idempotency_Key="k") for _ in range(2)]

    assert [(one.status_code, one.json()["seqs"]) for one in answers] == [(201, [1, 2]), (200, [1, 2])]
    assert len(messages_of(http, topic)) == 2


def repeated_views() -> bytes:
    """A small stream whose every body is the same large piece of one buffer: a gigabyte, if it were written out."""
    large, count = b"x" * 200_000, 5_000
    views = struct.pack("<i4sii", len(large), large[:4], 0, 0) * count
    column = pa.Array.from_buffers(pa.binary_view(), count, [None, pa.py_buffer(views), pa.py_buffer(large)])
    return stream_of(pa.table({"body": column}))


REFUSED: dict[str, tuple[Callable[[], bytes], int]] = {
    "compressed": (lambda: stream_of(pa.table({"body": [b"x" * 1_000]}), compression="zstd"), 400),
    "a dictionary": (lambda: stream_of(pa.table({"body": pa.array(["a", "a"]).dictionary_encode()})), 400),
    "run ends": (
        lambda: stream_of(pa.table({"body": pa.RunEndEncodedArray.from_arrays([2], pa.array([b"x"]))})),
        400,
    ),
    "no body": (lambda: stream_of(pa.table({"key": ["a"]})), 400),
    "two bodies": (lambda: stream_of(pa.Table.from_arrays([pa.array([b"a"])] * 2, ["body", "body"])), 400),
    "a null body": (lambda: stream_of(pa.table({"body": [b"a", None]})), 400),
    "a null id": (lambda: stream_of(pa.table({"body": [b"a", b"b"], "id": ["1", None]})), 400),
    "numbers": (lambda: stream_of(pa.table({"body": [1]})), 400),
    "no rows": (lambda: stream_of(pa.table({"body": pa.array([], pa.binary())})), 400),
    "too many rows": (lambda: stream_of(pa.table({"body": [b""] * (BATCH_MESSAGES_MAX + 1)})), 400),
    "too large a body": (lambda: stream_of(pa.table({"body": [bytes(BODY_BYTES_DEFAULT + 1)]})), 413),
    "too many bytes": (lambda: stream_of(pa.table({"body": [bytes(BODY_BYTES_DEFAULT)] * 5})), 413),
    "a bomb of views": (repeated_views, 413),
    "a time before 1970": (
        lambda: stream_of(pa.table({"body": [b"x"], "published_at": pa.array([-1], pa.timestamp("us", "UTC"))})),
        400,
    ),
    "truncated": (lambda: stream_of(pa.table({"body": [b"x" * 1_000]}))[:-500], 400),
    "the schema alone": (lambda: pa.schema([("body", pa.binary())]).serialize().to_pybytes(), 400),
    "empty": (lambda: b"", 400),
    "no Arrow": (lambda: b"body\nx\n", 400),
    "a file of Arrow": (lambda: file_of(pa.table({"body": [b"x"]})), 400),
}


def file_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("name", REFUSED)
def test_a_stream_that_cannot_be_stored_is_refused_soon_and_whole(http: httpx.Client, topic: str, name: str) -> None:
    make, status = REFUSED[name]
    body = make()

    began_ms = monotonic_ms()
    answer = publish_table(http, topic, body)
    took_ms = monotonic_ms() - began_ms

    require_problem(answer, status, "too_large" if status == 413 else "bad_batch")
    assert messages_of(http, topic) == []
    assert took_ms < 2_000


# Topics as tables.


def seqs_by_pyarrow(body: bytes) -> list[int]:
    return pa.ipc.open_stream(body).read_all().column("seq").to_pylist()  # type: ignore[no-any-return]


def seqs_by_polars(body: bytes) -> list[int]:
    return pl.read_ipc_stream(body)["seq"].to_list()


def seqs_by_duckdb(body: bytes) -> list[int]:
    with duckdb.connect() as database:
        database.register("topic", pa.ipc.open_stream(body).read_all())
        return [
            row[0] for row in database.execute("SELECT seq FROM topic WHERE CAST(body AS VARCHAR) <> ''").fetchall()
        ]


def seqs_by_pandas(body: bytes) -> list[int]:
    frame = pa.ipc.open_stream(body).read_pandas()
    assert isinstance(frame, pd.DataFrame)
    return frame["seq"].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("seqs_of", [seqs_by_pyarrow, seqs_by_polars, seqs_by_duckdb, seqs_by_pandas])
def test_a_long_topic_is_one_table_for_every_tool(
    http: httpx.Client, long_topic: str, seqs_of: Callable[[bytes], list[int]]
) -> None:
    answer = http.get(f"/v1/topics/{long_topic}/batches")

    assert answer.headers["content-type"] == ARROW
    assert (answer.headers["pregon-tail-seq"], answer.headers["pregon-head-seq"]) == ("1", str(MANY))
    assert seqs_of(answer.content) == list(range(1, MANY + 1))


def test_each_row_has_its_own_number(http: httpx.Client, long_topic: str) -> None:
    table = pa.ipc.open_stream(http.get(f"/v1/topics/{long_topic}/batches").content).read_all()

    table.validate(full=True)
    assert table.column_names[-3:] == ["producer", "accepted_at", "seq"]
    assert [int(body) for body in table.column("body").to_pylist()] == table.column("seq").to_pylist()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("from=49990", range(49_990, MANY + 1)),
        ("to=3", range(1, 4)),
        ("from=9999&to=20001", range(9_999, 20_002)),
        ("from=7&to=7", range(7, 8)),
        ("from=8&to=7", range(0)),
        ("from=5&to=3", range(0)),
        (f"from={MANY + 1}", range(0)),
        (f"from={2**63 - 1}&to={2**63 - 1}", range(0)),
        (f"from=49999&to={2**63 - 1}", range(49_999, MANY + 1)),
    ],
)
def test_a_range_has_its_first_and_its_last(http: httpx.Client, long_topic: str, query: str, expected: range) -> None:
    answer = http.get(f"/v1/topics/{long_topic}/batches?{query}")

    assert seqs_by_pyarrow(answer.content) == list(expected)


def test_a_range_has_the_columns_that_were_asked_for_and_its_numbers(http: httpx.Client, long_topic: str) -> None:
    answer = http.get(f"/v1/topics/{long_topic}/batches?from=3&to=4&columns=body,producer")
    refused = http.get(f"/v1/topics/{long_topic}/batches?columns=body,cuerpo")

    table = pa.ipc.open_stream(answer.content).read_all()
    require_problem(refused, 400, "bad_request")
    assert set(table.column_names) == {"body", "producer", "seq"}
    assert table.column("seq").to_pylist() == [3, 4]
    assert table.column("body").to_pylist() == [b"3", b"4"]
    assert "cuerpo" in refused.json()["detail"]


def test_a_topic_whose_beginning_was_removed_begins_later(http: httpx.Client, topic: str) -> None:
    http.post("/v1/topics", json={"name": topic, "retention": {"when_acknowledged": True}})
    http.post(f"/v1/topics/{topic}/subscriptions", json={"subscriber": "s"})
    for _ in range(3):
        publish_table(http, topic, pa.table({"body": [b"x"] * 1_000}))
    http.post(f"/v1/topics/{topic}/subscriptions/s/ack", json={"seq": 2_500})
    deadline_ms = monotonic_ms() + 10_000
    while http.get(f"/v1/topics/{topic}").json()["tail_seq"] == 1 and monotonic_ms() < deadline_ms:
        threading.Event().wait(0.02)

    tail = http.get(f"/v1/topics/{topic}").json()["tail_seq"]
    answer = http.get(f"/v1/topics/{topic}/batches?from=1")

    assert 1 < tail <= 2_501
    assert seqs_by_pyarrow(answer.content) == list(range(tail, 3_001))
    assert answer.headers["pregon-tail-seq"] == str(tail)
    require_problem(http.get(f"/v1/topics/{topic}/messages/1"), 404, "not_found")


def test_what_was_served_can_be_published_again(http: httpx.Client, topic: str) -> None:
    publish(http, topic, b"\x00", Content_Type="image/png", Pregon_Key="k", Pregon_Header_A="b")

    answer = publish_table(http, topic, http.get(f"/v1/topics/{topic}/batches").content)

    assert answer.status_code == 201, answer.text
    first, second = messages_of(http, topic)
    assert {name for name in first if first[name] != second[name]} == {"seq", "accepted_at"}


def test_who_hangs_up_in_the_middle_does_no_harm(
    running: tuple[RunningHub, httpx.Client], long_topic: str, topic: str
) -> None:
    _, http = running
    for _ in range(20):
        with http.stream("GET", f"/v1/topics/{long_topic}/batches") as answer:
            next(answer.iter_raw(1_000))

    after = publish(http, topic)
    whole = http.get(f"/v1/topics/{long_topic}/batches")

    assert after.status_code == 201
    assert len(seqs_by_pyarrow(whole.content)) == MANY
