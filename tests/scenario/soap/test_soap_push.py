"""Push and filters by SOAP: how they are set, secrets, how it goes, and why a message came."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lxml import etree
from standardwebhooks import Webhook
from zeep import Client as Zeep

from pregon import Client
from pregon.testing import Receiver, Reply, RunningHub, run_hub

from ..hub_process import wait_until
from ..soap_clients.plain import PS, SOAP_11, TRAZAS, WSA, PlainClient, operation, publication, request
from ..soap_clients.plain import Reply as Answer

SOUTH = '{"xpath":"/a[@region=\'sur\']"}'


@pytest.fixture(scope="module")
def running() -> Iterator[RunningHub]:
    with run_hub(push_allow="127.0.0.1") as hub:
        yield hub


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def ask(soap: PlainClient, name: str, inside: str = "") -> Answer:
    reply = soap.post("catalogo", operation(name, inside))
    assert reply.status == 200, reply.content
    return reply


def push_to(soap: PlainClient, receiver: Receiver, topic: str, more: str = "") -> None:
    """A subscriber called as the topic, to which its messages are pushed."""
    endpoint = f"<mode>push</mode><endpoint>{receiver.url}</endpoint>"
    ask(soap, "CreateSubscriber", f"<name>{topic}</name>{endpoint}{more}")
    ask(soap, "CreateSubscription", f"<topic>{topic}</topic><subscriber>{topic}</subscriber>")


def test_a_subscriber_has_the_push_that_it_was_given(soap: PlainClient, client: Client, topic: str) -> None:
    push = "<push><timeLimitMs>500</timeLimitMs><parallel>4</parallel><onPoison>park</onPoison></push>"
    name = f"<name>{topic}</name>"
    said = "<mode>push</mode><endpoint>https://bps.example/</endpoint><format>soap</format><enabled>false</enabled>"

    made = ask(soap, "CreateSubscriber", f"{name}{said}{push}")
    (there,) = client.list("subscriber", names=[topic])
    ask(soap, "UpdateSubscriber", f"{name}<enabled>true</enabled><push><ratePerS>9</ratePerS></push>")
    (changed,) = client.list("subscriber", names=[topic])

    shown = [made.fields("subscriber", field) for field in ("mode", "endpoint", "format", "enabled", "disabledReason")]
    assert shown == [["push"], ["https://bps.example/"], ["soap"], ["false"], []]
    assert made.fields("subscriber", "push", "timeLimitMs") == ["500"]
    assert made.fields("subscriber", "push", "ratePerS") == []
    assert (there["mode"], there["format"], there["enabled"]) == ("push", "soap", False)
    assert (there["push"]["time_limit_ms"], there["push"]["parallel"], there["push"]["on_poison"]) == (500, 4, "park")
    assert (changed["enabled"], changed["push"]["rate_per_s"], changed["push"]["parallel"]) == (True, 9, 1)
    assert changed["endpoint"] == "https://bps.example/"


@pytest.mark.parametrize(
    ("inside", "code"),
    [
        ("<mode>push</mode>", "bad_request"),
        ("<mode>shove</mode>", "bad_request"),
        ("<push><parallel>1000</parallel></push>", "bad_request"),
        ("<push><delayMsMax>soon</delayMsMax></push>", "bad_request"),
        ("<mode>push</mode><endpoint>http://10.0.0.1/</endpoint>", "endpoint_forbidden"),
    ],
)
def test_what_no_subscriber_can_be_is_a_fault_of_the_client(
    soap: PlainClient, topic: str, inside: str, code: str
) -> None:
    reply = soap.post("catalogo", operation("CreateSubscriber", f"<name>{topic}</name>{inside}"))

    assert (reply.fault.code, reply.fault.error_code) == ("Client", code)


def test_a_filter_is_given_shown_changed_and_taken_away(soap: PlainClient, client: Client, topic: str) -> None:
    names = f"<topic>{topic}</topic><subscriber>BPS</subscriber>"
    nil = '<filter xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"/>'

    made = ask(soap, "CreateSubscription", f"{names}<filter>{SOUTH}</filter>")
    left = ask(soap, "UpdateSubscription", f"{names}<pendingMax>5</pendingMax>")
    gone = ask(soap, "UpdateSubscription", f"{names}{nil}")
    wrong = soap.post("catalogo", operation("UpdateSubscription", f"{names}<filter>{{}}</filter>"))

    assert [one.fields("subscription", "filter") for one in (made, left, gone)] == [[SOUTH], [SOUTH], []]
    assert wrong.fault.error_code == "bad_filter"
    assert client.show("subscription", topic, "BPS")["filter"] == ""


def test_a_received_message_says_why_it_was_wanted(soap: PlainClient, client: Client, topic: str) -> None:
    ask(soap, "CreateSubscription", f"<topic>{topic}</topic><subscriber>BPS</subscriber><filter>{SOUTH}</filter>")
    ask(soap, "CreateSubscription", f"<topic>{topic}</topic><subscriber>IMM</subscriber>")
    for region in ("norte", "sur"):
        soap.post("novedades", publication(f'<a region="{region}"/>', topic))

    wanted = soap.post("recepcion", request(topic, more="<waitMs>20000</waitMs>"))
    everything = soap.post("recepcion", request(topic, subscriber="IMM"))

    assert (wanted.notification_id, wanted.header("matched")) == (2, "xpath /a[@region='sur']")
    assert (everything.notification_id, everything.header("matched")) == (1, None)


def test_a_client_made_from_the_wsdl_reads_why(running: RunningHub, soap: PlainClient, topic: str) -> None:
    ask(soap, "CreateSubscription", f"<topic>{topic}</topic><subscriber>BPS</subscriber><filter>{SOUTH}</filter>")
    soap.post("novedades", publication('<a region="sur"/>', topic))
    recepcion = Zeep(f"{running.http}/soap/recepcion?wsdl").service

    answer = recepcion.ReceiveNotification("BPS", topic, "", 20_000, True)
    nothing = recepcion.ReceiveNotification("BPS", topic, "1", 0, True)

    assert (answer.header.notificationId, answer.header.matched) == (1, "xpath /a[@region='sur']")
    assert nothing.header.matched is None


def test_a_secret_is_made_shown_once_used_listed_and_revoked(soap: PlainClient, receiver: Receiver, topic: str) -> None:
    push_to(soap, receiver, topic)
    name = f"<name>{topic}</name>"

    made = ask(soap, "CreateSubscriberSecret", name)
    soap.post("novedades", publication('<ps:content contentType="application/json">{}</ps:content>', topic))
    (got,) = receiver.wait_for(1)
    listed = ask(soap, "ListSubscriberSecrets", name)
    (secret_id,) = made.fields("secretId")
    revoked = [
        ask(soap, "RevokeSubscriberSecret", f"{name}<secretId>{secret_id}</secretId>").fields("existed")
        for _ in range(2)
    ]

    (secret,) = made.fields("secret")
    assert secret is not None
    Webhook(secret).verify(got.body, got.headers)
    assert listed.fields("secret", "secretId") == [secret_id]
    assert secret.encode() not in listed.content
    assert revoked == [["true"], ["false"]]


def test_what_is_pushed_as_soap_is_what_is_received_by_soap(soap: PlainClient, receiver: Receiver, topic: str) -> None:
    push_to(soap, receiver, topic, "<format>soap</format>")

    soap.post("novedades", publication("<a>Gómez</a>", topic))
    (got,) = receiver.wait_for(1)

    pushed = Answer(200, got.headers["content-type"], got.body)
    assert pushed.namespace == SOAP_11
    assert [pushed.header(name) for name in ("producer", "notificationId", "topic")] == ["DGREC", "1", topic]
    assert str(pushed.header("MessageID", WSA)).startswith(f"urn:pregon:{topic}:1:")
    assert etree.tostring(pushed.content_element, method="c14n", exclusive=True) == "<a>Gómez</a>".encode()
    assert PS in got.headers["soapaction"]


def test_how_a_push_goes_is_shown_and_each_attempt_traced(soap: PlainClient, receiver: Receiver, topic: str) -> None:
    receiver.reply = Reply(503, wait_s=0.02)
    push_to(soap, receiver, topic, "<push><delayMsFirst>50</delayMsFirst></push>")
    names = f"<topic>{topic}</topic><subscriber>{topic}</subscriber>"
    before = ask(soap, "GetPushState", names)

    soap.post("novedades", publication("<a/>", topic))
    failing = wait_until(
        lambda: (found := ask(soap, "GetPushState", names)).fields("lastFailure") and found, "the push fails"
    )
    searched = soap.post("trazas", operation("SearchTraces", f"{names}<kind>failed</kind>", TRAZAS))
    nobody = soap.post("catalogo", operation("GetPushState", names.replace(f">{topic}</sub", ">nobody</sub")))

    state = [before.fields(name) for name in ("mode", "enabled", "attempts", "nextTry", "failingSince")]
    assert state == [["push"], ["true"], ["0"], [], []]
    assert "503" in (failing.fields("lastFailure")[0] or "")
    assert all(failing.fields(name)[0] for name in ("nextTry", "failingSince"))
    assert "1" in searched.fields("trace", "attempt")
    assert all(int(took or 0) >= 20 for took in searched.fields("trace", "latencyMs"))
    assert nobody.fault.error_code == "not_found"
