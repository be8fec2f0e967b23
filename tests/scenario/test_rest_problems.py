"""What the REST door refuses, and how: problem details, the right status, and before it is too late."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator

import httpx
import pytest

from pregon.limits import FRAME_BYTES_MAX, HEADER_BYTES_MAX, REQUEST_BYTES_MAX, REQUEST_JSON_BYTES_MAX
from pregon.testing import RunningHub

from .rest import ARROW, EVENTS, FRAMES, JSON, publish, require_problem, rest_hub

LENGTH = struct.Struct(">I")


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[RunningHub, httpx.Client]]:
    with rest_hub() as both:
        yield both


@pytest.fixture
def hub(running: tuple[RunningHub, httpx.Client]) -> RunningHub:
    return running[0]


@pytest.fixture
def http(running: tuple[RunningHub, httpx.Client]) -> httpx.Client:
    return running[1]


def dial(hub: RunningHub) -> socket.socket:
    host, _, port = hub.http.partition("://")[2].rpartition(":")
    return socket.create_connection((host, int(port)), timeout=10)


def exchange(hub: RunningHub, data: bytes) -> bytes:
    """The beginning of what is answered to these bytes, empty if the hub hangs up."""
    with dial(hub) as connection:
        try:
            connection.sendall(data)
            return connection.recv(65_536)
        except ConnectionError:
            return b""


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/v1/topics", "GET, POST"),
        ("OPTIONS", "/v1/topics/t", "DELETE, GET, PATCH"),
        ("GET", "/v1/topics/t/subscriptions/s/pull", "POST"),
        ("POST", "/v1/topics/t/messages/1", "GET"),
        ("DELETE", "/healthz", "GET"),
        ("TRACE", "/v1/traces", "GET"),
    ],
)
def test_another_method_is_told_which_there_are(http: httpx.Client, method: str, path: str, allow: str) -> None:
    answer = http.request(method, path)

    require_problem(answer, 405, "method_unknown")
    assert {one for one in answer.headers["allow"].split(", ") if one != "HEAD"} == set(allow.split(", "))


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/", "/v1/topics/", "/v1//topics", "/v2/topics", "/docs/x", "/%00"])
def test_an_address_with_nothing_is_not_found(http: httpx.Client, path: str) -> None:
    require_problem(http.get(path), 404, "not_found")


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/v1/topics", "text/plain"),
        ("/v1/topics", ""),
        ("/v1/topics/t/batches", "text/csv"),
        ("/v1/topics/t/batches", "application/cloudevents+json"),
        ("/v1/topics/t/subscriptions/s/pull", "application/xml"),
        ("/v1/frames", "application/octet-stream"),
    ],
)
def test_a_body_of_another_kind_is_refused(http: httpx.Client, path: str, content_type: str) -> None:
    answer = http.post(path, content=b"{}", headers={"Content-Type": content_type} if content_type else {})

    require_problem(answer, 415, "media_type_unknown")


@pytest.mark.parametrize(
    ("path", "content_type", "limit"),
    [
        ("/v1/topics/t/messages", "text/plain", 1024 * 1024),
        ("/v1/topics/t/messages", EVENTS, REQUEST_BYTES_MAX),
        ("/v1/topics/t/batches", JSON, REQUEST_BYTES_MAX),
        ("/v1/topics/t/batches", ARROW, REQUEST_BYTES_MAX),
        ("/v1/topics", JSON, REQUEST_JSON_BYTES_MAX),
        ("/v1/topics/t/subscriptions/s/pull", JSON, REQUEST_JSON_BYTES_MAX),
        ("/v1/frames", FRAMES, FRAME_BYTES_MAX),
    ],
)
def test_a_body_that_is_too_long_is_refused_before_it_is_read(
    hub: RunningHub, path: str, content_type: str, limit: int
) -> None:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\n"

    answer = exchange(hub, f"{head}Content-Length: {limit + 1}\r\n\r\n".encode())
    expecting = exchange(hub, f"{head}Expect: 100-continue\r\nContent-Length: {limit + 1}\r\n\r\n".encode())

    for said in (answer, expecting):
        assert said.startswith(b"HTTP/1.1 413 ")
        assert json.loads(said.partition(b"\r\n\r\n")[2])["code"] == "too_large"


def test_a_body_of_unknown_length_is_refused_as_soon_as_it_is_too_long(http: httpx.Client) -> None:
    sent = 0

    def chunks() -> Iterator[bytes]:
        nonlocal sent
        while sent < 100_000_000:
            sent += 65_536
            yield bytes(65_536)

    try:
        answer = http.post("/v1/topics/t/messages", content=chunks())
    except httpx.TransportError:
        pass  # It hung up while we were talking, which is as good.
    else:
        require_problem(answer, 413, "too_large")

    assert http.get("/healthz").status_code == 200


def test_a_head_that_never_ends_is_cut(hub: RunningHub, http: httpx.Client) -> None:
    sent, is_cut = 0, False

    with dial(hub) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ")
        try:
            while sent < 16 * HEADER_BYTES_MAX:
                connection.sendall(b"a" * 65_536)
                sent += 65_536
            connection.sendall(b"\r\n\r\n")
            is_cut = not connection.recv(100).startswith(b"HTTP/1.1 200")
        except ConnectionError:
            is_cut = True

    assert is_cut
    assert http.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"POST /v1/topics/t/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        b"POST /v1/topics/t/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/topics/t/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + b"9" * 5_000 + b"\r\n\r\n",
        b"POST /v1/topics/t/messages HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /v1/topics/t/messages HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
        b"Content-Length: 3\r\n\r\nabc",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"NOPE / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
    ids=range(7),
)
def test_what_is_no_http_is_refused_and_nothing_is_published(
    hub: RunningHub, http: httpx.Client, request_bytes: bytes
) -> None:
    answer = exchange(hub, request_bytes)

    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert http.get("/v1/topics/t").status_code == 404


def test_who_does_not_say_who_it_is_is_asked_for_a_key() -> None:
    with rest_hub() as (_, http):
        secret = http.post("/v1/tokens", json={"name": "boss", "scopes": ["admin"]}).json()["secret"]

        nobody = http.get("/v1/topics")
        wrong = [
            http.get("/v1/topics", headers={"Authorization": said})
            for said in (b"Bearer x", b"Bearer", b"Basic x", b"Basic eDp5", b"Digest a=b", "Bearer ñ".encode())
        ]
        right = http.get("/v1/topics", headers={"Authorization": f"bearer {secret}"})
        password = http.get("/v1/topics", auth=("anybody", secret))

    for answer in (nobody, *wrong):
        require_problem(answer, 401, "unauthorized")
        assert secret not in answer.text
    assert (right.status_code, password.status_code) == (200, 200)


def test_who_asks_too_often_is_told_to_come_back() -> None:
    with rest_hub() as (_, http):
        http.post("/v1/producers", json={"name": "p"})
        secret = http.post("/v1/producers/p/keys", json={"requests_per_s": 1}).json()["secret"]

        answers = [publish(http, "t", Authorization=f"Bearer {secret}") for _ in range(30)]

    refused = [answer for answer in answers if answer.status_code != 201]
    assert answers[0].status_code == 201
    assert refused
    for answer in refused:
        require_problem(answer, 429, "rate_limited")


# Frames.


@pytest.mark.parametrize(
    "body",
    [
        b"\x00",
        b"\x00\x00\x00",
        LENGTH.pack(1),
        LENGTH.pack(5) + b"abcd",
        LENGTH.pack(2**32 - 1),
        LENGTH.pack(1) + b"a" + b"\x00",
        LENGTH.pack(0) * 4,
    ],
    ids=repr,
)
def test_frames_that_are_not_whole_are_refused(http: httpx.Client, body: bytes) -> None:
    answer = http.post("/v1/frames", content=body, headers={"Content-Type": FRAMES})

    require_problem(answer, 400, "bad_request")


@pytest.mark.parametrize("body", [b"", LENGTH.pack(0), LENGTH.pack(3) + b"abc", (LENGTH.pack(16) + bytes(16)) * 2])
def test_frames_that_are_no_request_are_answered_in_frames(http: httpx.Client, body: bytes) -> None:
    answer = http.post("/v1/frames", content=body, headers={"Content-Type": FRAMES})

    assert (answer.status_code, answer.headers["content-type"]) == (200, FRAMES)
    (length,) = LENGTH.unpack_from(answer.content)
    assert answer.content[4:].startswith(b"PRG")
    assert len(answer.content) > 4 + length
