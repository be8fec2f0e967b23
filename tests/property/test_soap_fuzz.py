"""The SOAP door against strangers: whatever is posted, the answer is an envelope, and never a bug of ours."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from pregon.edges.soap.door import SoapDoor
from pregon.edges.soap.exchange import SoapHttpAnswer, SoapHttpRequest
from pregon.hub.bridge import Bridge
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.soap.vocabulary import CATALOGO, PS, SOAP_11, SOAP_12, TRAZAS, WSA, WSA_2004, WSSE, WSU, XSI
from pregon.store.database import SqliteDatabase

Post = Callable[[SoapHttpRequest], SoapHttpAnswer]

SPACES = (
    f'xmlns:ps="{PS}" xmlns:wsa="{WSA}" xmlns:w4="{WSA_2004}" xmlns:wsse="{WSSE}" xmlns:wsu="{WSU}" xmlns:xsi="{XSI}"'
)
HEADER = (
    "<ps:producer>P1</ps:producer><ps:topic>C</ps:topic><ps:key>k</ps:key><wsa:MessageID>urn:1</wsa:MessageID>"
    '<w4:ReplyTo e:mustUnderstand="0"><w4:Address>x</w4:Address></w4:ReplyTo>'
    '<wsse:Security e:mustUnderstand="1"><wsu:Timestamp><wsu:Expires>2099-01-01T00:00:00Z</wsu:Expires></wsu:Timestamp>'
    "<wsse:UsernameToken><wsse:Username>P1</wsse:Username></wsse:UsernameToken></wsse:Security>"
)
BODIES = (
    '<n:a xmlns:n="urn:n">1<b c="2"/></n:a>',
    '<ps:notification><ps:content contentType="image/png" encoding="base64">iVBORw==</ps:content></ps:notification>',
    "<ps:NotificationRequest><subscriber>C1</subscriber><topic>C</topic><ackNotificationId/></ps:NotificationRequest>",
    f'<CreateTopic xmlns="{CATALOGO}"><name>T</name><retention><ageMs>5</ageMs></retention></CreateTopic>',
    f'<CreateSubscription xmlns="{CATALOGO}"><topic>T</topic><subscriber>S</subscriber><start>1</start>'
    '<pendingMax xsi:nil="true"/></CreateSubscription>',
    f'<UpdateProducer xmlns="{CATALOGO}"><name>P2</name><topics><topic>T</topic></topics></UpdateProducer>',
    f'<ListSubscriptions xmlns="{CATALOGO}"><afterTopic>T</afterTopic><max>5</max></ListSubscriptions>',
    f'<CreateProducerKey xmlns="{CATALOGO}"><name>P3</name><lifetimeMs>5</lifetimeMs></CreateProducerKey>',
    f'<GrantTopic xmlns="{CATALOGO}"><producer>P1</producer><topic>C</topic></GrantTopic>',
    f'<SearchTraces xmlns="{TRAZAS}"><from>2011-03-04T10:00:00Z</from><before>9</before></SearchTraces>',
)
PIECES = (
    b"<",
    b">",
    b"&",
    b"&#0;",
    b"&#55296;",
    b"&amp;",
    b'"',
    b"\x00",
    b"\xff",
    "ñ\u00a0".encode(),
    b"]]>",
    b"<![CDATA[",
    b"<!-- -->",
    b"<?p?>",
    b"<!DOCTYPE a>",
    b"</e:Body>",
    b"<e:Body/>",
    b'xmlns=""',
    b' xsi:nil="true"',
    b' e:mustUnderstand="1"',
    b"-1",
    b"99999999999999999999",
    b"a:b:c",
    b"<a:b:c/>",
    b"0000-00-00T99:99:99",
    b"9999-12-31T23:59:59.9999999999-14:00",
    b"0001-01-01T00:00:00+14:00",
    b" " * 200,
    b"x" * 300,
)
services = st.sampled_from(["novedades", "recepcion", "catalogo", "trazas", "nada", ""])
content_types = st.one_of(
    st.sampled_from(["text/xml", "text/xml; charset=utf-8", "application/soap+xml", "text/xml; charset=ISO-8859-1"]),
    st.sampled_from(
        ["", "multipart/related; boundary=", "application/soap+xml; action=x; charset=", ";;;", "text/xml;="]
    ),
    st.text(max_size=40),
)


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, bytes]:
    """A service, and an envelope that it would understand but for a few bytes that are wrong."""
    body = draw(st.sampled_from(BODIES))
    version = draw(st.sampled_from([SOAP_11.namespace, SOAP_12.namespace, "urn:soap"]))
    header = draw(st.sampled_from(["", HEADER]))
    data = (
        f'<e:Envelope xmlns:e="{version}" {SPACES}><e:Header>{header}</e:Header><e:Body>{body}</e:Body></e:Envelope>'
    ).encode()
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 40)))
        piece = draw(st.one_of(st.sampled_from(PIECES), st.binary(max_size=4), st.just(data[start:end] * 2)))
        data = data[:start] + piece + data[end:]
    fitting = (
        "catalogo"
        if CATALOGO in body
        else "trazas"
        if TRAZAS in body
        else "recepcion"
        if "Req" in body
        else "novedades"
    )
    return draw(st.one_of(st.just(fitting), services)), data


@pytest.fixture(scope="module")
def post() -> Iterator[Post]:
    """The door of a real hub, in this thread."""
    with tempfile.TemporaryDirectory(prefix="pregon-") as scratch, asyncio.Runner() as runner:
        hub = Hub(SqliteDatabase(Path(scratch)))
        hub.start()
        bridge = Bridge(hub.committer)

        async def attach() -> None:
            bridge.attach()

        runner.run(attach())
        door = SoapDoor(Gate(hub), bridge)
        yield lambda request: runner.run(door.handle(request))
        hub.stop()


def require_envelope(answered: SoapHttpAnswer) -> None:
    """An answer that any SOAP client reads, and that is not about a bug of ours."""
    root = etree.fromstring(answered.body)
    version = {SOAP_11.namespace: SOAP_11, SOAP_12.namespace: SOAP_12}[str(etree.QName(root).namespace)]
    assert root.tag == version.envelope
    assert len(root.findall(version.body)) == 1
    assert answered.content_type == f"{version.media_type}; charset=utf-8"
    is_fault = root.find(f"{version.body}/{{{version.namespace}}}Fault") is not None
    assert is_fault == (answered.status != 200)
    assert b"internal_error" not in answered.body


@given(mutated(), content_types)
def test_a_mutated_envelope_is_answered_or_refused(post: Post, said: tuple[str, bytes], content_type: str) -> None:
    service, data = said

    answered = post(SoapHttpRequest("POST", f"/soap/{service}", content_type=content_type, body=data))
    understood = post(SoapHttpRequest("POST", f"/soap/{service}", content_type="text/xml", body=data))

    require_envelope(answered)
    require_envelope(understood)


@given(services, st.binary(max_size=300), content_types, st.text(max_size=40), st.text(max_size=40))
def test_arbitrary_bytes_are_refused(
    post: Post, service: str, data: bytes, content_type: str, soap_action: str, bearer: str
) -> None:
    request = SoapHttpRequest(
        "POST", f"/soap/{service}", content_type=content_type, soap_action=soap_action, bearer=bearer, body=data
    )

    answered = post(request)

    require_envelope(answered)
    assert answered.status != 200


@given(st.text(max_size=60), st.text(max_size=60))
def test_arbitrary_actions_and_keys_are_answered(post: Post, soap_action: str, bearer: str) -> None:
    data = (
        f'<e:Envelope xmlns:e="{SOAP_11.namespace}" {SPACES}><e:Header><ps:producer>P1</ps:producer>'
        "<ps:topic>C</ps:topic></e:Header><e:Body><a/></e:Body></e:Envelope>"
    )

    answered = post(
        SoapHttpRequest(
            "POST",
            "/soap/novedades",
            content_type="text/xml",
            soap_action=soap_action,
            bearer=bearer,
            body=data.encode(),
        )
    )

    require_envelope(answered)


@given(st.text(max_size=60), st.text(max_size=30))
def test_a_wsdl_is_well_formed_whatever_the_client_calls_us(post: Post, base_url: str, query: str) -> None:
    for service in ("novedades", "recepcion", "catalogo", "trazas"):
        asked = SoapHttpRequest("GET", f"/soap/{service}", query=f"WSDL&{query}", base_url=base_url)

        answered = post(asked)

        root = etree.fromstring(answered.body)
        assert answered.status == 200
        assert etree.QName(root).localname == "definitions"
