"""Attempts of pushes over real sockets: what an answer means, and connections that are kept."""

from __future__ import annotations

import asyncio
import time

import pytest

from pregon.delivery import connections
from pregon.delivery.outcome import DELIVERED, GONE, REFUSED, UNREACHABLE, Outcome
from pregon.limits import BODY_BYTES_MAX, PUSH_ANSWER_BYTES_MAX, PUSH_DELAY_MS_MAX
from pregon.model.catalog import CLOUDEVENTS, FORMATS, RAW, SOAP
from pregon.testing import Receiver, Reply

from .attempts import message, posting, push, run, serving, target


@pytest.mark.parametrize("format", FORMATS)
def test_a_push_that_is_answered_with_200_is_delivered(format: str) -> None:
    with Receiver() as receiver:
        outcome = push(receiver.url + "novedades?a=%2Fb+c", format)

        (received,) = receiver.received
        assert (outcome.kind, outcome.reason, outcome.status) == (DELIVERED, "HTTP 200 OK", 200)
        assert (received.method, received.path) == ("POST", "/novedades?a=%2Fb+c")
        assert b"<n/>" in received.body
        assert received.headers["user-agent"].startswith("pregon/")
        assert received.headers["content-length"] == str(len(received.body))
        assert "cookie" not in received.headers


@pytest.mark.parametrize(
    ("reply", "kind", "reason", "retry_after_ms"),
    [
        (Reply(204), DELIVERED, "HTTP 204 No Content", None),
        (Reply(202, b"queued"), DELIVERED, "HTTP 202 Accepted", None),
        (Reply(400, b"no"), REFUSED, "HTTP 400 Bad Request", None),
        (Reply(410), GONE, "HTTP 410 Gone", None),
        (Reply(429, headers={"Retry-After": "7"}), UNREACHABLE, "HTTP 429 Too Many Requests", 7_000),
        (Reply(503, headers={"Retry-After": "9" * 30}), UNREACHABLE, "HTTP 503 Service Unavailable", PUSH_DELAY_MS_MAX),
        (Reply(503, headers={"Retry-After": "Wed, 01 Jan 2020 00:00:00 GMT"}), UNREACHABLE, "HTTP 503 S", 0),
        (Reply(500), REFUSED, "HTTP 500 Internal Server Error", None),
        (Reply(302, headers={"Location": "/x"}), REFUSED, "HTTP 302 Found: redirects are not followed", None),
        (Reply(307, headers={"Location": "/x"}), REFUSED, "HTTP 307 Temporary Redirect: redirects are not", None),
    ],
)
@pytest.mark.parametrize("format", FORMATS)
def test_the_status_of_an_answer_decides(
    format: str, reply: Reply, kind: str, reason: str, retry_after_ms: int | None
) -> None:
    with Receiver() as receiver:
        receiver.reply = reply

        outcome = push(receiver.url, format)

        assert (outcome.kind, outcome.status, outcome.retry_after_ms) == (kind, reply.status, retry_after_ms)
        assert outcome.reason.startswith(reason)
        assert len(receiver.received) == 1


@pytest.mark.parametrize("status", [200, 500, 400])
def test_a_soap_fault_is_a_refusal_that_says_why(status: int) -> None:
    with Receiver() as receiver:
        receiver.reply = Reply.fault("no quedó\n lugar", status)

        soap, raw = push(receiver.url, SOAP), push(receiver.url, RAW)

        assert soap.kind == REFUSED
        assert soap.reason.endswith(": SOAP fault: no quedó lugar")
        assert raw.kind == (DELIVERED if status == 200 else REFUSED)


def test_a_fault_does_not_make_an_unreachable_endpoint_a_refusal() -> None:
    with Receiver() as receiver:
        receiver.reply = Reply.fault("in a moment", 503)

        assert push(receiver.url, SOAP).kind == UNREACHABLE


@pytest.mark.parametrize("body", [b"OK", b"<html/>", b"<a", b"\x00\xff", b"Fault"])
def test_a_soap_answer_that_is_no_envelope_is_a_delivery(body: bytes) -> None:
    with Receiver() as receiver:
        receiver.reply = Reply(200, body)

        assert push(receiver.url, SOAP).kind == DELIVERED


