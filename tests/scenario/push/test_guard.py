"""Pushes that would go where they may not: names that change their mind, odd spellings, redirects; and TLS."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence

import pytest
from aiohttp.abc import ResolveResult

from pregon.delivery import connections
from pregon.delivery.outcome import DELIVERED, REFUSED, UNREACHABLE, Outcome
from pregon.model.catalog import FORMATS, RAW, SOAP
from pregon.testing import Receiver, Reply

from ..test_tls_door import Authority
from .attempts import HERE, OUTSIDE, SHORT_MS, message, port_of, posting, push, run, serving, target, twins


class Names:
    """Answers for every name what it was told: one answer after the other, and the last one for ever."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: Sequence[str]) -> None:
        self.asked = 0
        self._answers = itertools.chain(answers, itertools.repeat(answers[-1]))
        monkeypatch.setattr(connections, "_look_up", self._look_up)

    def _look_up(self, host: str, port: int, family: int) -> list[ResolveResult]:
        self.asked += 1
        return [
            ResolveResult(hostname=host, host=address, port=port, family=0, proto=0, flags=0)
            for address in next(self._answers)
        ]


def follow(url: str, format: str = RAW, *, allow: str = HERE, time_limit_ms: int = 5_000) -> Outcome:
    """One attempt of a poster that may follow redirects."""

    async def work() -> Outcome:
        async with posting(allow, may_redirect=True) as poster:
            return await poster.attempt(target(url, format, time_limit_ms), message(), attempt=1)

    return run(work())


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "127.1", "0x7f.1", "0x7f000001", "2130706433", "017700000001", "127.0.0.1."]
)
def test_this_machine_is_not_pushed_to_however_it_is_spelled(host: str) -> None:
    with Receiver() as receiver:
        outcome = push(f"http://{host}:{port_of(receiver)}/", allow="")

        assert outcome.kind == UNREACHABLE
        assert receiver.connections == 0


def test_the_reason_says_which_address_is_forbidden_and_what_would_allow_it() -> None:
    with Receiver() as receiver:
        outcome = push(receiver.url, allow="10.0.0.0/8")

        assert outcome.reason == "127.0.0.1 is a loopback address, which push_allow does not allow"


@pytest.mark.parametrize("host", ["[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"])
def test_nor_in_ipv6(host: str) -> None:
    with Receiver("::1") as six, Receiver("127.0.0.1") as four:
        outcomes = [push(f"http://{host}:{port_of(one)}/", allow="") for one in (six, four)]

        assert [(one.kind, "a loopback address" in one.reason) for one in outcomes] == [(UNREACHABLE, True)] * 2
        assert (six.connections, four.connections) == (0, 0)


def test_ipv6_is_spoken_where_it_is_allowed() -> None:
    with Receiver("::1") as receiver:
        outcome = push(receiver.url, allow="::1")

        assert outcome.kind == DELIVERED
        assert receiver.received[0].headers["host"] == f"[::1]:{port_of(receiver)}"


def test_a_host_that_is_allowed_by_name_is_pushed_to_wherever_it_is() -> None:
    with Receiver() as receiver:
        by_name = push(f"http://localhost:{port_of(receiver)}/", allow="localhost")
        by_address = push(receiver.url, allow="localhost")

        assert (by_name.kind, by_address.kind) == (DELIVERED, UNREACHABLE)


def test_a_name_that_answers_a_good_address_first_and_this_machine_then_does_not_get_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "_NAMES_KEPT_S", 0)

    async def work(good: Receiver) -> list[Outcome]:
        async with posting(OUTSIDE) as poster:
            outcomes = []
            for seq in range(1, 4):
                endpoint = f"http://rebinding.example:{port_of(good)}/"
                outcomes.append(await poster.attempt(target(endpoint), message(seq=seq), attempt=1))
                await asyncio.to_thread(good.hang_up)
                await asyncio.sleep(0.05)
            return outcomes

    with twins() as (good, inside):
        names = Names(monkeypatch, [OUTSIDE], ["127.0.0.1"])

        outcomes = run(work(good))

        assert [one.kind for one in outcomes] == [DELIVERED, UNREACHABLE, UNREACHABLE]
        assert outcomes[1].reason == "127.0.0.1 is a loopback address, which push_allow does not allow"
        assert (len(good.received), inside.connections, names.asked) == (1, 0, 3)


