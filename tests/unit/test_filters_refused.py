"""Filters that are refused, with what to write instead."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lxml import etree

from pregon import limits
from pregon.errors import BadFilter
from pregon.filters import json_bodies, xml_bodies
from pregon.filters.expression import check_filter, compile_filter

REGION = {"header": "region", "equals": "montevideo"}


def refusal(filter: object) -> str:
    with pytest.raises(BadFilter) as refused:
        check_filter(filter if isinstance(filter, str) else json.dumps(filter))
    return str(refused.value)


@pytest.mark.parametrize(
    ("filter", "said"),
    [
        ("{", "is not JSON"),
        ("\ud800", "is not JSON"),
        ('{"a": NaN}', "is not JSON"),
        ("[]", "the filter is no object: write one such as"),
        ("null", "the filter is no object"),
        ({}, "the filter has no condition: write one of header, field, xpath"),
        ({"regex": ".*"}, "has no condition: write one of"),
        ({"header": "a", "xpath": "a"}, "the filter has header, xpath: write one of"),
        ({"header": "a"}, "the filter has no test: write one of equals, in, prefix, exists"),
        ({"header": "a", "equals": "b", "prefix": "c"}, "the filter has equals, prefix: write one of"),
        ({"header": "a", "matches": ".*"}, "has no test"),
        ({"header": "a", "equals": "b", "matches": ".*"}, "has matches: beside header write only equals"),
        ({"header": "a", "equals": 5}, 'equals is no text: write one between quotes, "…"'),
        ({"header": 1, "equals": "b"}, "header is no text"),
        ({"header": "", "equals": "b"}, "header is empty"),
        ({"header": "a", "exists": "yes"}, "exists is neither true nor false"),
        ({"header": "a", "in": "b"}, "in is no list with something in it"),
        ({"header": "a", "in": []}, "in is no list with something in it"),
        ({"header": "a", "in": ["b", 1]}, "in[1] is no text"),
        ({"field": "body", "equals": "b"}, "write one of key, content_type, producer"),
        ({"field": ["key"], "equals": "b"}, "write one of key, content_type, producer"),
        ({"and": []}, "the filter: and is no list with something in it"),
        ({"or": {"header": "a"}}, "the filter: or is no list"),
        ({"and": [REGION], "or": [REGION]}, "has and, or"),
        ({"not": [REGION]}, "the filter: not is no object"),
        ({"not": REGION, "header": "a"}, "has header, not"),
        ({"and": [REGION, {"or": [{"not": {"header": "a"}}]}]}, "the filter: and[1]: or[0]: not has no test"),
        ({"and": [{"xpath": "a:b"}]}, "the filter: and[0]: the XPath has the prefix a"),
        ({"xpath": 1}, "xpath is no text"),
        ({"xpath": "a", "namespaces": []}, "namespaces is no object"),
        ({"xpath": "a", "namespaces": {"a": 1}}, "namespaces: a is no text"),
        ({"xpath": "a", "namespace": {}}, "has namespace: beside xpath write only namespaces"),
        ({"jmespath": None}, "jmespath is no text"),
        ({"jmespath": "a", "b": 1}, "has b: beside jmespath write only nothing"),
    ],
)
def test_a_wrong_filter_is_refused_with_what_to_write(filter: object, said: str) -> None:
    assert said in refusal(filter)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("", "is not one"),
        ("//a[", "is not one"),
        ("1) or (1", "is not one"),
        ("a b", "is not one"),
        ("a\x01", "has no meaning from"),
        ("a # b", "has no meaning from # b on"),
        ("'a", "has no meaning from 'a on"),
        ("document('/etc/passwd')", "no function document()"),
        ("//a[b[unparsed-text('http://x/')]]", "no function unparsed-text()"),
        ("re:test(., 'a+')", "no function re:test()"),
        ("re:match (., 'a+')", "no function re:match()"),
        ("current()", "no function current()"),
        ("and(1)", "no function and()"),
        ("//x:a", "the prefix x, which namespaces does not explain"),
        ("//a[@x:b]", "the prefix x, which"),
        ("//x:*", "the prefix x, which"),
        ("$a", "has a variable"),
        ("count()", "count() takes 1 arguments, not 0"),
        ("concat('a')", "concat() takes 2 or more arguments, not 1"),
        ("substring('a', 1, 2, 3)", "substring() takes 2 to 3 arguments, not 4"),
        ("true(concat('a', 'b'))", "true() takes 0 arguments, not 1"),
        ("(" * 51 + "1" + ")" * 51, "over 50 brackets"),
        ("a[" * 4_000, "over 50 brackets"),
    ],
)
def test_a_wrong_xpath_is_refused_when_it_is_registered(expression: str, said: str) -> None:
    namespaces = {"re": "http://exslt.org/regular-expressions"}

    assert said in refusal({"xpath": expression, "namespaces": namespaces})


@pytest.mark.parametrize(
    ("namespaces", "said"),
    [
        ({"": "http://a/"}, "is no XML name"),
        ({"a b": "http://a/"}, "is no XML name"),
        ({"a:b": "http://a/"}, "is no XML name"),
        ({"a": ""}, "is empty"),
        ({"a": "\x01"}, "is not one"),
    ],
)
def test_wrong_namespaces_are_refused(namespaces: dict[str, str], said: str) -> None:
    assert said in refusal({"xpath": "b", "namespaces": namespaces})


def test_functions_that_others_give_to_lxml_do_not_exist_in_filters() -> None:
    given = etree.FunctionNamespace("urn:others")
    given["read"] = lambda _, path: path
    try:
        said = refusal({"xpath": "o:read('/etc/passwd')", "namespaces": {"o": "urn:others"}})
    finally:
        del given["read"]

    assert "no function o:read()" in said


@pytest.mark.parametrize(("name", "least"), [(name, least) for name, (least, _) in xml_bodies._FUNCTIONS.items()])
def test_every_function_of_xpath_is_known_to_libxml2(name: str, least: int) -> None:
    given = "/" if name in {"count", "sum"} else ",".join(["'1'"] * least)

    is_true = xml_bodies.compile_xpath(f"/*[{name}({given}) or true()]", {})

    assert is_true(etree.fromstring("<a/>"))


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("", "is not one"),
        ("a.", "is not one"),
        ("a > 60", "is not one"),
        ("a == `montevideo`", "`montevideo` in the JMESPath is not JSON: write a text as 'montevideo'"),
        ("a == `", "is not one"),
        ("a[" + "9" * 5_000 + "]", "is not one"),
        ("a[::0]", "a step of 0"),
        ("exec('a')", "no function exec()"),
        ("a[?b.nope(@)]", "no function nope()"),
        ("length()", "length() takes 1 arguments, not 0"),
        ("not_null()", "not_null() takes 1 or more arguments, not 0"),
        ("map(&foo(@), @)", "no function foo()"),
        ("!" * 7_000 + "a", "deep"),
        ("(" * 4_000 + "a" + ")" * 4_000, "deep"),
        ("a" + "||a" * 101, "deep"),
        ("`" + "[" * 5_000 + "`", "is not JSON"),
    ],
)
def test_a_wrong_jmespath_is_refused_when_it_is_registered(expression: str, said: str) -> None:
    assert said in refusal({"jmespath": expression})


def test_the_library_keeps_no_expression_by_itself() -> None:
    compile_filter(json.dumps({"jmespath": "one.of.ours"}))

    assert "one.of.ours" not in json_bodies.Parser._CACHE


def test_a_filter_has_its_limits() -> None:
    def nested(levels: int) -> dict[str, Any]:
        return REGION if levels == 1 else {"not": nested(levels - 1)}

    largest = json.dumps({"header": "a", "equals": ""})
    largest = json.dumps({"header": "a", "equals": "x" * (limits.FILTER_BYTES_MAX - len(largest))})

    assert check_filter(json.dumps(nested(limits.FILTER_DEPTH_MAX)))
    assert check_filter(json.dumps({"or": [REGION] * limits.FILTER_CONDITIONS_MAX}))
    assert check_filter(largest)
    assert "too deep" in refusal(nested(limits.FILTER_DEPTH_MAX + 1))
    assert "too many conditions" in refusal({"or": [REGION] * (limits.FILTER_CONDITIONS_MAX + 1)})
    assert "bytes: write at most 8192" in refusal(largest + " ")


@pytest.mark.parametrize("text", ["[" * 8_000, '{"not":' * 1_000, '{"and":[' * 900, "{" * 8_000, "9" * 8_000])
def test_a_filter_that_is_all_brackets_is_refused(text: str) -> None:
    assert refusal(text)
