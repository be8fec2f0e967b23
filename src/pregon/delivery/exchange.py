"""One request out and the head of its answer back, over a connection of aiohttp's.

aiohttp's connector looks names up, connects, speaks TLS and keeps connections; its parser reads answers. What its
session does besides, for every request (cookies, redirects, proxies, forms, decompression), a push has no use for, and
it costs more than all the rest: so requests are written here, and answers taken from the parser.

Promises:
- Nothing but what `PushRequest` has goes into a head, and no header can begin another: a head with more lines than
  headers is not sent.
- A connection goes back for the next push only if its request was sent and its answer read to the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest
from aiohttp.connector import Connection
from aiohttp.http import HttpProcessingError, RawResponseMessage
from aiohttp.streams import StreamReader
from multidict import CIMultiDictProxy
from yarl import URL

from pregon import limits
from pregon.delivery.connections import Connections

_HEAD_LINE_BYTES_MAX = 8 * limits.KIB
_HEAD_LINES_MAX = 100
_READ_AHEAD_BYTES = 16 * limits.KIB
_PIECE_BYTES = 256 * limits.KIB
"""A body larger than this is written in pieces, so that it does not hold the event loop up."""
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)


class Place:
    """Where requests go: what is the same in each of them."""

    __slots__ = ("head", "stub", "url")

    def __init__(self, url: URL) -> None:
        self.url = url
        self.stub = ClientRequest("POST", url)
        """What the connector is shown to know where to connect to."""
        self.head = f"POST {url.raw_path_qs} HTTP/1.1\r\nHost: {self.stub.headers['Host']}\r\nAccept: */*\r\n"


class Recording:
    """What went over the wire and what came back, for who wants to see it; the last of several."""

    __slots__ = ("answer_headers", "body", "head", "is_cut", "reason", "received", "status")

    def __init__(self) -> None:
        self.head = ""
        self.body = b""
        self._forget_answer()

    def _forget_answer(self) -> None:
        self.status = 0
        """0: there was no answer."""
        self.reason = ""
        self.answer_headers: tuple[tuple[bytes, bytes], ...] = ()
        self.received = b""
        self.is_cut = False
        """Whether there was more than was read of the answer."""

    def send(self, head: str, body: bytes) -> None:
        """This is being sent."""
        self.head, self.body = head, body
        self._forget_answer()

    def hear(self, message: RawResponseMessage, content: StreamReader) -> Heard:
        """This is the head of what comes back; the rest is to be read through what is returned."""
        self.status, self.reason, self.answer_headers = message.code, message.reason or "", message.raw_headers
        self.is_cut = not content.at_eof()
        return Heard(content, self)


class Heard:
    """The content of an answer that is recorded while it is read."""

    __slots__ = ("_content", "_recording")

    def __init__(self, content: StreamReader, recording: Recording) -> None:
        self._content = content
        self._recording = recording

    async def readany(self) -> bytes:
        """The next piece; empty at the end."""
        piece, recording = await self._content.readany(), self._recording
        room = limits.PUSH_ANSWER_BYTES_MAX - len(recording.received)
        recording.received += piece[:room]
        recording.is_cut = bool(piece)
        return piece

    def at_eof(self) -> bool:
        """Whether there is nothing more to read."""
        return self._content.at_eof()


class Answer:
    """An answer whose head is there."""

    __slots__ = ("_connection", "_is_sent", "content", "headers", "status")

    def __init__(
        self,
        connection: Connection,
        status: int,
        headers: CIMultiDictProxy[str],
        content: StreamReader | Heard,
        *,
        is_sent: bool,
    ) -> None:
        self._connection = connection
        self._is_sent = is_sent
        self.status = status
        self.headers = headers
        self.content = content

    @property
    def is_complete(self) -> bool:
        """Whether all of it is here, and there is nothing more to read."""
        return self.content.at_eof()

    def close(self) -> None:
        """Give the connection back, for the next push if all was sent and this answer was read to its end."""
        if self._is_sent:
            self._connection.release()
        else:
            self._connection.close()


async def exchange(
    connections: Connections,
    place: Place,
    headers: Mapping[str, str],
    body: bytes,
    recording: Recording | None = None,
) -> Answer:
    """Send a request; returns when the head of its answer is there. Raises what aiohttp raises."""
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    head = f"{place.head}{lines}Content-Length: {len(body)}\r\n\r\n"
    if head.count("\n") != len(headers) + 5 or head.count("\r") != len(headers) + 5:
        raise ValueError("a header has more than one line")
    if recording is not None:
        recording.send(head, body)
    connection = await connections.connect(place.stub, [], _NO_TIMEOUT)
    writing: asyncio.Task[None] | None = None
    try:
        protocol = connection.protocol
        assert protocol is not None
        protocol.set_response_params(
            read_until_eof=True,
            auto_decompress=False,
            read_bufsize=_READ_AHEAD_BYTES,
            max_line_size=_HEAD_LINE_BYTES_MAX,
            max_field_size=_HEAD_LINE_BYTES_MAX,
            max_headers=_HEAD_LINES_MAX,
        )
        transport = protocol.transport
        if transport is None:
            raise aiohttp.ServerDisconnectedError
        if len(body) <= _PIECE_BYTES:
            transport.write(head.encode("ascii") + body)
        else:
            transport.write(head.encode("ascii"))
            writing = asyncio.get_running_loop().create_task(_write_in_pieces(protocol, body))
        while True:
            message, content = await protocol.read()
            if message.code >= 200 or message.code == 101:
                # An answer may come before all was taken that it answers: who refuses a large body need not read it.
                is_taken = writing is None or (writing.done() and message.code < 300)
                is_sent = is_taken and transport.get_write_buffer_size() == 0
                heard = content if recording is None else recording.hear(message, content)
                return Answer(connection, message.code, message.headers, heard, is_sent=is_sent)
    except HttpProcessingError as error:
        connection.close()
        raise aiohttp.ClientResponseError(
            place.stub.request_info, (), status=error.code, message=error.message
        ) from error
    except BaseException:  # Also when it is given up: a connection in the middle of something is of no use.
        connection.close()
        raise
    finally:
        if writing is not None:
            writing.cancel()


async def _write_in_pieces(protocol: ResponseHandler, body: bytes) -> None:
    """Write a large body as fast as it is taken."""
    transport = protocol.transport
    try:
        for at in range(0, len(body), _PIECE_BYTES):
            await protocol._drain_helper()
            if transport is not None:
                transport.write(body[at : at + _PIECE_BYTES])
    except OSError:
        # Whoever waits for the answer hears of it.
        return
