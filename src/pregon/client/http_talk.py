"""PREGON/1 over HTTP: what is sent to `POST /v1/frames`, and what its answer means.

    POST /v1/frames HTTP/1.1                          HTTP/1.1 200 OK
    Content-Type: application/vnd.pregon.frames       Content-Type: application/vnd.pregon.frames
    Authorization: Bearer KEY

    length, 4 bytes big-endian | frame 0              length | frame 0
    length                     | frame 1 …            length | frame 1 …

Pure: connections are left to `http_link` and `aio_http_link`, which share all of this. Answers are read by
httptools, the parser that the hub itself has. Measured on one connection of one machine with two cores, pings and
publications a second: httpx 1,180 and 580, http.client 2,550 and 850, this 4,500 and 850; with asyncio, where
http.client cannot be used, and 32 calls at once: httpx 210 and 230, this 8,700 and 4,000.

Promises:
- Every request has exactly one answer: that of the hub, or an error that says why there is none.
- What is not an answer of a hub is `answer_malformed`, whatever it is; a proxy's "not now" may be asked again.
"""

from __future__ import annotations

import os
import ssl
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

import httptools
import msgspec

from pregon.client.destination import Destination
from pregon.errors import (
    AnswerMalformed,
    HubBusy,
    HubUnreachable,
    PregonError,
    RateLimited,
    SettingsInvalid,
    error_from_code,
)
from pregon.limits import FRAME_BYTES_MAX
from pregon.version import __version__
from pregon.wire.commands import encode_header, header_of_error
from pregon.wire.frames import ERROR, Answer, decode_answer, peek_request_id

PATH = "/v1/frames"
FRAMES = "application/vnd.pregon.frames"
PROBLEM = "application/problem+json"
QUIET_MS_MAX = 10_000.0
"""A connection on which nothing moves for this long, beyond what the hub was asked to wait, is given up."""
CONNECT_S_MAX = 5.0
"""How long connecting may take, the handshake of TLS included."""
ANSWER_BYTES_MAX = FRAME_BYTES_MAX
"""An answer, headers included, that is larger than this is not read to its end."""

_LENGTH = struct.Struct(">I")
_NOT_NOW: dict[int, type[PregonError]] = {
    429: RateLimited,
    502: HubUnreachable,
    503: HubBusy,
    504: HubUnreachable,
}


class HttpAnswer(NamedTuple):
    """What came back over HTTP; after the last one the connection is of no more use."""

    status: int
    media_type: str
    body: bytes
    is_last: bool


class _Problem(msgspec.Struct):
    """What of a problem (RFC 9457) is ours to read."""

    code: str
    detail: str = ""


@dataclass(slots=True, eq=False)
class Asking:
    """A request that waits for its turn or is under way."""

    request_id: int
    request: bytes
    quiet_s: float
    """How long its connection may be quiet."""
    is_forgotten: bool = False
    """Nobody waits for its answer any more."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a hub taken apart, and what every request to it begins with."""

    url: str
    host: str
    port: int
    tls: ssl.SSLContext | None = field(repr=False)
    head: bytes = field(repr=False)

    def asking(self, frames: Sequence[Any], wait_ms: float) -> Asking:
        """The request for these frames, whose answer the hub may hold back for a while."""
        pieces = [piece for frame in frames for piece in (_LENGTH.pack(len(frame)), frame)]
        size = sum(map(len, pieces))
        request = b"".join([self.head, b"Content-Length: %d\r\n\r\n" % size, *pieces])
        return Asking(peek_request_id(frames), request, (wait_ms + QUIET_MS_MAX) / 1_000)

    def read_answer(self, request_id: int, answer: HttpAnswer) -> Answer:
        """What the answer says; raises the error that it carries, or AnswerMalformed."""
        if answer.status == 200 and answer.media_type == FRAMES:
            found = decode_answer(_split_frames(answer.body))
            if found is None or (found.id != request_id and not found.is_error):
                raise AnswerMalformed(f"{self.url} answered frames that are not those of this request")
            return found._replace(id=request_id)
        if answer.media_type == PROBLEM:
            try:
                problem = msgspec.json.decode(answer.body, type=_Problem)
            except (msgspec.DecodeError, UnicodeDecodeError):
                pass
            else:
                raise error_from_code(problem.code, problem.detail)
        what = f"HTTP status {answer.status} and {answer.media_type or 'no media type'}"
        if answer.status in _NOT_NOW:
            raise _NOT_NOW[answer.status](f"{self.url} answered with {what}: the hub, or a proxy before it, cannot now")
        raise AnswerMalformed(f"{self.url} answered with {what}: this is not a hub, or not its address")

    def error_answer(self, request_id: int, error: Exception) -> Answer:
        """The answer to a request that met with this error on its way."""
        if not isinstance(error, PregonError):
            error = self._what_it_means(error)
        return Answer(ERROR, request_id, encode_header(header_of_error(error)), ())

    def _what_it_means(self, error: Exception) -> PregonError:
        if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            reason = getattr(error, "verify_message", "") or error.reason or str(error)
            return SettingsInvalid(
                f"{self.url} and this client do not agree on TLS ({reason}): is it the right address, does `ca` name "
                "who signed the hub's certificate, and does the hub ask for a `certificate`?"
            )
        # The system's words and not those of asyncio, which has its own.
        number = error.errno if isinstance(error, OSError) and isinstance(error.errno, int) else 0
        reason = os.strerror(number) if number > 0 else str(error) or type(error).__name__
        if self.tls is not None and isinstance(error, ConnectionResetError | ssl.SSLError):
            reason += "; a hub that asks for a `certificate` and gets none hangs up like this"
        return HubUnreachable(
            f"no answer from {self.url} ({reason}): is the hub running there? (`pregon serve`; another address with "
            "--hub or PREGON_HUB)"
        )


