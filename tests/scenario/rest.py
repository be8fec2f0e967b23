"""The REST door as strangers use it: plain httpx, and what its tests say again and again.

What is checked of every refusal is in `require_problem`; everything else is left to the tests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
from websockets.sync.client import ClientConnection, connect

from pregon.errors import BY_CODE, Unavailable
from pregon.testing import RunningHub, run_hub

JSON = "application/json"
EVENT = "application/cloudevents+json"
EVENTS = "application/cloudevents-batch+json"
ARROW = "application/vnd.apache.arrow.stream"
FRAMES = "application/vnd.pregon.frames"
PROBLEM = "application/problem+json"
SSE = "text/event-stream"
_TIMEOUT_S = 30.0


@contextmanager
def rest_hub(data: Path | None = None, **settings: Any) -> Iterator[tuple[RunningHub, httpx.Client]]:
    """A hub and an HTTP client of it."""
    with run_hub(data, **settings) as hub, httpx.Client(base_url=hub.http, timeout=_TIMEOUT_S) as http:
        yield hub, http


def publish(http: httpx.Client, topic: str, body: bytes | str = b"x", **headers: str) -> httpx.Response:
    """Publish a body as it is; headers with _ for -."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return http.post(f"/v1/topics/{topic}/messages", content=body, headers=named)


def publish_event(http: httpx.Client, topic: str, event: Any, content_type: str = EVENT) -> httpx.Response:
    """Publish an event, or a list of them, in structured mode."""
    body = event if isinstance(event, bytes) else json.dumps(event)
    return http.post(f"/v1/topics/{topic}/messages", content=body, headers={"Content-Type": content_type})


def publish_table(http: httpx.Client, topic: str, table: pa.Table | bytes, **headers: str) -> httpx.Response:
    """Publish an Arrow stream."""
    body = table if isinstance(table, bytes) else stream_of(table)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return http.post(f"/v1/topics/{topic}/batches", content=body, headers={"Content-Type": ARROW, **named})


def stream_of(table: pa.Table, **options: Any) -> bytes:
    """A table as pyarrow writes it."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def messages_of(http: httpx.Client, topic: str) -> list[dict[str, Any]]:
    """All the messages of a topic, in order; none if there is no such topic."""
    found: list[dict[str, Any]] = []
    following: int | None = 1
    while following is not None:
        answer = http.get(f"/v1/topics/{topic}/messages", params={"from": following, "max": 10_000})
        if answer.status_code == 404:
            return []
        page = answer.json()
        found += page["messages"]
        following = page["next"]
    return found


def require_problem(answer: httpx.Response, status: int, code: str) -> str:
    """The detail of a problem that is all that RFC 9457 and we promise."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == PROBLEM
    problem = answer.json()
    assert set(problem) == {"type", "title", "status", "detail", "code", "retryable"}
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["type"] == f"urn:pregon:problem:{code}"
    assert problem["title"] and problem["detail"]
    assert problem["retryable"] == issubclass(BY_CODE[code], Unavailable)
    assert ("retry-after" in answer.headers) == problem["retryable"]
    assert ("www-authenticate" in answer.headers) == (status == 401)
    assert ("allow" in answer.headers) == (status == 405)
    detail: str = problem["detail"]
    return detail


class Events:
    """The events of a server-sent stream, read as the HTML standard says."""

    def __init__(self, answer: httpx.Response) -> None:
        self._lines = answer.iter_lines()

    def __iter__(self) -> Events:
        return self

    def __next__(self) -> tuple[int, dict[str, Any]]:
        """The next event's id and message; comments are passed over."""
        fields: dict[str, list[str]] = {}
        for line in self._lines:
            if line.startswith(":"):
                continue
            if line:
                name, _, value = line.partition(": ")
                fields.setdefault(name, []).append(value)
            elif fields:
                assert fields["event"] == ["message"]
                return int(fields["id"][0]), json.loads("\n".join(fields["data"]))
        raise StopIteration


@contextmanager
def listening(http: httpx.Client, topic: str, query: str = "", **headers: str) -> Iterator[Events]:
    """A live stream that has begun."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with http.stream("GET", f"/v1/topics/{topic}/stream{query}", headers=named) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"] == SSE
        yield Events(answer)


@contextmanager
def socket_of(hub: RunningHub, topic: str, query: str = "", **options: Any) -> Iterator[ClientConnection]:
    """A WebSocket of a topic."""
    address = f"{hub.http.replace('http', 'ws', 1)}/v1/topics/{topic}/stream{query}"
    # Without a limit to its queue: a client that stops reading when it is full never reads the end either.
    with connect(address, open_timeout=_TIMEOUT_S, close_timeout=5, max_queue=None, **options) as socket:
        yield socket
