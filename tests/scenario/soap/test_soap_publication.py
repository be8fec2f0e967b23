"""Publication by SOAP: what is stored for what came, as a subscriber of another door reads it."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pregon import Client
from pregon.testing import RunningHub, run_hub

from ..soap_clients.plain import (
    PS,
    SOAP_11,
    SOAP_12,
    WSA,
    WSA_2004,
    PlainClient,
    canonical,
    envelope,
    publication,
)

BOTH_VERSIONS = pytest.mark.parametrize("version", [SOAP_11, SOAP_12], ids=["1.1", "1.2"])


@BOTH_VERSIONS
def test_an_element_is_stored_as_xml_with_the_answer_after_it(
    soap: PlainClient, client: Client, topic: str, version: str
) -> None:
    said = publication('<n:acta xmlns:n="urn:n"><n:ci>1.111.111-1</n:ci></n:acta>', topic, version=version)

    reply = soap.post("novedades", said)

    (stored,) = client.read(topic, 1)
    assert (reply.status, reply.namespace, reply.notification_id, reply.body) == (200, version, stored.seq, [])
    assert canonical(stored.body) == b'<n:acta xmlns:n="urn:n"><n:ci>1.111.111-1</n:ci></n:acta>'
    assert (stored.content_type, stored.producer, stored.key, stored.headers) == ("application/xml", "DGREC", None, {})


def test_a_prefix_that_only_the_content_uses_is_stored_with_it(soap: PlainClient, client: Client, topic: str) -> None:
    body = '<a xsi:type="q:T" ref="z:x"/>'
    said = publication(body, topic).replace(
        b"<e:Envelope ",
        b'<e:Envelope xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:q="urn:q" xmlns:z="urn:z" ',
    )

    soap.post("novedades", said)

    (stored,) = client.read(topic, 1)
    assert b'xmlns:q="urn:q"' in stored.body
    assert b'xmlns:z="urn:z"' in stored.body
    assert canonical(stored.body) == (
        b'<a xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ref="z:x" xsi:type="q:T"></a>'
    )


def test_the_space_around_an_element_is_not_stored(soap: PlainClient, client: Client, topic: str) -> None:
    said = publication("\n  <a> 1 </a> <!-- after it -->\n  ", topic)

    soap.post("novedades", said)

    (stored,) = client.read(topic, 1)
    assert stored.body.startswith(b"<a ")
    assert stored.body.endswith(b"> 1 </a>")


def test_a_body_without_elements_is_an_empty_message(soap: PlainClient, client: Client, topic: str) -> None:
    said = publication(" \n <!-- nothing --> ", topic)

    soap.post("novedades", said)

    (stored,) = client.read(topic, 1)
    assert (stored.body, stored.content_type) == (b"", "application/xml")


def test_several_elements_are_stored_one_after_the_other(soap: PlainClient, client: Client, topic: str) -> None:
    said = publication("<a>1</a>\n<b/>", topic)

    soap.post("novedades", said)

    (stored,) = client.read(topic, 1)
    assert stored.content_type == "application/xml-external-parsed-entity"
    assert [
        canonical(part) for part in (stored.body[: stored.body.index(b"<b")], stored.body[stored.body.index(b"<b") :])
    ] == [
        b"<a>1</a>",
        b"<b></b>",
    ]


@pytest.mark.parametrize(
    ("inside", "stored_body", "stored_type"),
    [
        (
            '<ps:content contentType="application/json" encoding="text">{"a": "&lt;1&gt;"}</ps:content>',
            b'{"a": "<1>"}',
            "application/json",
        ),
        ('<ps:content contentType="image/png" encoding="base64"> iVBO\nRw== </ps:content>', b"\x89PNG", "image/png"),
        ("<ps:content> a &#13; b </ps:content>", b" a \r b ", "text/plain; charset=utf-8"),
        ('<ps:content encoding="base64"/>', b"", "application/octet-stream"),
        (
            "<ps:content contentType='text/plain'>Gómez<!-- who? --> Pérez</ps:content>",
            "Gómez Pérez".encode(),
            "text/plain",
        ),
    ],
    ids=["json", "bytes", "text", "nothing", "comment"],
)
@pytest.mark.parametrize("wrapper", ["{}", "<ps:notification>{}</ps:notification>"], ids=["bare", "wrapped"])
def test_content_that_is_no_xml_is_stored_as_it_was_before_it_was_written_as_xml(
    soap: PlainClient, client: Client, topic: str, wrapper: str, inside: str, stored_body: bytes, stored_type: str
) -> None:
    said = publication(wrapper.format(inside), topic)

    reply = soap.post("novedades", said)

    (stored,) = client.read(topic, reply.notification_id)
    assert (stored.body, stored.content_type) == (stored_body, stored_type)


def test_a_wrapped_element_is_stored_without_the_wrapper(soap: PlainClient, client: Client, topic: str) -> None:
    said = publication('<ps:notification xmlns:n="urn:n"><n:a>1</n:a></ps:notification>', topic)

    soap.post("novedades", said)

    (stored,) = client.read(topic, 1)
    assert canonical(stored.body) == b'<n:a xmlns:n="urn:n">1</n:a>'
    assert stored.content_type == "application/xml"


def test_a_large_binary_fits_in_base64(soap: PlainClient, client: Client, topic: str) -> None:
    body = bytes(range(256)) * 4_096
    inside = f'<ps:content encoding="base64">{base64.b64encode(body).decode()}</ps:content>'

    soap.post("novedades", publication(inside, topic))

    (stored,) = client.read(topic, 1)
    assert stored.body == body


def test_the_key_of_the_header_is_the_key_of_the_message(soap: PlainClient, client: Client, topic: str) -> None:
    headers = ["<ps:key> 1.111.111-1 </ps:key>", "<ps:key/>", ""]

    for header in headers:
        soap.post("novedades", publication("<a/>", topic, header=header))

    assert [one.key for one in client.read(topic, 1)] == ["1.111.111-1", None, None]


@pytest.mark.parametrize(
    ("version", "sent", "kept"),
    [
        (SOAP_11, {"SOAPAction": '"urn:alta"'}, {"soap-action": "urn:alta"}),
        (SOAP_11, {"SOAPAction": '""'}, {}),
        (SOAP_11, {}, {}),
        (
            SOAP_12,
            {"Content-Type": 'application/soap+xml; charset=utf-8; action="urn:alta"'},
            {"soap-action": "urn:alta"},
        ),
    ],
    ids=["given", "empty", "none", "1.2"],
)
def test_a_soap_action_is_kept_if_there_is_one(
    soap: PlainClient, client: Client, topic: str, version: str, sent: dict[str, str], kept: dict[str, str]
) -> None:
    said = publication("<a/>", topic, version=version)

    reply = soap.post("novedades", said, headers=sent)

    (stored,) = client.read(topic, reply.notification_id)
    assert stored.headers == kept


@pytest.mark.parametrize("namespace", [WSA, WSA_2004], ids=["1.0", "2004/08"])
def test_a_message_id_is_the_id_and_is_stored_once(
    soap: PlainClient, client: Client, topic: str, namespace: str
) -> None:
    header = f'<w:MessageID xmlns:w="{namespace}">urn:acta:1</w:MessageID><w:To xmlns:w="{namespace}">urn:hub</w:To>'

    first = soap.post("novedades", publication("<a>1</a>", topic, header=header))
    again = soap.post("novedades", publication("<a>2</a>", topic, header=header))
    other = soap.post("novedades", publication("<a>3</a>", topic, producer="DNIC", header=header))

    assert [one.notification_id for one in (first, again, other)] == [1, 1, 2]
    stored = client.read(topic, 1)
    assert [canonical(one.body) for one in stored] == [b"<a>1</a>", b"<a>3</a>"]
    assert [one.id for one in stored] == ["urn:acta:1", "urn:acta:1"]
    assert first.header("RelatesTo", namespace) == "urn:acta:1"
    assert first.header("Action", namespace) == f"{PS}/novedades/PublishNotificationResponse"
    assert first.header("MessageID", namespace) != again.header("MessageID", namespace)


def test_without_a_message_id_the_answer_has_nothing_of_addressing(
    soap: PlainClient, client: Client, topic: str
) -> None:
    said = publication("<a/>", topic, header=f"<wsa:To>urn:hub</wsa:To><wsa:Action>{PS}</wsa:Action>")

    first, second = soap.post("novedades", said), soap.post("novedades", said)

    assert [first.notification_id, second.notification_id] == [1, 2]
    assert [first.header(name, WSA) for name in ("RelatesTo", "Action", "MessageID")] == [None, None, None]


def test_a_message_id_is_remembered_after_a_restart(tmp_path: Path) -> None:
    said = publication("<a/>", "actas", header="<wsa:MessageID>urn:acta:1</wsa:MessageID>")
    numbers = []

    for _ in range(2):
        with run_hub(data=tmp_path) as hub:
            soap = PlainClient(hub.http)
            numbers.append(soap.post("novedades", said).notification_id)
            soap.close()

    assert numbers == [1, 1]


def test_an_envelope_in_another_encoding_is_stored_in_utf_8(soap: PlainClient, client: Client, topic: str) -> None:
    text = publication("<a>Gómez</a>", topic).decode()
    declared = '<?xml version="1.0" encoding="{}"?>'
    sent = [
        (text.encode("latin-1"), "text/xml; charset=ISO-8859-1"),
        ((declared.format("ISO-8859-1") + text).encode("latin-1"), "text/xml"),
        ((declared.format("windows-1252") + text).encode("cp1252"), 'text/xml; charset="windows-1252"'),
        ((declared.format("UTF-16") + text).encode("utf-16"), "application/soap+xml; charset=utf-16"),
    ]

    for data, content_type in sent:
        soap.post("novedades", data, content_type)

    assert [canonical(one.body) for one in client.read(topic, 1)] == ["<a>Gómez</a>".encode()] * len(sent)


def test_header_entries_for_others_are_left_alone(soap: PlainClient, client: Client, topic: str) -> None:
    elsewhere = '<x:route xmlns:x="urn:x" e:mustUnderstand="1" e:actor="urn:another-node"/>'
    optional = '<x:hint xmlns:x="urn:x" e:mustUnderstand="0">deep <x:er/></x:hint><!-- and a comment --><?and more?>'

    reply = soap.post("novedades", publication("<a/>", topic, header=elsewhere + optional))

    assert (reply.status, reply.notification_id) == (200, 1)


def test_publications_at_the_same_time_get_each_their_own_number(running: RunningHub, topic: str) -> None:
    def publish_some(producer: str) -> list[int]:
        client = PlainClient(running.http)
        numbers = [
            client.post("novedades", publication(f"<a>{n}</a>", topic, producer=producer)).notification_id
            for n in range(20)
        ]
        client.close()
        return numbers

    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(publish_some, [f"P{n}" for n in range(8)]))

    assert sorted(number for some in numbers for number in some) == list(range(1, 161))
    assert all(some == sorted(some) for some in numbers)


def test_what_is_published_by_soap_can_be_pulled_at_once(soap: PlainClient, client: Client, topic: str) -> None:
    soap.post("novedades", envelope("<a/>", f"<ps:topic>{topic}</ps:topic><ps:producer>DGREC</ps:producer>"))

    pulled = client.pull(topic, "BPS")

    assert [(one.seq, one.producer) for one in pulled] == [(1, "DGREC")]
