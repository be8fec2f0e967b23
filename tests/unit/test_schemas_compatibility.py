"""Whether a new schema accepts what the old one did: the cases that people meet."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pregon.errors import BadSchema
from pregon.schemas.compatibility import SchemaText, compare

XML = SchemaText("xml")
JSON = SchemaText("json")
ANY_JSON = SchemaText("json-schema", "{}")
SOME_JSON = SchemaText("json-schema", '{"type": "string"}')


def xsd(content: str, attributes: str = "") -> SchemaText:
    """A schema with this in it."""
    text = f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" {attributes}>{content}</xs:schema>'
    return SchemaText("xsd", text)


def order(content: str, kind: str = "sequence", attributes: str = "") -> SchemaText:
    """A schema for an order with this inside."""
    body = f"<xs:complexType><xs:{kind}>{content}</xs:{kind}>{attributes}</xs:complexType>"
    return xsd(f'<xs:element name="order">{body}</xs:element>')


def size(facets: str, base: str = "xs:string") -> SchemaText:
    """A schema for an element whose text has these facets."""
    simple = f'<xs:simpleType><xs:restriction base="{base}">{facets}</xs:restriction></xs:simpleType>'
    return xsd(f'<xs:element name="size">{simple}</xs:element>')


def facets(**values: str) -> str:
    """Facets, as XSD writes them."""
    return "".join(f'<xs:{name} value="{value}"/>' for name, value in values.items())


SOME_XSD = xsd('<xs:element name="a" type="xs:string"/>')
A = '<xs:element name="a" type="xs:int"/>'
B = '<xs:element name="b" type="xs:int"/>'
B_OPTIONAL = '<xs:element name="b" type="xs:int" minOccurs="0"/>'
B_MANY = '<xs:element name="b" type="xs:int" minOccurs="0" maxOccurs="unbounded"/>'
S, M = '<xs:enumeration value="S"/>', '<xs:enumeration value="M"/>'
ANY = '<xs:any processContents="lax" minOccurs="0" maxOccurs="unbounded"/>'
C_NEEDED, C = '<xs:attribute name="c" use="required"/>', '<xs:attribute name="c"/>'
WITH_A_TYPE = (
    '<xs:element name="order" type="t"/><xs:complexType name="t"><xs:sequence>{}</xs:sequence></xs:complexType>'
)

BETWEEN_KINDS = [
    (None, XML, "no"),
    (None, ANY_JSON, "no"),
    (XML, XML, "yes"),
    (XML, SOME_XSD, "no"),
    (SOME_XSD, XML, "yes"),
    (SOME_XSD, SOME_XSD, "yes"),
    (JSON, JSON, "yes"),
    (JSON, ANY_JSON, "yes"),
    (JSON, SOME_JSON, "no"),
    (SOME_JSON, JSON, "yes"),
    (XML, JSON, "no"),
    (SOME_JSON, SOME_XSD, "no"),
    (SOME_XSD, SOME_JSON, "no"),
]

XSD_PAIRS = [
    (order(A), order(A + B_OPTIONAL), "yes", ""),
    (order(A), order(B_OPTIONAL + A), "yes", ""),
    (order(A), order(A + B), "no", "/order/b: must come now"),
    (order(A + B), order(A), "no", "/order/b: is gone"),
    (order(A + B), order(B + A), "unknown", "at another place"),
    (order(A + B), order(A + B_OPTIONAL), "yes", ""),
    (order(A + B_OPTIONAL), order(A + B), "no", "/order/b: minOccurs went up from 0 to 1"),
    (order(A + B_OPTIONAL), order(A + B_MANY), "yes", ""),
    (order(A + B_MANY), order(A + B_OPTIONAL), "no", "/order/b: maxOccurs went down"),
    (order(A), order(A.replace("xs:int", "xs:integer")), "yes", ""),
    (order(A), order(A.replace("xs:int", "xs:short")), "no", "/order/a: the type was xs:int and is xs:short"),
    (order(A), order(A.replace("xs:int", "xs:string")), "unknown", "/order/a: the type"),
    (order(A, "choice"), order(A + B, "choice"), "yes", ""),
    (order(A + B, "choice"), order(B + A, "choice"), "yes", ""),
    (order(A + B, "choice"), order(A, "choice"), "no", "/order/b: is gone"),
    (order(A, "all"), order(A + B_OPTIONAL, "all"), "yes", ""),
    (order(A, "all"), order(A + B, "all"), "no", "/order/b: must come now"),
    (order(A, "sequence"), order(A, "choice"), "unknown", ""),
    (order(A), order(A, attributes=C), "yes", ""),
    (order(A), order(A, attributes=C_NEEDED), "no", "/order/@c: the attribute is required now"),
    (order(A, attributes=C), order(A, attributes=C_NEEDED), "no", "/order/@c: the attribute is required now"),
    (order(A, attributes=C_NEEDED), order(A, attributes=C), "yes", ""),
    (order(A, attributes=C), order(A), "no", "/order/@c: the attribute is gone"),
    (order(A, attributes="<xs:anyAttribute/>"), order(A, attributes=C + "<xs:anyAttribute/>"), "unknown", "wildcard"),
    (order(A + ANY), order(A + B_OPTIONAL), "unknown", ""),
    (order(A + ANY), xsd(order(A + ANY).text.split(">", 1)[1].rsplit("<", 1)[0] + B), "unknown", "wildcard"),
    (size(S), size(S + M), "yes", ""),
    (size(S + M), size(S), "no", "/size: the enumeration 'M' is gone"),
    (size(""), size(S), "no", "/size: there is a new enumeration"),
    (size(S), size(""), "yes", ""),
    (size(facets(maxLength="5")), size(facets(maxLength="6")), "yes", ""),
    (size(facets(maxLength="5")), size(facets(maxLength="4")), "no", "/size: maxLength went from 5 to 4"),
    (size(facets(minLength="2")), size(facets(minLength="1")), "yes", ""),
    (size(facets(minLength="1")), size(facets(minLength="2")), "no", "/size: minLength went from 1 to 2"),
    (size(facets(minLength="0")), size(facets(minLength="0") + facets(minLength="1")), "unknown", "more than one"),
    (size(S + facets(whiteSpace="collapse")), size(S), "unknown", "whiteSpace"),
    (size(facets(pattern="a")), size(facets(pattern="a|b")), "unknown", "pattern"),
    (size(facets(pattern="a")), size(facets(pattern="a") + facets(pattern="b")), "yes", ""),
    (size(facets(maxInclusive="9"), "xs:int"), size(facets(maxExclusive="10"), "xs:decimal"), "yes", ""),
    (size(facets(maxInclusive="9"), "xs:int"), size(facets(maxInclusive="8"), "xs:int"), "no", "narrower"),
    (
        size(facets(minInclusive="2000-01-01"), "xs:date"),
        size(facets(minInclusive="1999-01-01"), "xs:date"),
        "unknown",
        "",
    ),
    (xsd(A), xsd(A + B), "yes", ""),
    (xsd(A + B), xsd(A), "no", "/b: xs:element is gone"),
    (xsd(WITH_A_TYPE.format(A)), xsd(WITH_A_TYPE.format(A + B_OPTIONAL)), "yes", ""),
    (xsd(WITH_A_TYPE.format(A)), xsd(WITH_A_TYPE.format(B)), "no", "/t/b: must come now"),
    (xsd(A), xsd(A, 'targetNamespace="urn:x"'), "no", "targetNamespace"),
    (xsd(A), xsd(A, 'elementFormDefault="qualified"'), "unknown", "elementFormDefault"),
    (order(A), SchemaText("xsd", order(A).text.replace("xs:", "x:").replace("xmlns:xs", "xmlns:x")), "yes", ""),
    (
        xsd('<xs:element name="a"/>'),
        xsd('<xs:element name="a"/><xs:element name="b" type="xs:int"/>'),
        "unknown",
        "wildcard",
    ),
    (xsd('<xs:element name="a" nillable="true" type="xs:int"/>'), xsd(A), "no", "/a: it may not be nil"),
    (xsd(A), xsd('<xs:element name="a" fixed="1" type="xs:int"/>'), "unknown", "/a: fixed"),
]

TREE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/t"}}, "additionalProperties": False}
WIDER_TREE = {**TREE, "properties": {"next": {"$ref": "#/$defs/t"}, "more": {}}}
CLOSED = {"properties": {"a": {"type": "string"}}, "additionalProperties": False}

JSON_PAIRS: list[tuple[Any, Any, str, str]] = [
    ({"type": "string"}, {"type": ["string", "null"]}, "yes", ""),
    ({"type": ["string", "null"]}, {"type": "string"}, "no", "/: null is not accepted"),
    ({"type": "integer"}, {"type": "number"}, "yes", ""),
    ({"type": "number"}, {"type": "integer"}, "no", "fraction"),
    ({"maxLength": 5}, {"maxLength": 6}, "yes", ""),
    ({"maxLength": 5}, {"maxLength": 4}, "no", "maxLength went down from 5 to 4"),
    ({"type": "integer"}, {"type": "integer", "maxLength": 4}, "yes", ""),
    ({"maxLength": 5, "pattern": "^a$"}, {"maxLength": 4, "pattern": "^a$"}, "unknown", "maxLength"),
    ({"type": "string"}, {"type": "string", "pattern": "^a"}, "unknown", "pattern"),
    ({"pattern": "^a"}, {}, "yes", ""),
    ({"minimum": 1, "type": "integer"}, {"exclusiveMinimum": 0}, "yes", ""),
    ({"minimum": 1}, {"exclusiveMinimum": 1}, "no", "minimum"),
    ({"multipleOf": 6}, {"multipleOf": 3}, "yes", ""),
    ({"multipleOf": 3}, {"multipleOf": 6}, "unknown", "multiples of 6"),
    ({"type": "integer"}, {"type": "integer", "multipleOf": 2}, "no", "multiples of 2"),
    ({"enum": [1, "a"]}, {"enum": [1, "a", None]}, "yes", ""),
    ({"enum": [1, "a"]}, {"enum": [1]}, "no", "'a' is not accepted any more"),
    ({"enum": [1, True]}, {"type": "integer"}, "no", "True"),
    ({"const": "ab"}, {"type": "string", "maxLength": 2}, "yes", ""),
    ({"type": "boolean"}, {"enum": [True, False]}, "yes", ""),
    ({"type": "string"}, {"enum": ["a"]}, "no", "listed values"),
    (CLOSED, {**CLOSED, "properties": {**CLOSED["properties"], "b": {"type": "null"}}}, "yes", ""),
    ({"properties": {"a": {}}}, {"properties": {"a": {}, "b": {"type": "null"}}}, "no", "/b: "),
    ({"type": "object"}, {"type": "object", "required": ["a"]}, "no", "a is required now"),
    ({"required": ["a", "b"]}, {"required": ["a"], "minProperties": 2}, "yes", ""),
    ({}, {"additionalProperties": False}, "no", "/*: nothing is accepted"),
    ({"items": {"type": "integer"}}, {"items": {"type": "number"}}, "yes", ""),
    ({"items": {"type": "number"}}, {"items": {"type": "integer"}}, "no", "/items: fraction"),
    ({"prefixItems": [{"const": 1}], "items": False}, {"items": {"type": "integer"}}, "yes", ""),
    ({"maxItems": 1}, {"uniqueItems": True}, "yes", ""),
    ({"type": "string"}, {"anyOf": [{"type": "string"}, {"type": "null"}]}, "yes", ""),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": ["string", "null"]}, "yes", ""),
    (
        {"oneOf": [{"type": "string"}, {"maxLength": 3}]},
        {"oneOf": [{"maxLength": 3}, {"type": "string"}]},
        "unknown",
        "",
    ),
    ({"allOf": [{"minLength": 2}, {"maxLength": 3}]}, {"minLength": 1, "maxLength": 4}, "yes", ""),
    ({"allOf": [{"minLength": 2}]}, {"allOf": [{"minLength": 2}, {"maxLength": 3}]}, "no", "maxLength"),
    ({"$defs": {"t": TREE}, "$ref": "#/$defs/t"}, {"$defs": {"t": WIDER_TREE}, "$ref": "#/$defs/t"}, "yes", ""),
    ({"$defs": {"t": WIDER_TREE}, "$ref": "#/$defs/t"}, {"$defs": {"t": TREE}, "$ref": "#/$defs/t"}, "no", "/more: "),
    (
        {"$defs": {"t": {"type": "string"}}, "not": {"$ref": "#/$defs/t"}},
        {"$defs": {"t": {"type": ["string", "null"]}}, "not": {"$ref": "#/$defs/t"}},
        "unknown",
        "not has changed",
    ),
    ({"anyOf": [{"$ref": "#"}]}, {"anyOf": [{"$ref": "#"}], "title": "t", "not": {}}, "unknown", ""),
    ({"title": "a", "if": {"minimum": 1}, "then": False}, {"if": {"minimum": 1}, "then": False}, "yes", ""),
    ({"if": {"minimum": 1}}, {"if": {"minimum": 1}, "then": False}, "unknown", "then"),
    (
        {"properties": {"a": {}}, "unevaluatedProperties": False},
        {"unevaluatedProperties": False},
        "unknown",
        "unevaluated",
    ),
    ({"$schema": "http://json-schema.org/draft-07/schema#"}, {}, "unknown", "2020-12"),
    ({"$anchor": "x"}, {"$anchor": "y"}, "unknown", "anchors"),
    (False, {"type": "string"}, "yes", ""),
    ({"type": "string"}, False, "no", "nothing is accepted any more"),
    (True, {}, "yes", ""),
]


@pytest.mark.parametrize(("old", "new", "answer"), BETWEEN_KINDS)
def test_a_kind_contains_what_it_is_made_of(old: SchemaText | None, new: SchemaText, answer: str) -> None:
    verdict = compare(old, new)

    assert verdict.answer == answer
    assert bool(verdict.reasons) is (answer != "yes")


@pytest.mark.parametrize(("old", "new", "answer", "reason"), XSD_PAIRS)
def test_a_new_xsd_is_compared_with_the_old(old: SchemaText, new: SchemaText, answer: str, reason: str) -> None:
    verdict = compare(old, new)

    assert verdict.answer == answer, verdict.reasons
    assert bool(verdict.reasons) is (answer != "yes")
    assert reason in "".join(verdict.reasons)


@pytest.mark.parametrize(("old", "new", "answer", "reason"), JSON_PAIRS)
def test_a_new_json_schema_is_compared_with_the_old(old: Any, new: Any, answer: str, reason: str) -> None:
    schemas = [SchemaText("json-schema", json.dumps(schema)) for schema in (old, new)]

    verdict = compare(*schemas)

    assert verdict.answer == answer, verdict.reasons
    assert bool(verdict.reasons) is (answer != "yes")
    assert reason in "".join(verdict.reasons)


@pytest.mark.parametrize("kind", ["xsd", "json-schema"])
def test_a_schema_that_cannot_be_used_is_not_compared(kind: str) -> None:
    good = {"xsd": SOME_XSD, "json-schema": SOME_JSON}[kind]

    for pair in ((SchemaText(kind, "<"), good), (good, SchemaText(kind, "<"))):
        with pytest.raises(BadSchema):
            compare(*pair)


def test_schemas_too_large_to_compare_are_unknown() -> None:
    def branches(last: str) -> dict[str, Any]:
        level: dict[str, Any] = {"type": last}
        for _ in range(5):
            level = {"anyOf": [{"items": level, "minItems": number} for number in range(4)]}
        return level

    verdict = compare(*(SchemaText("json-schema", json.dumps(branches(last))) for last in ("string", "null")))

    assert verdict.answer == "unknown"
    assert len(verdict.reasons) <= 20
