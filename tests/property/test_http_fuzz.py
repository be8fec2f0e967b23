"""The HTTP door against strangers: whatever is sent, the answer is one of ours, and never about a bug of ours."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregon.errors import BY_CODE
from pregon.testing import run_hub

EVENT = "application/cloudevents+json"
EVENTS = "application/cloudevents-batch+json"
ARROW = "application/vnd.apache.arrow.stream"
FRAMES = "application/vnd.pregon.frames"
JSON = "application/json"
SUBSCRIPTION = "/v1/topics/t/subscriptions/s"
ROUTES = [
    *(("POST", "/v1/topics/t/messages", kind) for kind in (EVENT, EVENTS, JSON, "text/plain")),
    *(("POST", "/v1/topics/t/batches", kind) for kind in (JSON, EVENTS, ARROW)),
    *(("POST", f"{SUBSCRIPTION}/{verb}", JSON) for verb in ("ack", "park", "unpark", "cancel", "replay")),
    *(("POST", f"/v1/{kind}", JSON) for kind in ("topics", "producers", "subscribers", "topics/t/subscriptions")),
    *(("PATCH", path, JSON) for path in ("/v1/topics/t", "/v1/producers/p", "/v1/subscribers/s", SUBSCRIPTION)),
    ("PUT", "/v1/topics/t/schema", JSON),
    ("POST", "/v1/topics/t/schema/compare", JSON),
    ("POST", "/v1/frames", FRAMES),
]
READS = (
    "/v1/topics",
    "/v1/topics/t",
    "/v1/topics/t/messages",
    "/v1/topics/t/messages/1",
    "/v1/topics/t/messages/1/body",
    "/v1/topics/t/batches",
    "/v1/subscriptions",
    f"{SUBSCRIPTION}/parked",
    f"{SUBSCRIPTION}/account",
    "/v1/topics/t/schema/versions",
    "/v1/traces",
    "/v1/producers/p/grants",
)
FIELDS = (
    *("seqs", "seq", "epoch", "max", "ack", "after", "from_seq", "from_time", "reason", "messages", "id", "key"),
    *("json", "text", "base64", "headers", "content_type", "name", "description", "topics", "retention", "age_ms"),
    *("restricted", "subscriber", "start", "pending_max", "kind", "specversion", "source", "type", "data", "time"),
    *("data_base64", "datacontenttype", "from", "to", "since", "until", "cursor", "topic", "producer"),
)
CONTROLS = bytes(range(32)) + b"\x7f"
"""What httpx itself sends in no header."""
numbers = st.one_of(st.integers(-2, 3), st.sampled_from([2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30]))
texts = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["1.0", "t", "latest", "json", "json-schema", "{}", "2026-11-15T10:00:00Z", "x" * 300, "\x00", "AA=="]
    ),
)
leaves = st.one_of(st.none(), st.booleans(), numbers, st.floats(), texts)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4)),
)
documents = st.dictionaries(st.one_of(st.sampled_from(FIELDS), texts), values, max_size=6)


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with run_hub() as hub, httpx.Client(base_url=hub.http, timeout=30) as http:
        http.post("/v1/topics/t/messages", content=b"{}", headers={"Pregon-Producer": "p"})
        http.post("/v1/topics/t/subscriptions", json={"subscriber": "s"})
        yield http
        assert http.get("/readyz").status_code == 200


def require_ours(answer: httpx.Response) -> None:
    """An answer that says what it is, and is not about a bug of ours."""
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json", answer.text
        problem = answer.json()
        assert problem["code"] in BY_CODE
        assert problem["status"] == answer.status_code
    else:
        assert answer.status_code in (200, 201, 204)


@given(
    st.sampled_from(ROUTES),
    st.one_of(st.binary(max_size=200), st.binary(min_size=1, max_size=8).map(lambda b: b * 500)),
)
def test_arbitrary_bytes_are_answered_whatever_they_are_for(
    http: httpx.Client, route: tuple[str, str, str], body: bytes
) -> None:
    method, path, content_type = route

    answer = http.request(method, path, content=body, headers={"Content-Type": content_type})

    require_ours(answer)


@settings(max_examples=300)
@given(st.sampled_from([route for route in ROUTES if route[2].endswith("json")]), st.one_of(documents, values))
def test_arbitrary_json_is_answered_whatever_it_is_for(
    http: httpx.Client, route: tuple[str, str, str], value: object
) -> None:
    method, path, content_type = route
    body = json.dumps([value] if content_type == EVENTS else value)

    answer = http.request(method, path, content=body, headers={"Content-Type": content_type})

    require_ours(answer)


@settings(max_examples=200)
@given(st.sampled_from(READS), st.dictionaries(st.sampled_from(FIELDS), texts | numbers.map(str), max_size=4))
def test_arbitrary_queries_are_answered(http: httpx.Client, path: str, query: dict[str, str]) -> None:
    answer = http.get(path, params=query)

    require_ours(answer)


@given(
    st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]),
    st.lists(st.one_of(st.sampled_from(["v1", "topics", "t2", "messages", "1", "keys", "docs"]), texts), max_size=5),
)
def test_arbitrary_addresses_are_answered(http: httpx.Client, method: str, segments: list[str]) -> None:
    path = "/" + "/".join(quote(one, safe="") for one in segments if one)

    answer = http.request(method, path)

    if method != "HEAD":
        require_ours(answer)


header_values = st.one_of(
    st.binary(max_size=30).map(lambda value: value.translate(None, CONTROLS).strip()),
    st.text(max_size=20).map(lambda text: text.encode().translate(None, CONTROLS).strip()),
    st.sampled_from(
        [b"*", b'"', b'""', b"*/*;q=9", b"a/b;q=nan", b"%ff", b"%", b"1.0", b"application/json;;;=", b", ,"]
    ),
)
header_names = st.sampled_from(
    [
        *(b"accept", b"content-type", b"if-match", b"idempotency-key", b"pregon-producer", b"pregon-key"),
        *(b"pregon-header-", b"pregon-header-x", b"ce-specversion", b"ce-id", b"ce-source", b"ce-type", b"ce-time"),
        *(b"ce-", b"ce-a-b", b"authorization", b"origin", b"last-event-id", b"content-encoding", b"range"),
    ]
)


@settings(max_examples=300)
@given(
    st.sampled_from(
        ["GET /v1/topics/t/messages/1", "POST /v1/topics/t/messages", "PATCH /v1/topics/t", "POST /v1/topics"]
    ),
    st.lists(st.tuples(header_names, header_values), max_size=8),
)
def test_arbitrary_heads_are_answered(http: httpx.Client, line: str, headers: list[tuple[bytes, bytes]]) -> None:
    method, _, path = line.partition(" ")

    answer = http.request(method, path, headers=headers, content=b"{}" if method != "GET" else None)

    if answer.headers["content-type"].startswith("text/plain"):
        # Not even HTTP: refused before it reaches us.
        assert answer.status_code == 400
    else:
        require_ours(answer)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_http_do_no_harm(http: httpx.Client, data: bytes) -> None:
    with socket.create_connection((http.base_url.host, http.base_url.port or 80), timeout=10) as connection:
        connection.sendall(data + b"\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        try:
            answer = connection.recv(1_000)
        except ConnectionError:
            answer = b""

    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert http.get("/healthz").status_code == 200
