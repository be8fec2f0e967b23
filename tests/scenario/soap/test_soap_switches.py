"""Disabled topics and producers, and paused subscriptions, by SOAP: optional elements, and a fault."""

from __future__ import annotations

import pytest
from zeep import Client as Zeep

from pregon import Client
from pregon.testing import RunningHub

from ..soap_clients.plain import SOAP_11, SOAP_12, PlainClient, Reply, operation, publication, request


def ask(soap: PlainClient, name: str, inside: str = "") -> Reply:
    """An operation of the catalogue that must succeed."""
    reply = soap.post("catalogo", operation(name, inside))
    assert reply.status == 200, reply.content
    return reply


@pytest.mark.parametrize(("version", "status", "code"), [(SOAP_11, 500, "Client"), (SOAP_12, 400, "Sender")])
def test_what_is_published_to_a_disabled_topic_is_a_fault_of_the_client(
    soap: PlainClient, topic: str, version: str, status: int, code: str
) -> None:
    soap.post("novedades", publication("<a>1</a>", topic))
    off = ask(soap, "UpdateTopic", f"<name>{topic}</name><enabled>false</enabled>")

    refused = soap.post("novedades", publication("<a>2</a>", topic, version=version))
    received = soap.post("recepcion", request(topic))
    on = ask(soap, "UpdateTopic", f"<name>{topic}</name><enabled>true</enabled>")

    assert (refused.status, refused.fault.code.rpartition(":")[2]) == (status, code)
    assert (refused.fault.error_code, refused.fault.is_retryable) == ("disabled", False)
    assert "--enable" in refused.fault.sentence
    assert received.header("notificationId") == "1"
    assert (off.fields("topic", "enabled"), on.fields("topic", "enabled")) == (["false"], [])
    assert soap.post("novedades", publication("<a>3</a>", topic)).header("notificationId") == "2"


def test_a_disabled_producer_publishes_nowhere(soap: PlainClient, topic: str) -> None:
    made = ask(soap, "CreateProducer", f"<name>{topic}</name><enabled>false</enabled>")

    refused = soap.post("novedades", publication("<a/>", topic, producer=topic))
    ask(soap, "UpdateProducer", f"<name>{topic}</name><enabled>true</enabled>")
    taken = soap.post("novedades", publication("<a/>", topic, producer=topic))

    assert made.fields("producer", "enabled") == ["false"]
    assert refused.fault.error_code == "disabled"
    assert taken.header("notificationId") == "1"


def test_a_subscription_is_paused_and_resumed(soap: PlainClient, client: Client, topic: str) -> None:
    names = f"<topic>{topic}</topic><subscriber>{topic}</subscriber>"
    made = ask(soap, "CreateSubscription", f"{names}<paused>true</paused>")

    state = ask(soap, "GetPushState", names)
    limited = ask(soap, "UpdateSubscription", f"{names}<pendingMax>9</pendingMax>")
    there = client.show("subscription", topic, topic)
    resumed = ask(soap, "UpdateSubscription", f"{names}<paused>false</paused>")

    shown = [made.fields("subscription", "paused"), limited.fields("subscription", "paused"), state.fields("paused")]
    assert shown == [["true"]] * 3
    assert (there["paused"], there["pending_max"]) == (True, 9)
    assert (resumed.fields("subscription", "paused"), ask(soap, "GetPushState", names).fields("paused")) == ([], [])


def test_answers_have_nothing_new_in_them_for_who_uses_nothing_new(soap: PlainClient, topic: str) -> None:
    name = f"<name>{topic}</name>"
    names = f"<topic>{topic}</topic><subscriber>{topic}</subscriber>"

    answers = [
        ask(soap, "CreateTopic", name),
        ask(soap, "UpdateTopic", f"{name}<description>d</description>"),
        ask(soap, "CreateProducer", name),
        ask(soap, "CreateSubscription", names),
        ask(soap, "ListSubscriptions", f"<topic>{topic}</topic>"),
    ]

    assert [answer.content for answer in answers if b"<enabled" in answer.content or b"<paused" in answer.content] == []


def test_a_client_made_from_the_wsdl_switches_them(running: RunningHub, topic: str) -> None:
    service = Zeep(f"{running.http}/soap/catalogo?wsdl").service

    made = service.CreateTopic(name=topic)
    off = service.UpdateTopic(name=topic, enabled=False)
    producer = service.CreateProducer(name=topic, enabled=False)
    paused = service.CreateSubscription(topic=topic, subscriber=topic, paused=True)
    state = service.GetPushState(topic=topic, subscriber=topic)

    assert (made.enabled, off.enabled, producer.enabled, paused.paused) == (None, False, False, True)
    assert (state.mode, state.enabled, state.paused) == ("pull", True, True)