@pytest.mark.parametrize(
    "answers", [["127.0.0.1", OUTSIDE], [OUTSIDE, "127.0.0.1"], ["::1", "127.0.0.1", "10.0.0.1", OUTSIDE]]
)
def test_of_a_name_with_good_and_forbidden_addresses_only_the_good_ones_are_connected_to(
    monkeypatch: pytest.MonkeyPatch, answers: list[str]
) -> None:
    with twins() as (good, inside):
        Names(monkeypatch, answers)

        outcomes = [push(f"http://both.example:{port_of(good)}/", allow=OUTSIDE) for _ in range(3)]

        assert {one.kind for one in outcomes} == {DELIVERED}
        assert (len(good.received), inside.connections) == (3, 0)


def test_a_forbidden_address_is_not_tried_when_the_good_one_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with Receiver("127.0.0.1") as inside:
        Names(monkeypatch, [OUTSIDE, "127.0.0.1", "::1"])

        outcome = push(f"http://both.example:{port_of(inside)}/", allow=OUTSIDE)

        assert outcome.kind == UNREACHABLE
        assert inside.connections == 0


def test_a_name_with_forbidden_addresses_only_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    Names(monkeypatch, ["10.0.0.1", "::1", "169.254.169.254"])

    outcome = push("http://inside.example/", allow="")

    assert outcome.kind == UNREACHABLE
    assert "which push_allow does not allow" in outcome.reason


def test_a_name_server_that_is_silent_holds_up_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    look_up = connections._look_up

    def slowly(host: str, port: int, family: int) -> list[ResolveResult]:
        if host.startswith("silent"):
            time.sleep(2)
        return look_up(host, port, family)

    async def work(receiver: Receiver) -> tuple[list[Outcome], Outcome, float]:
        async with posting() as poster:
            silent = [
                asyncio.create_task(
                    poster.attempt(target(f"http://silent{n}.invalid/", RAW, SHORT_MS), message(), attempt=1)
                )
                for n in range(100)
            ]
            await asyncio.sleep(0.05)
            started_s = time.monotonic()
            near = target(f"http://localhost:{port_of(receiver)}/")
            outcome = await poster.attempt(near, message(), attempt=1)
            return await asyncio.gather(*silent), outcome, time.monotonic() - started_s

    monkeypatch.setattr(connections, "_look_up", slowly)
    with Receiver() as receiver:
        silent, outcome, _ = run(work(receiver))

        assert {one.reason for one in silent} == {f"no answer in {SHORT_MS} ms"}
        assert (outcome.kind, outcome.latency_ms < 1_500) == (DELIVERED, True)


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("format", FORMATS)
def test_redirects_that_keep_the_message_are_followed_when_the_operator_says_so(format: str, status: int) -> None:
    with Receiver() as first, Receiver() as second:
        first.reply = Reply.redirect(second.url + "new?a=%2F", status)

        outcome = follow(first.url, format)

        assert (outcome.kind, outcome.status) == (DELIVERED, 200)
        assert (second.received[0].method, second.received[0].path) == ("POST", "/new?a=%2F")
        assert second.received[0].body == first.received[0].body
        kept = {name: value for name, value in first.received[0].headers.items() if name != "host"}
        assert {name: value for name, value in second.received[0].headers.items() if name != "host"} == kept


def test_a_redirect_may_be_relative() -> None:
    with Receiver() as receiver:
        receiver.then(Reply.redirect("elsewhere"), Reply.redirect("/root"))

        assert follow(receiver.url + "a/b").kind == DELIVERED
        assert [one.path for one in receiver.received] == ["/a/b", "/a/elsewhere", "/root"]


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 305])
def test_redirects_that_would_change_the_request_are_refusals(status: int) -> None:
    with Receiver() as first, Receiver() as second:
        first.reply = Reply.redirect(second.url, status)

        outcome = follow(first.url)

        assert (outcome.kind, outcome.status, second.connections) == (REFUSED, status, 0)


