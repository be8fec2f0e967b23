"""Filters: what matches, what does not, and the reasons that are given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pregon import limits
from pregon.filters.expression import Verdict, check_filter, compile_filter
from pregon.model.batch import StoredBatch, encode, pack, stamp
from pregon.model.message import Message, Outgoing

NEWS = "http://noticias.agesic.gub.uy/"
XML = f'<n:novedad xmlns:n="{NEWS}"><n:ci>1.234.567-8</n:ci><n:edad>70</n:edad></n:novedad>'.encode()
JSON = b'{"persona": {"edad": 70, "ci": "1.234"}, "nada": null, "cero": 0, "lista": []}'
REGION = {"header": "region", "equals": "montevideo"}


def message(body: bytes = b"", **more: Any) -> Message:
    batch = stamp(pack([Outgoing(body, **more)], [5]), "DGREC", 6)
    return StoredBatch(1, 1, encode(batch)).messages("fallecidos")[0]


def examine(filter: dict[str, Any], *args: Any, **more: Any) -> Verdict:
    return compile_filter(json.dumps(filter)).examine(message(*args, **more))


@pytest.mark.parametrize(
    ("test", "fits", "does_not"),
    [
        ({"equals": "montevideo"}, ["montevideo"], ["Montevideo", "montevideo ", "", None]),
        ({"equals": ""}, [""], ["a", None]),
        ({"in": ["salto", "rocha"]}, ["salto", "rocha"], ["salt", "", None]),
        ({"prefix": "mon"}, ["mon", "montevideo"], ["mo", "amon", "", None]),
        ({"prefix": ""}, ["", "a"], [None]),
        ({"exists": True}, ["", "a"], [None]),
        ({"exists": False}, [None], ["", "a"]),
    ],
)
def test_a_header_and_the_key_are_tested_alike(
    test: dict[str, Any], fits: list[str | None], does_not: list[str | None]
) -> None:
    of_header, of_key = {"header": "region", **test}, {"field": "key", **test}

    def found(value: str | None) -> tuple[bool, bool]:
        headers = {} if value is None else {"region": value}
        return examine(of_header, headers=headers).matched, examine(of_key, key=value).matched

    assert [found(value) for value in fits] == [(True, True)] * len(fits)
    assert [found(value) for value in does_not] == [(False, False)] * len(does_not)


def test_content_type_and_producer_are_tested_too() -> None:
    of_type = {"field": "content_type", "in": ["application/xml", "text/xml"]}
    of_producer = {"field": "producer", "prefix": "DG"}

    found = [
        examine(of_type, content_type="text/xml"),
        examine(of_type, content_type="text/plain"),
        examine(of_producer),
        examine({"not": of_producer}),
    ]

    assert found == [
        Verdict(True, "content type is one of application/xml, text/xml"),
        Verdict(False, "not content type is one of application/xml, text/xml"),
        Verdict(True, "producer begins with DG"),
        Verdict(False, "producer begins with DG"),
    ]


@pytest.mark.parametrize(
    ("expression", "matched"),
    [
        ("//n:ci", True),
        ("//n:ci[starts-with(., '1.')]", True),
        ("//n:ci[starts-with(., '2.')]", False),
        ("//ci", False),
        ("/n:novedad/n:edad > 60", True),
        ("n:edad < 60", False),
        ("count(//*) = 3 and not(//n:muerto)", True),
        ("'text'", True),
        ("''", False),
        ("0 div 0", False),
        ("0", False),
        ("2 * 3", True),
        ("* * 0", False),
        ("//*[local-name() = 'edad' and number() mod 7 = 0]", True),
        ("//node()[self::text()]", True),
        ("string-length(concat(//n:ci, '-', //n:edad)) = 14", True),
        ("//@*", False),
        ("//processing-instruction('x') | //comment()", False),
    ],
)
def test_xpath_matches_what_its_boolean_says(expression: str, matched: bool) -> None:
    verdict = examine({"xpath": expression, "namespaces": {"n": NEWS}}, XML)

    assert verdict == Verdict(matched, f"xpath {expression}" if matched else f"not xpath {expression}")


@pytest.mark.parametrize(
    ("expression", "matched"),
    [
        ("persona.edad > `60`", True),
        ("persona.edad > `80`", False),
        ("persona.ci == '1.234'", True),
        ("starts_with(persona.ci, '1.')", True),
        ("nada", False),
        ("no_esta", False),
        ("lista", False),
        ("cero", True),
        ("`false`", False),
        ("''", False),
        ("{a: cero}", True),
        ("lista[?edad > `1`]", False),
        ("length(keys(@)) == `4`", True),
    ],
)
def test_jmespath_matches_what_it_calls_true(expression: str, matched: bool) -> None:
    verdict = examine({"jmespath": expression}, JSON)

    assert verdict == Verdict(matched, f"jmespath {expression}" if matched else f"not jmespath {expression}")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"Pepe",
        JSON,
        b"<a><b></a>",
        b'<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>',
        b"<a>" * 100_000,
        b"<a>" * 10_000 + b"</a>" * 10_000,
    ],
)
def test_a_body_that_is_not_xml_matches_no_xpath(body: bytes) -> None:
    verdict = examine({"xpath": "true()"}, body)

    assert verdict == Verdict(False, "the body is not XML")


@pytest.mark.parametrize("body", [b"", b"Pepe", XML, b"[" * 100_000, b"[" * 5_000 + b"]" * 5_000, b"\xff", b"NaN"])
def test_a_body_that_is_not_json_matches_no_jmespath(body: bytes) -> None:
    verdict = examine({"jmespath": "`true`"}, body)

    assert verdict == Verdict(False, "the body is not JSON")


def test_nothing_that_a_body_refers_to_is_read() -> None:
    body = b'<a xmlns:x="http://www.w3.org/2001/XInclude"><x:include href="/etc/passwd" parse="text"/></a>'

    verdict = examine({"xpath": "contains(string(/), 'root')"}, body)

    assert not verdict.matched


def test_a_reason_says_what_is_true_of_the_message() -> None:
    age = {"jmespath": "persona.edad > `60`"}
    both = {"and": [REGION, age]}
    either = {"or": [{"field": "key", "equals": "x"}, REGION]}
    here, elsewhere = {"region": "montevideo"}, {"region": "salto"}

    found = [
        examine(both, JSON, headers=here),
        examine(both, JSON, headers=elsewhere),
        examine(both, b"", headers=here),
        examine(either, headers=here),
        examine(either, headers=elsewhere),
        examine({"not": both}, JSON, headers=elsewhere),
        examine({"not": {"not": REGION}}, headers=here),
        examine({"or": [age, {"not": {"header": "region", "exists": True}}, age]}, headers=here),
    ]

    assert found == [
        Verdict(True, "header region = montevideo and jmespath persona.edad > `60`"),
        Verdict(False, "not header region = montevideo"),
        Verdict(False, "the body is not JSON"),
        Verdict(True, "header region = montevideo"),
        Verdict(False, "not key = x and not header region = montevideo"),
        Verdict(True, "not header region = montevideo"),
        Verdict(True, "header region = montevideo"),
        Verdict(False, "the body is not JSON and header region is there"),
    ]


def test_a_reason_is_one_short_line() -> None:
    nasty = "a\r\nSet-Cookie: b\x00\x1b[31m" + "\u2028" + "ñ" * 500

    verdict = examine({"and": [{"header": "h", "equals": nasty}, REGION]}, headers={"h": nasty, "region": "montevideo"})

    assert verdict.matched
    assert verdict.reason.startswith("header h = a Set-Cookie: b\ufffd\ufffd[31m ñññ")
    assert len(verdict.reason) == limits.FILTER_REASON_CHARACTERS_MAX
    assert verdict.reason.isprintable()


@pytest.mark.parametrize(
    ("condition", "body"),
    [
        ({"xpath": "count(1)"}, b"<a/>"),
        ({"xpath": "sum(string(.))"}, b"<a/>"),
        ({"jmespath": "length(@)"}, b"1"),
        ({"jmespath": "sum(@)"}, b'["a"]'),
        ({"jmespath": "contains(@, `1`)"}, b'"a"'),
    ],
)
@pytest.mark.parametrize("wrap", [lambda it: it, lambda it: {"not": it}, lambda it: {"and": [it]}])
def test_a_filter_that_fails_lets_the_message_pass(condition: dict[str, Any], body: bytes, wrap: Any) -> None:
    verdict = examine(wrap(condition), body)

    assert verdict.matched
    assert verdict.reason.startswith("the filter failed: ")


def test_what_need_not_be_looked_at_cannot_fail() -> None:
    fails = {"xpath": "count(1)"}
    never = {"header": "x", "exists": True}

    found = [examine({"and": [never, fails]}, b"<a/>"), examine({"or": [{"not": never}, fails]}, b"<a/>")]

    assert found == [Verdict(False, "header x is not there"), Verdict(True, "header x is not there")]


def test_only_what_looks_into_the_body_needs_it() -> None:
    deep = {"and": [REGION, {"not": {"or": [REGION, {"jmespath": "a"}]}}]}

    needs = [compile_filter(json.dumps(one)).needs_body for one in (REGION, {"not": REGION}, {"xpath": "a"}, deep)]

    assert needs == [False, False, True, True]


def test_the_canonical_text_is_the_same_for_the_same_filter() -> None:
    written = ' { "equals" : "monte\\u0076ideo", "header":"region" } '
    with_prefixes = {"namespaces": {"b": "2", "a": "1"}, "xpath": "a:x|b:y"}

    canonical = check_filter(written)

    assert canonical == '{"header":"region","equals":"montevideo"}'
    assert check_filter(canonical) == canonical
    assert check_filter(json.dumps(with_prefixes)) == '{"xpath":"a:x|b:y","namespaces":{"a":"1","b":"2"}}'
    assert check_filter(json.dumps({"xpath": "a", "namespaces": {}})) == '{"xpath":"a"}'
    assert [check_filter(""), check_filter(" \n")] == ["", ""]


def test_no_filter_wants_everything() -> None:
    everything = compile_filter("")

    assert (everything.needs_body, everything.examine(message())) == (False, Verdict(True, ""))


def test_backticks_inside_texts_are_no_literals() -> None:
    filter = {"jmespath": 'a == \'`x`\' || "`b`" || c == `"\\`d"`'}

    assert examine(filter, b'{"a": "`x`"}').matched
    assert examine(filter, b'{"`b`": 1}').matched
    assert examine(filter, b'{"c": "`d"}').matched
    assert not examine(filter, b'{"a": "x", "b": 1, "c": "d"}').matched


def test_the_example_of_the_documents_is_a_filter() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/filters.md").read_text(encoding="utf-8")
    example = page.split("```json\n")[1].split("```")[0]

    canonical = check_filter(example)

    assert canonical.startswith('{"and":[{"header":"region","in":')
