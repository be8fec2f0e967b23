"""Faults: whatever is wrong with a request, a SOAP client gets a fault that it can act on, and the hub goes on."""

from __future__ import annotations

import httpx
import pytest

from pregon import Client
from pregon.testing import RunningHub, run_hub

from ..soap_clients.plain import (
    CATALOGO,
    PS,
    SOAP_11,
    SOAP_12,
    TRAZAS,
    WSA,
    PlainClient,
    Reply,
    envelope,
    operation,
    publication,
    request,
)

BOTH_VERSIONS = pytest.mark.parametrize("version", [SOAP_11, SOAP_12], ids=["1.1", "1.2"])


BAD_HEADERS = {
    "no topic": ("<ps:producer>P</ps:producer>", "bad_request"),
    "no producer": ("<ps:topic>t</ps:topic>", "bad_request"),
    "nothing": ("", "bad_request"),
    "empty topic": ("<ps:producer>P</ps:producer><ps:topic> </ps:topic>", "bad_request"),
    "bad producer": ("<ps:producer>a b</ps:producer><ps:topic>t</ps:topic>", "bad_name"),
    "bad topic": ("<ps:producer>P</ps:producer><ps:topic>../t</ps:topic>", "bad_name"),
    "long topic": (f"<ps:producer>P</ps:producer><ps:topic>{'t' * 200}</ps:topic>", "bad_name"),
    "two topics": ("<ps:producer>P</ps:producer><ps:topic>t</ps:topic><ps:topic>u</ps:topic>", "bad_request"),
    "element in topic": ("<ps:producer>P</ps:producer><ps:topic><t/></ps:topic>", "bad_request"),
    "empty id": (
        "<ps:producer>P</ps:producer><ps:topic>t</ps:topic><wsa:MessageID></wsa:MessageID>",
        "bad_request",
    ),
    "long id": (
        f"<ps:producer>P</ps:producer><ps:topic>t</ps:topic><wsa:MessageID>{'i' * 201}</wsa:MessageID>",
        "bad_request",
    ),
    "two ids": (
        "<ps:producer>P</ps:producer><ps:topic>t</ps:topic>"
        "<wsa:MessageID>a</wsa:MessageID><wsa:MessageID>b</wsa:MessageID>",
        "bad_request",
    ),
    "long key": (f"<ps:producer>P</ps:producer><ps:topic>t</ps:topic><ps:key>{'k' * 2_000}</ps:key>", "bad_request"),
}


@BOTH_VERSIONS
@pytest.mark.parametrize(("header", "error_code"), BAD_HEADERS.values(), ids=list(BAD_HEADERS))
def test_a_header_that_cannot_be_is_the_clients_fault(
    soap: PlainClient, header: str, error_code: str, version: str
) -> None:
    said = envelope("<a/>", header, version)

    reply = soap.post("novedades", said)

    assert reply.status == (500 if version == SOAP_11 else 400)
    assert reply.namespace == version
    assert reply.fault.code == ("Client" if version == SOAP_11 else "Sender")
    assert (reply.fault.error_code, reply.fault.is_retryable) == (error_code, False)


BAD_BODIES = {
    "text": ("novedades", publication("words", "t")),
    "text between": ("novedades", publication("<a/>words<b/>", "t")),
    "unknown encoding": ("novedades", publication('<ps:content encoding="hex">00</ps:content>', "t")),
    "not base64": ("novedades", publication('<ps:content encoding="base64">%%%</ps:content>', "t")),
    "element in content": ("novedades", publication("<ps:content><a/></ps:content>", "t")),
    "no request": ("recepcion", envelope()),
    "two requests": ("recepcion", envelope("<ps:NotificationRequest/><ps:NotificationRequest/>")),
    "another request": ("recepcion", envelope("<ps:Request/>")),
    "no subscriber": ("recepcion", envelope("<ps:NotificationRequest><topic>t</topic></ps:NotificationRequest>")),
    "no topic": ("recepcion", envelope("<ps:NotificationRequest><subscriber>s</subscriber></ps:NotificationRequest>")),
    "two topics": ("recepcion", request("t", more="<topic>t</topic>")),
    "unknown field": ("recepcion", request("t", more="<max>5</max>")),
    "strange field": ("recepcion", request("t", more='<waitMs xmlns="urn:x">5</waitMs>')),
    "wordy acknowledgement": ("recepcion", request("t", ack="all")),
    "huge acknowledgement": ("recepcion", request("t", ack="9" * 19)),
    "negative acknowledgement": ("recepcion", request("t", ack=-1)),
    "long wait": ("recepcion", request("t", more="<waitMs>60001</waitMs>")),
    "wordy flag": ("recepcion", request("t", more="<wrapped>yes</wrapped>")),
    "unknown operation": ("catalogo", operation("DropEverything")),
    "another namespace": ("catalogo", operation("ListTopics", namespace=TRAZAS)),
    "missing name": ("catalogo", operation("CreateTopic", "<description>d</description>")),
    "empty name": ("catalogo", operation("GetTopic", "<name/>")),
    "unknown entry field": ("catalogo", operation("CreateTopic", "<name>t</name><colour>red</colour>")),
    "wordy number": ("catalogo", operation("ListTopics", "<max>many</max>")),
    "large page": ("catalogo", operation("ListTopics", "<max>1001</max>")),
    "no page": ("catalogo", operation("ListTopics", "<max>0</max>")),
    "no instant": ("trazas", operation("SearchTraces", "<from>yesterday</from>", TRAZAS)),
    "unknown kind": ("trazas", operation("SearchTraces", "<kind>lost</kind>", TRAZAS)),
    "many traces": ("trazas", operation("SearchTraces", "<max>1001</max>", TRAZAS)),
    "negative trace": ("trazas", operation("SearchTraces", "<before>-1</before>", TRAZAS)),
}


