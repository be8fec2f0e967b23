"""The WSDLs: valid schemas, real addresses, and answers that are as they say."""

from __future__ import annotations

from typing import Any

import pytest
from lxml import etree

from pregon.edges.soap.catalog import catalog_service
from pregon.edges.soap.operations import Operation, OperationsService
from pregon.edges.soap.records import FLAG, INSTANT, NUMBER, Field, Record, decode_fields, encode_fields
from pregon.edges.soap.traces import traces_service
from pregon.edges.soap.wsdl import publication_wsdl, reception_wsdl
from pregon.errors import BadRequest
from pregon.soap.vocabulary import CATALOGO, PS, TRAZAS

WSDL = {"w": "http://schemas.xmlsoap.org/wsdl/", "xs": "http://www.w3.org/2001/XMLSchema"}
SERVICES = {"Catalogo": catalog_service(), "Trazas": traces_service()}
OPERATIONS = [(name, one) for name, service in SERVICES.items() for one in service.operations]


def schema_of(service: OperationsService) -> etree.XMLSchema:
    """The schema of a service's own namespace, compiled."""
    root = etree.fromstring(service.describe("http://h"))
    (schema,) = root.findall(f"w:types/xs:schema[@targetNamespace='{service.namespace}']", WSDL)
    return etree.XMLSchema(etree.fromstring(etree.tostring(schema)))


def sample(fields: tuple[Field, ...]) -> dict[str, Any]:
    """A value for every field."""
    values: dict[str, Any] = {}
    for field in fields:
        if isinstance(field.kind, Record):
            value: Any = sample(field.kind.fields)
        else:
            value = {NUMBER: 5, FLAG: True, INSTANT: 1_300_000_000_000_000}.get(field.kind, "a & b")
        values[field.attribute] = [value, value] if field.is_list else value
    return values


@pytest.mark.parametrize(("name", "operation"), OPERATIONS, ids=[one.name for _, one in OPERATIONS])
def test_requests_and_answers_are_valid_by_the_schema_that_is_published(name: str, operation: Operation) -> None:
    service = SERVICES[name]
    schema = schema_of(service)

    for tag, fields in ((operation.name, operation.asks), (f"{operation.name}Response", operation.answers)):
        values = sample(fields)
        element = etree.fromstring(f'<{tag} xmlns="{service.namespace}">{encode_fields(fields, values)}</{tag}>')

        schema.assertValid(element)
        assert decode_fields(fields, element, service.namespace) == values


@pytest.mark.parametrize(("name", "operation"), OPERATIONS, ids=[one.name for _, one in OPERATIONS])
def test_what_is_required_is_required_by_the_schema_too(name: str, operation: Operation) -> None:
    service = SERVICES[name]
    empty = etree.fromstring(f'<{operation.name} xmlns="{service.namespace}"/>')
    needs_something = any(field.is_required for field in operation.asks)

    is_valid = schema_of(service).validate(empty)

    assert is_valid == (not needs_something)
    if needs_something:
        with pytest.raises(BadRequest, match="needs"):
            decode_fields(operation.asks, empty, service.namespace)


@pytest.mark.parametrize(
    ("described", "namespace"),
    [
        (publication_wsdl, PS),
        (reception_wsdl, PS),
        (SERVICES["Catalogo"].describe, CATALOGO),
        (SERVICES["Trazas"].describe, TRAZAS),
    ],
    ids=["novedades", "recepcion", "catalogo", "trazas"],
)
def test_each_port_is_at_the_address_where_it_was_asked_for(described: Any, namespace: str) -> None:
    address = 'https://hub.example:8443/soap/x?a="<&>'

    root = etree.fromstring(described(address))

    assert root.get("targetNamespace") == namespace
    assert root.xpath("//w:port/*/@location", namespaces=WSDL) == [address, address]


@pytest.mark.parametrize("described", [publication_wsdl, reception_wsdl, *(one.describe for one in SERVICES.values())])
def test_every_name_that_a_wsdl_uses_is_declared_in_it(described: Any) -> None:
    root = etree.fromstring(described("http://h"))
    elements = {
        f"{{{schema.get('targetNamespace')}}}{name}"
        for schema in root.findall("w:types/xs:schema", WSDL)
        for name in schema.xpath("xs:element/@name", namespaces=WSDL)
    }
    messages = set(root.xpath("w:message/@name", namespaces=WSDL))

    used = {resolve(part, "element") for part in root.findall("w:message/w:part", WSDL)}
    sent = {str(one).partition(":")[2] for one in root.xpath("//w:portType//@message", namespaces=WSDL)}

    assert used <= elements
    assert sent == messages


def resolve(node: etree._Element, attribute: str) -> str:
    """A qualified name in an attribute, with its namespace."""
    prefix, _, name = node.get(attribute, "").partition(":")
    return f"{{{node.nsmap[prefix]}}}{name}"


def test_figure_4_is_valid_by_the_schema_of_reception() -> None:
    root = etree.fromstring(reception_wsdl("http://h"))
    schema = etree.XMLSchema(etree.fromstring(etree.tostring(root.find("w:types/xs:schema", WSDL))))
    figure = f'<ps:NotificationRequest xmlns:ps="{PS}"><subscriber>C1</subscriber><topic>C</topic><ackNotificationId/>'

    schema.assertValid(etree.fromstring(f"{figure}</ps:NotificationRequest>"))
    qualified = etree.fromstring(
        f"{figure.replace('<topic>C</topic>', '<ps:topic>C</ps:topic>')}</ps:NotificationRequest>"
    )

    assert not schema.validate(qualified)