def test_a_soap_answer_may_have_just_so_many_bytes() -> None:
    with Receiver() as receiver:
        receiver.then(Reply(200, b"x" * PUSH_ANSWER_BYTES_MAX), Reply(200, b"x" * (PUSH_ANSWER_BYTES_MAX + 1)))

        enough, too_much = push(receiver.url, SOAP), push(receiver.url, SOAP)

        assert enough.kind == DELIVERED
        assert (too_much.kind, too_much.status) == (REFUSED, 200)
        assert "more than 65536 bytes" in too_much.reason


def test_connections_are_used_again_one_for_each_push_at_once() -> None:
    async def work(receiver: Receiver) -> None:
        async with posting() as poster:
            for seq in range(1, 21):
                outcome = await poster.attempt(target(receiver.url, SOAP), message(seq=seq), attempt=1)
                assert outcome.kind == DELIVERED
            assert receiver.connections == 1
            pushes = [poster.attempt(target(receiver.url), message(seq=seq), attempt=1) for seq in range(21, 31)]
            await asyncio.gather(*pushes)
            assert receiver.connections <= 10

    with Receiver() as receiver:
        receiver.reply = Reply(200, b"thank you", wait_s=0.02)

        run(work(receiver))

        assert len(receiver.received) == 30


def test_an_answer_that_comes_late_after_its_head_still_leaves_the_connection_for_the_next_push() -> None:
    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while await reader.readuntil(b"<n/>"):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
            await asyncio.sleep(0.1)
            writer.write(b"done")

    async def work() -> None:
        async with serving(meet) as url, posting() as poster:
            for _ in range(3):
                outcome = await poster.attempt(target(url), message(b"<n/>"), attempt=1)
                assert outcome.kind == DELIVERED
                assert outcome.latency_ms < 100

    connections = 0

    run(work())

    assert connections == 1


def test_a_kept_connection_that_the_subscriber_closed_is_no_failure() -> None:
    async def work(receiver: Receiver) -> list[str]:
        async with posting() as poster:
            kinds = []
            for seq in range(1, 6):
                kinds.append((await poster.attempt(target(receiver.url), message(seq=seq), attempt=1)).kind)
                await asyncio.to_thread(receiver.hang_up)
            return kinds

    with Receiver() as receiver:
        assert run(work(receiver)) == [DELIVERED] * 5


def test_a_subscriber_that_closes_a_kept_connection_on_each_request_gets_one_more_try_and_then_fails() -> None:
    async def work(receiver: Receiver) -> tuple[Outcome, Outcome]:
        async with posting() as poster:
            first = await poster.attempt(target(receiver.url), message(), attempt=1)
            receiver.reply = Reply.close()
            return first, await poster.attempt(target(receiver.url), message(), attempt=1)

    with Receiver() as receiver:
        first, second = run(work(receiver))

        assert (first.kind, second.kind, second.reason) == (DELIVERED, UNREACHABLE, "closed without an answer")
        assert len(receiver.received) == 3


def test_idle_connections_are_bounded_and_those_that_are_kept_are_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PUSH_IDLE_CONNECTIONS_MAX", 3)

    async def work(receiver: Receiver) -> list[tuple[int, int]]:
        counts = []
        async with posting() as poster:
            for _ in range(4):
                pushes = [poster.attempt(target(receiver.url), message(seq=seq), attempt=1) for seq in range(1, 11)]
                outcomes = await asyncio.gather(*pushes)
                assert {outcome.kind for outcome in outcomes} == {DELIVERED}
                await asyncio.sleep(0.1)
                counts.append((receiver.connections, poster.connections_open))
        return counts

    with Receiver() as receiver:
        receiver.reply = Reply(wait_s=0.2)

        counts = run(work(receiver))

        assert counts == [(10, 3), (17, 3), (24, 3), (31, 3)]


def test_idle_connections_are_closed_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "IDLE_S_MAX", 0.2)

    async def work(receiver: Receiver) -> bool:
        async with posting() as poster:
            await poster.attempt(target(receiver.url), message(), attempt=1)
            deadline = time.monotonic() + 5
            while receiver.open_connections and time.monotonic() < deadline:
                await asyncio.sleep(0.05)
            return receiver.open_connections == 0

    with Receiver() as receiver:
        assert run(work(receiver))