def test_redirects_are_followed_three_times_and_no_more() -> None:
    with Receiver() as receiver:
        receiver.reply = Reply.redirect("/again")

        outcome = follow(receiver.url)

        assert outcome.kind == REFUSED
        assert outcome.reason == "HTTP 307 Temporary Redirect: redirected more than 3 times"
        assert len(receiver.received) == 4


@pytest.mark.parametrize(
    "location", ["", "ftp://127.0.0.2/", "file:///etc/passwd", "http://a:b@127.0.0.2/", "http://[::1"]
)
def test_a_redirect_to_nowhere_is_a_refusal(location: str) -> None:
    with Receiver() as receiver:
        receiver.reply = Reply.redirect(location)

        outcome = follow(receiver.url)

        assert (outcome.kind, outcome.status, len(receiver.received)) == (REFUSED, 307, 1)


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "localhost", "inside.example"])
def test_a_redirect_does_not_lead_past_the_guard(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Names(monkeypatch, ["127.0.0.1"])
    with Receiver(OUTSIDE) as outside, Receiver("127.0.0.1") as inside:
        outside.reply = Reply.redirect(f"http://{host}:{port_of(inside)}/")

        outcome = follow(outside.url, allow=OUTSIDE)

        assert outcome.kind == UNREACHABLE
        assert "push_allow does not allow" in outcome.reason
        assert inside.connections == 0


def test_the_time_limit_is_for_all_redirects_together() -> None:
    with Receiver() as receiver:
        receiver.reply = Reply(307, headers={"Location": "/again"}, wait_s=0.15)

        outcome = follow(receiver.url, time_limit_ms=SHORT_MS)

        assert (outcome.kind, outcome.reason) == (UNREACHABLE, f"no answer in {SHORT_MS} ms")
        assert outcome.latency_ms < 2 * SHORT_MS


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("papers"), "authority")


def secured(authority: Authority) -> Receiver:
    paper = authority.issue("server")
    return Receiver(certificate=paper.certificate, key=paper.key)


def by_name(receiver: Receiver) -> str:
    return receiver.url.replace("127.0.0.1", "localhost")


@pytest.mark.parametrize("format", FORMATS)
def test_https_is_spoken_with_who_shows_a_trusted_certificate(
    format: str, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", authority.file)
    with secured(authority) as receiver:
        outcome = push(by_name(receiver), format)

        assert (outcome.kind, len(receiver.received)) == (DELIVERED, 1)


def test_a_certificate_of_nobody_we_know_is_not_trusted(authority: Authority) -> None:
    with secured(authority) as receiver:
        outcome = push(by_name(receiver))

        assert outcome.kind == UNREACHABLE
        assert outcome.reason.startswith("TLS: the certificate is not trusted: ")
        assert receiver.received == []


def test_a_certificate_of_somebody_else_is_not_trusted(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", authority.file)
    with secured(authority) as receiver:
        outcome = push(receiver.url)

        assert (outcome.kind, "127.0.0.1" in outcome.reason) == (UNREACHABLE, True)
        assert receiver.received == []


def test_a_redirect_does_not_lead_out_of_https(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", authority.file)
    with secured(authority) as receiver, Receiver() as plain:
        receiver.reply = Reply.redirect(plain.url)

        outcome = follow(by_name(receiver))

        assert (outcome.kind, outcome.status, plain.connections) == (REFUSED, 307, 0)


def test_http_and_https_do_not_understand_each_other(authority: Authority) -> None:
    with secured(authority) as receiver, Receiver() as plain:
        to_tls = push(receiver.url.replace("https", "http"), time_limit_ms=2_000)
        to_plain = push(plain.url.replace("http", "https"), time_limit_ms=2_000)

        assert (to_tls.kind, to_plain.kind) == (UNREACHABLE, UNREACHABLE)
        assert plain.received == []


def test_a_handshake_that_does_not_come_is_given_up() -> None:
    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    async def work() -> Outcome:
        async with serving(meet) as url, posting() as poster:
            return await poster.attempt(target(url.replace("http", "https"), SOAP, SHORT_MS), message(), attempt=1)

    outcome = run(work())

    assert (outcome.kind, outcome.reason) == (UNREACHABLE, f"no answer in {SHORT_MS} ms")