@pytest.mark.parametrize(("service", "said"), BAD_BODIES.values(), ids=list(BAD_BODIES))
def test_a_body_that_cannot_be_is_the_clients_fault(soap: PlainClient, service: str, said: bytes) -> None:
    reply = soap.post(service, said)

    assert (reply.status, reply.fault.code) == (500, "Client")
    assert reply.fault.error_code in ("bad_request", "bad_name")


def test_the_hubs_own_refusals_keep_their_codes(soap: PlainClient, client: Client, topic: str) -> None:
    client.publish(topic, b"<a/>")
    soap.post("recepcion", request(topic))

    beyond = soap.post("recepcion", request(topic, ack=99))
    missing = soap.post("catalogo", operation("GetTopic", "<name>nowhere</name>"))
    other = soap.post("catalogo", operation("CreateTopic", f"<name>{topic}</name><restricted>true</restricted>"))

    assert [one.fault.error_code for one in (beyond, missing, other)] == [
        "ack_beyond_head",
        "not_found",
        "already_exists",
    ]


def test_a_fault_is_related_to_the_request(soap: PlainClient) -> None:
    said = envelope("<a/>", "<wsa:MessageID>urn:m:1</wsa:MessageID><ps:topic>t</ps:topic>")

    reply = soap.post("novedades", said)

    assert reply.fault.error_code == "bad_request"
    assert reply.header("RelatesTo", WSA) == "urn:m:1"
    assert reply.header("Action", WSA) == f"{WSA}/soap/fault"


@pytest.mark.parametrize("service", ["novedades", "recepcion", "catalogo", "trazas"])
def test_another_version_of_soap_is_a_version_mismatch(soap: PlainClient, service: str) -> None:
    said = publication("<a/>", "t", version="http://www.w3.org/2001/12/soap-envelope")

    reply = soap.post(service, said)

    assert (reply.status, reply.namespace, reply.fault.code) == (500, SOAP_11, "VersionMismatch")
    assert reply.fault.error_code == "version_unknown"


@BOTH_VERSIONS
@pytest.mark.parametrize(
    "entry",
    [
        '<x:tx xmlns:x="urn:x" e:mustUnderstand="1"/>',
        '<x:tx xmlns:x="urn:x" e:mustUnderstand=" true "/>',
        '<wsse:Security e:mustUnderstand="1"><x:Signature xmlns:x="urn:x"/></wsse:Security>',
        '<wsa:ReplyTo e:mustUnderstand="1"><wsa:Address>http://elsewhere/</wsa:Address></wsa:ReplyTo>',
        '<tx e:mustUnderstand="1"/>',
    ],
    ids=["one", "true", "signature", "reply elsewhere", "no namespace"],
)
def test_what_must_be_understood_and_is_not_stores_nothing(
    soap: PlainClient, client: Client, topic: str, entry: str, version: str
) -> None:
    said = publication("<a/>", topic, header=entry, version=version)

    reply = soap.post("novedades", said)

    assert (reply.status, reply.fault.code, reply.fault.error_code) == (500, "MustUnderstand", "bad_request")
    assert client.list("topic", names=[topic]) == []
    named = reply.root.xpath("//s:NotUnderstood/@qname", namespaces={"s": SOAP_12})
    assert len(named) == (1 if version == SOAP_12 else 0)


