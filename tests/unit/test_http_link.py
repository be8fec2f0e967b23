"""The links over HTTP against a server that says whatever it is told to: answers, rubbish, nothing."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from pregon.client import AsyncClient, Client, http_link
from pregon.client.destination import find_destination
from pregon.client.http_link import HttpLink
from pregon.client.http_talk import FRAMES, PROBLEM, find_endpoint
from pregon.errors import (
    AnswerMalformed,
    Forbidden,
    HubBusy,
    HubUnreachable,
    RateLimited,
    Unauthorized,
)
from pregon.wire import commands as c
from pregon.wire.commands import Command
from pregon.wire.frames import ANSWER_BIT, ERROR, encode_prelude

SOON_S = 10.0
HANG, HANG_UP = b"hang", b"hang up"
"""Says nothing; ends the connection, after what was said before it."""
Script = Callable[[int, bytes], bytes]


def http(body: bytes, status: str = "200 OK", media_type: str = FRAMES, more: str = "") -> bytes:
    """An answer of HTTP."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


def joined(*frames: bytes) -> bytes:
    """Frames as a body has them."""
    return b"".join(struct.pack(">I", len(frame)) + frame for frame in frames)


def pong(request_id: int) -> bytes:
    """The frames that answer a ping."""
    return joined(encode_prelude(Command.PING | ANSWER_BIT, request_id), c.encode_header(c.Pong(version="7")))


def problem(**fields: Any) -> bytes:
    return msgspec.json.encode(fields)


