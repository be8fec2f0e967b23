"""Filters against a naive model, and against whatever anybody may write."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import jmespath.exceptions
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from lxml import etree

from pregon.errors import BadFilter
from pregon.filters import lanes as rules
from pregon.filters.expression import check_filter, compile_filter
from pregon.filters.json_bodies import compile_jmespath
from pregon.filters.lanes import QUICK, SLOW, Lanes
from pregon.filters.xml_bodies import compile_xpath
from pregon.model.batch import StoredBatch, encode, pack, stamp
from pregon.model.message import Message, Outgoing

words = st.sampled_from(["", "a", "ab", "b", "ñandú"])
names = st.sampled_from(["a", "b"])
tests = st.one_of(
    st.fixed_dictionaries({"equals": words}),
    st.fixed_dictionaries({"in": st.lists(words, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"prefix": words}),
    st.fixed_dictionaries({"exists": st.booleans()}),
)
subjects = st.fixed_dictionaries({"header": names}) | st.fixed_dictionaries(
    {"field": st.sampled_from(["key", "content_type", "producer"])}
)
leaves = st.builds(lambda subject, test: {**subject, **test}, subjects, tests)
filters = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"and": parts}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"or": parts}),
        inner.map(lambda part: {"not": part}),
    ),
    max_leaves=12,
)
outgoing = st.builds(
    Outgoing,
    body=st.just(b""),
    key=st.none() | words,
    content_type=st.sampled_from(["a", "text/plain"]),
    headers=st.dictionaries(names, words, max_size=2),
)


def message_of(sent: Outgoing) -> Message:
    return StoredBatch(1, 1, encode(stamp(pack([sent], [5]), "ab", 6))).messages("t")[0]


def naive(filter: dict[str, Any], sent: Outgoing) -> bool:
    """What the filter means, said as plainly as Python allows."""
    if "and" in filter:
        return all(naive(part, sent) for part in filter["and"])
    if "or" in filter:
        return any(naive(part, sent) for part in filter["or"])
    if "not" in filter:
        return not naive(filter["not"], sent)
    fields = {"key": sent.key, "content_type": sent.content_type, "producer": "ab"}
    value = sent.headers.get(filter["header"]) if "header" in filter else fields[filter["field"]]
    if "exists" in filter:
        return (value is not None) is filter["exists"]
    if value is None:
        return False
    if "prefix" in filter:
        return value[: len(filter["prefix"])] == filter["prefix"]
    return value in (filter["in"] if "in" in filter else [filter["equals"]])


def depth(filter: dict[str, Any]) -> int:
    parts = filter.get("and", filter.get("or", [filter["not"]] if "not" in filter else []))
    return 1 + max(map(depth, parts), default=0)


@given(filters, outgoing)
def test_a_filter_matches_what_the_model_does(filter: dict[str, Any], sent: Outgoing) -> None:
    assume(depth(filter) <= 8)
    text = json.dumps(filter)

    verdict = compile_filter(text).examine(message_of(sent))

    assert verdict.matched == naive(filter, sent)
    assert compile_filter(check_filter(text)).examine(message_of(sent)) == verdict


keywords = st.sampled_from(
    [
        "header",
        "field",
        "xpath",
        "namespaces",
        "jmespath",
        "and",
        "or",
        "not",
        "equals",
        "in",
        "prefix",
        "exists",
        "key",
    ]
)
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | keywords,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keywords | st.text(max_size=3), inner, max_size=4),
    max_leaves=30,
)
nearly_filters = st.recursive(
    st.dictionaries(keywords, any_json, min_size=1, max_size=3) | leaves,
    lambda inner: (
        st.fixed_dictionaries({"and": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries({"not": inner})
        | st.fixed_dictionaries({"or": inner})
    ),
    max_leaves=8,
)


@given(st.text() | any_json.map(json.dumps) | nearly_filters.map(json.dumps))
def test_any_text_is_a_filter_or_is_refused(text: str) -> None:
    try:
        canonical = check_filter(text)
    except BadFilter as refused:
        event("refused")
        assert str(refused)
        return

    event("a filter")
    assert check_filter(canonical) == canonical


def calls(names: list[str], inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Calls of functions, known and unknown, with any number of arguments."""
    return st.builds(
        lambda name, given: f"{name}({','.join(given)})", st.sampled_from(names), st.lists(inner, max_size=3)
    )


