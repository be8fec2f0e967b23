"""Whether an XSD accepts everything that another one does, by comparing their structure.

What has a name in the old schema must be in the new one and contain it; then so does everything that refers to it by
that name. Content is compared in its order: a sequence may get elements that need not come, a choice may get branches,
occurrences and facets may widen.

Promises:
- No doubts is a proof. Where a wildcard (`xs:any`, `xs:anyAttribute`, an element without a type) or a substitution
  could meet something that the new schema adds, there is a doubt.
- A certain doubt is something that an element of the old schema could have and the new one does not let it.
"""

from __future__ import annotations

from collections.abc import Iterable

from lxml import etree

from pregon.schemas.doubts import Doubt
from pregon.schemas.xsd import XS, parse_schema
from pregon.schemas.xsd_content import Content
from pregon.schemas.xsd_simple_types import parts, simple_type_doubts

_NAMED = tuple(XS + name for name in ("element", "complexType", "simpleType", "group", "attributeGroup", "attribute"))
_SCHEMA_ATTRIBUTES = ("elementFormDefault", "attributeFormDefault", "blockDefault", "finalDefault")


def xsd_doubts(old_text: str, new_text: str) -> list[Doubt]:
    """Where the new schema does not, or may not, accept what the old one does; raises BadSchema."""
    old, new = parse_schema(old_text), parse_schema(new_text)
    if old.get("targetNamespace") != new.get("targetNamespace"):
        return [Doubt("", "targetNamespace has changed", True)]
    found = [Doubt("", f"{name} has changed", False) for name in _SCHEMA_ATTRIBUTES if old.get(name) != new.get(name)]
    unknown = {child.tag for root in (old, new) for child in parts(root)} - set(_NAMED)
    found += [Doubt("", f"{etree.QName(tag).localname} cannot be compared", False) for tag in unknown]
    olds, news = _globals(old), _globals(new)
    content = Content(
        may_add_elements=not any(True for _ in old.iter(XS + "any")),
        may_add_attributes=not any(True for _ in old.iter(XS + "anyAttribute")),
    )
    added = news.keys() - olds.keys()
    found += _addition_doubts(old, [news[key] for key in added])
    for key, element in olds.items():
        place = f"/{key[1]}"
        if key not in news:
            found.append(Doubt(place, f"xs:{etree.QName(key[0]).localname} is gone", _is_root(element)))
        else:
            found += _global_doubts(content, element, news[key], place)
    return found


def _globals(root: etree._Element) -> dict[tuple[str, str], etree._Element]:
    return {(str(child.tag), child.get("name", "")): child for child in parts(root) if child.tag in _NAMED}


def _is_root(element: etree._Element) -> bool:
    return element.tag == XS + "element" and element.get("abstract") not in ("true", "1")


def _addition_doubts(old: etree._Element, added: Iterable[etree._Element]) -> list[Doubt]:
    """Doubts about new names where a body could already have them: through a wildcard, or as a substitute."""
    found = []
    is_lax = _has_lax_wildcard(old)
    for element in added:
        name = element.get("name", "")
        if is_lax and element.tag not in (XS + "group", XS + "attributeGroup"):
            found.append(Doubt(f"/{name}", "it is new, and a wildcard may have let through another thing", False))
        if element.get("substitutionGroup") is not None:
            found.append(Doubt(f"/{name}", "it is a new substitute", False))
    return found


def _has_lax_wildcard(root: etree._Element) -> bool:
    for wildcard in root.iter(XS + "any", XS + "anyAttribute"):
        if wildcard.get("processContents") != "skip":
            return True
    for element in root.iter(XS + "element"):
        has_type = any(child.tag in (XS + "simpleType", XS + "complexType") for child in parts(element))
        if not has_type and element.get("type") is None and element.get("ref") is None:
            return True
    names = ("type", "base", "itemType")
    return any(part.get(name, "").rpartition(":")[2] == "anyType" for part in root.iter(XS + "*") for name in names)


def _global_doubts(content: Content, old: etree._Element, new: etree._Element, place: str) -> list[Doubt]:
    if old.tag == XS + "element":
        return content.element_doubts(old, new, place)
    if old.tag == XS + "complexType":
        return content.complex_type_doubts(old, new, place)
    if old.tag == XS + "simpleType":
        return simple_type_doubts(old, new, place)
    if old.tag == XS + "attribute":
        return content.attribute_doubts(old, new, place)
    if old.tag == XS + "attributeGroup":
        return content.attributes_doubts(old, new, place)
    return content.particle_doubts(list(parts(old)), list(parts(new)), place)