class Server:
    """Answers each request as the script says, which gets the number of the request and its body."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://{}:{}".format(*self._listener.getsockname())
        self.connections: list[socket.socket] = []
        self.requests: list[bytes] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as stream:
            while line := stream.readline():
                lengths = [0]
                while line.strip():
                    if line.lower().startswith(b"content-length:"):
                        lengths.append(int(line.split(b":")[1]))
                    line = stream.readline()
                body = stream.read(lengths[-1])
                with self._lock:
                    self.requests.append(body)
                    number = len(self.requests)
                answer = self._script(number, body)
                if answer == HANG:
                    time.sleep(SOON_S)
                    return
                connection.sendall(answer.removesuffix(HANG_UP))
                if answer.endswith(HANG_UP) or b"\r\nContent-Length" not in answer:
                    return

    def close(self) -> None:
        self._listener.close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def serve() -> Iterator[Callable[[Script], Server]]:
    made: list[Server] = []

    def make(script: Script) -> Server:
        made.append(Server(script))
        return made[-1]

    yield make
    for server in made:
        server.close()


def request_id(body: bytes) -> int:
    return int(struct.unpack_from(">Q", body, 4 + 8)[0])


def ping_both(url: str, **options: Any) -> list[Any]:
    """What a ping of each client gives: its version, or its error."""

    async def ping() -> str:
        async with AsyncClient(url, **options) as client:
            return (await client.ping()).version

    def blocking() -> str:
        with Client(url, **options) as client:
            return client.ping().version

    met: list[Any] = []
    for work in (blocking, lambda: asyncio.run(ping())):
        try:
            met.append(work())
        except Exception as error:  # Whatever it is, the test compares it.
            met.append(error)
    return met


# What comes back.


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (http(problem(code="unauthorized", detail="no key"), "401 Unauthorized", PROBLEM), Unauthorized, "no key"),
        (http(problem(code="forbidden", detail="not you"), "403 Forbidden", PROBLEM), Forbidden, "not you"),
        (http(b"<html>not found</html>", "404 Not Found", "text/html"), AnswerMalformed, "404 and text/html"),
        (http(b"<html>welcome</html>", media_type="text/html"), AnswerMalformed, "this is not a hub"),
        (http(b"{}", "400 Bad Request", PROBLEM), AnswerMalformed, "400"),
        (http(b"\xff\xfe{", "400 Bad Request", PROBLEM), AnswerMalformed, "400"),
        (http(b"", "302 Found", "", "Location: /login\r\n"), AnswerMalformed, "302"),
        (http(b""), AnswerMalformed, "not those of this request"),
        (http(b"\0\0"), AnswerMalformed, "middle of a length"),
        (http(b"\0\0\0\x10abc"), AnswerMalformed, "middle of a frame"),
        (http(joined(b"PRG", b"x")), AnswerMalformed, "not those of this request"),
        (http(pong(999)), AnswerMalformed, "not those of this request"),
        (http(joined(encode_prelude(Command.PING | ANSWER_BIT, 1), b"\xc1")), AnswerMalformed, "cannot be read"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", AnswerMalformed, "not an answer of HTTP"),
        (b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nx", AnswerMalformed, "not an answer"),
        (b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nto the end", AnswerMalformed, "text/plain"),
    ],
)
def test_what_is_not_an_answer_to_the_request_is_raised_as_what_it_is(
    serve: Callable[[Script], Server], answer: bytes, error: type[Exception], words: str
) -> None:
    server = serve(lambda number, body: answer)

    met = ping_both(server.url)

    assert [type(one) for one in met] == [error, error], met
    assert all(words in str(one) for one in met), met
    assert len(server.requests) == 2, "it was asked once by each"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (http(b"<html>", "502 Bad Gateway", "text/html"), HubUnreachable),
        (http(b"", "503 Service Unavailable", ""), HubBusy),
        (http(b"slow down", "429 Too Many Requests", "text/plain"), RateLimited),
        (http(b"<html>", "504 Gateway Timeout", "text/html"), HubUnreachable),
        (http(problem(code="hub_busy", detail="full"), "503 Service Unavailable", PROBLEM), HubBusy),
        (http(b"cut off")[:-3] + HANG_UP, HubUnreachable),
        (HANG_UP, HubUnreachable),
    ],
)
def test_not_now_is_asked_again_until_it_is_answered_or_time_is_up(
    serve: Callable[[Script], Server], answer: bytes, error: type[Exception]
) -> None:
    patient = serve(lambda number, body: http(pong(request_id(body))) if number % 4 == 0 else answer)
    never = serve(lambda number, body: answer)

    answered = ping_both(patient.url)
    met = ping_both(never.url, timeout_ms=200)

    assert answered == ["7", "7"]
    assert [type(one) for one in met] == [error, error], met
    assert len(never.requests) > 4


def test_an_error_without_a_number_answers_the_request_that_met_with_it(serve: Callable[[Script], Server]) -> None:
    refusal = joined(encode_prelude(ERROR, 0), c.encode_header(c.Error(code="forbidden", message="not so")))
    server = serve(lambda number, body: http(refusal))

    met = ping_both(server.url)

    assert [type(one) for one in met] == [Forbidden, Forbidden]


# Connections.


def test_a_connection_that_was_closed_meanwhile_is_replaced_without_a_word(serve: Callable[[Script], Server]) -> None:
    server = serve(lambda number, body: http(pong(request_id(body))))
    with Client(server.url) as client:
        client.ping()
        server.connections[0].shutdown(socket.SHUT_RDWR)

        version = client.ping().version

    assert version == "7"
    assert len(server.connections) == 2


def test_a_request_whose_kept_connection_breaks_goes_again_at_once_over_another(
    serve: Callable[[Script], Server],
) -> None:
    server = serve(lambda number, body: HANG_UP if number == 2 else http(pong(request_id(body))))
    link = HttpLink(find_endpoint(find_destination(server.url)))

    answers = []
    for number in (1, 2):
        link.send([encode_prelude(Command.PING, number), b"\x80"])
        answers.append(link.receive(SOON_S * 1_000))
    link.close()

    assert [(one.id, one.is_error) for one in answers if one] == [(1, False), (2, False)]
    assert len(server.requests) == 3


def test_something_said_behind_an_answer_is_nobodys_answer(serve: Callable[[Script], Server]) -> None:
    server = serve(lambda number, body: http(pong(request_id(body))) + http(pong(request_id(body) + 1)))

    async def ping_twice() -> list[str]:
        async with AsyncClient(server.url) as client:
            return [(await client.ping()).version for _ in range(2)]

    with Client(server.url) as client:
        told = [client.ping().version for _ in range(2)]
    told += asyncio.run(ping_twice())

    assert told == ["7"] * 4
    assert len(server.connections) == 4, "none was used again"


def test_connections_are_not_more_than_allowed_and_used_again(serve: Callable[[Script], Server]) -> None:
    server = serve(lambda number, body: http(pong(request_id(body))))
    link = HttpLink(find_endpoint(find_destination(server.url)), connections_max=3)

    for number in range(1, 51):
        link.send([encode_prelude(Command.PING, number), b"\x80"])
    answers = [link.receive(SOON_S * 1_000) for _ in range(50)]
    link.close()

    assert sorted(one.id for one in answers if one) == list(range(1, 51))
    assert len(server.connections) <= 3


def test_with_one_connection_requests_arrive_in_order(serve: Callable[[Script], Server]) -> None:
    server = serve(lambda number, body: http(pong(request_id(body))))
    link = HttpLink(find_endpoint(find_destination(server.url)), connections_max=1)

    for number in range(1, 51):
        link.send([encode_prelude(Command.PING, number), b"\x80"])
    answers = [link.receive(SOON_S * 1_000) for _ in range(50)]
    link.close()

    assert [one.id for one in answers if one] == list(range(1, 51))
    assert [request_id(body) for body in server.requests] == list(range(1, 51))


def test_a_request_that_is_forgotten_gives_its_connection_up(serve: Callable[[Script], Server]) -> None:
    server = serve(lambda number, body: HANG if request_id(body) == 1 else http(pong(request_id(body))))
    link = HttpLink(find_endpoint(find_destination(server.url)), connections_max=1)
    link.send([encode_prelude(Command.PING, 1), b"\x80"], wait_ms=60_000)
    assert link.receive(100) is None

    link.forget(1)
    link.send([encode_prelude(Command.PING, 2), b"\x80"])
    answer = link.receive(SOON_S * 1_000 / 2)
    link.close()

    assert answer is not None
    assert (answer.id, answer.is_error) == (2, False)


def test_a_closed_link_leaves_no_thread_behind(serve: Callable[[Script], Server]) -> None:
    server = serve(lambda number, body: HANG)
    link = HttpLink(find_endpoint(find_destination(server.url)))
    for number in (1, 2, 3):
        link.send([encode_prelude(Command.PING, number), b"\x80"], wait_ms=60_000)
    assert link.receive(100) is None
    threads = [thread for thread in threading.enumerate() if thread.name == "pregon-http-link"]

    link.close()
    for thread in threads:
        thread.join(SOON_S / 2)

    assert len(threads) >= 3
    assert not any(thread.is_alive() for thread in threads)


def test_an_unused_connection_is_closed_and_the_next_request_opens_another(
    serve: Callable[[Script], Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_link, "IDLE_S_MAX", 0.01)
    server = serve(lambda number, body: http(pong(request_id(body))))

    with Client(server.url) as client:
        for count in (1, 2, 3):
            client.ping()
            for thread in [one for one in threading.enumerate() if one.name == "pregon-http-link"]:
                thread.join(SOON_S)
            assert len(server.connections) == count
