"""Testing a web service: what is shown is what went over the wire, and nothing but the web service notices."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from standardwebhooks import Webhook

from pregon.delivery.outcome import DELIVERED, GONE, REFUSED, UNREACHABLE
from pregon.delivery.rehearsal import Rehearsal, Trial
from pregon.errors import BadName, BadRequest, HubBusy, HubStopping, NotFound, TooLarge
from pregon.limits import PUSH_ANSWER_BYTES_MAX, REHEARSAL_BODY_BYTES_MAX, REHEARSALS_AT_ONCE_MAX
from pregon.model.catalog import CLOUDEVENTS, FORMATS, RAW, SOAP, Subscriber
from pregon.model.message import Outgoing
from pregon.model.trace import TraceQuery
from pregon.security.callers import ANYBODY
from pregon.server.hub_server import Server
from pregon.store.backlogs import read_backlogs
from pregon.testing import run_hub

from ..hub_process import find_port, wait_until
from .receiver import Answer, Arrival, Station
from .subscriber_hub import BPS, TOPIC, account, change, register, registry, say

FAULT = (
    b'<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body><soapenv:Fault>'
    b"<faultcode>soapenv:Server</faultcode><faultstring>not today</faultstring></soapenv:Fault></soapenv:Body>"
    b"</soapenv:Envelope>"
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with run_hub(tmp_path, push_allow="127.0.0.1", feed="", ingest="") as running:
        yield running.server


def rehearse(server: Server, trial: Trial | None = None, *, name: str = BPS) -> Rehearsal:
    return server.rehearsals.rehearse(ANYBODY, name, trial).result()


def sent(rehearsal: Rehearsal) -> dict[str, str]:
    """The headers that are shown, by their names in lower case, as a web service knows them."""
    return {name.lower(): value for name, value in rehearsal.request.headers}


def only(station: Station) -> Arrival:
    (arrival,) = station.arrivals
    return arrival


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_shown_is_what_the_web_service_was_sent(server: Server, station: Station, format: str) -> None:
    register(server.hub, station, format=format)

    rehearsal = rehearse(server)

    arrival = only(station)
    assert rehearsal.request.request_line == f"POST {arrival.path} HTTP/1.1"
    # The last line of a head is empty, and the station keeps it as a header without a name.
    assert sent(rehearsal) == {name: value for name, value in arrival.headers.items() if name}
    assert rehearsal.request.body == arrival.body
    assert not rehearsal.request.body_is_cut
    assert (rehearsal.outcome, rehearsal.answer.status, rehearsal.reason) == (DELIVERED, 200, "HTTP 200 OK")
    assert (rehearsal.subscriber, rehearsal.endpoint, rehearsal.format) == (BPS, station.url(f"/{BPS}"), format)
    assert arrival.headers["pregon-test"] == "true"
    assert (b"<ps:test>true</ps:test>" in arrival.body) == (format == SOAP)


def test_a_message_that_is_no_test_does_not_say_that_it_is(server: Server, station: Station) -> None:
    register(server.hub, station, name="raw")
    register(server.hub, station, name="soap", format=SOAP)

    say(server.hub, 1)

    station.wait_for(2)
    assert ["pregon-test" in one.headers or b"ps:test" in one.body for one in station.arrivals] == [False, False]


@pytest.mark.parametrize("format", [RAW, CLOUDEVENTS])
def test_a_test_is_signed_with_the_secrets_of_the_subscriber(server: Server, station: Station, format: str) -> None:
    register(server.hub, station, format=format)
    secret = server.gate.create_secret(ANYBODY, BPS).result().secret

    rehearsal = rehearse(server, Trial(topic=TOPIC, body=b'{"amount": 1}'))

    assert rehearsal.is_delivered
    arrival = only(station)
    assert Webhook(secret).verify(arrival.body, arrival.headers)
    # What is signed says that it is a test, and who had it sent is not handed the signature.
    assert arrival.headers["webhook-id"].startswith(f"test:{TOPIC}:0:")
    shown, signature = sent(rehearsal), arrival.headers["webhook-signature"]
    assert shown["webhook-signature"] == signature[:8] + "..."
    assert {**shown, "webhook-signature": signature} == {name: one for name, one in arrival.headers.items() if name}
    assert signature[8:] not in repr(rehearsal)
    assert base64.b64decode(secret.removeprefix("whsec_")) not in repr(rehearsal).encode()
    assert secret not in repr(rehearsal)


def test_a_body_of_ones_own_is_sent_as_it_is(server: Server, station: Station) -> None:
    register(server.hub, station)

    rehearsal = rehearse(server, Trial(topic=TOPIC, body=b"\x00\xff", content_type="application/x-mine"))

    arrival = only(station)
    assert (arrival.body, arrival.topic, arrival.seq) == (b"\x00\xff", TOPIC, 0)
    assert arrival.headers["content-type"] == "application/x-mine"
    assert rehearsal.request.body == b"\x00\xff"


def test_all_of_an_answer_is_shown_also_of_a_refusal(server: Server, station: Station) -> None:
    register(server.hub, station)
    station.answer = lambda _: Answer(500, {"X-Why": "ocupado"}, b"no \xc3\xb1")

    rehearsal = rehearse(server)

    answer = rehearsal.answer
    assert (rehearsal.outcome, rehearsal.reason) == (REFUSED, "HTTP 500 Internal Server Error")
    assert (answer.status, answer.reason, answer.body, answer.body_is_cut) == (500, "x", "no ñ".encode(), False)
    assert dict(answer.headers) == {"Content-Length": "5", "X-Why": "ocupado"}


def test_a_fault_with_a_good_status_is_a_refusal_and_is_shown(server: Server, station: Station) -> None:
    register(server.hub, station, format=SOAP)
    station.answer = lambda _: Answer(200, {"Content-Type": "text/xml"}, FAULT)

    rehearsal = rehearse(server)

    assert (rehearsal.outcome, rehearsal.reason) == (REFUSED, "HTTP 200 OK: SOAP fault: not today")
    assert (rehearsal.answer.status, rehearsal.answer.body) == (200, FAULT)


def test_of_a_long_answer_the_beginning_is_shown(server: Server, station: Station) -> None:
    register(server.hub, station)
    station.answer = lambda _: Answer(200, body=b"x" * (PUSH_ANSWER_BYTES_MAX + 1))

    rehearsal = rehearse(server)

    assert rehearsal.is_delivered
    assert rehearsal.answer.body == b"x" * PUSH_ANSWER_BYTES_MAX
    assert rehearsal.answer.body_is_cut


def test_an_answer_of_just_the_limit_is_whole(server: Server, station: Station) -> None:
    register(server.hub, station)
    station.answer = lambda _: Answer(200, body=b"x" * PUSH_ANSWER_BYTES_MAX)

    rehearsal = rehearse(server)

    assert len(rehearsal.answer.body) == PUSH_ANSWER_BYTES_MAX
    assert not rehearsal.answer.body_is_cut


def test_where_nobody_listens_the_request_is_shown_and_no_answer(server: Server) -> None:
    url = f"http://127.0.0.1:{find_port()}/novedades"
    server.hub.create(Subscriber(name=BPS, endpoint=url)).result()

    rehearsal = rehearse(server)

    assert rehearsal.outcome == UNREACHABLE
    assert "refused" in rehearsal.reason.lower()
    assert rehearsal.request.request_line == "POST /novedades HTTP/1.1"
    assert (rehearsal.answer.status, rehearsal.answer.headers, rehearsal.answer.body) == (None, [], b"")


def test_who_does_not_answer_has_the_time_limit_of_a_push(server: Server, station: Station) -> None:
    register(server.hub, station, time_limit_ms=300)
    station.hold()

    rehearsal = rehearse(server)

    assert (rehearsal.outcome, rehearsal.reason) == (UNREACHABLE, "no answer in 300 ms")
    assert 300 <= rehearsal.latency_ms < 3_000
    assert rehearsal.answer.status is None
    assert len(station.arrivals) == 1


def test_no_test_goes_where_no_push_may_go(tmp_path: Path, station: Station) -> None:
    with registry(tmp_path) as hub:
        register(hub, station)

    with run_hub(tmp_path, feed="", ingest="") as running:
        rehearsal = rehearse(running.server)

        assert rehearsal.outcome == UNREACHABLE
        assert "push_allow" in rehearsal.reason
        assert station.connections == 0


# What may be tested, and by how many.


def test_a_subscriber_that_pulls_or_is_disabled_can_be_tested(server: Server, station: Station) -> None:
    server.hub.create(Subscriber(name="pulls", endpoint=station.url("/pulls"))).result()
    register(server.hub, station, name="disabled")
    change(server.hub, name="disabled", enabled=False)

    outcomes = [rehearse(server, name=name).outcome for name in ("pulls", "disabled")]

    assert outcomes == [DELIVERED, DELIVERED]
    assert [one.path for one in station.arrivals] == ["/pulls", "/disabled"]


def test_what_cannot_be_tested_is_refused_with_a_reason(server: Server) -> None:
    server.hub.create(Subscriber(name=BPS)).result()

    with pytest.raises(BadRequest, match="no endpoint"):
        rehearse(server)
    with pytest.raises(NotFound):
        rehearse(server, name="nobody")
    with pytest.raises(BadName):
        rehearse(server, name="")
    with pytest.raises(BadName):
        rehearse(server, Trial(topic="not a name"))
    with pytest.raises(BadRequest):
        rehearse(server, Trial(content_type="x" * 1_000))
    with pytest.raises(TooLarge):
        rehearse(server, Trial(body=bytes(REHEARSAL_BODY_BYTES_MAX + 1)))


def test_only_so_many_are_tested_at_once(server: Server, station: Station) -> None:
    register(server.hub, station)
    station.hold()
    tickets = [server.rehearsals.rehearse(ANYBODY, BPS) for _ in range(REHEARSALS_AT_ONCE_MAX)]
    station.wait_for(REHEARSALS_AT_ONCE_MAX)

    with pytest.raises(HubBusy):
        rehearse(server)
    station.let_go()

    assert [ticket.result().outcome for ticket in tickets] == [DELIVERED] * REHEARSALS_AT_ONCE_MAX
    assert rehearse(server).is_delivered


def test_one_that_nobody_waits_for_any_more_makes_room(server: Server, station: Station) -> None:
    register(server.hub, station)
    station.hold()
    tickets = [server.rehearsals.rehearse(ANYBODY, BPS) for _ in range(REHEARSALS_AT_ONCE_MAX)]
    station.wait_for(REHEARSALS_AT_ONCE_MAX)

    for ticket in tickets:
        ticket.abandon()
    wait_until(lambda: all(ticket.is_done for ticket in tickets), "the tests are given up")
    station.let_go()

    assert rehearse(server).is_delivered


def test_a_hub_that_stops_answers_who_waits(tmp_path: Path, station: Station) -> None:
    with run_hub(tmp_path, push_allow="127.0.0.1", feed="", ingest="") as running:
        register(running.server.hub, station)
        station.hold()
        ticket = running.server.rehearsals.rehearse(ANYBODY, BPS)
        station.wait_for(1)

    with pytest.raises(HubStopping):
        ticket.result(0.1)
    with pytest.raises(HubStopping):
        running.server.rehearsals.rehearse(ANYBODY, BPS)


# Nothing else notices.


@pytest.mark.parametrize("status", [200, 500, 503, 410])
def test_nothing_is_traced_counted_or_moved_by_a_test(server: Server, station: Station, status: int) -> None:
    hub = server.hub
    register(hub, station, "quiet", delay_ms_first=60_000, delay_ms_max=60_000)
    hub.publish("quiet", "dgrec", Outgoing(b"x")).result()
    station.wait_for_taken(1)
    wait_until(lambda: account(hub, "quiet").acknowledged == 1, "it is settled")
    traces = list(hub.traces(TraceQuery()).result())
    before = (hub.show("subscriber", (BPS,)).result(), hub.read(read_backlogs).result(), account(hub, "quiet"))
    counted = [(names, dict(one.results), list(one.waited.counts)) for names, one in server._figures.pushes()]
    flowed = sum(point.out for point in server.activity.series("hour"))
    station.answer = lambda _: Answer(status)

    outcomes = [rehearse(server).outcome for _ in range(3)]

    assert outcomes == [{200: DELIVERED, 500: REFUSED, 503: UNREACHABLE, 410: GONE}[status]] * 3
    assert list(hub.traces(TraceQuery()).result()) == traces
    after = (hub.show("subscriber", (BPS,)).result(), hub.read(read_backlogs).result(), account(hub, "quiet"))
    assert after == before
    assert [(names, dict(one.results), list(one.waited.counts)) for names, one in server._figures.pushes()] == counted
    assert sum(point.out for point in server.activity.series("hour")) == flowed == 1
    # Nor does the endpoint wait because of it: the next message is pushed at once.
    station.answer = lambda _: Answer()
    hub.publish("quiet", "dgrec", Outgoing(b"x")).result()
    wait_until(lambda: account(hub, "quiet").acknowledged == 2, "the next one is delivered at once", 5)


# Over HTTP.


def test_over_http_bodies_are_text_or_base64(server: Server, station: Station) -> None:
    register(server.hub, station)
    station.answer = lambda _: Answer(200, body=b"\xff\xfe")
    url = f"{server.http.address}/v1/subscribers/{BPS}/test" if server.http else ""

    answer = httpx.post(url, json={"text": "ñandú", "content_type": "text/plain"})
    in_base64 = httpx.post(url, json={"base64": base64.b64encode(b"\xff").decode()})
    twice = httpx.post(url, json={"text": "a", "base64": "YQ=="})
    no_base64 = httpx.post(url, json={"base64": "no"})
    sample = httpx.post(url)

    assert answer.status_code == 200, answer.text
    shown = answer.json()
    assert (shown["outcome"], shown["request"]["text"], shown["answer"]["base64"]) == ("delivered", "ñandú", "//4=")
    assert shown["request"]["request_line"] == f"POST /{BPS} HTTP/1.1"
    assert {"name": "Pregon-Test", "value": "true"} in shown["request"]["headers"]
    assert shown["at"].endswith("Z")
    assert in_base64.json()["request"]["base64"] == "/w=="
    assert (twice.status_code, no_base64.status_code) == (400, 400)
    assert sample.json()["request"]["text"].startswith('{"test":true')


def test_over_http_the_largest_body_is_taken_however_json_writes_it(server: Server, station: Station) -> None:
    register(server.hub, station)
    url = f"{server.http.address}/v1/subscribers/{BPS}/test" if server.http else ""

    fits = httpx.post(url, json={"text": "\x01" * REHEARSAL_BODY_BYTES_MAX})
    too_large = httpx.post(url, json={"text": "x" * (REHEARSAL_BODY_BYTES_MAX + 1)})

    assert fits.status_code == 200, fits.text
    assert too_large.status_code == 413
    assert [len(one.body) for one in station.arrivals] == [REHEARSAL_BODY_BYTES_MAX]
