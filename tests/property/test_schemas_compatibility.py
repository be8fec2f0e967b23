"""A "yes" is a proof: whatever the old schema accepts, the new one accepts.

Two schemas drawn by themselves have nothing to do with each other, and their comparison is easily right. So the
pairs here are alike but for one spot, which is put into many surroundings, and each "yes" is tried on every body
of a fixed crowd.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from pregon.errors import BadSchema, SchemaMismatch
from pregon.schemas.check import Checker, compile_schema
from pregon.schemas.compatibility import SchemaText, compare

NAMES = ["a", "b", "c"]
Schema = Any

SCALARS: list[Any] = [None, True, False, -1, 0, 1, 2, 3, 6, 0.5, 2.5, "", "a", "ab", "ba", "b1ab", "2020-01-01"]
FEW: list[Any] = [
    None,
    1,
    2.5,
    "a",
    "b1ab",
    [],
    [1],
    ["a", "a"],
    {},
    {"a": 1},
    {"b": "a", "c": None},
    {"a": {"a": "a"}},
]
BODIES = [
    *SCALARS,
    *([one] for one in SCALARS),
    *([one, other] for one in FEW for other in FEW),
    *([one, 1, one, other] for one in FEW[:4] for other in FEW[:4]),
    *({name: one} for name in NAMES for one in [*SCALARS, *FEW]),
    *({"a": one, "b": other} for one in FEW for other in FEW),
    *({"a": one, "b": 1, "c": "a", "d": other} for one in FEW[:5] for other in FEW[:5]),
]
JSON_BODIES = [json.dumps(body).encode() for body in BODIES]

small = st.integers(0, 3)
values = st.sampled_from(SCALARS + FEW)
types = st.sampled_from(["null", "boolean", "object", "array", "string", "integer", "number"])


def keyword_values(inner: st.SearchStrategy[Schema]) -> dict[str, st.SearchStrategy[Any]]:
    """Every keyword that the comparison knows, and its values."""
    some = st.lists(inner, min_size=1, max_size=2)
    bounds = st.sampled_from([-1, 0, 0.5, 1, 2, 2.5, 3])
    sizes = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]
    singles = ["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"]
    return {
        "type": st.one_of(types, st.lists(types, min_size=1, max_size=3, unique=True)),
        "enum": st.lists(values, min_size=1, max_size=3),
        "const": values,
        **dict.fromkeys([*sizes, "minContains", "maxContains"], small),
        **dict.fromkeys(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], bounds),
        "multipleOf": st.sampled_from([1, 2, 3, 6, 0.5]),
        "uniqueItems": st.booleans(),
        "pattern": st.sampled_from(["a", "^a", "b$"]),
        "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
        "properties": st.dictionaries(st.sampled_from(NAMES), inner, max_size=2),
        "patternProperties": st.dictionaries(st.sampled_from(["a", "b|c"]), inner, max_size=1),
        **dict.fromkeys(["allOf", "anyOf", "oneOf", "prefixItems"], some),
        **dict.fromkeys(singles, inner),
        "unevaluatedProperties": st.booleans(),
        "unevaluatedItems": st.booleans(),
        "dependentRequired": st.sampled_from([{"a": ["b"]}, {"a": ["c"]}]),
        "dependentSchemas": st.dictionaries(st.just("a"), inner, max_size=1),
    }


def keyword(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[tuple[str, Any]]:
    """One keyword with its value."""
    return st.one_of(*(st.tuples(st.just(name), each) for name, each in keyword_values(inner).items()))


simple = st.one_of(
    st.booleans(),
    types.map(lambda name: {"type": name}),
    st.lists(keyword(types.map(lambda name: {"type": name})), max_size=2).map(dict),
)
SPOTS = keyword_values(simple)
# Without these a keyword says nothing.
COMPANY: dict[str, Schema] = {
    "if": {"then": False},
    "then": {"if": {"type": ["string", "object"]}},
    "else": {"if": {"type": "string"}},
    "minContains": {"contains": {"type": ["integer", "string"]}},
    "maxContains": {"contains": {"type": ["integer", "string"]}},
    "unevaluatedProperties": {"properties": {"a": True}},
}
REFERENCE = {"$ref": "#/$defs/x"}
SURROUNDINGS: list[Callable[[Schema], Schema]] = [
    lambda spot: spot,
    lambda spot: spot,
    lambda spot: {"properties": {"a": spot}},
    lambda spot: {"additionalProperties": spot},
    lambda spot: {"patternProperties": {"a": spot}, "additionalProperties": False},
    lambda spot: {"items": spot},
    lambda spot: {"prefixItems": [True, spot]},
    lambda spot: {"contains": spot},
    lambda spot: {"not": spot},
    lambda spot: {"allOf": [spot, {"maxLength": 3}]},
    lambda spot: {"anyOf": [spot, {"type": "null"}]},
    lambda spot: {"oneOf": [spot, {"type": "string"}]},
    lambda spot: {"if": spot, "then": False},
    lambda spot: {"if": {"type": "string"}, "then": spot},
    lambda spot: {"propertyNames": spot},
    lambda spot: {"allOf": [spot], "unevaluatedProperties": False},
    lambda spot: {"anyOf": [spot, True], "unevaluatedItems": False},
    lambda spot: {"$defs": {"x": spot}, **REFERENCE},
    lambda spot: {"$defs": {"x": spot}, **REFERENCE, "type": ["object", "string"]},
    lambda spot: {"$defs": {"x": spot}, "not": REFERENCE},
    lambda spot: {"$defs": {"x": spot}, "oneOf": [REFERENCE, {"type": "string"}]},
    lambda spot: {"$defs": {"x": spot}, "anyOf": [REFERENCE, {"type": "string"}]},
    lambda spot: {"$defs": {"x": {"allOf": [spot], "properties": {"a": REFERENCE}}}, **REFERENCE},
]


@st.composite
def json_pairs(draw: st.DrawFn, name: str) -> tuple[Schema, Schema]:
    """Two schemas alike but for the value of one keyword, which one of them may lack."""
    beside = dict(draw(st.lists(keyword(simple), max_size=2))) | COMPANY.get(name, {})
    spots = []
    for is_there in draw(st.sampled_from([(True, True), (True, True), (True, False), (False, True)])):
        spot = {each: value for each, value in beside.items() if each != name}
        spots.append(spot | ({name: draw(SPOTS[name])} if is_there else {}))
    surround = draw(st.sampled_from(SURROUNDINGS))
    return surround(spots[0]), surround(spots[1])


@pytest.mark.parametrize("name", SPOTS)
@settings(max_examples=60)
@given(data=st.data())
def test_a_json_schema_that_contains_another_accepts_all_that_it_does(name: str, data: st.DataObject) -> None:
    pair = data.draw(json_pairs(name))

    lost = lost_bodies(*(SchemaText("json-schema", json.dumps(schema)) for schema in pair), JSON_BODIES)

    assert lost == []


TEXTS = ["0", "1", "2", "3", "10", "1.5", " 1 ", "x", "<a>1</a>", "<a>1</a><b>2</b>", "<b>x</b>", ""]
CHILDREN = ["<a>1</a>", "<a>2</a>", "<a>10</a>", "<b>1</b>", "<b>x</b>", "<c>1</c>", "<d>1</d>", "<more>x</more>"]
ATTRIBUTES = ["", ' p="x"', ' p="1"', ' p="1" q="2"', ' q="x"', ' z="x" p="1" q="1"']
INSIDES = [
    "",
    *(f"<{name}>{text}</{name}>" for name in "abcd" for text in TEXTS),
    *(one + other for one in CHILDREN for other in CHILDREN),
    *("".join(three) for three in combinations_with_replacement(CHILDREN[::2], 3)),
]
DOCUMENTS = [f"<r{some}>{inside}</r>".encode() for some in ATTRIBUTES for inside in INSIDES]

occurs = st.sampled_from(
    ["", ' minOccurs="0"', ' maxOccurs="2"', ' minOccurs="0" maxOccurs="unbounded"', ' minOccurs="2" maxOccurs="3"']
)
bases = st.sampled_from(["xs:int", "xs:integer", "xs:decimal", "xs:byte"])
builtin = st.one_of(bases, st.sampled_from(["xs:string", "xs:token", "s", "t"]))
uses = st.sampled_from(["", ' use="required"', ' use="optional"'])
number_facets = st.one_of(
    st.tuples(st.sampled_from(["minInclusive", "maxInclusive", "minExclusive", "maxExclusive"]), small),
    st.tuples(st.sampled_from(["totalDigits", "fractionDigits"]), st.integers(1, 2)),
    st.tuples(st.just("enumeration"), small),
    st.tuples(st.just("pattern"), st.sampled_from(["1", "[0-9]", "[0-9]+"])),
)
text_facets = st.one_of(
    st.tuples(st.sampled_from(["minLength", "maxLength", "length"]), small),
    st.tuples(st.just("enumeration"), st.sampled_from(["1", "x"])),
    st.tuples(st.just("whiteSpace"), st.sampled_from(["preserve", "collapse"])),
)


def restriction(base: str, facets: list[tuple[str, object]]) -> str:
    """A restriction of a built-in type."""
    inside = "".join(f'<xs:{name} value="{value}"/>' for name, value in facets)
    return f'<xs:simpleType><xs:restriction base="{base}">{inside}</xs:restriction></xs:simpleType>'


numbers = st.builds(restriction, bases, st.lists(number_facets, max_size=2))
texts = st.builds(restriction, st.just("xs:string"), st.lists(text_facets, max_size=2))
simple_types = st.one_of(numbers, texts)
elements = st.one_of(
    st.builds('<xs:element name="{}" type="{}"{}/>'.format, st.sampled_from("abcd"), builtin, occurs),
    st.builds('<xs:element name="{}"{}>{}</xs:element>'.format, st.sampled_from("abcd"), occurs, simple_types),
)
particles = st.one_of(
    elements,
    st.builds('<xs:any processContents="{}"{}/>'.format, st.sampled_from(["lax", "strict", "skip"]), occurs),
    st.builds("<xs:{0}{1}>{2}{3}</xs:{0}>".format, st.sampled_from(["choice", "sequence"]), occurs, elements, elements),
)
wrapped = st.sampled_from(
    [
        "{}",
        "{}",
        '<xs:element name="b" type="xs:int" minOccurs="0"/>{}',
        '{}<xs:any processContents="lax" minOccurs="0" maxOccurs="2"/>',
    ]
)
group = st.sampled_from(["sequence", "sequence", "choice", "all"])

# What a pair differs in, and a schema with a hole for it: `r` is the element of the documents.
XSD_SPOTS: dict[str, tuple[st.SearchStrategy[str], str]] = {
    "occurrences": (occurs, '<xs:{group}><xs:element name="a" type="xs:int"{spot}/>{more}</xs:{group}>'),
    "occurrences of a group": (occurs, '<xs:sequence{spot}><xs:element name="a" type="xs:int"/>{more}</xs:sequence>'),
    "numbers": (numbers, '<xs:{group}><xs:element name="a" minOccurs="0">{spot}</xs:element>{more}</xs:{group}>'),
    "texts": (texts, '<xs:{group}><xs:element name="a" minOccurs="0">{spot}</xs:element>{more}</xs:{group}>'),
    "names of types": (builtin, '<xs:{group}><xs:element name="a" type="{spot}" minOccurs="0"/>{more}</xs:{group}>'),
    "particles": (st.lists(particles, max_size=2).map("".join), "<xs:{group}>{spot}{more}</xs:{group}>"),
    "attributes": (
        st.builds('<xs:attribute name="p" type="{}"{}/>'.format, bases, uses) | st.just(""),
        '<xs:{group}><xs:element name="a" minOccurs="0" type="xs:int"/></xs:{group}>{spot}{wild}',
    ),
    "what is global": (
        st.sampled_from(["", '<xs:element name="more" type="xs:int"/>', '<xs:element name="b" type="xs:int"/>']),
        '<xs:sequence><xs:element name="a" minOccurs="0" maxOccurs="2"/>{more}</xs:sequence>{wild}',
    ),
    "named types": (simple_types, '<xs:{group}><xs:element name="a" type="s" minOccurs="0"/>{more}</xs:{group}>'),
}


@st.composite
def xsd_pairs(draw: st.DrawFn, name: str) -> list[SchemaText]:
    """Two schemas alike but for one spot."""
    spots, content = XSD_SPOTS[name]
    kind, wild = draw(group), draw(st.sampled_from(["", '<xs:anyAttribute processContents="lax"/>']))
    more = draw(wrapped).format("") if kind != "all" else ""
    pair = []
    for spot in (draw(spots), draw(spots)):
        body = content.format(spot=spot, group=kind, more=more, wild=wild)
        named = (spot if name == "named types" else restriction("xs:int", [])).replace(">", ' name="s">', 1)
        text = (
            '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">'
            f'<xs:element name="r"><xs:complexType>{body}</xs:complexType></xs:element>{named}'
            '<xs:complexType name="t"><xs:sequence><xs:element name="a" type="xs:int"/></xs:sequence></xs:complexType>'
            f"{spot if name == 'what is global' else ''}</xs:schema>"
        )
        pair.append(SchemaText("xsd", text))
    return pair


@pytest.mark.parametrize("name", XSD_SPOTS)
@settings(max_examples=80)
@given(data=st.data())
def test_an_xsd_that_contains_another_accepts_all_that_it_does(name: str, data: st.DataObject) -> None:
    pair = data.draw(xsd_pairs(name))

    lost = lost_bodies(*pair, DOCUMENTS)

    assert lost == []


def lost_bodies(old: SchemaText, new: SchemaText, bodies: list[bytes]) -> list[bytes]:
    """Bodies that show a "yes" to be wrong: the old schema accepts them and the new one does not."""
    try:
        is_yes = compare(old, new).answer == "yes"
    except BadSchema:
        event("one of them is no schema")
        return []
    event(f"it is {'' if is_yes else 'not '}proved")
    if not is_yes or old == new:
        return []
    before, after = (compile_schema(schema.kind, schema.text) for schema in (old, new))
    # Most bodies pass the new schema, and those need not be tried on the old one.
    return [body for body in bodies if not accepts(after, body) and accepts(before, body)]


def accepts(checker: Checker, body: bytes) -> bool:
    """Whether a checker lets a body pass."""
    try:
        checker.check(body)
    except SchemaMismatch:
        return False
    return True
