"""Whether an element of an XSD accepts everything that another one does: its type, content and attributes.

Promises: as `xsd_compatibility`, which compares whole schemas with this, tells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from lxml import etree

from pregon.schemas.doubts import Doubt
from pregon.schemas.xsd import XS
from pregon.schemas.xsd_simple_types import (
    named,
    part,
    parts,
    reference_doubts,
    restriction_doubts,
    simple_type_doubts,
)

_TRUE = ("true", "1")
_PARTICLES = {XS + name for name in ("sequence", "choice", "all", "group", "element", "any")}
_CONSTRAINTS = {XS + name for name in ("unique", "key", "keyref")}
_ELEMENT_ATTRIBUTES = ("default", "fixed", "form", "block", "final", "abstract")
_GLOBAL_REFERENCE = "a type with a name and one without cannot be compared"


@dataclass(frozen=True)
class Content:
    """How elements are compared, and what the wildcards of the old schema allow a new one to add."""

    may_add_elements: bool
    may_add_attributes: bool

    def element_doubts(self, old: etree._Element, new: etree._Element, place: str) -> list[Doubt]:
        """Doubts about two `xs:element` of the same name; how often they come is not looked at."""
        found = [
            Doubt(place, f"{name} has changed", False) for name in _ELEMENT_ATTRIBUTES if old.get(name) != new.get(name)
        ]
        if named(old, "substitutionGroup") != named(new, "substitutionGroup"):
            found.append(Doubt(place, "substitutionGroup has changed", False))
        if _is_true(old, "nillable") and not _is_true(new, "nillable"):
            found.append(Doubt(place, "it may not be nil any more", True))
        known = {_text(child) for child in parts(old) if child.tag in _CONSTRAINTS}
        if any(_text(child) not in known for child in parts(new) if child.tag in _CONSTRAINTS):
            found.append(Doubt(place, "a key, keyref or unique is new or has changed", False))
        return found + self._type_doubts(old, new, place)

    def _type_doubts(self, old: etree._Element, new: etree._Element, place: str) -> list[Doubt]:
        old_name, new_name = named(old, "type"), named(new, "type")
        old_type, new_type = part(old, "simpleType", "complexType"), part(new, "simpleType", "complexType")
        if old_name is not None and new_name is not None:
            return reference_doubts(old_name, new_name, place)
        if old_type is not None and new_type is not None:
            if old_type.tag != new_type.tag:
                return [Doubt(place, "simple and complex types cannot be compared", False)]
            if old_type.tag == XS + "simpleType":
                return simple_type_doubts(old_type, new_type, place)
            return self.complex_type_doubts(old_type, new_type, place)
        is_without = old_name is None and new_name is None and old_type is None and new_type is None
        return [] if is_without else [Doubt(place, _GLOBAL_REFERENCE, False)]

    def complex_type_doubts(self, old: etree._Element, new: etree._Element, place: str) -> list[Doubt]:
        """Doubts about two `xs:complexType`."""
        found = [
            Doubt(place, f"{name} has changed", False)
            for name in ("abstract", "block", "final")
            if old.get(name) != new.get(name)
        ]
        if _is_true(old, "mixed") and not _is_true(new, "mixed"):
            found.append(Doubt(place, "it may not be mixed with text any more", True))
        old_body = part(old, "simpleContent", "complexContent")
        new_body = part(new, "simpleContent", "complexContent")
        if old_body is None and new_body is None:
            return found + self._body_doubts(old, new, place)
        if old_body is None or new_body is None or old_body.tag != new_body.tag:
            return [*found, Doubt(place, "the kind of content has changed", False)]
        if _is_true(old_body, "mixed") != _is_true(new_body, "mixed"):
            found.append(Doubt(place, "mixed has changed", False))
        return found + self._derived_doubts(old_body, new_body, place)

    def _derived_doubts(self, old_body: etree._Element, new_body: etree._Element, place: str) -> list[Doubt]:
        old, new = part(old_body, "extension", "restriction"), part(new_body, "extension", "restriction")
        if old is None or new is None or old.tag != new.tag or named(old, "base") != named(new, "base"):
            return [Doubt(place, "what the type derives from has changed", False)]
        if old_body.tag == XS + "complexContent":
            return self._body_doubts(old, new, place)
        found = restriction_doubts(old, new, place) if old.tag == XS + "restriction" else []
        return found + self.attributes_doubts(old, new, place)

    def _body_doubts(self, old: etree._Element, new: etree._Element, place: str) -> list[Doubt]:
        before, after = ([child for child in parts(owner) if child.tag in _PARTICLES] for owner in (old, new))
        return self.particle_doubts(before, after, place) + self.attributes_doubts(old, new, place)

    def attributes_doubts(self, old: etree._Element, new: etree._Element, place: str) -> list[Doubt]:
        """Doubts about the attributes of two types or attribute groups."""
        found = []
        olds, news = _attributes(old), _attributes(new)
        for key, attribute in olds.items():
            where = f"{place}/@{key}"
            if key in news:
                found += self.attribute_doubts(attribute, news[key], where)
            else:
                found.append(Doubt(where, "the attribute is gone", attribute.get("use") != "prohibited"))
        for key in news.keys() - olds.keys():
            if news[key].get("use") == "required":
                found.append(Doubt(f"{place}/@{key}", "the attribute is required now", self.may_add_attributes))
            elif not self.may_add_attributes:
                found.append(Doubt(f"{place}/@{key}", "it is new, and a wildcard may have let it through", False))
        for name in ("attributeGroup", "anyAttribute"):
            before = sorted(_text(child) for child in parts(old) if child.tag == XS + name)
            after = sorted(_text(child) for child in parts(new) if child.tag == XS + name)
            if before != after:
                found.append(Doubt(place, f"{name} has changed", False))
        return found

    def attribute_doubts(self, old: etree._Element, new: etree._Element, place: str) -> list[Doubt]:
        """Doubts about two `xs:attribute` of the same name."""
        found = []
        if old.get("form") != new.get("form") or (
            new.get("fixed") is not None and old.get("fixed") != new.get("fixed")
        ):
            found.append(Doubt(place, "form or fixed has changed", False))
        uses = old.get("use", "optional"), new.get("use", "optional")
        if uses == ("optional", "required"):
            found.append(Doubt(place, "the attribute is required now", True))
        elif uses not in (("required", "optional"), (uses[0], uses[0])):
            found.append(Doubt(place, f"use was {uses[0]} and is {uses[1]}", False))
        return found + self._type_doubts(old, new, place)

    def particle_doubts(self, olds: list[etree._Element], news: list[etree._Element], place: str) -> list[Doubt]:
        """Doubts about two sequences of particles."""
        found: list[Doubt] = []
        names = {_key(child) for child in olds}
        waiting = list(olds)
        for child in news:
            if waiting and _key(child) == _key(waiting[0]):
                found += self._pair_doubts(waiting.pop(0), child, place)
            elif not self._is_addable(child, names):
                is_required = child.tag == XS + "element" and _key(child) not in names and _occurs(child)[0] > 0
                what = "must come now" if is_required else "is new, or at another place"
                found.append(Doubt(f"{place}/{_name(child)}", what, is_required and self.may_add_elements))
        found += [Doubt(f"{place}/{_name(child)}", "is gone, or at another place", False) for child in waiting[1:]]
        if waiting:
            is_gone = waiting[0].tag == XS + "element" and _key(waiting[0]) not in {_key(child) for child in news}
            is_certain = is_gone and self.may_add_elements and _occurs(waiting[0])[1] > 0
            found.append(Doubt(f"{place}/{_name(waiting[0])}", "is gone, or at another place", is_certain))
        return found

    def _set_doubts(self, old: etree._Element, new: etree._Element, place: str) -> list[Doubt]:
        """Doubts about two choices or two `xs:all`, where the order says nothing."""
        olds = {_key(child): child for child in parts(old)}
        news = {_key(child): child for child in parts(new)}
        if len(olds) < len(list(parts(old))) or len(news) < len(list(parts(new))):
            return self.particle_doubts(list(parts(old)), list(parts(new)), place)
        found: list[Doubt] = []
        for key, child in olds.items():
            if key in news:
                found += self._pair_doubts(child, news[key], place)
            else:
                is_certain = child.tag == XS + "element" and self.may_add_elements and _occurs(child)[1] > 0
                found.append(Doubt(f"{place}/{_name(child)}", "is gone", is_certain))
        for key, child in news.items():
            is_branch = old.tag == XS + "choice" and child.tag == XS + "element" and self.may_add_elements
            if key not in olds and not is_branch and not self._is_addable(child, set(olds)):
                is_certain = child.tag == XS + "element" and _occurs(child)[0] > 0 and self.may_add_elements
                found.append(Doubt(f"{place}/{_name(child)}", "must come now", is_certain))
        return found

    def _pair_doubts(self, old: etree._Element, new: etree._Element, place: str) -> list[Doubt]:
        """Doubts about two particles of the same kind and name."""
        where = f"{place}/{_name(old)}" if old.tag == XS + "element" else place
        (least, most), (new_least, new_most) = _occurs(old), _occurs(new)
        found = []
        if new_least > least:
            found.append(Doubt(where, f"minOccurs went up from {least} to {new_least}", most > 0))
        if new_most < most:
            found.append(Doubt(where, f"maxOccurs went down from {most} to {new_most}", True))
        if old.tag == XS + "element":
            return found + self.element_doubts(old, new, where)
        if old.tag == XS + "sequence":
            return found + self.particle_doubts(list(parts(old)), list(parts(new)), place)
        if old.tag in (XS + "choice", XS + "all"):
            return found + self._set_doubts(old, new, place)
        return found

    def _is_addable(self, child: etree._Element, names: set[str]) -> bool:
        """Whether a particle may be added: it need not come, and nothing that came could be taken for it."""
        if not self.may_add_elements or _occurs(child)[0] > 0:
            return False
        elements = list(child.iter(XS + "element")) if child.tag != XS + "element" else [child]
        has_others = any(True for _ in child.iter(XS + "any", XS + "group"))
        return not has_others and all(each.get("ref") is None and _key(each) not in names for each in elements)


def _key(particle: etree._Element) -> str:
    """What particles are matched by: elements by name, groups and wildcards by what they say, the rest by kind."""
    if particle.tag == XS + "element":
        return f"{particle.get('name') or ''} {named(particle, 'ref') or ''}"
    if particle.tag == XS + "group":
        return f"group {named(particle, 'ref')}"
    if particle.tag == XS + "any":
        return f"any {sorted((name, value) for name, value in particle.attrib.items() if 'Occurs' not in str(name))}"
    return str(particle.tag)


def _name(particle: etree._Element) -> str:
    return particle.get("name") or particle.get("ref") or f"xs:{etree.QName(particle).localname}"


def _occurs(particle: etree._Element) -> tuple[float, float]:
    most = particle.get("maxOccurs", "1").strip()
    return int(particle.get("minOccurs", "1")), math.inf if most == "unbounded" else int(most)


def _attributes(owner: etree._Element) -> dict[str, etree._Element]:
    return {_key_of_attribute(child): child for child in parts(owner) if child.tag == XS + "attribute"}


def _key_of_attribute(attribute: etree._Element) -> str:
    return attribute.get("name") or named(attribute, "ref") or ""


def _is_true(element: etree._Element, name: str) -> bool:
    return element.get(name, "").strip() in _TRUE


def _text(element: etree._Element) -> str:
    """An element as text that is only equal to that of one that means the same."""
    return etree.tostring(element, method="c14n", with_tail=False).decode()
