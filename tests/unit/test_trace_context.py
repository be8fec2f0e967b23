"""The trace context of a request: what is taken for one, what is not, and which messages it is added to."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pregon import limits
from pregon.model.batch import pack
from pregon.model.message import Outgoing, check_outgoing
from pregon.model.trace_context import find_trace, with_trace, with_trace_in_all, with_trace_in_batch

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TRACE = {"traceparent": PARENT, "tracestate": "a=1,b=2"}


def found(*headers: tuple[str, str]) -> dict[str, str]:
    """The trace context of a request with these headers."""
    return dict(find_trace([(name.encode(), value.encode("latin-1")) for name, value in headers]))


@pytest.mark.parametrize(
    "parent",
    [
        PARENT,
        f" {PARENT}\t",
        PARENT[:-2] + "00",
        "01" + PARENT[2:],
        "cc" + PARENT[2:] + "-what-comes-later",
    ],
)
def test_a_traceparent_of_this_version_or_a_later_one_is_taken(parent: str) -> None:
    taken = found(("host", "x"), ("traceparent", parent))

    assert taken == {"traceparent": parent.strip()}


@pytest.mark.parametrize(
    "parent",
    [
        "",
        "hello",
        PARENT.upper(),
        "ff" + PARENT[2:],
        PARENT + "-more",
        PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0" * 32),
        PARENT.replace("00f067aa0ba902b7", "0" * 16),
        PARENT[:-1],
        PARENT + "\r\nX-Evil: 1",
        "\u00b9" + PARENT[1:],
        "cc" + PARENT[2:] + "-" + "x" * 101,
    ],
)
def test_what_is_no_traceparent_is_ignored_with_its_tracestate(parent: str) -> None:
    taken = found(("traceparent", parent), ("tracestate", "a=1"))

    assert taken == {}


def test_two_traceparents_are_none() -> None:
    taken = found(("traceparent", PARENT), ("traceparent", PARENT))

    assert taken == {}


def test_several_tracestates_are_one_list() -> None:
    taken = found(("tracestate", "a=1 , "), ("traceparent", PARENT), ("tracestate", "t/x@b=2;3"))

    assert taken == {"traceparent": PARENT, "tracestate": "a=1,t/x@b=2;3"}


@pytest.mark.parametrize(
    "state",
    ["", "a", "A=1", "a=\x01", "a=é", "a=1=2", "a=" + "x" * 600, ",".join(f"k{n}=v" for n in range(33)), "a= "],
)
def test_a_tracestate_that_is_wrong_is_left_out_without_its_traceparent(state: str) -> None:
    taken = found(("traceparent", PARENT), ("tracestate", state))

    assert taken == {"traceparent": PARENT}


@pytest.mark.parametrize("name", ["traceparent", "ce-traceparent"])
def test_a_message_that_says_its_trace_keeps_it(name: str) -> None:
    message = Outgoing(b"x", headers={name: "its own"})

    traced = with_trace(message, TRACE)

    assert traced.headers == {name: "its own"}


def test_a_message_gets_the_trace_beside_its_own_headers() -> None:
    plain, other = Outgoing(b"x"), Outgoing(b"x", headers={"region": "mvd"})

    traced = [with_trace(one, TRACE) for one in (plain, other)]

    assert [dict(one.headers) for one in traced] == [TRACE, {"region": "mvd", **TRACE}]


def test_a_message_that_has_no_room_for_it_is_still_taken() -> None:
    many = Outgoing(b"x", headers={str(n): "x" for n in range(limits.HEADERS_MAX)})
    long = Outgoing(b"x", headers={"a": "x" * (limits.HEADERS_BYTES_MAX - 1)})

    traced = [with_trace(one, TRACE) for one in (many, long)]

    assert traced == [many, long]
    for one in traced:
        check_outgoing(one)


def test_a_batch_of_messages_that_has_no_room_for_it_stays_as_it_is() -> None:
    messages = [Outgoing(b"x" * 900) for _ in range(4)]

    fitting = with_trace_in_all(messages, TRACE, 10_000)
    too_many = with_trace_in_all(messages, TRACE, 5_000)

    assert [dict(one.headers) for one in fitting] == [TRACE] * 4
    assert too_many is messages


def test_a_packed_batch_gets_it_in_the_rows_that_do_not_say_theirs() -> None:
    own = {"traceparent": "its own"}
    batch = pack(
        [Outgoing(b"x", "1", headers=own), Outgoing(b"y", "2"), Outgoing(b"z", "3", headers={"a": "b"})], [1, 2, 3]
    )

    traced = with_trace_in_batch(batch, TRACE, limits.BATCH_BYTES_MAX)
    left = with_trace_in_batch(batch, TRACE, 100)

    assert [dict(pairs) for pairs in traced.column("headers").to_pylist()] == [own, TRACE, {"a": "b", **TRACE}]
    assert traced.drop_columns(["headers"]).equals(batch.drop_columns(["headers"]))
    assert traced.schema == batch.schema
    assert isinstance(traced, pa.RecordBatch)
    assert left is batch
