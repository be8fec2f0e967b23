"""Whether a JSON Schema accepts everything that another one does, by comparing their structure.

A schema is a conjunction: its keywords, what its `$ref` points to and each branch of its `allOf` must all hold. The
new one contains the old one if each of its keywords is implied by something in the old one. Recursion is
answered by assuming, inside the comparison of two places, that their comparison holds: a circle through the values of
a body is a proof by induction, and a circle that goes through none is a doubt.

Promises:
- No doubts is a proof. A certain doubt speaks of a place where nothing else in the old schema that we looked
  at rules out the values that are lost.
- Two schemas of different drafts, or with anchors and ids, are only compared where they are the same.
- At most `COMPARISONS_MAX` places are compared.
"""

from __future__ import annotations

from typing import Any

from pregon.errors import BadSchema
from pregon.schemas.doubts import Doubt, weaken
from pregon.schemas.json_keywords import KEYWORDS, Keyword, Sides, is_same_value, types_of
from pregon.schemas.json_places import REFERENCES, find_reference
from pregon.schemas.json_schema import make_validator, parse_schema
from pregon.schemas.reasons import shorten

COMPARISONS_MAX = 5_000
"""Places of two schemas that are compared, counting each as often as it is reached."""

_DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
_NAMED = {"$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$dynamicRef", "$recursiveRef"}
_ANNOTATIONS = {
    *("$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default", "examples"),
    *("deprecated", "readOnly", "writeOnly"),
}
_ONLY_POINTS = _ANNOTATIONS | {"$ref", "allOf"}
# What the comparison knows how to weigh: a doubt beside anything else is never certain.
_PLAIN = _ANNOTATIONS | {
    *("type", "properties", "required", "additionalProperties", "items", "prefixItems", "pattern", "format"),
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}
_FINITE_TYPES = {"boolean": (True, False), "null": (None,)}


def json_schema_doubts(old_text: str, new_text: str) -> list[Doubt]:
    """Where the new schema does not, or may not, accept what the old one does; raises BadSchema."""
    old, new = parse_schema(old_text), parse_schema(new_text)
    if is_same_value(old, new):
        return []
    drafts = {str(_draft(schema)).rstrip("#") for schema in (old, new) if isinstance(schema, dict)}
    if drafts - {_DRAFT_2020}:
        return [Doubt("", "only schemas of draft 2020-12 are compared", False)]
    if _has_names(old) or _has_names(new):
        return [Doubt("", "schemas with anchors, dynamic references or ids inside are not compared", False)]
    return _Comparison(old, new).doubts(old, new, "")


def _draft(schema: dict[str, Any]) -> object:
    return schema.get("$schema", _DRAFT_2020)


def _has_names(schema: Any) -> bool:
    waiting = [value for name, value in schema.items() if name != "$id"] if isinstance(schema, dict) else []
    if isinstance(schema, dict) and not _NAMED.isdisjoint(schema.keys() - {"$id"}):
        return True
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if not _NAMED.isdisjoint(value):
                return True
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return False


