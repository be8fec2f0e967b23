"""Keyword by keyword: does what the new JSON Schema says follow from what the old one says?

Each comparison gets the two schema objects in which the keywords stand and answers with doubts; none is a
proof. It only reads what belongs to its keywords, and the types that the old schema accepts: a keyword for
strings cannot refuse anything where there were no strings. Which schema objects to compare, and how much a doubt is
worth beside the rest of the old schema, is `json_compatibility`'s.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from pregon.schemas.doubts import Doubt, weaken

_TYPES = frozenset({"null", "boolean", "object", "array", "string", "integer", "fraction"})
_NUMBER = frozenset({"integer", "fraction"})


class Inner(Protocol):
    """What compares the schemas of values inside the value, and whatever is only compared as a whole."""

    def inner(self, old: Any, new: Any, place: str) -> list[Doubt]:
        """Doubts about what is said of a value inside this one."""

    def is_same(self, old: Any, new: Any) -> bool:
        """Whether two pieces mean the same."""


@dataclass(frozen=True)
class Sides:
    """Two schema objects to compare, the types that the old schema accepts, and where we are."""

    old: dict[str, Any]
    new: dict[str, Any]
    types: frozenset[str]
    place: str
    schemas: Inner

    def doubt(self, what: str, *, is_certain: bool = True) -> Doubt:
        """A doubt about this place."""
        return Doubt(self.place, what, is_certain)


@dataclass(frozen=True)
class Keyword:
    """Keywords that only make sense together, and how they are compared."""

    names: frozenset[str]
    compare: Callable[[Sides], list[Doubt]]


def is_same_value(a: Any, b: Any) -> bool:
    """Whether two JSON values are equal, as JSON Schema means it: 1 is 1.0 and is not true."""
    waiting = [(a, b)]
    while waiting:
        a, b = waiting.pop()
        if isinstance(a, bool) != isinstance(b, bool):
            return False
        if isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                return False
            waiting += [(a[name], b[name]) for name in a]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            waiting += zip(a, b, strict=True)
        elif a != b:
            return False
    return True


def types_of(schema: dict[str, Any]) -> frozenset[str]:
    """The types that the keyword `type` lets through, with the numbers that are not whole as `fraction`."""
    types = schema.get("type")
    if types is None:
        return _TYPES
    names = {types} if isinstance(types, str) else set(types)
    return frozenset(names - {"number"}) | (_NUMBER if "number" in names else frozenset())


def _compare_type(sides: Sides) -> list[Doubt]:
    lost = sides.types - types_of(sides.new)
    return [sides.doubt(f"{', '.join(sorted(lost))} is not accepted any more")] if lost else []


def _compare_values(sides: Sides) -> list[Doubt]:
    """`enum` and `const`; an old schema that lists its values has been answered exactly before."""
    for name in ("enum", "const"):
        if name in sides.new and name in sides.old and is_same_value(sides.old[name], sides.new[name]):
            return []
    is_open = sides.old.keys() <= {"type", "title", "description"} and bool(sides.types - {"boolean", "null"})
    return [sides.doubt("now only some listed values are accepted", is_certain=is_open)]


def _bounds(sign: int, inclusive: str, exclusive: str) -> Callable[[Sides], list[Doubt]]:
    """A comparison of the lower bounds of a number, or of the upper ones with the sign -1."""

    def compare(sides: Sides) -> list[Doubt]:
        if not sides.types & _NUMBER:
            return []
        is_whole = "fraction" not in sides.types
        was = _bound(sides.old, sign, inclusive, exclusive, is_whole=is_whole)
        becomes = _bound(sides.new, sign, inclusive, exclusive, is_whole=is_whole)
        return [sides.doubt(f"the {inclusive} became narrower")] if becomes > was else []

    return compare


def _bound(schema: dict[str, Any], sign: int, inclusive: str, exclusive: str, *, is_whole: bool) -> tuple[Any, bool]:
    """The lower bound, and whether it is itself out; an upper bound is the lower one of the numbers negated."""
    bounds: list[tuple[Any, bool]] = [(-math.inf, False)]
    if inclusive in schema:
        bounds.append((sign * schema[inclusive], False))
    if exclusive in schema:
        bounds.append((sign * schema[exclusive], True))
    value, is_out = max(bounds)
    if is_whole and value != -math.inf:
        return (math.floor(value) + 1 if is_out else math.ceil(value), False)
    return value, is_out


def _compare_multiple(sides: Sides) -> list[Doubt]:
    if not sides.types & _NUMBER:
        return []
    was, becomes = sides.old.get("multipleOf"), sides.new["multipleOf"]
    is_whole = "fraction" not in sides.types
    if was == becomes or (is_whole and becomes == 1):
        return []
    if isinstance(was, int) and isinstance(becomes, int) and was % becomes == 0:
        return []
    has_no_bounds = not any("imum" in name for name in sides.old)
    is_certain = was is None and has_no_bounds and becomes > 1
    return [sides.doubt(f"now only multiples of {becomes} are accepted", is_certain=is_certain)]


def _least(type_: str, name: str, unless: str) -> Callable[[Sides], list[Doubt]]:
    """A comparison of lower bounds of a size, certain where the old schema says nothing else that bounds it."""

    def compare(sides: Sides) -> list[Doubt]:
        was, becomes = sides.old.get(name, 0), sides.new[name]
        if type_ == "object":
            was = max(was, len(set(sides.old.get("required", ()))))
        if type_ not in sides.types or becomes <= was:
            return []
        is_certain = not any(other in sides.old for other in unless.split())
        return [sides.doubt(f"{name} went up from {was} to {becomes}", is_certain=is_certain)]

    return compare


def _most(type_: str, name: str, unless: str) -> Callable[[Sides], list[Doubt]]:
    """The same for upper bounds."""

    def compare(sides: Sides) -> list[Doubt]:
        was, becomes = sides.old.get(name, math.inf), sides.new[name]
        if type_ not in sides.types or becomes >= was:
            return []
        is_certain = not any(other in sides.old for other in unless.split())
        return [sides.doubt(f"{name} went down from {was} to {becomes}", is_certain=is_certain)]

    return compare


def _compare_unique(sides: Sides) -> list[Doubt]:
    is_free = sides.new["uniqueItems"] is False or "array" not in sides.types or sides.old.get("uniqueItems") is True
    if is_free or sides.old.get("maxItems", math.inf) <= 1:
        return []
    return [sides.doubt("items must be different from one another now", is_certain=False)]


def _text(name: str) -> Callable[[Sides], list[Doubt]]:
    """A comparison of something about strings that is either the same or cannot be weighed."""

    def compare(sides: Sides) -> list[Doubt]:
        if "string" not in sides.types or sides.old.get(name) == sides.new[name]:
            return []
        return [sides.doubt(f"{name} is new or has changed, and cannot be weighed", is_certain=False)]

    return compare


def _compare_items(sides: Sides) -> list[Doubt]:
    if "array" not in sides.types:
        return []
    old_first, new_first = sides.old.get("prefixItems", []), sides.new.get("prefixItems", [])
    old_rest, new_rest = sides.old.get("items", True), sides.new.get("items", True)
    found: list[Doubt] = []
    most = sides.old.get("maxItems", math.inf)
    for index in range(max(len(old_first), len(new_first))):
        if index < most:
            old = old_first[index] if index < len(old_first) else old_rest
            new = new_first[index] if index < len(new_first) else new_rest
            doubts = sides.schemas.inner(old, new, f"{sides.place}/{index}")
            # An array can only have an item here if it can have all those before.
            found += weaken(doubts) if index else doubts
    if most > max(len(old_first), len(new_first)):
        doubts = sides.schemas.inner(old_rest, new_rest, f"{sides.place}/items")
        found += weaken(doubts) if old_first else doubts
    return found


def _compare_properties(sides: Sides) -> list[Doubt]:
    if "object" not in sides.types:
        return []
    old, new = sides.old.get("properties", {}), sides.new.get("properties", {})
    old_rest, new_rest = sides.old.get("additionalProperties", True), sides.new.get("additionalProperties", True)
    if "patternProperties" in sides.new or "patternProperties" in sides.old:
        patterns = sides.old.get("patternProperties", {}), sides.new.get("patternProperties", {})
        if not sides.schemas.is_same(*patterns) or old.keys() != new.keys():
            return [sides.doubt("patternProperties, or properties beside them, have changed", is_certain=False)]
    found: list[Doubt] = []
    for name in {**old, **new}:
        place = f"{sides.place}/{name.replace('~', '~0').replace('/', '~1')}"
        found += sides.schemas.inner(old.get(name, old_rest), new.get(name, new_rest), place)
    found += sides.schemas.inner(old_rest, new_rest, f"{sides.place}/*")
    return weaken(found) if sides.old.get("maxProperties", 1) < 1 else found


def _compare_required(sides: Sides) -> list[Doubt]:
    lost = set(sides.new["required"]) - set(sides.old.get("required", ()))
    if "object" not in sides.types:
        return []
    is_certain = "minProperties" not in sides.old
    return [sides.doubt(f"{name} is required now", is_certain=is_certain) for name in sorted(lost)]


def _same(*names: str) -> Callable[[Sides], list[Doubt]]:
    """A comparison of keywords that are either all the same or cannot be weighed."""

    def compare(sides: Sides) -> list[Doubt]:
        for name in names:
            if (name in sides.old) != (name in sides.new):
                return [sides.doubt(f"{name} is new or gone, and cannot be weighed", is_certain=False)]
            if name in sides.new and not sides.schemas.is_same(sides.old[name], sides.new[name]):
                return [sides.doubt(f"{name} has changed, and cannot be weighed", is_certain=False)]
        return []

    return compare


def _keyword(compare: Callable[[Sides], list[Doubt]], *names: str) -> Keyword:
    return Keyword(frozenset(names), compare)


KEYWORDS = (
    _keyword(_compare_type, "type"),
    _keyword(_compare_values, "enum", "const"),
    _keyword(_bounds(1, "minimum", "exclusiveMinimum"), "minimum", "exclusiveMinimum"),
    _keyword(_bounds(-1, "maximum", "exclusiveMaximum"), "maximum", "exclusiveMaximum"),
    _keyword(_compare_multiple, "multipleOf"),
    *(
        _keyword(make(type_, name, unless), name)
        for type_, least, most, unless in (
            ("string", "minLength", "maxLength", "pattern format"),
            ("array", "minItems", "maxItems", "items prefixItems"),
            ("object", "minProperties", "maxProperties", "properties additionalProperties required"),
        )
        for make, name in ((_least, least), (_most, most))
    ),
    _keyword(_compare_unique, "uniqueItems"),
    *(_keyword(_text(name), name) for name in ("pattern", "format", "contentEncoding", "contentMediaType")),
    _keyword(_compare_items, "prefixItems", "items"),
    _keyword(_compare_properties, "properties", "patternProperties", "additionalProperties"),
    _keyword(_compare_required, "required"),
    _keyword(_same("if", "then", "else"), "if"),
    _keyword(_same("contains", "minContains", "maxContains"), "contains"),
    *(_keyword(_same(name), name) for name in ("not", "oneOf", "dependentRequired", "dependentSchemas")),
    *(_keyword(_same(name), name) for name in ("dependencies", "propertyNames")),
    # These mean nothing by themselves: what they belong to is compared with them.
    *(_keyword(lambda _sides: [], name) for name in ("then", "else", "minContains", "maxContains")),
)
"""All the keywords that are compared one by one."""
