"""Publish over REST: a body as it is, and JSON batches; once each, all or none, and what is refused."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from pregon import limits

from .rest import messages_of, publish, require_problem, rest_hub


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with rest_hub() as (_, http):
        yield http


def batch(http: httpx.Client, topic: str, *messages: Any, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return http.post(f"/v1/topics/{topic}/batches", json={"messages": messages}, headers=named)


@pytest.mark.parametrize(
    ("body", "content_type", "shown"),
    [
        (b'{"a": [1, 2.50, "\xc3\xb1"]}', "application/json", {"json": {"a": [1, 2.5, "ñ"]}}),
        (b"1.0", "application/vnd.acta+json; v=2", {"json": 1.0}),
        (b"{not json", "application/json", {"base64": base64.b64encode(b"{not json").decode()}),
        (b"<a>\xc3\xb1</a>", "application/xml", {"text": "<a>ñ</a>"}),
        ("¡hola!".encode(), "text/plain; charset=utf-8", {"text": "¡hola!"}),
        (b"\xa1hola!", "text/plain; charset=latin-1", {"base64": base64.b64encode(b"\xa1hola!").decode()}),
        (b"\x00\xff", "image/png", {"base64": "AP8="}),
        (b"", "", {"base64": ""}),
    ],
)
def test_a_body_of_any_type_comes_back_as_it_was(
    http: httpx.Client, topic: str, body: bytes, content_type: str, shown: dict[str, Any]
) -> None:
    published = publish(http, topic, body, **({"Content-Type": content_type} if content_type else {}))

    read = http.get(published.headers["location"]).json()
    raw = http.get(f"{published.headers['location']}/body")
    assert (published.status_code, published.json()["seq"]) == (201, 1)
    assert published.json() == {"topic": topic, "seq": 1, "id": read["id"], "duplicate": False}
    assert {name: read[name] for name in ("json", "text", "base64") if name in read} == shown
    assert read["content_type"] == (content_type or "application/octet-stream")
    assert (raw.content, raw.headers["content-type"]) == (body, content_type or "application/octet-stream")


def test_producer_key_and_headers_travel_with_the_message(http: httpx.Client, topic: str) -> None:
    publish(
        http,
        topic,
        Pregon_Producer="dgrec",
        Pregon_Key="1.111.111-1",
        Pregon_Header_Trace="a; b=c",
        Pregon_Header_X="",
    )
    publish(http, topic)

    first, second = messages_of(http, topic)
    assert (first["producer"], first["key"], first["headers"]) == ("dgrec", "1.111.111-1", {"trace": "a; b=c", "x": ""})
    assert (second["producer"], second.get("key"), second.get("headers")) == ("http", None, None)


def test_an_idempotency_key_is_the_same_with_quotes_and_without(http: httpx.Client, topic: str) -> None:
    answers = [publish(http, topic, body, Idempotency_Key=key) for body, key in ((b"1", "k"), (b"2", '"k"'))]
    other = publish(http, topic, b"3", Idempotency_Key="k2")

    assert [(one.status_code, one.json()["seq"], one.json()["duplicate"]) for one in (*answers, other)] == [
        (201, 1, False),
        (200, 1, True),
        (201, 2, False),
    ]
    assert [message["id"] for message in messages_of(http, topic)] == ["k", "k2"]


def test_two_producers_may_have_the_same_idempotency_key(http: httpx.Client, topic: str) -> None:
    answers = [publish(http, topic, b"1", Idempotency_Key="k", Pregon_Producer=name) for name in ("p1", "p2", "p1")]

    assert [one.json()["seq"] for one in answers] == [1, 2, 1]


def test_an_idempotency_key_outlives_the_hub(tmp_path: Path) -> None:
    with rest_hub(tmp_path) as (_, http):
        first = publish(http, "t", b"1", Idempotency_Key="k").json()
        many = batch(http, "t", {"text": "a"}, {"text": "b"}, Idempotency_Key="k").json()

    with rest_hub(tmp_path) as (_, http):
        again = publish(http, "t", b"1", Idempotency_Key="k")
        many_again = batch(http, "t", {"text": "a"}, {"text": "b"}, Idempotency_Key="k")
        count = len(messages_of(http, "t"))

    assert (again.status_code, again.json()["seq"]) == (200, first["seq"])
    assert (many_again.status_code, many_again.json()["seqs"], many_again.json()["duplicates"]) == (200, [2, 3], 2)
    assert many["seqs"] == [2, 3]
    assert count == 3


def test_a_repetition_is_recognised_though_the_schema_has_changed(http: httpx.Client, topic: str) -> None:
    publish(http, topic, b"5", Idempotency_Key="k")
    batch(http, topic, {"json": 6}, Idempotency_Key="k")
    http.put(f"/v1/topics/{topic}/schema", json={"kind": "json-schema", "text": '{"type": "object"}'})

    again = publish(http, topic, b"5", Idempotency_Key="k")
    many_again = batch(http, topic, {"json": 6}, Idempotency_Key="k")

    assert (again.status_code, again.json().get("seq")) == (200, 1)
    assert (many_again.status_code, many_again.json().get("seqs")) == (200, [2])


# Batches of JSON.


def test_a_json_batch_says_each_body_in_one_of_three_ways(http: httpx.Client, topic: str) -> None:
    answer = batch(
        http,
        topic,
        {"json": {"nombre": "Pepe"}},
        {"json": None},
        {"text": "ñandú", "key": "k", "headers": {"a": "b"}},
        {"base64": "AP8=", "content_type": "image/png"},
    )

    stored = messages_of(http, topic)
    assert (answer.status_code, answer.json()) == (
        201,
        {"topic": topic, "count": 4, "duplicates": 0, "seqs": [1, 2, 3, 4]},
    )
    assert [one.get("json", one.get("text", one.get("base64"))) for one in stored] == [
        {"nombre": "Pepe"},
        None,
        "ñandú",
        "AP8=",
    ]
    assert [one["content_type"] for one in stored] == [
        "application/json",
        "application/json",
        "text/plain; charset=utf-8",
        "image/png",
    ]
    assert (stored[2]["key"], stored[2]["headers"]) == ("k", {"a": "b"})
    assert len({one["id"] for one in stored}) == 4


def test_messages_with_ids_are_recognised_one_by_one(http: httpx.Client, topic: str) -> None:
    batch(http, topic, {"text": "a", "id": "1"}, {"text": "b", "id": "2"})

    answer = batch(
        http, topic, {"text": "c", "id": "3"}, {"text": "a", "id": "1"}, {"text": "d"}, {"text": "c", "id": "3"}
    )
    same = batch(http, topic, {"text": "a", "id": "1"}, {"text": "b", "id": "2"})

    assert (answer.status_code, answer.json()["seqs"], answer.json()["duplicates"]) == (201, [3, 1, 4, 3], 2)
    assert (same.status_code, same.json()["seqs"], same.json()["duplicates"]) == (200, [1, 2], 2)
    assert [one["text"] for one in messages_of(http, topic)] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("ids", [True, False], ids=["with ids", "without ids"])
@pytest.mark.parametrize(
    ("bad", "status", "code"),
    [
        ({}, 400, "bad_request"),
        ({"text": "a", "json": 1}, 400, "bad_request"),
        ({"base64": "no!"}, 400, "bad_request"),
        ({"text": 5}, 400, "bad_request"),
        ({"text": "a", "unknown": 1}, 400, "bad_request"),
        ({"text": "a", "headers": {"a": 1}}, 400, "bad_request"),
        ({"text": "a", "key": "k" * (limits.KEY_BYTES_MAX + 1)}, 400, "bad_request"),
        ({"text": "a", "content_type": "x" * 256}, 400, "bad_request"),
        ({"text": "a", "headers": {str(n): "" for n in range(limits.HEADERS_MAX + 1)}}, 400, "bad_request"),
        ({"text": "x" * (limits.BODY_BYTES_DEFAULT + 1)}, 413, "too_large"),
    ],
    ids=lambda one: str(one)[:30],
)
def test_one_bad_message_refuses_the_whole_batch(
    http: httpx.Client, topic: str, bad: dict[str, Any], status: int, code: str, ids: bool
) -> None:
    good = [{"text": "a", **({"id": str(n)} if ids else {})} for n in range(2)]

    answer = batch(http, topic, good[0], bad, good[1])

    require_problem(answer, status, code)
    assert messages_of(http, topic) == []


@pytest.mark.parametrize("message_id", ["", "x" * (limits.MESSAGE_ID_BYTES_MAX + 1), "ñ" * 101])
def test_an_id_that_is_empty_or_too_long_is_refused(http: httpx.Client, topic: str, message_id: str) -> None:
    answer = batch(http, topic, {"text": "a"}, {"text": "b", "id": message_id})

    require_problem(answer, 400, "bad_request")
    assert messages_of(http, topic) == []


@pytest.mark.parametrize("ids", [True, False], ids=["with ids", "without ids"])
def test_a_batch_has_1_to_10000_messages(http: httpx.Client, topic: str, ids: bool) -> None:
    messages = [{"json": n, **({"id": str(n)} if ids else {})} for n in range(limits.BATCH_MESSAGES_MAX + 1)]

    empty = batch(http, topic)
    over = batch(http, topic, *messages)
    full = batch(http, topic, *messages[1:])

    require_problem(empty, 400, "bad_request")
    require_problem(over, 400, "bad_request")
    assert full.json()["seqs"] == list(range(1, limits.BATCH_MESSAGES_MAX + 1))
    assert [one["json"] for one in messages_of(http, topic)] == list(range(1, limits.BATCH_MESSAGES_MAX + 1))


def test_a_batch_of_too_many_bytes_is_refused_whole(http: httpx.Client, topic: str) -> None:
    large = {"text": "x" * (limits.BODY_BYTES_DEFAULT - 1_000)}

    answer = batch(http, topic, *[large] * 5)

    require_problem(answer, 413, "too_large")
    assert messages_of(http, topic) == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b"null",
        b'{"messages": 1}',
        b'{"messages": [1]}',
        b'{"messages": [], "more": 1}',
        b"[" * 100_000,
        b'{"messages": [{"json": ' + b"[" * 100_000,
        b'{"messages": [{"text": "\\ud800"}]}',
        b'{"messages": [{"text": "\xff"}]}',
    ],
    ids=lambda body: repr(body[:20]),
)
def test_what_is_no_batch_is_refused(http: httpx.Client, topic: str, body: bytes) -> None:
    answer = http.post(f"/v1/topics/{topic}/batches", content=body, headers={"Content-Type": "application/json"})

    require_problem(answer, 400, "bad_request")
    assert messages_of(http, topic) == []


# What is refused of single messages.


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Pregon_Producer": "not a name"}, "bad_name"),
        ({"Pregon_Producer": ""}, "bad_name"),
        ({"Idempotency_Key": "k" * 201}, "bad_request"),
        ({"Pregon_Key": "k" * (limits.KEY_BYTES_MAX + 1)}, "bad_request"),
        ({"Content_Type": "text/" + "x" * 255}, "bad_request"),
        ({f"Pregon_Header_{n}": "" for n in range(limits.HEADERS_MAX + 1)}, "bad_request"),
        ({"Pregon_Header_Long": "x" * limits.HEADERS_BYTES_MAX}, "bad_request"),
    ],
    ids=lambda one: str(one)[:30],
)
def test_a_message_past_a_limit_is_refused(http: httpx.Client, topic: str, headers: dict[str, str], code: str) -> None:
    answer = publish(http, topic, **headers)

    require_problem(answer, 400, code)
    assert messages_of(http, topic) == []


def test_a_header_that_is_no_utf_8_is_refused(http: httpx.Client, topic: str) -> None:
    for name in (b"Pregon-Key", b"Pregon-Producer", b"Idempotency-Key", b"Pregon-Header-A", b"Content-Type"):
        answer = http.post(f"/v1/topics/{topic}/messages", content=b"x", headers=[(name, b"\xff\xfe")])

        require_problem(answer, 400, "bad_request")

    assert messages_of(http, topic) == []


@pytest.mark.parametrize("name", ["a b", "-a", "ñ", "x" * 129, "a%00", "a\n"])
def test_a_topic_has_a_name_that_names_may_have(http: httpx.Client, name: str) -> None:
    answer = http.post(f"/v1/topics/{name}/messages" if "\n" not in name else "/v1/topics/a%0A/messages", content=b"x")

    require_problem(answer, 400, "bad_name")


def test_the_largest_body_is_taken_and_one_byte_more_is_not(http: httpx.Client, topic: str) -> None:
    largest = publish(http, topic, bytes(limits.BODY_BYTES_DEFAULT))
    larger = publish(http, topic, bytes(limits.BODY_BYTES_DEFAULT + 1))

    assert largest.status_code == 201
    require_problem(larger, 413, "too_large")
    assert len(messages_of(http, topic)) == 1