@pytest.mark.parametrize("format", FORMATS)
def test_the_largest_message_arrives(format: str) -> None:
    with Receiver() as receiver:
        outcome = push(receiver.url, format, body=b"x" * BODY_BYTES_MAX)

        assert outcome.kind == DELIVERED
        assert len(receiver.received[0].body) >= BODY_BYTES_MAX


def test_an_event_without_data_is_posted_without_a_content_type() -> None:
    with Receiver() as receiver:
        outcome = push(receiver.url, CLOUDEVENTS, body=b"")

        (received,) = receiver.received
        assert outcome.kind == DELIVERED
        assert received.headers["content-length"] == "0"
        assert "content-type" not in received.headers
        assert received.headers["ce-type"] == "pregon.message"


def test_nobody_there_is_unreachable() -> None:
    with Receiver() as receiver:
        url = receiver.url

    outcome = push(url)

    assert (outcome.kind, outcome.reason, outcome.status) == (UNREACHABLE, "connection refused", 0)


@pytest.mark.parametrize("url", ["http://no-such-host.invalid/", "http://" + "a" * 64 + ".example/", "http://a..b/"])
def test_a_name_that_nobody_has_is_unreachable(url: str) -> None:
    outcome = push(url)

    assert outcome.kind == UNREACHABLE
    assert "could not be looked up" in outcome.reason or "no URL" in outcome.reason


@pytest.mark.parametrize(
    "url", ["", "ftp://127.0.0.1/", "http://", "http://[::1/", "nonsense", "http://h:99999/", "//x/"]
)
def test_an_endpoint_that_is_no_url_is_unreachable(url: str) -> None:
    outcome = push(url)

    assert (outcome.kind, outcome.reason) == (UNREACHABLE, "the endpoint is no URL that a push can go to")


def test_a_message_that_cannot_be_written_is_refused() -> None:
    with Receiver() as receiver:
        outcome = push(receiver.url, "morse")

        assert outcome.kind == REFUSED
        assert "could not write" in outcome.reason
        assert receiver.received == []


def test_a_push_can_be_cancelled_and_the_next_one_goes_on() -> None:
    async def work(receiver: Receiver) -> Outcome:
        async with posting() as poster:
            under_way = asyncio.create_task(poster.attempt(target(receiver.url), message(), attempt=1))
            await asyncio.to_thread(receiver.wait_for, 1)
            under_way.cancel()
            with pytest.raises(asyncio.CancelledError):
                await under_way
            return await poster.attempt(target(receiver.url), message(), attempt=2)

    with Receiver() as receiver:
        receiver.then(Reply.hang())

        assert run(work(receiver)).kind == DELIVERED


def test_after_the_end_nothing_is_pushed() -> None:
    async def work(receiver: Receiver) -> Outcome:
        async with posting() as poster:
            pass
        return await poster.attempt(target(receiver.url), message(), attempt=1)

    with Receiver() as receiver:
        assert run(work(receiver)).kind == UNREACHABLE
        assert receiver.received == []


def test_closing_ends_the_pushes_under_way() -> None:
    async def work(receiver: Receiver) -> Outcome:
        async with posting() as poster:
            under_way = asyncio.create_task(poster.attempt(target(receiver.url), message(), attempt=1))
            await asyncio.to_thread(receiver.wait_for, 1)
            await poster.close()
            return await under_way

    with Receiver() as receiver:
        receiver.reply = Reply.hang()

        assert run(work(receiver)).kind == UNREACHABLE


@pytest.mark.parametrize(("rest", "path"), [("", "/"), ("?a=b", "/?a=b"), ("/a%2fb?c=%7E", "/a%2fb?c=%7E")])
def test_an_endpoint_is_posted_to_as_it_is_written(rest: str, path: str) -> None:
    with Receiver() as receiver:
        outcome = push(receiver.url.removesuffix("/") + rest)

        assert (outcome.kind, receiver.received[0].path) == (DELIVERED, path)
