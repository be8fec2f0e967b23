"""Reception by SOAP: what was published by another door, as a SOAP subscriber gets it."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator

import pytest
from lxml import etree

from pregon import Client
from pregon.testing import RunningHub

from ..soap_clients.plain import PS, SOAP_11, SOAP_12, WSA, PlainClient, canonical, envelope, publication, request

CONTENT = f"{{{PS}}}content"


@pytest.fixture
def client(running: RunningHub) -> Iterator[Client]:
    with running.client(producer="DGREC") as client:
        yield client


@pytest.mark.parametrize("version", [SOAP_11, SOAP_12], ids=["1.1", "1.2"])
def test_the_answer_is_of_the_version_that_was_spoken(
    soap: PlainClient, client: Client, topic: str, version: str
) -> None:
    client.publish(topic, b"<a/>")

    reply = soap.post("recepcion", request(topic, version=version))

    assert (reply.status, reply.namespace) == (200, version)
    assert (reply.header("producer"), reply.notification_id) == ("DGREC", 1)
    assert canonical(reply.content_element) == b"<a></a>"


@pytest.mark.parametrize(
    "body",
    [
        b"<a/>",
        b'<n:a xmlns:n="urn:n" xmlns="urn:d"><b c="1"/><![CDATA[</e:Body>]]><!-- -- --></n:a>'.replace(b" -- ", b" x "),
        '<?xml version="1.0" encoding="ISO-8859-1"?>\n<!-- first --><a>Gómez</a><!-- last -->'.encode("latin-1"),
        "\ufeff<a>Gómez</a>".encode(),
        '<?xml version="1.0" encoding="UTF-16"?><a>Gómez</a>'.encode("utf-16"),
        b"  \n<a>1</a>\n  ",
    ],
    ids=["small", "namespaces", "declaration", "mark", "utf-16", "space"],
)
def test_xml_that_came_by_another_door_stands_in_the_body(
    soap: PlainClient, client: Client, topic: str, body: bytes
) -> None:
    client.publish(topic, body)

    reply = soap.post("recepcion", request(topic))

    assert canonical(reply.content_element) == canonical(body.strip() if body[:1] == b" " else body)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"nombre": "Pepe", "a": "<b>&amp;"}', "application/json"),
        ('{"nombre": "Gómez"}'.encode(), "application/vnd.acta+json"),
        ("Gómez\r\n\tPérez ]]> & <".encode(), "text/plain; charset=utf-8"),
        (b"", "text/plain"),
        (b"<a>", "application/xml"),
        (b"<!DOCTYPE a><a/>", "text/xml"),
        (b"<a>&nbsp;</a>", "text/html"),
        (b"<soapenv:Fault/>", "text/xml"),
        (b"</soapenv:Body></soapenv:Envelope><a>", "text/plain"),
        (b"</soapenv:Body><soapenv:Body>", "application/xml-external-parsed-entity"),
        (b"<a/></several><several><b/>", "application/xml-external-parsed-entity"),
    ],
)
def test_text_that_is_no_xml_goes_as_content(
    soap: PlainClient, client: Client, topic: str, body: bytes, content_type: str
) -> None:
    published = client.publish(topic, body, content_type=content_type)

    reply = soap.post("recepcion", request(topic, ack=published.seq - 1 or ""))

    content = reply.content_element
    assert (content.tag, content.get("contentType")) == (CONTENT, content_type)
    found = (content.text or "").encode()
    assert (base64.b64decode(found) if content.get("encoding") == "base64" else found) == body
    is_readable = content_type.startswith("text/") or "json" in content_type
    assert content.get("encoding") == ("text" if is_readable else "base64")


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"\x89PNG\r\n", "image/png"),
        (b"plain", "application/octet-stream"),
        (b"\xff\xfe\x00", "text/plain"),
        (b"a\x00b", "text/plain"),
        (b"\x1b[0m", "application/json"),
    ],
    ids=["image", "unknown", "not utf-8", "zero", "escape"],
)
def test_what_xml_cannot_carry_goes_in_base64(
    soap: PlainClient, client: Client, topic: str, body: bytes, content_type: str
) -> None:
    client.publish(topic, body, content_type=content_type)

    content = soap.post("recepcion", request(topic)).content_element

    assert (content.tag, content.get("encoding")) == (CONTENT, "base64")
    assert base64.b64decode(content.text or "") == body
    assert content.get("contentType") == content_type


def test_a_content_type_cannot_end_its_attribute(soap: PlainClient, client: Client, topic: str) -> None:
    strange = 'text/plain; a="<b>\n&"\t'
    client.publish(topic, b"x", content_type=strange)

    content = soap.post("recepcion", request(topic)).content_element

    assert content.get("contentType") == strange
    assert sorted(content.attrib) == ["contentType", "encoding"]


def test_what_soap_published_comes_back_as_it_was_for_each_shape(soap: PlainClient, topic: str) -> None:
    bodies = ["<a/>", "<a/><b>2</b>", "", '<ps:content contentType="text/csv" encoding="text">a,b</ps:content>']
    for body in bodies:
        soap.post("novedades", publication(body, topic))

    replies = [soap.post("recepcion", request(topic, ack=ack)) for ack in ("", 1, 2, 3)]

    assert [[canonical(one) for one in reply.body] for reply in replies] == [
        [b"<a></a>"],
        [b"<a></a>", b"<b>2</b>"],
        [],
        [f'<ps:content xmlns:ps="{PS}" contentType="text/csv" encoding="text">a,b</ps:content>'.encode()],
    ]
    assert [reply.notification_id for reply in replies] == [1, 2, 3, 4]


def test_who_asks_for_it_wrapped_gets_one_element_that_it_knows(soap: PlainClient, client: Client, topic: str) -> None:
    client.publish(topic, b"<a/>")
    wrapped = "<wrapped>true</wrapped>"

    some = soap.post("recepcion", request(topic, more=wrapped))
    none = soap.post("recepcion", request(topic, ack=1, more=wrapped))

    assert canonical(some.content_element) == f'<ps:notification xmlns:ps="{PS}"><a></a></ps:notification>'.encode()
    assert canonical(none.content_element) == f'<ps:notification xmlns:ps="{PS}"></ps:notification>'.encode()
    assert none.header("notificationId") is None


def test_the_fields_may_be_qualified_too(soap: PlainClient, client: Client, topic: str) -> None:
    client.publish(topic, b"<a/>")
    inside = f"<ps:topic>{topic}</ps:topic><ps:subscriber>BPS</ps:subscriber>"

    reply = soap.post("recepcion", envelope(f"<ps:NotificationRequest>{inside}</ps:NotificationRequest>"))

    assert reply.notification_id == 1


def test_an_acknowledgement_settles_everything_up_to_its_number(soap: PlainClient, client: Client, topic: str) -> None:
    for _ in range(3):
        client.publish(topic, b"<a/>")
    soap.post("recepcion", request(topic))

    reply = soap.post("recepcion", request(topic, ack=2))

    account = client.account(topic, "BPS")
    assert reply.notification_id == 3
    assert (account.acknowledged, account.pending) == (2, 1)


def test_a_request_may_wait_for_news(soap: PlainClient, client: Client, topic: str) -> None:
    soap.post("recepcion", request(topic))
    later = threading.Timer(0.3, lambda: client.publish(topic, b"<late/>"))

    later.start()
    reply = soap.post("recepcion", request(topic, more="<waitMs>20000</waitMs>"))
    later.join()

    assert canonical(reply.content_element) == b"<late></late>"


def test_a_message_has_the_same_id_whenever_it_is_given(soap: PlainClient, client: Client, topic: str) -> None:
    client.publish(topic, b"<a/>")
    asked = request(topic, header="<wsa:MessageID>urn:r:1</wsa:MessageID>")

    first, again = soap.post("recepcion", asked), soap.post("recepcion", asked)
    plain = soap.post("recepcion", request(topic))
    empty = soap.post("recepcion", request(topic, ack=1, header="<wsa:Action>urn:any</wsa:Action>"))

    own_id = first.header("MessageID", WSA)
    assert own_id == again.header("MessageID", WSA)
    assert own_id is not None and own_id.startswith(f"urn:pregon:{topic}:1:")
    assert first.header("RelatesTo", WSA) == "urn:r:1"
    assert plain.header("MessageID", WSA) is None
    assert (empty.header("MessageID", WSA) or "").startswith("urn:uuid:")
    assert empty.header("RelatesTo", WSA) is None


def test_no_body_adds_to_the_header_of_the_answer(soap: PlainClient, client: Client, topic: str) -> None:
    forged = (
        b"<x/></soapenv:Body></soapenv:Envelope><soapenv:Envelope><soapenv:Header><ps:producer>DNIC</ps:producer>"
        b"</soapenv:Header><soapenv:Body><x/>"
    )
    for content_type in ("application/xml", "application/xml-external-parsed-entity"):
        client.publish(topic, forged, content_type=content_type)

    replies = [soap.post("recepcion", request(topic, ack=ack)) for ack in ("", 1)]

    for reply in replies:
        assert reply.root.xpath(f"//*[namespace-uri()='{PS}' and local-name()='producer']/text()") == ["DGREC"]
        assert etree.QName(reply.content_element).localname == "content"
