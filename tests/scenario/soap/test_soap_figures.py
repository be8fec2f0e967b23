"""The wire format as the service's description draws it: its figures go in and come out word for word."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lxml import etree

from pregon.testing import RunningHub, run_hub

from ..soap_clients.plain import PlainClient, operation, request

FIGURE_2 = """<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"
xmlns:not="http://noticias.agesic.gub.uy/" xmlns:ps="http://ps.agesic.gub.uy">
  <soapenv:Header>
    <ps:producer>P1</ps:producer>
    <ps:topic>C</ps:topic>
  </soapenv:Header>
  <soapenv:Body>
    <not:noticia>
      <not:personas>
        <not:persona>
          <not:nombre>Pepe</not:nombre>
          <not:apellido>Gomez</not:apellido>
          <not:fechaNacimiento>2011-03-02T17:57:00.0Z</not:fechaNacimiento>
          <not:ci>1.111.111-1</not:ci>
        </not:persona>
      </not:personas>
    </not:noticia>
  </soapenv:Body>
</soapenv:Envelope>
"""
FIGURE_3 = """<soapenv:Envelope
xmlns:ps="http://ps.agesic.gub.uy"
xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/">
  <soapenv:Header>
    <ps:notificationId>17</ps:notificationId>
  </soapenv:Header>
  <soapenv:Body/>
</soapenv:Envelope>
"""
FIGURE_4 = """<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"
xmlns:ps="http://ps.agesic.gub.uy">
  <soapenv:Header/>
  <soapenv:Body>
    <ps:NotificationRequest>
      <subscriber>C1</subscriber>
      <topic>C</topic>
      <ackNotificationId/>
    </ps:NotificationRequest>
  </soapenv:Body>
</soapenv:Envelope>
"""
FIGURE_5 = """<soapenv:Envelope
xmlns:ps="http://ps.agesic.gub.uy"
xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/">
  <soapenv:Header>
    <ps:producer>P1</ps:producer>
    <ps:notificationId>17</ps:notificationId>
  </soapenv:Header>
  <soapenv:Body>
    <not:noticia xmlns:not="http://noticias.agesic.gub.uy/">
      <not:personas>
        <not:persona>
          <not:nombre>Pepe</not:nombre>
          <not:apellido>Gomez</not:apellido>
          <not:fechaNacimiento>2011-03-02T17:57:00Z</not:fechaNacimiento>
          <not:ci>1.111.111-1</not:ci>
        </not:persona>
      </not:personas>
    </not:noticia>
  </soapenv:Body>
</soapenv:Envelope>
"""
# The figures write the same instant in two ways; what goes out is what came in.
PUBLISHED_AS_IN_FIGURE_5 = FIGURE_2.replace("17:57:00.0Z", "17:57:00Z")


@pytest.fixture
def hub() -> Iterator[RunningHub]:
    with run_hub() as hub:
        yield hub


@pytest.fixture
def soap(hub: RunningHub) -> Iterator[PlainClient]:
    client = PlainClient(hub.http)
    yield client
    client.close()


def shape(document: str | bytes) -> bytes:
    """A figure in canonical form, without the line breaks that the paper put between its elements."""
    root = etree.fromstring(document, etree.XMLParser(remove_blank_text=True))
    return etree.tostring(root, method="c14n")


def test_figure_2_is_answered_with_figure_3(soap: PlainClient) -> None:
    for _ in range(16):
        soap.post("novedades", FIGURE_2.encode())

    reply = soap.post("novedades", FIGURE_2.encode())

    assert reply.status == 200
    assert reply.content_type == "text/xml; charset=utf-8"
    assert shape(reply.content) == shape(FIGURE_3)


def test_figure_4_is_answered_with_figure_5(soap: PlainClient) -> None:
    for _ in range(17):
        soap.post("novedades", PUBLISHED_AS_IN_FIGURE_5.encode())
    start = "<topic>C</topic><subscriber>C1</subscriber><start>17</start>"
    soap.post("catalogo", operation("CreateSubscription", start))

    reply = soap.post("recepcion", FIGURE_4.encode())

    assert reply.status == 200
    assert shape(reply.content) == shape(FIGURE_5)


def test_the_protocol_of_reception_goes_on_until_the_body_is_empty(soap: PlainClient) -> None:
    for _ in range(2):
        soap.post("novedades", FIGURE_2.encode())

    first = soap.post("recepcion", FIGURE_4.encode())
    again = soap.post("recepcion", FIGURE_4.encode())
    second = soap.post("recepcion", request("C", "C1", ack=first.notification_id))
    last = soap.post("recepcion", request("C", "C1", ack=second.notification_id))

    assert first.content == again.content
    assert (first.notification_id, second.notification_id) == (1, 2)
    assert last.body == []
    assert (last.status, last.header("producer"), last.header("notificationId")) == (200, None, None)
