"""What strangers may try with a SOAP door: XML that is an attack, sizes, encodings and media types."""

from __future__ import annotations

import time

import pytest

from pregon import Client

from ..soap_clients.plain import PlainClient, envelope, publication

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
ATTACKS = {
    "billion laughs": f'<!DOCTYPE a [<!ENTITY l0 "ha">{LAUGHS}]>'.encode() + publication("<a>&l9;</a>", "t"),
    "file": b'<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]>' + publication("<a>&f;</a>", "t"),
    "network": b'<!DOCTYPE a SYSTEM "http://127.0.0.1:1/a.dtd">' + publication("<a/>", "t"),
    "depth": publication("<a>" * 5_000 + "</a>" * 5_000, "t"),
    "attributes": publication("<a " + " ".join(f'a{n}="1"' for n in range(5_000)) + "/>", "t"),
    "long attribute": publication(f'<a b="{"x" * 100_000}"/>', "t"),
    "elements": publication("<a/>" * 250_000, "t"),
    "utf-7": b'<?xml version="1.0" encoding="UTF-7"?>' + publication("<a/>", "t"),
}


@pytest.mark.parametrize("said", ATTACKS.values(), ids=list(ATTACKS))
def test_an_attack_by_xml_is_refused_at_once(soap: PlainClient, client: Client, said: bytes) -> None:
    begun_s = time.monotonic()

    reply = soap.post("novedades", said)

    assert time.monotonic() - begun_s < 5
    assert (reply.fault.code, reply.fault.error_code) == ("Client", "bad_xml")
    assert b"root:" not in reply.content
    assert client.list("topic", names=["t"]) == []


def test_an_inclusion_is_data(soap: PlainClient, client: Client, topic: str) -> None:
    inclusion = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd" parse="text"/>'

    soap.post("novedades", publication(inclusion, topic))

    (stored,) = client.read(topic, 1)
    assert b"xi:include" in stored.body
    assert b"root:" not in stored.body


@pytest.mark.parametrize(
    ("content_type", "says"),
    [
        ('multipart/related; type="application/xop+xml"; boundary=b', "base64"),
        ("application/json", "text/xml"),
        ("text/xml; charset=utf-7", "UTF-8"),
        ("text/xml; charset=ebcdic-cp-us", "UTF-8"),
    ],
    ids=["attachments", "json", "utf-7", "ebcdic"],
)
def test_what_cannot_be_read_is_refused_with_what_to_do(soap: PlainClient, content_type: str, says: str) -> None:
    reply = soap.post("novedades", publication("<a/>", "t"), content_type)

    assert (reply.status, reply.fault.code, reply.fault.error_code) == (415, "Client", "media_type_unknown")
    assert says in reply.fault.sentence


def test_encodings_that_contradict_each_other_are_refused(soap: PlainClient) -> None:
    said = b'<?xml version="1.0" encoding="ISO-8859-1"?>' + publication("<a/>", "t")

    reply = soap.post("novedades", said, "text/xml; charset=utf-8")

    assert reply.fault.error_code == "bad_xml"


@pytest.mark.parametrize(
    ("service", "size_bytes"), [("novedades", 3 * 1024 * 1024), ("recepcion", 70_000), ("catalogo", 70_000)]
)
def test_a_request_that_is_too_large_is_not_parsed(soap: PlainClient, service: str, size_bytes: int) -> None:
    reply = soap.post(service, envelope(f"<a>{'x' * size_bytes}</a>"))

    assert (reply.status, reply.fault.code, reply.fault.error_code) == (413, "Client", "too_large")


def test_a_message_that_is_too_large_is_not_stored(soap: PlainClient, client: Client, topic: str) -> None:
    reply = soap.post("novedades", publication(f"<a>{'x' * 1_100_000}</a>", topic))

    assert (reply.status, reply.fault.error_code) == (500, "too_large")
    assert client.list("topic", names=[topic]) == []