XPATH_FUNCTIONS = [
    "count",
    "not",
    "name",
    "concat",
    "last",
    "true",
    "position",
    "id",
    "lang",
    "text",
    "foo",
    "x:f",
    "div",
]
xpaths = st.recursive(
    st.sampled_from(["a", "x:a", "x:*", "y:b", "*", ".", "..", "/", "//b", "@at", "'l'", '"m"', "1", ".5", "and", "$v"])
    | st.sampled_from(["child::a", "self::node()", "text()", "processing-instruction('p')", "div", "mod"]),
    lambda inner: st.one_of(
        calls(XPATH_FUNCTIONS, inner),
        st.builds("{}[{}]".format, inner, inner),
        st.builds("({})".format, inner),
        st.builds("{}/{}".format, inner, inner),
        st.builds("{} {} {}".format, inner, st.sampled_from(["and", "or", "div", "*", "|", "=", "<", "-"]), inner),
    ),
    max_leaves=5,
)
WORTH_REGISTERING = {
    "Unregistered function",
    "Undefined namespace prefix",
    "Undefined variable",
    "Invalid number of arguments",
}


@settings(max_examples=500)
@given(xpaths | st.text(max_size=20))
def test_an_xpath_that_is_registered_has_no_unknown_name_left(expression: str) -> None:
    root = etree.fromstring('<a xmlns:x="urn:x" at="1"><b>1</b><x:a/><!--c--></a>')
    try:
        is_true = compile_xpath(expression, {"x": "urn:x"})
    except BadFilter:
        event("refused")
        return

    event("compiled")
    try:
        assert is_true(root) in {True, False}
    except etree.XPathEvalError as error:
        assert str(error) not in WORTH_REGISTERING


JMESPATH_FUNCTIONS = ["length", "keys", "map", "sort_by", "not_null", "merge", "join", "to_string", "foo"]
jmespaths = st.recursive(
    st.sampled_from(
        ["a", "b", '"q"', "@", "`1`", "`x`", "'l'", "*", "[*]", "[]", "[0]", "[::2]", "[::0]", "[a,b]", "{c:a}"]
    ),
    lambda inner: st.one_of(
        calls(JMESPATH_FUNCTIONS, inner | inner.map("&{}".format)),
        st.builds("{}[?{}]".format, inner, inner),
        st.builds("!{}".format, inner),
        st.builds("{}{}{}".format, inner, st.sampled_from([".", "|", "||", "&&", "==", "<"]), inner),
    ),
    max_leaves=5,
)


@settings(max_examples=500)
@given(jmespaths | st.text(max_size=20))
def test_a_jmespath_that_is_registered_has_no_unknown_function_left(expression: str) -> None:
    value = {"a": [{"b": 1}, {"b": "x"}], "b": "text", "q": None}
    try:
        is_true = compile_jmespath(expression)
    except BadFilter:
        event("refused")
        return

    event("compiled")
    try:
        assert is_true(value) in {True, False}
    except (jmespath.exceptions.UnknownFunctionError, jmespath.exceptions.ArityError):
        raise
    except (jmespath.exceptions.JMESPathError, TypeError) as error:
        event(type(error).__name__)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1_000, rules.SUSPENDED_FOR_MS, rules.SLOW_FOR_MS]) | st.integers(0, 120_000),
            st.booleans(),
        ),
        max_size=40,
    )
)
def test_a_filter_costs_the_quick_lane_one_failure_in_ten_minutes(history: list[tuple[int, bool]]) -> None:
    lanes = Lanes()
    now_ms = 0.0
    in_quick: list[float] = []
    in_a_row = 0
    last_ms = 0.0

    for pause_ms, fails in history:
        now_ms += pause_ms
        lane = lanes.lane_of("f", now_ms)
        if lanes.find_suspension("f", now_ms) is None:
            assert in_a_row < rules.FAILURES_MAX or now_ms - last_ms >= rules.SUSPENDED_FOR_MS
            in_a_row = in_a_row + 1 if fails and lane == SLOW else 0
            last_ms = now_ms
            if fails:
                lanes.failed("f", lane, now_ms, "why")
                in_quick += [now_ms] if lane == QUICK else []
            else:
                lanes.passed("f")

    assert all(later - sooner >= rules.SLOW_FOR_MS for sooner, later in pairwise(in_quick))