class _Comparison:
    """Two schemas, and what is being compared in them."""

    def __init__(self, old_root: Any, new_root: Any) -> None:
        self._roots = (old_root, new_root)
        self._left = COMPARISONS_MAX
        self._value_depth = 0
        self._open: dict[tuple[int, int], int] = {}

    def doubts(self, old: Any, new: Any, place: str) -> list[Doubt]:
        """Where the new subschema does not, or may not, accept what the old one does."""
        self._left -= 1
        if self._left < 0:
            return [Doubt(place, "the schemas are too large to compare", False)]
        if new is True or new == {} or old is False:
            return []
        if new is False:
            return [Doubt(place, "nothing is accepted any more", True)]
        pair = (id(old), id(new))
        if pair in self._open:
            is_inside = self._open[pair] < self._value_depth
            return [] if is_inside else [Doubt(place, "it refers to itself", False)]
        self._open[pair] = self._value_depth
        try:
            return self._conjunctions({} if old is True else old, new, place)
        finally:
            del self._open[pair]

    def inner(self, old: Any, new: Any, place: str) -> list[Doubt]:
        """The same for what is said of a value inside the value."""
        self._value_depth += 1
        try:
            return self.doubts(old, new, place)
        finally:
            self._value_depth -= 1

    def is_same(self, old: Any, new: Any) -> bool:
        """Whether two pieces of the schemas mean the same: equal, and so is all that they refer to."""
        waiting = [(old, new)]
        seen: set[tuple[int, int]] = set()
        while waiting:
            a, b = waiting.pop()
            if (id(a), id(b)) in seen:
                continue
            seen.add((id(a), id(b)))
            if not is_same_value(a, b):
                return False
            for reference in _references(a):
                pair = tuple(find_reference(root, reference) for root in self._roots)
                if None in pair:
                    return False
                waiting.append((pair[0], pair[1]))
        return True

    def _conjunctions(self, old: dict[str, Any], new: dict[str, Any], place: str) -> list[Doubt]:
        old_parts, new_parts = _flatten(self._roots[0], old), _flatten(self._roots[1], new)
        if old_parts is None or new_parts is None:
            return [Doubt(place, "a $ref leads nowhere or in a circle", False)]
        if any(part is False for part in old_parts):
            return []
        if any(part is False for part in new_parts):
            return [Doubt(place, "nothing is accepted any more", True)]
        finite = self._finite(old, new, place)
        if finite is not None:
            return finite
        olds = [part for part in old_parts if isinstance(part, dict)] or [{}]
        news = [part for part in new_parts if isinstance(part, dict)]
        return [doubt for part in news for doubt in self._part(olds, part, place)]

    def _part(self, olds: list[dict[str, Any]], new: dict[str, Any], place: str) -> list[Doubt]:
        """Doubts about one conjunct of the new schema: each of its keywords must follow from a conjunct of the old."""
        if any(self.is_same(old, new) for old in olds):
            return []
        if any(name.startswith("unevaluated") for name in new):
            return [Doubt(place, "unevaluated items or properties are only compared in equal schemas", False)]
        types = frozenset.intersection(*(types_of(old) for old in olds))
        is_plain = len(olds) == 1 and olds[0].keys() <= _PLAIN
        found: list[Doubt] = []
        for keyword in KEYWORDS:
            if not new.keys().isdisjoint(keyword.names):
                doubts = self._keyword(keyword, olds, new, types, place)
                found += doubts if is_plain else weaken(doubts)
        known = _ANNOTATIONS.union(*(keyword.names for keyword in KEYWORDS), ("anyOf", "$ref", "allOf"))
        for name in new.keys() - known:
            if not any(name in old and self.is_same(old[name], new[name]) for old in olds):
                found.append(Doubt(place, f"{name} cannot be compared", False))
        if "anyOf" in new and not self._is_in_a_branch(olds, new["anyOf"], place):
            found.append(
                Doubt(place, "not all that was accepted is in a branch of anyOf, as far as can be seen", False)
            )
        if found and any(self._is_each_branch_inside(old, new, place) for old in olds):
            return []
        return found

    def _keyword(
        self, keyword: Keyword, olds: list[dict[str, Any]], new: dict[str, Any], types: frozenset[str], place: str
    ) -> list[Doubt]:
        found: list[Doubt] = []
        for old in olds:
            found = keyword.compare(Sides(old, new, types, place, self))
            if not found:
                return []
        return found

    def _is_in_a_branch(self, olds: list[dict[str, Any]], branches: list[Any], place: str) -> bool:
        """Whether all of the old schema is in one of the branches, or each of its own branches is."""

        def is_covered(old: Any) -> bool:
            return any(not self.doubts(old, branch, place) for branch in branches)

        return any(
            is_covered(old) or any(all(map(is_covered, old[name])) for name in ("anyOf", "oneOf") if name in old)
            for old in olds
        )

    def _is_each_branch_inside(self, old: dict[str, Any], new: dict[str, Any], place: str) -> bool:
        return any(
            all(not self.doubts(branch, new, place) for branch in old[name])
            for name in ("anyOf", "oneOf")
            if name in old
        )

    def _finite(self, old: dict[str, Any], new: dict[str, Any], place: str) -> list[Doubt] | None:
        """The exact answer when the old schema only lists values, by trying each; None when it does not."""
        values = _listed_values(old)
        if values is None or _references(old) or _references(new):
            return None
        try:
            accepts_old, accepts_new = make_validator(old).is_valid, make_validator(new).is_valid
        except BadSchema:
            return None
        lost = [value for value in values if accepts_old(value) and not accepts_new(value)]
        return [Doubt(place, f"{shorten(repr(value))[:60]} is not accepted any more", True) for value in lost[:3]]


def _flatten(root: Any, schema: Any) -> list[Any] | None:
    """The conjuncts of a schema: itself, what its `$ref` points to, the branches of its `allOf`, and theirs."""
    found: list[Any] = []
    waiting = [schema]
    seen: set[int] = set()
    while waiting:
        part = waiting.pop()
        if part is True:
            continue
        if id(part) in seen:
            return None
        seen.add(id(part))
        if part is False or not part.keys() <= _ONLY_POINTS:
            found.append(part)
        if isinstance(part, dict):
            waiting += part.get("allOf", ())
            if "$ref" in part:
                target = find_reference(root, part["$ref"])
                if target is None:
                    return None
                waiting.append(target)
    return found


def _references(value: Any) -> list[Any]:
    """Every reference in a piece of a schema."""
    found = []
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            found += [each[name] for name in REFERENCES if name in each]
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return found


def _listed_values(schema: dict[str, Any]) -> tuple[Any, ...] | None:
    if "const" in schema:
        return (schema["const"],)
    if "enum" in schema:
        return tuple(schema["enum"])
    types = schema.get("type")
    listed = [types] if isinstance(types, str) else types or ["number"]
    if all(name in _FINITE_TYPES for name in listed):
        return tuple(value for name in listed for value in _FINITE_TYPES[name])
    return None
