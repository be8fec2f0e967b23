"""Does a new schema still accept everything that the old one accepted?

The question of whoever changes the schema of a topic that others publish to. The answer is about schemas only; what
to do with it is for who asked.

Promises:
- "yes" is proved: there is no body that the old schema accepts and the new one refuses.
- "no" has a place and what became narrower there.
- Everything else is "unknown", with what could not be compared.
- Both schemas can be used by themselves; one that cannot raises BadSchema.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pregon.schemas.check import compile_schema
from pregon.schemas.doubts import Doubt
from pregon.schemas.json_compatibility import json_schema_doubts
from pregon.schemas.reasons import shorten
from pregon.schemas.xsd_compatibility import xsd_doubts

REASONS_MAX = 20
"""Reasons of one verdict."""

_IS_XML = {"xml": True, "xsd": True, "json": False, "json-schema": False}


@dataclass(frozen=True)
class SchemaText:
    """A schema as somebody wrote it. Kinds that only ask for a well-formed body have no text."""

    kind: str
    text: str = ""


@dataclass(frozen=True)
class Verdict:
    """The answer, and why: empty for "yes", else at most `REASONS_MAX` sentences."""

    answer: Literal["yes", "no", "unknown"]
    reasons: tuple[str, ...] = ()


def compare(old: SchemaText | None, new: SchemaText) -> Verdict:
    """Whether the new schema accepts all that the old one did; None is no schema, which accepts all.

    Raises BadSchema.
    """
    for schema in (old, new):
        if schema is not None:
            compile_schema(schema.kind, schema.text)
    if old is None:
        return Verdict("no", (f"any bytes were accepted, now only {_called(new)} are",))
    if old == new:
        return Verdict("yes")
    if _IS_XML[old.kind] != _IS_XML[new.kind]:
        return Verdict("no", (f"{_called(old)} were accepted, now only {_called(new)} are",))
    if new.kind in ("xml", "json"):
        return Verdict("yes")
    if new.kind == "xsd":
        return _from_xsd(old, new)
    return _verdict(json_schema_doubts("true" if old.kind == "json" else old.text, new.text))


def _from_xsd(old: SchemaText, new: SchemaText) -> Verdict:
    if old.kind == "xml":
        return Verdict("no", ("any well-formed XML was accepted, now only what fits the schema is",))
    return _verdict(xsd_doubts(old.text, new.text))


def _verdict(doubts: Iterable[Doubt]) -> Verdict:
    by_certainty = sorted(dict.fromkeys(doubts), key=lambda doubt: not doubt.is_certain)
    reasons = tuple(shorten(str(doubt)) for doubt in by_certainty[:REASONS_MAX])
    if not reasons:
        return Verdict("yes")
    return Verdict("no" if by_certainty[0].is_certain else "unknown", reasons)


def _called(schema: SchemaText) -> str:
    return "XML documents" if _IS_XML[schema.kind] else "JSON values"
