"""Pushes to web services that hang, drip, never end, speak no HTTP or mean harm: each is an outcome, in time."""

from __future__ import annotations

import asyncio
import gzip
import time

import pytest

from pregon.delivery.outcome import DELIVERED, REFUSED, UNREACHABLE, Outcome
from pregon.limits import BODY_BYTES_MAX
from pregon.model.catalog import CLOUDEVENTS, FORMATS, RAW, SOAP
from pregon.testing import Receiver, Reply

from .attempts import SHORT_MS, message, posting, push, run, serving, target


def test_what_a_server_calls_its_status_is_not_repeated() -> None:
    with Receiver() as receiver:
        receiver.reply = Reply(raw=b"HTTP/1.1 503 \x1b[31mpwned\r\nContent-Length: 0\r\n\r\n")

        assert push(receiver.url).reason == "HTTP 503 Service Unavailable"


@pytest.mark.parametrize("format", FORMATS)
def test_a_subscriber_that_hangs_is_given_up_in_its_time(format: str) -> None:
    with Receiver() as receiver:
        receiver.reply = Reply.hang()
        started_s = time.monotonic()

        outcome = push(receiver.url, format, time_limit_ms=SHORT_MS)

        assert (outcome.kind, outcome.reason) == (UNREACHABLE, f"no answer in {SHORT_MS} ms")
        assert SHORT_MS * 0.9 <= outcome.latency_ms < 2 * SHORT_MS
        assert time.monotonic() - started_s < 3


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(200, b"x" * 1_000, drip_s=0.01), id="head byte by byte"),
        pytest.param(Reply.hang(b"HTTP/1.1 200 OK\r\nX: "), id="half a head"),
        pytest.param(Reply.hang(b"HTTP/1.1 100 Continue\r\n\r\n" * 100), id="always going on"),
    ],
)
@pytest.mark.parametrize("format", [RAW, SOAP])
def test_a_head_that_does_not_come_whole_is_no_answer(format: str, reply: Reply) -> None:
    with Receiver() as receiver:
        receiver.reply = reply

        outcome = push(receiver.url, format, time_limit_ms=SHORT_MS)

        assert (outcome.kind, outcome.reason) == (UNREACHABLE, f"no answer in {SHORT_MS} ms")


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply.hang(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), id="half a body"),
        pytest.param(Reply.endless(), id="endless"),
        pytest.param(Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), id="torn"),
        pytest.param(Reply(raw=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf"), id="torn chunks"),
    ],
)
def test_of_an_answer_that_does_not_come_whole_the_status_counts_but_for_soap(reply: Reply) -> None:
    with Receiver() as receiver:
        receiver.reply = reply
        started_s = time.monotonic()

        raw, event = push(receiver.url, RAW), push(receiver.url, CLOUDEVENTS)
        took_s = time.monotonic() - started_s
        soap = push(receiver.url, SOAP, time_limit_ms=SHORT_MS)

        assert (raw.kind, event.kind) == (DELIVERED, DELIVERED)
        assert took_s < 4
        assert soap.kind == (REFUSED if reply.manner == "endless" else UNREACHABLE)


def test_the_rest_of_an_answer_is_waited_for_no_longer_than_the_time_limit() -> None:
    with Receiver() as receiver:
        receiver.reply = Reply.hang(b"HTTP/1.1 500 Oh\r\nContent-Length: 10\r\n\r\nhalf")
        started_s = time.monotonic()

        raw = push(receiver.url, RAW, time_limit_ms=SHORT_MS)
        soap = push(receiver.url, SOAP, time_limit_ms=SHORT_MS)

        assert (raw.kind, raw.status) == (REFUSED, 500)
        assert (soap.kind, soap.status) == (REFUSED, 500)
        assert time.monotonic() - started_s < 3


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"", "closed without an answer"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the answer is not HTTP"),
        (b"\x16\x03\x01\x00\xa5\x01\x00", "the answer is not HTTP"),
        (b"HTTP/1.1 abc OK\r\n\r\n", "the answer is not HTTP"),
        (b"HTTP/1.1 99999 OK\r\n\r\n", "the answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "the answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "the answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "the answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n", "the head of the answer is too large"),
        (b"HTTP/1.1 200 OK\r\n" + b"x" * 100_000 + b": 1\r\n\r\n", "the head of the answer is too large"),
        (b"HTTP/1.1 200 " + b"x" * 100_000 + b"\r\n\r\n", "the head of the answer is too large"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000 + b"\r\n", "the head of the answer is too large"),
    ],
)
@pytest.mark.parametrize("format", [RAW, SOAP])
def test_what_is_no_answer_of_http_is_unreachable(format: str, sent: bytes, reason: str) -> None:
    with Receiver() as receiver:
        receiver.reply = Reply(raw=sent) if sent else Reply.close()

        outcome = push(receiver.url, format)

        assert (outcome.kind, outcome.reason, outcome.status) == (UNREACHABLE, reason, 0)


def test_a_head_without_end_is_cut_off_before_the_time_is_up() -> None:
    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"X-More: yes\r\n" * 100)
            await writer.drain()

    async def work() -> Outcome:
        async with serving(meet) as url, posting() as poster:
            return await poster.attempt(target(url, time_limit_ms=20_000), message(), attempt=1)

    started_s = time.monotonic()

    outcome = run(work())

    assert (outcome.kind, outcome.reason) == (UNREACHABLE, "the head of the answer is too large")
    assert time.monotonic() - started_s < 5


