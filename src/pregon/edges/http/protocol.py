"""HTTP/1.1 as uvicorn speaks it, with two things added: answers leave at once, and requests are bounded.

uvicorn writes the head of an answer, then its body, each with a call to the operating system, and on a busy hub those
calls are a third of all its work. Here what is written in one turn of the event loop is kept and written together.

uvicorn with httptools bounds neither the size of a request's head nor the time that a request takes. Here a head past
`HEADER_BYTES_MAX` is refused, trailers are dropped (nobody in front of us looks at them), and `is_too_slow` tells
which connections keep a place without filling it, or do not take the rest of what they were sent; the door ends them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pregon.edges.http.answers import PROBLEM, problem_answer
from pregon.errors import BadRequest, PregonError, TooLarge
from pregon.limits import HEADER_BYTES_MAX

HEAD_S_MAX = 10.0
"""How long the head of a request may take."""
BODY_S_MAX = 30.0
"""How long a body may take, and longer as it comes: a thin line is not an attack."""
BYTES_PER_S_MIN = 2_048
FAREWELL_S_MAX = 60.0
"""How long a client may take for the rest of an answer when its connection is closed, and longer for a long one."""
_KEPT_BYTES_MAX = 64 * 1024
"""More than this is not worth copying together."""
_STATUS_LINES = {400: b"HTTP/1.1 400 Bad Request\r\n", 431: b"HTTP/1.1 431 Request Header Fields Too Large\r\n"}


class _Refused(Exception):
    """This request is not read to its end."""


class _Gathering:
    """A transport that keeps small writes until the end of the turn."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._call_soon: Callable[..., Any] = loop.call_soon
        self._kept: list[bytes] = []
        # What is asked of it besides goes to the transport itself.
        self.is_closing = transport.is_closing
        self.get_extra_info = transport.get_extra_info
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading

    def write(self, data: bytes) -> None:
        """Keep it, or write it with what was kept if it is large."""
        if len(data) > _KEPT_BYTES_MAX:
            self._flush()
            self._transport.write(data)
            return
        if not self._kept:
            self._call_soon(self._flush)
        self._kept.append(data)

    def _flush(self) -> None:
        kept, self._kept = self._kept, []
        if kept:
            self._transport.write(kept[0] if len(kept) == 1 else b"".join(kept))

    def close(self) -> None:
        """Write what is kept, then close."""
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class BoundedProtocol(HttpToolsProtocol):
    """One connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        self._is_head = True
        self._head_bytes = 0
        self._received_bytes = 0
        self._refusal: PregonError | None = None
        self._since_s = self.loop.time()
        """Since when a request is expected or being read; 0 when it has been."""
        self._farewell_until_s = 0.0
        """Until when the rest of an answer may leave; 0 when the connection is not being closed."""
        super().connection_made(_Gathering(transport, self.loop))  # type: ignore[arg-type]

    def data_received(self, data: bytes) -> None:
        """Bytes of a request."""
        self._received_bytes += len(data)
        super().data_received(data)
        if self._is_head and self._since_s and self._received_bytes > HEADER_BYTES_MAX:
            self._refuse_head()

    def _refuse_head(self) -> None:
        if self._refusal is None and not self.transport.is_closing():
            self._refusal = TooLarge(f"the head of the request has over {HEADER_BYTES_MAX} bytes")
            self.send_400_response("")

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._is_head = True
        self._head_bytes = 0
        self._received_bytes = 0
        self._since_s = self.loop.time()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """A piece of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer, which is dropped."""
        if self._is_head:
            self._count(len(name) + len(value))
            super().on_header(name, value)

    def _count(self, size_bytes: int) -> None:
        self._head_bytes += size_bytes
        if self._head_bytes > HEADER_BYTES_MAX:
            self._refusal = TooLarge(f"the head of the request has over {HEADER_BYTES_MAX} bytes")
            raise _Refused

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._is_head = False
        hosts = [value for name, value in self.headers if name == b"host"]
        if len(hosts) > 1:
            self._refusal = BadRequest("a request has one Host")
            raise _Refused
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """All of the request is there."""
        self._since_s = 0.0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request that we read, and close."""
        error = self._refusal or BadRequest("this is not a request of HTTP/1.1")
        answer = problem_answer(error)
        head = _STATUS_LINES[431 if isinstance(error, TooLarge) else 400]
        lines = b"content-type: %s\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(head + lines % (PROBLEM.encode(), len(answer.body)) + answer.body)
        self.transport.close()

    def is_too_slow(self, now_s: float) -> bool:
        """Whether it takes longer with its request, or with the rest of an answer, than may be."""
        if self.transport.is_closing():
            if not self._farewell_until_s:
                left_bytes = self.transport.get_write_buffer_size()
                self._farewell_until_s = now_s + FAREWELL_S_MAX + left_bytes / BYTES_PER_S_MIN
            return now_s > self._farewell_until_s
        if not self._since_s:
            return False
        took_s = now_s - self._since_s
        if self._is_head:
            return took_s > HEAD_S_MAX
        return took_s > BODY_S_MAX + self._received_bytes / BYTES_PER_S_MIN

    def hang_up(self) -> None:
        """End the connection at once."""
        self.transport.abort()
