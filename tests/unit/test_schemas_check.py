"""Bodies against schemas of every kind, and schemas that cannot be used."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pregon import limits
from pregon.errors import BadSchema, SchemaMismatch
from pregon.schemas.check import KINDS, Checker, compile_schema
from pregon.schemas.json import DEPTH_MAX


def xsd(content: str) -> str:
    """A schema with this in it."""
    return f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">{content}</xs:schema>'


def pattern_xsd(pattern: str) -> str:
    """A schema for texts that fit a pattern."""
    facet = f'<xs:restriction base="xs:string"><xs:pattern value="{pattern}"/></xs:restriction>'
    return xsd(f'<xs:element name="a"><xs:simpleType>{facet}</xs:simpleType></xs:element>')


def sequence_xsd(content: str) -> str:
    """A schema for an element with this inside."""
    body = f"<xs:complexType><xs:sequence>{content}</xs:sequence></xs:complexType>"
    return xsd(f'<xs:element name="a">{body}</xs:element>')


NUMBERS = sequence_xsd('<xs:element name="b" type="xs:int" maxOccurs="unbounded"/>')
PERSON = json.dumps({"type": "object", "properties": {"a/b~": {"type": "array", "items": {"type": "integer"}}}})

FITS = [
    ("xml", "", b"<a/>"),
    ("json", "", b' {"a": [1, 2.5e3, "\\u00f1", null, true]} '),
    ("xsd", NUMBERS, b"<a>\n<b>1</b>\n<b>2</b></a>"),
    ("json-schema", PERSON, b'{"a/b~": [1]}'),
    ("json-schema", "true", b"3"),
    ("json-schema", '{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "null"}]}', b"[null]"),
]

MISFITS = [
    ("xml", "", b"<a>", "line 1"),
    ("xml", "", b"<!DOCTYPE a><a/>", "DOCTYPE"),
    ("json", "", b"[1,]", "byte 3"),
    ("json", "", b"NaN", "byte 0"),
    ("json", "", b"\xef\xbb\xbf1", "byte 0"),
    ("json", "", b'"\xff"', "utf-8"),
    ("json", "", b'"\\ud800"', "truncated"),
    ("json", "", b"", "truncated"),
    ("json", "", b"1 2", "trailing"),
    ("json", "", b"[" * 1_000_000, "inside one another"),
    ("json", "", b'{"a":' * 1_000_000, "inside one another"),
    ("xsd", NUMBERS, b"<a>\n<b>1</b>\n<b>x</b></a>", r"line 3, at /a/b\[2\]: .*xs:int"),
    ("xsd", NUMBERS, b"<c/>", "line 1, at /c: "),
    ("xsd", NUMBERS, b"<a>", "line 1"),
    ("xsd", NUMBERS, b"<a>" + b"<b>x</b>" * 100_000 + b"</a>", "xs:int"),
    ("json-schema", PERSON, b'{"a/b~": [1, "x"]}', "at /a~1b~0/1: .*integer"),
    ("json-schema", PERSON, b"[]", "at the root: "),
    ("json-schema", PERSON, b"[", "not JSON"),
    ("json-schema", '{"anyOf": [{"items": {"type": "null"}}, false]}', b"[" + b"0," * 500_000 + b"0]", "does not fit"),
]

UNUSABLE = [
    ("avro", "", "xml, json, xsd, json-schema"),
    ("xml", "<a/>", "empty"),
    ("xsd", "", "empty"),
    ("xsd", "<a/>", "root"),
    ("xsd", '<!DOCTYPE a [<!ENTITY x "y">]>' + NUMBERS, "DOCTYPE"),
    ("xsd", xsd('<xs:element name="a" type="none"/>'), "line 1"),
    (
        "xsd",
        xsd('<xs:import namespace="u" schemaLocation="http://127.0.0.1:9/x.xsd"/>'),
        "xs:import: nothing is opened",
    ),
    ("xsd", xsd('\n<xs:include schemaLocation="x.xsd"/>'), "line 2: xs:include"),
    ("xsd", xsd('<xs:redefine schemaLocation="x.xsd"/>'), "xs:redefine"),
    ("xsd", xsd('<xs:override schemaLocation="x.xsd"/>'), "xs:override"),
    ("xsd", sequence_xsd('<xs:element name="b" maxOccurs="1001"/>'), "maxOccurs is 1001, the most is 1000"),
    ("xsd", sequence_xsd(f'<xs:element name="b" minOccurs="{"9" * 5_000}" maxOccurs="unbounded"/>'), "minOccurs"),
    ("xsd", sequence_xsd('<xs:element name="b" minOccurs="²"/>'), "minOccurs"),
    ("xsd", xsd("<!--" + "x" * limits.SCHEMA_BYTES_MAX + "-->"), "262144 bytes"),
    ("json-schema", "", "not JSON"),
    ("json-schema", "[]", "an object, true or false"),
    ("json-schema", '{"type": "text"}', "at /type: "),
    ("json-schema", '{"$ref": "http://127.0.0.1:9/x"}', "nothing is fetched"),
    ("json-schema", '{"$ref": "file:///etc/passwd"}', "nothing is fetched"),
    ("json-schema", '{"$ref": "other.json"}', "nothing is fetched"),
    ("json-schema", '{"$ref": "#/$defs/none"}', "none"),
    ("json-schema", '{"$schema": "http://127.0.0.1:9/x"}', "meta-schema"),
    ("json-schema", '{"pattern": "("}', "at /pattern: .*looking around"),
    ("json-schema", '{"pattern": "(?=a)b"}', "looking around"),
    ("json-schema", '{"pattern": "(((a{1000}){1000}){1000})"}', "regex"),
    ("json-schema", '{"title": "' + "x" * limits.SCHEMA_BYTES_MAX + '"}', "at most 262144"),
]


@pytest.mark.parametrize(("kind", "text", "body"), FITS)
def test_a_body_that_fits_passes(kind: str, text: str, body: bytes) -> None:
    checker = compile_schema(kind, text)

    refused = reason_of(checker, body)

    assert refused is None


@pytest.mark.parametrize(("kind", "text", "body", "reason"), MISFITS)
def test_a_body_that_does_not_fit_is_refused_with_where_and_why(kind: str, text: str, body: bytes, reason: str) -> None:
    checker = compile_schema(kind, text)

    with pytest.raises(SchemaMismatch, match=reason) as refusal:
        checker.check(body)

    assert 10 < len(str(refusal.value)) <= 700


@pytest.mark.parametrize(("kind", "text", "reason"), UNUSABLE)
def test_a_schema_that_cannot_be_used_is_refused_with_where_and_why(kind: str, text: str, reason: str) -> None:
    with pytest.raises(BadSchema, match=reason) as refusal:
        compile_schema(kind, text)

    assert 10 < len(str(refusal.value)) <= 700


@pytest.mark.parametrize("kind", ["xsd", "json-schema"])
def test_a_checker_still_works_after_refusing(kind: str) -> None:
    text, good, bad = {
        "xsd": (NUMBERS, b"<a><b>1</b></a>", b"<a><b>x</b></a>"),
        "json-schema": (PERSON, b"{}", b"[]"),
    }[kind]
    checker = compile_schema(kind, text)

    answers = [reason_of(checker, body) is None for body in (bad, good, b"<", b"", bad, good)]

    assert answers == [False, True, False, False, False, True]


def test_a_value_that_is_huge_is_not_in_the_reason() -> None:
    checkers = [compile_schema("json-schema", '{"maxLength": 5}'), compile_schema("xsd", pattern_xsd("b"))]
    bodies = [b'"' + b"x" * 50_000 + b'"', b"<a>" + b"x" * 50_000 + b"</a>"]

    reasons = [reason_of(checker, body) for checker, body in zip(checkers, bodies, strict=True)]

    assert all(reason is not None and len(reason) < 700 for reason in reasons)


def test_json_is_read_to_its_depth_and_no_deeper() -> None:
    checker = compile_schema("json", "")
    bodies = [b"[" * depth + b"]" * depth for depth in (DEPTH_MAX, DEPTH_MAX + 1)]
    brackets_in_text = b'["' + b"[" * 5_000 + b'\\"]"]'

    answers = [reason_of(checker, body) is None for body in (*bodies, brackets_in_text)]

    assert answers == [True, False, True]


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a|aa)*b", "(.*)*=", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_pattern_of_json_schema_takes_time_in_proportion_to_the_text(pattern: str) -> None:
    checker = compile_schema("json-schema", json.dumps({"pattern": pattern}))
    short, long = (b'"' + b"a" * size + b'!"' for size in (20_000, 200_000))
    short_s = min(seconds_to_check(checker, short) for _ in range(3))

    long_s = min(seconds_to_check(checker, long) for _ in range(3))

    assert long_s < 100 * short_s


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|aa)*b", "(a{0,1000}){0,1000}b", ".*.*.*.*.*=.*"])
def test_a_pattern_of_an_xsd_that_libxml2_gives_up_on_refuses_the_body(pattern: str) -> None:
    checker = compile_schema("xsd", pattern_xsd(pattern))

    with pytest.raises(SchemaMismatch):
        checker.check(b"<a>" + b"a" * 10_000 + b"</a>")


def test_groups_of_groups_are_refused_before_they_fill_the_memory() -> None:
    def ten(level: int) -> str:
        return f'<xs:group ref="g{level}"/>' * 10

    groups = '<xs:group name="g0"><xs:sequence><xs:element name="b"/></xs:sequence></xs:group>' + "".join(
        f'<xs:group name="g{level}"><xs:sequence>{ten(level - 1)}</xs:sequence></xs:group>' for level in range(1, 30)
    )
    bases = '<xs:complexType name="t0"/>' + "".join(
        f'<xs:complexType name="t{level}"><xs:complexContent><xs:extension base="t{level - 1}"><xs:attribute '
        f'name="a{level}"/></xs:extension></xs:complexContent></xs:complexType>'
        for level in range(1, 1_200)
    )

    for content in (groups, bases):
        with pytest.raises(BadSchema, match="100000 elements and attributes"):
            compile_schema("xsd", xsd(content))


def test_a_group_that_refers_to_itself_is_refused() -> None:
    element = '<xs:element name="a"><xs:complexType><xs:group ref="g"/></xs:complexType></xs:element>'
    group = '<xs:group name="g"><xs:sequence><xs:group ref="g"/><xs:group ref="g"/></xs:sequence></xs:group>'

    with pytest.raises(BadSchema):
        compile_schema("xsd", xsd(group + element))


@pytest.mark.parametrize("inside", ["anyOf", "items"])
def test_definitions_that_double_at_each_step_are_refused(inside: str) -> None:
    def twice(name: str) -> dict[str, object]:
        both = [{"$ref": f"#/$defs/{name}"}] * 2
        return {"anyOf": both} if inside == "anyOf" else {"anyOf": [{"items": each} for each in both]}

    definitions = {"d0": {"type": "null"}, **{f"d{level}": twice(f"d{level - 1}") for level in range(1, 40)}}

    with pytest.raises(BadSchema, match="subschemas"):
        compile_schema("json-schema", json.dumps({"$defs": definitions, "$ref": "#/$defs/d39"}))


def test_definitions_that_refer_to_themselves_are_fine() -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}
    checker = compile_schema("json-schema", json.dumps(tree))

    answers = [reason_of(checker, body) for body in (b'{"left": {"right": {}}}', b'{"left": {"right": []}}')]

    assert answers[0] is None
    assert answers[1] is not None
    assert answers[1].startswith("at /left/right: ")


def test_what_a_body_names_as_its_schema_is_not_opened(tmp_path: Path) -> None:
    other = tmp_path / "other.xsd"
    other.write_text(xsd('<xs:element name="other"/>'))
    checker = compile_schema("xsd", NUMBERS)
    where = f'xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:noNamespaceSchemaLocation="{other.as_uri()}"'

    refused = reason_of(checker, f"<other {where}/>".encode())

    assert refused is not None


@pytest.mark.parametrize("kind", ["xml", "json", "xsd", "json-schema"])
def test_threads_that_share_a_checker_get_the_answers_to_their_own_bodies(kind: str) -> None:
    assert kind in KINDS
    checker = compile_schema(kind, {"xsd": NUMBERS, "json-schema": PERSON}.get(kind, ""))

    def check(number: int) -> bool:
        is_json = kind.startswith("json")
        word = f"wrong-{number}"
        bad = f'{{"a/b~": [1, {word}' if is_json else f"<a><b>{word}</b></{word}>" if kind == "xml" else ""
        bad = bad or f"<a><b>{word}</b></a>"
        good = b'{"a/b~": [1]}' if is_json else b"<a><b>1</b></a>"
        refused = reason_of(checker, bad.encode())
        return reason_of(checker, good) is None and refused is not None and (is_json or word in refused)

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(check, range(2_000)))

    assert all(answers)


def reason_of(checker: Checker, body: bytes) -> str | None:
    """Why a body is refused, None if it is not."""
    try:
        checker.check(body)
    except SchemaMismatch as error:
        return str(error)
    return None


def seconds_to_check(checker: Checker, body: bytes) -> float:
    """How long a checker takes."""
    began = time.perf_counter()
    reason_of(checker, body)
    return time.perf_counter() - began
