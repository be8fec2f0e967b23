"""From a schema's text to something that refuses the bodies that do not fit it.

Four kinds: `xml` and `json` want a body that is well-formed, `xsd` and `json-schema` one that fits the schema.
When to check, and what to do with the answer, is for who publishes.

Promises:
- A checker raises SchemaMismatch, saying where and why in a few hundred characters, or returns: nothing else,
  whatever the body, but TooLarge beyond what any door lets in.
- Any number of threads may use one checker at once.
- Nothing is opened or fetched, neither for a schema nor for a body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pregon.errors import BadSchema, BadXml, SchemaMismatch
from pregon.schemas.json import parse_json
from pregon.schemas.json_schema import JsonSchemaChecker
from pregon.schemas.xml import parse_xml
from pregon.schemas.xsd import XsdChecker


class Checker(Protocol):
    """Refuses bodies that do not fit a schema."""

    def check(self, body: bytes) -> None:
        """Raises SchemaMismatch, saying where and why."""


class XmlChecker:
    """Refuses bodies that are not well-formed XML."""

    def check(self, body: bytes) -> None:
        """Raises SchemaMismatch, saying where and why."""
        try:
            parse_xml(body)
        except BadXml as error:
            raise SchemaMismatch(str(error)) from error


class JsonChecker:
    """Refuses bodies that are not well-formed JSON."""

    def check(self, body: bytes) -> None:
        """Raises SchemaMismatch, saying where and why."""
        try:
            parse_json(body)
        except ValueError as error:
            raise SchemaMismatch(f"the body is not JSON: {error}") from error


_MAKERS: dict[str, Callable[[str], Checker]] = {
    "xml": lambda text: _without_text("xml", text, XmlChecker()),
    "json": lambda text: _without_text("json", text, JsonChecker()),
    "xsd": XsdChecker,
    "json-schema": JsonSchemaChecker,
}

KINDS = tuple(_MAKERS)
"""The kinds of schema that a topic may have."""


def compile_schema(kind: str, text: str) -> Checker:
    """A checker for the schema; raises BadSchema, saying where and why."""
    maker = _MAKERS.get(kind)
    if maker is None:
        raise BadSchema(f"{kind[:40]!r} is not a kind of schema: use one of {', '.join(KINDS)}")
    return maker(text)


def _without_text(kind: str, text: str, checker: Checker) -> Checker:
    if text.strip():
        raise BadSchema(f"the kind {kind} only asks for well-formed bodies and has no text: leave it empty")
    return checker
