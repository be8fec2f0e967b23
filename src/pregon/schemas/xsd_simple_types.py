"""Whether a simple type of an XSD accepts everything that another one does.

Promises: no doubts is a proof, given that the types of one name in the two schemas have been compared too
(`xsd_compatibility` does). A built-in type only gives way to one that it is derived from, so that an `xsi:type` in a
body stays valid.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from lxml import etree

from pregon.schemas.doubts import Doubt
from pregon.schemas.xsd import XS

_FACETS_UP = ("maxLength", "totalDigits", "fractionDigits")
_BOUNDS = ((1, "minInclusive", "minExclusive"), (-1, "maxInclusive", "maxExclusive"))

# Only the numbers: the types of text also say what becomes of spaces, and with it what is equal to a fixed value,
# an enumeration or a key.
_DERIVED = {
    "decimal": "integer",
    "integer": "nonPositiveInteger long nonNegativeInteger",
    "nonPositiveInteger": "negativeInteger",
    "long": "int",
    "int": "short",
    "short": "byte",
    "nonNegativeInteger": "unsignedLong positiveInteger",
    "unsignedLong": "unsignedInt",
    "unsignedInt": "unsignedShort",
    "unsignedShort": "unsignedByte",
}
_BASES = {XS + name: XS + base for base, names in _DERIVED.items() for name in names.split()}


def named(element: etree._Element, name: str) -> str | None:
    """The name that an attribute refers to, with its namespace, None if it is not there."""
    value = element.get(name)
    return None if value is None else resolve(element, value)


def resolve(element: etree._Element, value: str) -> str:
    """A prefixed name as lxml writes it, with its namespace."""
    prefix, _, local = value.strip().rpartition(":")
    namespace = element.nsmap.get(prefix or None)
    return f"{{{namespace}}}{local}" if namespace else local


def parts(element: etree._Element) -> Iterator[etree._Element]:
    """The children that say something: no annotations and no comments."""
    for child in element.iterchildren(XS + "*"):
        if child.tag != XS + "annotation":
            yield child


def part(element: etree._Element, *names: str) -> etree._Element | None:
    """The first child with one of these names."""
    return next((child for child in parts(element) if child.tag in {XS + name for name in names}), None)


def reference_doubts(old: str, new: str, place: str) -> list[Doubt]:
    """Doubts about one named type in the place of another."""
    if old == new or new in _ancestors(old):
        return []
    is_narrower = old in _ancestors(new)
    return [Doubt(place, f"the type was {_shown(old)} and is {_shown(new)}", is_narrower)]


def _ancestors(name: str) -> Iterator[str]:
    while name in _BASES:
        name = _BASES[name]
        yield name


def _shown(name: str) -> str:
    return name.replace(XS, "xs:")


def simple_type_doubts(old: etree._Element, new: etree._Element, place: str) -> list[Doubt]:
    """Doubts about two `xs:simpleType`."""
    old_body, new_body = part(old, "restriction", "list", "union"), part(new, "restriction", "list", "union")
    if old_body is None or new_body is None or old_body.tag != new_body.tag or old.get("final") != new.get("final"):
        return [Doubt(place, "the kind of simple type has changed", False)]
    if old_body.tag == XS + "restriction":
        return restriction_doubts(old_body, new_body, place)
    if old_body.tag == XS + "list":
        return _base_doubts(old_body, new_body, "itemType", place)
    return _union_doubts(old_body, new_body, place)


def restriction_doubts(old: etree._Element, new: etree._Element, place: str) -> list[Doubt]:
    """Doubts about two `xs:restriction` of simple content: their bases, and their facets."""
    return _base_doubts(old, new, "base", place) + _facet_doubts(old, new, place)


def _base_doubts(old: etree._Element, new: etree._Element, name: str, place: str) -> list[Doubt]:
    old_base, new_base = named(old, name), named(new, name)
    if old_base is not None and new_base is not None:
        return reference_doubts(old_base, new_base, place)
    old_inline, new_inline = part(old, "simpleType"), part(new, "simpleType")
    if old_base is None and new_base is None and old_inline is not None and new_inline is not None:
        return simple_type_doubts(old_inline, new_inline, place)
    return [Doubt(place, "a named type became one without a name, or the other way round", False)]


def _union_doubts(old: etree._Element, new: etree._Element, place: str) -> list[Doubt]:
    """A union may get more members, after those that it has."""
    old_names = [resolve(old, name) for name in old.get("memberTypes", "").split()]
    new_names = [resolve(new, name) for name in new.get("memberTypes", "").split()]
    old_inline, new_inline = list(parts(old)), list(parts(new))
    if new_names[: len(old_names)] != old_names or len(new_inline) < len(old_inline):
        return [Doubt(place, "the members of the union have changed", False)]
    if old_inline and new_names != old_names:
        return [Doubt(place, "the members of the union have changed their order", False)]
    pairs = zip(old_inline, new_inline, strict=False)
    return [doubt for a, b in pairs for doubt in simple_type_doubts(a, b, place)]


def _facet_doubts(old: etree._Element, new: etree._Element, place: str) -> list[Doubt]:
    was, becomes = _facets(old), _facets(new)
    # Another facet, or the base, may already rule out what a facet takes away.
    is_certain = not was and named(old, "base") in (XS + "string", XS + "decimal")
    found: list[Doubt] = []
    for name in ("enumeration", "pattern"):
        lost = was.get(name, set()) - becomes.get(name, set())
        if name in becomes and lost:
            is_plain = name == "enumeration" and was.keys() == {"enumeration"}
            found.append(Doubt(place, f"the {name} {min(lost)[:40]!r} is gone", is_plain))
        elif name in becomes and name not in was:
            is_plain = name == "enumeration" and is_certain
            found.append(Doubt(place, f"there is a new {name}", is_plain))
    repeated = {name for facets in (was, becomes) for name, values in facets.items() if len(values) > 1}
    for name in sorted(repeated - {"enumeration", "pattern"}):
        # XSD forbids it and libxml2 takes it, without saying which one counts.
        found.append(Doubt(place, f"there is more than one {name}", False))
    if old.nsmap != new.nsmap and any(":" in value for value in becomes.get("enumeration", ())):
        found.append(Doubt(place, "prefixes have changed, which an enumeration may use", False))
    if "length" in becomes and was.get("length") != becomes["length"]:
        found.append(Doubt(place, "length is new or has changed", False))
    if was.get("whiteSpace") != becomes.get("whiteSpace"):
        # It refuses nothing by itself, but the other facets see the text without the spaces that it takes away.
        found.append(Doubt(place, "whiteSpace is new, gone or has changed", False))
    for name in ("minLength", *_FACETS_UP):
        found += _size_doubts(name, was, becomes, place)
    for sign, inclusive, exclusive in _BOUNDS:
        found += _bound_doubts(sign, (inclusive, exclusive), was, becomes, place)
    known = {"enumeration", "pattern", "length", "whiteSpace", "minLength", *_FACETS_UP}
    known.update(name for _, *names in _BOUNDS for name in names)
    found += [Doubt(place, f"{name} cannot be compared", False) for name in becomes.keys() - known]
    return found


def _facets(restriction: etree._Element) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for child in parts(restriction):
        value = child.get("value")
        if value is not None:
            found.setdefault(etree.QName(child).localname, set()).add(value)
    return found


def _size_doubts(name: str, was: dict[str, set[str]], becomes: dict[str, set[str]], place: str) -> list[Doubt]:
    if name not in becomes or was.get(name) == becomes[name]:
        return []
    is_certain = was.keys() <= {name}
    if name not in was:
        return [Doubt(place, f"there is a new {name}", is_certain and name in ("minLength", "maxLength"))]
    before, after = int(min(was[name])), int(min(becomes[name]))
    is_narrower = after > before if name == "minLength" else after < before
    return [Doubt(place, f"{name} went from {before} to {after}", is_certain)] if is_narrower else []


def _bound_doubts(
    sign: int, names: tuple[str, str], was: dict[str, set[str]], becomes: dict[str, set[str]], place: str
) -> list[Doubt]:
    if not any(name in becomes for name in names) or all(was.get(name) == becomes.get(name) for name in names):
        return []
    try:
        before, after = (_bound(sign, names, facets) for facets in (was, becomes))
    except InvalidOperation:
        return [Doubt(place, f"{names[0]} has changed, and is no number", False)]
    if before is not None and after is not None and after <= before:
        return []
    is_certain = was.keys() <= set(names) and before is not None
    return [Doubt(place, f"{names[0]} became narrower", is_certain)]


def _bound(sign: int, names: tuple[str, str], facets: dict[str, set[str]]) -> tuple[Decimal, bool] | None:
    """The lower bound, and whether it is itself out; an upper bound is the lower one of the numbers negated."""
    bounds = [
        (sign * Decimal(value.strip()), is_out)
        for name, is_out in zip(names, (False, True), strict=True)
        for value in facets.get(name, ())
    ]
    if any(not value.is_finite() for value, _ in bounds):
        raise InvalidOperation
    return max(bounds, default=None)
