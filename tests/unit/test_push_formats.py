"""A message as an HTTP request in each format: what it says, that it is signed, that no producer can write headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

import pytest
from cloudevents.core.base import BaseCloudEvent
from cloudevents.core.bindings.http import HTTPMessage, from_http_event
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from standardwebhooks import Webhook

from pregon.clock import format_us, wall_us
from pregon.delivery.formats import SOAP_ACTION, TEST_SEQ, PushRequest, make_request, message_id
from pregon.limits import BODY_BYTES_MAX
from pregon.model import events
from pregon.model.batch import StoredBatch, encode, pack, stamp
from pregon.model.catalog import CLOUDEVENTS, FORMATS, RAW, SOAP
from pregon.model.header_texts import header_text
from pregon.model.message import Message, Outgoing
from pregon.security.signatures import encode_secret, new_secret
from pregon.soap.envelope import open_envelope, read_envelope
from pregon.soap.vocabulary import PS, SOAP_11, WSA
from pregon.version import __version__

SECRET = new_secret()
ENDPOINT = "https://bps.example/novedades?a=1&b=2"
NOTICE = b'<not:noticia xmlns:not="http://noticias.agesic.gub.uy/"><not:ci>1.111.111-1</not:ci></not:noticia>'
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_VALUE = re.compile(r"([!-~]([ -~]*[!-~])?)?", re.ASCII)


def stored(message: Outgoing, topic: str = "fallecidos", seq: int = 17) -> Message:
    """The message as the hub has it."""
    batch = stamp(pack([message], [1_763_000_000_000_001]), "DGREC", 1_763_000_000_250_000)
    (only,) = StoredBatch(seq, 1, encode(batch)).messages(topic)
    return only


def notice(**fields: object) -> Outgoing:
    values: dict[str, object] = {"body": NOTICE, "id": "a1", "key": "k", "content_type": "application/xml", **fields}
    return Outgoing(**values)  # type: ignore[arg-type]


def written(format: str, message: Outgoing, matched: str = "", attempt: int = 3) -> PushRequest:
    return make_request(
        format,
        stored(message),
        secrets=(SECRET,),
        now_s=wall_us() // 1_000_000,
        matched=matched,
        attempt=attempt,
        endpoint=ENDPOINT,
    )


def read_event(request: PushRequest) -> BaseCloudEvent:
    """What the library of CloudEvents, which knows nothing of us, makes of a request."""
    return from_http_event(HTTPMessage(dict(request.headers), request.body))


def assert_headers_are_harmless(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        assert _NAME.fullmatch(name), name
        assert _VALUE.fullmatch(value), (name, value)


def test_an_envelope_is_that_of_the_reception_with_the_topic_and_addressing() -> None:
    request = written(SOAP, notice(), matched="xpath //ci")

    version, root = open_envelope(request.body)
    header = {child.tag: child.text for child in root.find(SOAP_11.header)}  # type: ignore[union-attr]
    assert version is SOAP_11
    assert header == {
        f"{{{PS}}}producer": "DGREC",
        f"{{{PS}}}notificationId": "17",
        f"{{{PS}}}topic": "fallecidos",
        f"{{{PS}}}matched": "xpath //ci",
        f"{{{WSA}}}MessageID": f"urn:pregon:fallecidos:17:{stored(notice()).accepted_us}",
        f"{{{WSA}}}Action": SOAP_ACTION,
        f"{{{WSA}}}To": ENDPOINT,
    }
    assert etree.tostring(read_envelope(version, root).body[0], method="c14n", exclusive=True) == NOTICE
    assert request.headers["Content-Type"] == "text/xml; charset=utf-8"
    assert request.headers["SOAPAction"] == f'"{SOAP_ACTION}"'
    assert "webhook-signature" not in request.headers


def test_an_envelope_without_a_filter_does_not_speak_of_one() -> None:
    assert b"matched" not in written(SOAP, notice()).body


def test_the_action_with_which_a_message_was_published_goes_on_with_it() -> None:
    request = written(SOAP, notice(headers={"soap-action": "urn:dgrec:fallecido"}))

    assert request.headers["SOAPAction"] == '"urn:dgrec:fallecido"'
    assert b">urn:dgrec:fallecido</wsa:Action>" in request.body


@pytest.mark.parametrize("action", ["", 'a"b', "a\r\nX: y", "ñ", "x" * 501])
def test_an_action_that_no_header_can_have_is_replaced(action: str) -> None:
    request = written(SOAP, notice(headers={"soap-action": action}))

    assert request.headers["SOAPAction"] == f'"{SOAP_ACTION}"'


def test_an_event_travels_in_binary_mode_and_the_library_of_cloudevents_reads_it() -> None:
    said = {
        "ce-specversion": "1.0",
        "ce-id": "7",
        "ce-source": "/dgrec",
        "ce-type": "acta",
        "ce-subject": 'Ñandú "x" %',
    }

    request = written(
        CLOUDEVENTS, notice(headers=said, body=b"{}", content_type="application/json"), matched="header a"
    )

    event = read_event(request).get_attributes()
    assert (event["id"], event["source"], event["type"], event["pregontopic"]) == ("7", "/dgrec", "acta", "fallecidos")
    assert (event["pregonsequence"], event["pregonproducer"]) == ("17", "DGREC")
    assert unquote(request.headers["ce-subject"]) == 'Ñandú "x" %'
    assert request.headers["ce-subject"] == "%C3%91and%C3%BA%20%22x%22%20%25"
    assert request.headers["ce-pregonmatched"] == "header%20a"
    assert (request.headers["Content-Type"], request.body) == ("application/json", b"{}")
    assert "ce-datacontenttype" not in request.headers


def test_an_event_without_data_has_no_content_type() -> None:
    request = written(CLOUDEVENTS, notice(body=b""))

    assert "Content-Type" not in request.headers
    assert request.body == b""


def test_a_producer_cannot_say_by_which_filter_its_message_passed() -> None:
    said = {"ce-specversion": "1.0", "ce-id": "7", "ce-source": "/x", "ce-type": "t", "ce-pregonmatched": "lie"}

    plain, filtered = written(CLOUDEVENTS, notice(headers=said)), written(CLOUDEVENTS, notice(headers=said), "truth")

    assert "ce-pregonmatched" not in plain.headers
    assert filtered.headers["ce-pregonmatched"] == "truth"


@pytest.mark.parametrize("content_type", ["application/cloudevents+json", " Application/CloudEvents-batch+JSON; a=b"])
def test_an_event_that_a_producer_put_into_a_body_never_passes_for_the_hubs_own(content_type: str) -> None:
    forged = b'{"specversion":"1.0","id":"1","source":"/hub","type":"t","pregonproducer":"BCU"}'

    request = written(CLOUDEVENTS, notice(body=forged, content_type=content_type))

    event = read_event(request).get_attributes()
    assert (event["pregonproducer"], event["id"]) == ("DGREC", "a1")
    assert request.headers["Content-Type"] == events_type()
    Webhook(encode_secret(SECRET)).verify(request.body, dict(request.headers))


def events_type() -> str:
    return "application/cloudevents+json"


def test_a_raw_push_has_the_body_as_it_was_and_all_that_the_hub_knows_in_headers() -> None:
    message = notice(id="año 1", key="clave%", headers={"region": "Río", "Weird name": "x"})

    request = written(RAW, message, matched="header region = Río")

    assert request.body == NOTICE
    assert {name: value for name, value in request.headers.items() if name.startswith("Pregon-")} == {
        "Pregon-Attempt": "3",
        "Pregon-Topic": "fallecidos",
        "Pregon-Seq": "17",
        "Pregon-Id": "a%C3%B1o 1",
        "Pregon-Producer": "DGREC",
        "Pregon-Key": "clave%25",
        "Pregon-Published-At": format_us(1_763_000_000_000_001),
        "Pregon-Accepted-At": format_us(1_763_000_000_250_000),
        "Pregon-Matched": "header region = R%C3%ADo",
        "Pregon-Header-region": "R%C3%ADo",
        "Pregon-Header-Weird%20name": "x",
    }
    assert request.headers["Content-Type"] == "application/xml"


def test_a_message_without_a_key_is_pushed_without_one() -> None:
    assert "Pregon-Key" not in written(RAW, notice(key=None)).headers


@pytest.mark.parametrize("format", [RAW, CLOUDEVENTS])
def test_the_library_of_standard_webhooks_accepts_the_signature(format: str) -> None:
    request = written(format, notice(body=b'{"a": 1}', content_type="application/json"))

    Webhook(encode_secret(SECRET)).verify(request.body, dict(request.headers))

    assert request.headers["webhook-id"] == f"fallecidos:17:{stored(notice()).accepted_us}"


@pytest.mark.parametrize("format", [RAW, CLOUDEVENTS])
def test_without_secrets_there_is_no_signature(format: str) -> None:
    request = make_request(format, stored(notice()), secrets=(), now_s=1, matched="", attempt=1)

    assert "webhook-signature" not in request.headers
    assert request.headers["webhook-timestamp"] == "1"


def test_the_id_of_a_test_is_that_of_no_message() -> None:
    test, message = stored(notice(), "test", TEST_SEQ), stored(notice(), "test", 17)

    assert message_id(test) == f"test:test:0:{test.accepted_us}"
    assert message_id(message) == f"test:17:{message.accepted_us}"


def test_ids_of_pushes_tell_topics_apart_and_have_no_full_stop() -> None:
    first, second = message_id(stored(notice(), "a.b", 1)), message_id(stored(notice(), "a-b", 1))

    assert first != second
    assert "." not in first


@pytest.mark.parametrize("format", FORMATS)
def test_every_attempt_of_a_message_is_the_same_but_for_its_number_and_time(format: str) -> None:
    one, two = written(format, notice(), attempt=1), written(format, notice(), attempt=2)

    vary = {"Pregon-Attempt", "webhook-timestamp", "webhook-signature"}
    assert one.body == two.body
    assert {n: v for n, v in one.headers.items() if n not in vary} == {
        n: v for n, v in two.headers.items() if n not in vary
    }
    assert (one.headers["Pregon-Attempt"], two.headers["Pregon-Attempt"]) == ("1", "2")
    assert one.headers["User-Agent"] == f"pregon/{__version__}"
    assert one.headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("prefix", ["", "ce-"])
def test_the_trace_in_which_a_message_was_published_goes_on(format: str, prefix: str) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    request = written(format, notice(headers={f"{prefix}traceparent": parent, f"{prefix}tracestate": "a=1, b=2"}))

    assert (request.headers["traceparent"], request.headers["tracestate"]) == (parent, "a=1, b=2")


@pytest.mark.parametrize("parent", ["", "x", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nX: y", "00-Á"])
def test_a_trace_that_is_none_is_not_passed_on(parent: str) -> None:
    request = written(RAW, notice(headers={"traceparent": parent, "tracestate": "a=1"}))

    assert "traceparent" not in request.headers
    assert "tracestate" not in request.headers


_anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_nasty = st.sampled_from(["a\r\nX-Evil: 1", "\n", " x ", "\t", "ñ", "\x00", "%0d%0a", '"', "a: b", "", "\u2028"])


@given(
    format=st.sampled_from(FORMATS),
    key=st.none() | _anything | _nasty,
    id=(_anything | _nasty).filter(bool),
    content_type=(_anything | _nasty).filter(bool),
    headers=st.dictionaries(
        _anything | _nasty | st.sampled_from(["ce-id", "ce-source"]), _anything | _nasty, max_size=4
    ),
    matched=_anything | _nasty,
    body=st.binary(max_size=40),
)
def test_whatever_a_message_has_its_request_is_well_formed(
    format: str, key: str | None, id: str, content_type: str, headers: dict[str, str], matched: str, body: bytes
) -> None:
    message = Outgoing(body, id, key, content_type, headers)

    request = written(format, message, matched)

    assert_headers_are_harmless(request.headers)
    if format == SOAP:
        version, root = open_envelope(request.body)
        read_envelope(version, root)
    elif events_type() not in request.headers.get("Content-Type", ""):
        assert request.body == body


@given(_anything | _nasty)
def test_a_header_can_be_read_back(text: str) -> None:
    value = header_text(text)

    assert unquote(value) == text
    assert _VALUE.fullmatch(value)


@given(_anything.filter(bool))
def test_an_attribute_of_an_event_can_be_read_back(text: str) -> None:
    said = {"ce-specversion": "1.0", "ce-id": "7", "ce-source": "/x", "ce-type": "t", "ce-subject": text}

    request = written(CLOUDEVENTS, notice(headers=said))

    assert unquote(request.headers["ce-subject"]) == text


@pytest.mark.parametrize("format", FORMATS)
def test_the_largest_body_can_be_written(format: str) -> None:
    request = written(format, notice(body=b"\xff" * BODY_BYTES_MAX, content_type="application/octet-stream"))

    assert len(request.body) >= BODY_BYTES_MAX


def test_a_message_that_was_no_event_becomes_one() -> None:
    request = written(CLOUDEVENTS, notice())

    attributes = events.attributes_of(stored(notice()))
    attributes.pop("datacontenttype")
    assert {
        name.removeprefix("ce-"): unquote(value) for name, value in request.headers.items() if name[:3] == "ce-"
    } == (attributes)