def test_a_server_that_only_ever_says_go_on_is_given_up() -> None:
    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 50)
            await writer.drain()
            await asyncio.sleep(0.001)

    async def work() -> Outcome:
        async with serving(meet) as url, posting() as poster:
            return await poster.attempt(target(url, time_limit_ms=SHORT_MS), message(), attempt=1)

    outcome = run(work())

    assert (outcome.kind, outcome.reason) == (UNREACHABLE, f"no answer in {SHORT_MS} ms")


@pytest.mark.parametrize("format", FORMATS)
def test_informal_answers_before_the_real_one_are_passed_over(format: str) -> None:
    with Receiver() as receiver:
        early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
        receiver.reply = Reply(raw=early + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        assert push(receiver.url, format).kind == DELIVERED


def test_a_server_that_would_rather_speak_another_protocol_is_unreachable() -> None:
    with Receiver() as receiver:
        head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        receiver.reply = Reply.hang(head + b"x" * 100_000)

        outcome = push(receiver.url, time_limit_ms=2_000)

        assert (outcome.kind, outcome.status) == (UNREACHABLE, 101)


@pytest.mark.parametrize("format", FORMATS)
def test_chunked_answers_are_understood(format: str) -> None:
    with Receiver() as receiver:
        chunks = b"5\r\nhello\r\n4;x=y\r\n you\r\n0\r\nTrailer: x\r\n\r\n"
        receiver.reply = Reply(raw=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)

        assert push(receiver.url, format).kind == DELIVERED


@pytest.mark.parametrize("format", FORMATS)
def test_an_answer_that_ends_with_its_connection_is_one(format: str) -> None:
    with Receiver() as receiver:
        receiver.reply = Reply(raw=b"HTTP/1.0 200 OK\r\n\r\nhello")

        assert push(receiver.url, format).kind == DELIVERED


@pytest.mark.parametrize("format", FORMATS)
def test_a_bomb_is_never_unpacked(format: str) -> None:
    bomb = gzip.compress(b"\x00" * 40_000_000)
    with Receiver() as receiver:
        receiver.reply = Reply(200, bomb, {"Content-Encoding": "gzip"})

        outcome = push(receiver.url, format)

        assert outcome.kind == DELIVERED
        assert receiver.received[0].headers["accept-encoding"] == "identity"


def test_a_subscriber_that_never_reads_is_given_up_with_its_connection() -> None:
    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(30)

    async def work() -> tuple[Outcome, int]:
        async with serving(meet, has_small_buffer=True) as url, posting() as poster:
            body = b"x" * BODY_BYTES_MAX
            outcome = await poster.attempt(target(url, time_limit_ms=SHORT_MS), message(body), attempt=1)
            await asyncio.sleep(0.1)
            return outcome, poster.connections_open

    outcome, left = run(work())

    assert (outcome.kind, outcome.reason) == (UNREACHABLE, f"no answer in {SHORT_MS} ms")
    assert left == 0


def test_an_answer_before_all_was_read_counts_and_its_connection_is_not_used_again() -> None:
    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal met
        met += 1
        await reader.readuntil(b"\r\n\r\n")
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await asyncio.sleep(30)

    async def work() -> list[Outcome]:
        async with serving(meet) as url, posting() as poster:
            large = message(b"x" * BODY_BYTES_MAX)
            return [await poster.attempt(target(url), large, attempt=1) for _ in range(2)]

    met = 0

    outcomes = run(work())

    assert [(one.kind, one.status) for one in outcomes] == [(REFUSED, 413)] * 2
    assert met == 2


def test_one_subscriber_that_hangs_holds_up_nobody_else() -> None:
    async def work(bad: Receiver, good: Receiver) -> list[Outcome]:
        async with posting() as poster:
            hanging = [
                asyncio.create_task(poster.attempt(target(bad.url, time_limit_ms=3_000), message(), attempt=1))
                for _ in range(100)
            ]
            await asyncio.to_thread(bad.wait_for, 100)
            outcomes = [await poster.attempt(target(good.url), message(seq=seq), attempt=1) for seq in range(1, 51)]
            assert not any(task.done() for task in hanging)
            for task in hanging:
                task.cancel()
            await asyncio.gather(*hanging, return_exceptions=True)
            return outcomes

    with Receiver() as bad, Receiver() as good:
        bad.reply = Reply.hang()

        outcomes = run(work(bad, good))

        assert {outcome.kind for outcome in outcomes} == {DELIVERED}


def test_cookies_are_not_even_read() -> None:
    async def work(receiver: Receiver) -> list[Outcome]:
        async with posting() as poster:
            return [await poster.attempt(target(receiver.url), message(), attempt=1) for _ in range(2)]

    cookies = b"".join(b"Set-Cookie: a%d=%b\r\n" % (n, b'"' + b"\\0" * 4_000) for n in range(90))
    with Receiver() as receiver:
        head = b"HTTP/1.1 200 OK\r\nSet-Cookie: plain=1; Path=/\r\n" + cookies
        receiver.reply = Reply(raw=head + b"Content-Length: 0\r\n\r\n")
        started_s = time.monotonic()

        outcomes = run(work(receiver))

        assert {one.kind for one in outcomes} == {DELIVERED}
        assert time.monotonic() - started_s < 5
        assert all("cookie" not in one.headers for one in receiver.received)
