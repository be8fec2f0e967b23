"""The hub's HTTP door, as tables need it: a document, or an Arrow stream that is read while it comes.

Every task has a door of its own: one connection, opened when it is needed, and again after it broke.

Promises:
- What the hub refuses is raised as the error that it is; what broke on the way is HubUnreachable, to be tried again.
- A connection on which nothing moves for a while is given up.
"""

from __future__ import annotations

import http.client
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec
import pyarrow as pa

from pregon.client.calls import busy_delay_ms
from pregon.client.destination import Destination
from pregon.clock import monotonic_ms
from pregon.errors import (
    AnswerMalformed,
    BadRequest,
    HubBusy,
    HubUnreachable,
    NotFound,
    Unavailable,
    VersionUnknown,
    error_from_code,
)
from pregon.version import __version__

QUIET_S_MAX = 30.0
"""A connection on which nothing moves for so long is given up."""
_DOCUMENT_BYTES_MAX = 64 * 1024 * 1024
_PROBLEM_BYTES_MAX = 64 * 1024
_REST_BYTES_MAX = 4 * 1024
TRACES_PATH, TRACE_ID_PATH, SUBSCRIPTIONS_PATH = "/v1/traces/batches", "/v1/traces/id", "/v1/subscriptions/batches"
_TABLES = frozenset({TRACES_PATH, TRACE_ID_PATH, SUBSCRIPTIONS_PATH})
"""What is there in every hub that has it at all."""
T = TypeVar("T")
_BROKEN = (OSError, http.client.HTTPException, pa.ArrowException)


class HubDoor:
    """A connection to the hub for one thread."""

    def __init__(self, destination: Destination) -> None:
        self._destination = destination
        parts = urlsplit(destination.hub)
        self._host, self._port, self._prefix = parts.hostname or "", parts.port, parts.path.rstrip("/")
        self._connection: http.client.HTTPConnection | None = None

    def close(self) -> None:
        """Give the connection back."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def document(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        """A JSON document."""
        with self._asked("GET", path, query) as answer:
            return self._decoded(answer)

    def send(self, method: str, path: str, value: Any, headers: Mapping[str, str] | None = None) -> Any:
        """Send a JSON document; what the hub answers."""
        with self._asked(method, path, None, msgspec.json.encode(value), headers) as answer:
            return self._decoded(answer)

    @contextmanager
    def stream(
        self, path: str, query: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> Iterator[tuple[Mapping[str, str], Iterator[pa.RecordBatch]]]:
        """An Arrow stream: what its header says, and its batches as they come; raises VersionUnknown."""
        with self._asked("GET", path, query, headers=headers) as answer:
            said = {name.lower(): value for name, value in answer.getheaders()}
            yield said, self._batches(answer)

    def _batches(self, answer: http.client.HTTPResponse) -> Iterator[pa.RecordBatch]:
        try:
            with pa.ipc.open_stream(answer) as reader:
                batches = iter(reader)
                while (batch := next(batches, None)) is not None:
                    yield batch
            # The end of the answer, after Arrow's own: the connection can be used again.
            answer.read(_REST_BYTES_MAX)
        except _BROKEN as error:
            raise self._unreachable(error) from error

    def _decoded(self, answer: http.client.HTTPResponse) -> Any:
        try:
            body = answer.read(_DOCUMENT_BYTES_MAX)
        except _BROKEN as error:
            raise self._unreachable(error) from error
        try:
            return msgspec.json.decode(body) if body else None
        except msgspec.DecodeError as error:
            raise AnswerMalformed(f"{self._destination.hub} answered what is not JSON: is it a hub?") from error

    @contextmanager
    def _asked(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """The answer to a request; the connection is only used again if it was read to its end."""
        is_whole = False
        try:
            try:
                answer = self._answer(method, path, query, body, headers)
                problem = self._problem(answer) if answer.status >= 300 else None
            except _BROKEN as error:
                raise self._unreachable(error) from error
            if problem is not None:
                raise self._explained(problem, path)
            # What who reads it does wrong is its own: only `_decoded` and `_batches` know what broke on the way.
            yield answer
            is_whole = answer.isclosed()
        finally:
            if not is_whole:
                self.close()

    def _answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: bytes | None,
        headers: Mapping[str, str] | None,
    ) -> http.client.HTTPResponse:
        target = self._prefix + path + (f"?{urlencode(query)}" if query else "")
        said = {"User-Agent": f"pregon-spark/{__version__}", "Accept-Encoding": "identity", **(headers or {})}
        if body is not None:
            said["Content-Type"] = "application/json"
        if self._destination.key:
            said["Authorization"] = f"Bearer {self._destination.key}"
        is_used = self._connection is not None
        try:
            return self._ask(method, target, body, said)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # A connection that was kept may have been closed by the hub meanwhile: that says nothing.
            if not is_used:
                raise
            self.close()
            return self._ask(method, target, body, said)

    def _ask(self, method: str, target: str, body: bytes | None, said: Mapping[str, str]) -> http.client.HTTPResponse:
        if self._connection is None:
            tls = self._destination.tls
            if tls is None:
                self._connection = http.client.HTTPConnection(self._host, self._port, timeout=QUIET_S_MAX)
            else:
                self._connection = http.client.HTTPSConnection(self._host, self._port, timeout=QUIET_S_MAX, context=tls)
        self._connection.request(method, target, body=body, headers=said)
        return self._connection.getresponse()

    def _problem(self, answer: http.client.HTTPResponse) -> Exception:
        body = answer.read(_PROBLEM_BYTES_MAX)
        try:
            problem = msgspec.json.decode(body, type=_Problem)
        except (msgspec.DecodeError, UnicodeDecodeError):
            what = f"{self._destination.hub} answered with HTTP status {answer.status}"
            if answer.status in (429, 502, 503, 504):
                return HubBusy(f"{what}: the hub, or a proxy before it, cannot now")
            return AnswerMalformed(f"{what}: this is not a hub, or not its address")
        return error_from_code(problem.code, problem.detail)

    def _explained(self, problem: Exception, path: str) -> Exception:
        """What a hub says that does not know yet what is asked of it, in words that help."""
        is_old = isinstance(problem, NotFound) and path in _TABLES
        if is_old or (isinstance(problem, BadRequest) and "unknown field" in str(problem)):
            return VersionUnknown(
                f"{self._destination.hub} does not know {path} as this package asks for it: it is older than "
                f"{__version__}; upgrade the hub"
            )
        return problem

    def _unreachable(self, error: BaseException) -> HubUnreachable:
        reason = re.sub(r"\s+", " ", str(error) or type(error).__name__)[:200]
        return HubUnreachable(
            f"no whole answer from {self._destination.hub} ({reason}): is the hub running there, and reached from the "
            "executors too?"
        )


class _Problem(msgspec.Struct):
    """What of a problem (RFC 9457) is ours to read."""

    code: str
    detail: str = ""


def topic_path(topic: str) -> str:
    """Where a topic is."""
    return f"/v1/topics/{quote(topic, safe='')}"


def patiently(ask: Callable[[], T], timeout_ms: float) -> T:
    """What the hub answers; one that is away, or busy, is asked again for so long."""
    attempt, deadline_ms = 0, monotonic_ms() + timeout_ms
    while True:
        try:
            return ask()
        except Unavailable:
            delay_ms = busy_delay_ms(attempt)
            if monotonic_ms() + delay_ms > deadline_ms:
                raise
        attempt += 1
        time.sleep(delay_ms / 1_000)