def find_endpoint(destination: Destination) -> Endpoint:
    """Where to connect; raises SettingsInvalid for what is no address of HTTP."""
    wrong = SettingsInvalid(
        f"{_without_user(destination.hub)!r} is not the address of a hub: use http://HOST:PORT, https://HOST:PORT or "
        "tcp://HOST:PORT; a key goes in key= or PREGON_KEY"
    )
    try:
        parts = urlsplit(destination.hub)
        host, port = parts.hostname or "", parts.port
        host.encode("idna")
    except ValueError as error:
        raise wrong from error
    if not _is_plain(parts, host):
        raise wrong
    url = destination.hub.rstrip("/")
    lines = [
        f"POST {parts.path.rstrip('/')}{PATH} HTTP/1.1",
        f"Host: {parts.netloc.encode('idna').decode()}",
        f"User-Agent: pregon/{__version__}",
        f"Content-Type: {FRAMES}",
        "Accept-Encoding: identity",
        *([f"Authorization: Bearer {destination.key}"] if destination.key else []),
    ]
    head = "".join(f"{line}\r\n" for line in lines).encode("ascii")
    return Endpoint(url, host, port or (443 if parts.scheme == "https" else 80), destination.tls, head)


def _is_plain(parts: SplitResult, host: str) -> bool:
    """Whether an address has a host, a path that can be sent as it is, and nothing else."""
    is_path = parts.path.isascii() and parts.path.isprintable() and " " not in parts.path
    return bool(host) and is_path and not (parts.query or parts.fragment or "@" in parts.netloc)


def _without_user(address: str) -> str:
    """An address without what may be a password."""
    scheme, slashes, rest = address.partition("//")
    return scheme + slashes + rest.rpartition("@")[2]


def _split_frames(body: bytes) -> list[bytes]:
    """The frames of an answer's body; raises AnswerMalformed for one that is not whole."""
    frames: list[bytes] = []
    start = 0
    while start < len(body):
        if start + _LENGTH.size > len(body):
            raise AnswerMalformed("the hub's answer ends in the middle of a length")
        (size,) = _LENGTH.unpack_from(body, start)
        start += _LENGTH.size
        if start + size > len(body):
            raise AnswerMalformed("the hub's answer ends in the middle of a frame")
        frames.append(body[start : start + size])
        start += size
    return frames


class AnswerReader:
    """Reads the answers of one connection, one after another, from pieces of bytes."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._begin()

    def _begin(self) -> None:
        self._body: list[bytes] = []
        self._media_type = ""
        self._read_bytes = 0
        self._has_head = False
        self._has_length = False
        self._answer: HttpAnswer | None = None

    def feed(self, data: bytes) -> HttpAnswer | None:
        """More bytes; the answer, if they complete it. Raises AnswerMalformed for what is not HTTP."""
        self._read_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raise AnswerMalformed(f"this is not an answer of HTTP ({error})") from error
        if self._answer is None:
            if self._read_bytes > ANSWER_BYTES_MAX:
                raise AnswerMalformed(f"the answer has more than {ANSWER_BYTES_MAX} bytes")
            return None
        answer = self._answer
        self._begin()
        return answer

    def end(self) -> HttpAnswer:
        """The connection was closed: the answer that this completes; raises ConnectionResetError if none."""
        if not self._has_head or self._has_length:
            raise ConnectionResetError("the connection was closed before an answer came")
        return self._complete(is_last=True)

    def _complete(self, is_last: bool) -> HttpAnswer:
        status = self._parser.get_status_code()
        return HttpAnswer(status, self._media_type, b"".join(self._body), is_last)

    # What the parser calls.

    def on_message_begin(self) -> None:
        """Something begins; behind an answer nothing was asked for, and what follows it is not trusted."""
        if self._answer is not None:
            self._answer = self._answer._replace(is_last=True)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        name = name.lower()
        if name == b"content-type":
            self._media_type = value.decode("latin-1").partition(";")[0].strip().lower()
        elif name in (b"content-length", b"transfer-encoding"):
            self._has_length = True

    def on_headers_complete(self) -> None:
        """All headers."""
        self._has_head = True

    def on_body(self, data: bytes) -> None:
        """Some of the body."""
        self._body.append(data)

    def on_message_complete(self) -> None:
        """The end of an answer, or of a word before it (a status of 1xx)."""
        if self._parser.get_status_code() < 200:
            self._has_head = False
        elif self._answer is None:
            self._answer = self._complete(is_last=not self._parser.should_keep_alive())
