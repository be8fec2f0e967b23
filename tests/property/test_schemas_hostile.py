"""Whatever the bytes, parsers and checkers answer or refuse in our own words."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from pregon.errors import BadSchema, BadXml, SchemaMismatch
from pregon.schemas.check import Checker, compile_schema
from pregon.schemas.xml import parse_xml

XSD = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a"><xs:complexType mixed="true">
<xs:sequence><xs:any processContents="lax" minOccurs="0" maxOccurs="unbounded"/></xs:sequence>
<xs:anyAttribute processContents="lax"/></xs:complexType></xs:element></xs:schema>"""
JSON_SCHEMA = json.dumps(
    {"type": ["object", "array"], "items": {"maxLength": 3}, "additionalProperties": {"minimum": 1}}
)
CHECKERS = [
    compile_schema(*schema) for schema in (("xml", ""), ("json", ""), ("xsd", XSD), ("json-schema", JSON_SCHEMA))
]

MARKUP = [
    *(b"<a>", b"</a>", b"<a/>", b"<a ", b">", b"/>", b"<", b"&", b"&lt;", b"&#0;", b"&#x10FFFF;", b";", b'="', b"'"),
    *(b'"', b"xmlns:b='u'", b"xmlns='u'", b"b:c", b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<?p", b"?>", b"<!DOCTYPE a"),
    *(b"<?xml version='1.0'", b" encoding='UTF-16'", b" encoding='latin1'", b" encoding='ISO-8859-1'", b"[<!ENTITY b "),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0", b"\x80", b"\xed\xa0\x80", b" ", b"\n", b"text", b"xml:id='1'"),
    *(b"{", b"}", b"[", b"]", b":", b",", b'"b"', b"1", b"-", b"1e9", b"\\u", b"d800", b"null", b"true", b"NaN"),
]

soups = st.lists(st.sampled_from(MARKUP), max_size=30).map(b"".join)
documents = soups.map(lambda soup: b"<a>" + soup + b"</a>")
bodies = st.one_of(
    st.binary(max_size=200), soups, documents, documents.map(lambda each: each.decode("latin1").encode("utf-16"))
)
words = [
    "type",
    "items",
    "anyOf",
    "$ref",
    "#",
    "#/$defs/a",
    "$defs",
    "a",
    "pattern",
    "minimum",
    "$schema",
    "$id",
    "not",
]
values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-2, 2),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(words),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(words), inner, max_size=3)),
    max_leaves=12,
)
xsd_soups = st.lists(
    st.sampled_from(
        [
            *("<xs:element name='a'>", "</xs:element>", "<xs:complexType>", "</xs:complexType>", "<xs:sequence>"),
            *("</xs:sequence>", "<xs:element ref='a'/>", "<xs:any/>", "<xs:group ref='a'/>", "<xs:group name='a'>"),
            *("</xs:group>", "<xs:element name='b' type='xs:int' maxOccurs='7'/>", "<xs:attribute name='a'/>", "text"),
        ]
    ),
    max_size=12,
).map(lambda parts: f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">{"".join(parts)}</xs:schema>')


@given(data=bodies)
@example(data=b"<a>" * 300)
@example(data=b"<?xml version='1.0' encoding='UTF-16'?>\xff\xfe<a/>")
def test_xml_is_an_element_or_refused(data: bytes) -> None:
    try:
        root = parse_xml(data)
    except BadXml as error:
        assert 0 < len(str(error)) < 500
    else:
        assert isinstance(root.tag, str)


@given(body=bodies, checker=st.sampled_from(CHECKERS))
@example(body=b"[" * 100_000, checker=CHECKERS[1])
@example(body=b"9" * 5_000, checker=CHECKERS[3])
def test_a_body_passes_or_is_refused_in_few_words(body: bytes, checker: Checker) -> None:
    try:
        checker.check(body)
    except SchemaMismatch as error:
        assert 0 < len(str(error)) < 1_000


@given(
    text=st.one_of(st.text(max_size=100), values.map(json.dumps), xsd_soups),
    kind=st.sampled_from(["xsd", "json-schema"]),
)
def test_a_schema_is_a_checker_or_refused_in_few_words(text: str, kind: str) -> None:
    try:
        checker = compile_schema(kind, text)
    except BadSchema as error:
        assert 0 < len(str(error)) < 1_000
    else:
        assert callable(checker.check)
