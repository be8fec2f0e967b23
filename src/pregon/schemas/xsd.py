"""Bodies against an XML Schema (XSD 1.0).

libxml2 does the work, in one pass with the parsing. What it would expand without bound is refused before it
sees the schema.

Promises:
- The schema stands alone: whatever imports, includes, redefines or overrides is a `BadSchema`, so nothing is opened.
  Neither is what a body names in `xsi:schemaLocation`.
- Memory for a schema is bounded: occurrences by `limits.SCHEMA_MAX_OCCURS_MAX`, what its types come to when their
  groups, bases and substitutes are written out by `PARTICLES_MAX`.
- A body is checked in time linear in its bytes; a pattern that makes libxml2 give up refuses the body.
- Any number of threads may check at once. One at a time does: the parser of a schema, and the schema's own
  error log, are not made for two.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from lxml import etree

from pregon import limits
from pregon.errors import BadSchema, BadXml, SchemaMismatch
from pregon.schemas.reasons import shorten
from pregon.schemas.xml import hardened_parser, parse_xml, parse_xml_text

XS = "{http://www.w3.org/2001/XMLSchema}"
"""The namespace of XML Schema, as lxml writes it before a name."""

PARTICLES_MAX = 100_000
"""Elements, attributes and groups of all the types of a schema together, written out."""

_ELSEWHERE = tuple(XS + name for name in ("import", "include", "redefine", "override"))
_PLACED_TAGS_MAX = 2_000


class XsdChecker:
    """Refuses bodies that do not fit an XML Schema."""

    def __init__(self, text: str) -> None:
        """Raises BadSchema, saying where and why."""
        self._schema = _compile(parse_schema(text))
        self._parser = hardened_parser(self._schema)
        self._one_at_a_time = threading.Lock()

    def check(self, body: bytes) -> None:
        """Raises SchemaMismatch with the line and the path of the first thing that does not fit, and the reason."""
        with self._one_at_a_time:
            try:
                parse_xml(body, self._parser)
            except BadXml as error:
                raise SchemaMismatch(self._reason(body, error)) from error

    def _reason(self, body: bytes, refusal: BadXml) -> str:
        """Why the body was refused: what is not well-formed, or what does not fit, and where if it is not large.

        Reading as it parses, libxml2 does not know the line. With a tree it does, but it walks through the
        siblings for each thing that does not fit, which for a body with many of them has no end.
        """
        try:
            root = parse_xml(body)
        except BadXml as error:
            return str(error)
        said = str(refusal).removeprefix("the XML is not well-formed: ").removesuffix(" (line 0)")
        if body.count(b"<") > _PLACED_TAGS_MAX:
            return f"the body does not fit the schema: {said}"
        try:
            self._schema.validate(root)
        except etree.XMLSchemaValidateError:
            return f"the body cannot be checked with the schema: {said}"
        errors: Any = self._schema.error_log
        entry = errors[0]
        return f"line {entry.line}, at {shorten(entry.path or '/')}: {shorten(entry.message)}"


def parse_schema(text: str) -> etree._Element:
    """The `xs:schema` element, within our bounds but not yet compiled; raises BadSchema, saying where and why."""
    if len(text.encode(errors="replace")) > limits.SCHEMA_BYTES_MAX:
        raise BadSchema(f"the schema passes {limits.SCHEMA_BYTES_MAX} bytes")
    try:
        root = parse_xml_text(text)
    except BadXml as error:
        raise BadSchema(f"the schema is not usable XML: {error}") from error
    if root.tag != XS + "schema":
        raise BadSchema(shorten(f"the root is {root.tag} and not {XS}schema"))
    for element in root.iter(*_ELSEWHERE):
        name = etree.QName(element).localname
        raise BadSchema(f"line {element.sourceline}: xs:{name}: nothing is opened, write into the schema what it needs")
    for element in root.iter(XS + "*"):
        for name in ("minOccurs", "maxOccurs"):
            _refuse_occurrences(element, name)
    _refuse_expansion(root)
    return root


def _compile(root: etree._Element) -> etree.XMLSchema:
    try:
        return etree.XMLSchema(root)
    except etree.XMLSchemaParseError as error:
        for entry in error.error_log:
            raise BadSchema(f"line {entry.line}: {shorten(entry.message)}") from error
        raise BadSchema(shorten(str(error))) from error


def _refuse_occurrences(element: etree._Element, name: str) -> None:
    value = element.get(name, "1").strip()
    if value != "unbounded" and (len(value) > 9 or not value.isascii() or not value.isdigit()):
        raise BadSchema(f"line {element.sourceline}: {name} is {value[:20]!r}: write a number or unbounded")
    if value != "unbounded" and int(value) > limits.SCHEMA_MAX_OCCURS_MAX:
        raise BadSchema(
            f"line {element.sourceline}: {name} is {value}, the most is {limits.SCHEMA_MAX_OCCURS_MAX}: write unbounded"
        )


def _refuse_expansion(root: etree._Element) -> None:
    """Refuse groups of groups of groups, and their like, which libxml2 writes out one by one."""
    weights = _Weights(root)
    total = 0
    for element in root.iter(XS + "complexType", XS + "group", XS + "attributeGroup"):
        total += weights.of(element)
        if total > PARTICLES_MAX:
            raise BadSchema(
                f"line {element.sourceline}: the types come to more than {PARTICLES_MAX} elements and attributes "
                "when their groups are written out"
            )


class _Weights:
    """What the parts of a schema come to, written out.

    Names are compared without their prefix: two things of one name count as the heavier would, or as both.
    """

    def __init__(self, root: etree._Element) -> None:
        self._named: dict[str, list[etree._Element]] = {}
        self._substitutes: dict[str, list[str]] = {}
        self._found: dict[etree._Element, int] = {}
        for element in root.iterchildren(XS + "*"):
            name = element.get("name", "")
            self._named.setdefault(name, []).append(element)
            if head := element.get("substitutionGroup"):
                self._substitutes.setdefault(_local(head), []).append(name)

    def of(self, element: etree._Element) -> int:
        """The weight of a type or group, of at most a little more than `PARTICLES_MAX`.

        Without recursion: groups may refer to groups thousands of times in a row.
        """
        waiting = [element]
        open_: set[etree._Element] = set()
        while waiting:
            last = waiting[-1]
            needed = [] if last in open_ else [each for each in self._needed(last) if each not in self._found]
            open_.add(last)
            if needed:
                waiting += [each for each in needed if each not in open_]
                continue
            waiting.pop()
            self._found[last] = min(self._sum(last), PARTICLES_MAX + 1)
        return self._found[element]

    def _needed(self, element: etree._Element) -> Iterator[etree._Element]:
        for part in element.iter(XS + "group", XS + "attributeGroup", XS + "extension", XS + "restriction"):
            name = _local(part.get("ref") or part.get("base") or "")
            for named in self._named.get(name, ()) if name else ():
                if named.tag in (XS + "group", XS + "attributeGroup", XS + "complexType"):
                    yield named

    def _sum(self, element: etree._Element) -> int:
        own = sum(1 for _ in element.iter(XS + "*"))
        substitutes = sum(self._substitutes_of(_local(part.get("ref", ""))) for part in element.iter(XS + "element"))
        # One that is still open refers to itself, which libxml2 refuses.
        return own + substitutes + sum(self._found.get(each, 0) for each in self._needed(element))

    def _substitutes_of(self, name: str) -> int:
        if not self._substitutes or not name:
            return 0
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            for each in self._substitutes.get(waiting.pop(), ()):
                if each not in seen:
                    seen.add(each)
                    waiting.append(each)
        return len(seen)


def _local(name: str) -> str:
    return name.strip().rpartition(":")[2]