def test_addressing_that_must_be_understood_is(soap: PlainClient, topic: str) -> None:
    header = (
        '<wsa:MessageID e:mustUnderstand="1">urn:m:1</wsa:MessageID><wsa:To e:mustUnderstand="1">urn:hub</wsa:To>'
        f'<wsa:ReplyTo e:mustUnderstand="1"><wsa:Address>{WSA}/anonymous</wsa:Address></wsa:ReplyTo>'
    )

    reply = soap.post("novedades", publication("<a/>", topic, header=header))

    assert (reply.status, reply.notification_id) == (200, 1)


NOT_ENVELOPES = {
    "nothing": b"",
    "words": b"hello",
    "zero": b"\x00",
    "half": envelope("<a/>")[:-5],
    "json": b'{"a": 1}',
    "another element": b"<a/>",
    "no namespace": b"<Envelope><Body/></Envelope>",
    "no body": f'<e:Envelope xmlns:e="{SOAP_11}"/>'.encode(),
    "two bodies": f'<e:Envelope xmlns:e="{SOAP_11}"><e:Body/><e:Body/></e:Envelope>'.encode(),
    "header after body": f'<e:Envelope xmlns:e="{SOAP_11}"><e:Body/><e:Header/></e:Envelope>'.encode(),
    "two headers": f'<e:Envelope xmlns:e="{SOAP_11}"><e:Header/><e:Header/><e:Body/></e:Envelope>'.encode(),
    "something else": f'<e:Envelope xmlns:e="{SOAP_11}"><e:Body/><a/></e:Envelope>'.encode(),
    "mixed versions": f'<e:Envelope xmlns:e="{SOAP_11}"><f:Body xmlns:f="{SOAP_12}"/></e:Envelope>'.encode(),
    "not utf-8": envelope("<a>\xe9</a>").decode().encode("latin-1"),
    "undeclared prefix": envelope("<zz:a/>"),
}


@pytest.mark.parametrize("said", NOT_ENVELOPES.values(), ids=list(NOT_ENVELOPES))
def test_what_is_no_envelope_is_the_clients_fault(soap: PlainClient, said: bytes) -> None:
    reply = soap.post("novedades", said)

    assert (reply.status, reply.namespace) == (500, SOAP_11)
    assert reply.fault.code in ("Client", "VersionMismatch")
    assert reply.fault.error_code in ("bad_xml", "bad_request", "version_unknown")


def test_bytes_that_are_no_xml_are_answered_in_the_version_of_their_media_type(soap: PlainClient) -> None:
    reply = soap.post("novedades", b"<", "application/soap+xml; charset=utf-8")

    assert (reply.status, reply.namespace, reply.fault.code) == (400, SOAP_12, "Sender")
    assert reply.content_type == "application/soap+xml; charset=utf-8"


def test_addresses_without_a_service_and_methods_without_a_meaning_are_refused(running: RunningHub) -> None:
    nowhere = httpx.post(f"{running.http}/soap/nowhere", content=envelope(), headers={"Content-Type": "text/xml"})
    put = httpx.put(f"{running.http}/soap/novedades", content=envelope(), headers={"Content-Type": "text/xml"})

    faults = [Reply(one.status_code, one.headers["content-type"], one.content) for one in (nowhere, put)]

    assert [(one.status, one.fault.error_code) for one in faults] == [(404, "not_found"), (405, "method_unknown")]


def test_a_hub_that_is_stopping_is_a_fault_of_the_server_that_may_be_repeated() -> None:
    with run_hub() as hub:
        soap = PlainClient(hub.http)
        soap.post("novedades", publication("<a/>", "t"))
        hub.server.hub.committer.stop()

        reply = soap.post("novedades", publication("<a/>", "t"))

        soap.close()
    assert (reply.status, reply.fault.code) == (500, "Server")
    assert (reply.fault.error_code, reply.fault.is_retryable) == ("hub_stopping", True)


def test_the_words_of_a_request_cannot_break_the_fault_that_repeats_them(soap: PlainClient) -> None:
    said = envelope("<a/>", "<ps:producer>P</ps:producer><ps:topic>&lt;/ps:error&gt;&amp;\"'&#10;</ps:topic>")

    reply = soap.post("novedades", said)

    assert reply.fault.error_code == "bad_name"
    assert "</ps:error>&" in reply.fault.sentence


def test_the_services_say_where_their_wsdl_is(soap: PlainClient, running: RunningHub) -> None:
    page = soap.get("/soap/recepcion")

    assert (page.status_code, page.headers["allow"]) == (405, "POST")
    assert f"{running.http}/soap/recepcion?wsdl" in page.text
    assert {PS, CATALOGO, TRAZAS} <= {
        space
        for name in ("novedades", "catalogo", "trazas")
        for space in (PS, CATALOGO, TRAZAS)
        if space in soap.get(f"/soap/{name}?wsdl").text
    }
