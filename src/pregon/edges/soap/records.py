"""Fields of requests and answers, said once: from them come the reading, the writing and the schema in the WSDL.

Promises:
- A request has each field once (lists: as often as it likes), none that is unknown, and all that are required.
- A field that was left out is left out of the values too, so that an update can tell it from one that is nil.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lxml import etree

from pregon.clock import INSTANT_US_MAX, format_us, parse_us
from pregon.errors import BadRequest
from pregon.limits import INTEGER_MAX
from pregon.soap.envelope import elements_of, raw_text_of, text_of
from pregon.soap.texts import escape
from pregon.soap.vocabulary import XSI, split_tag

_NIL = f"{{{XSI}}}nil"


@dataclass(frozen=True, slots=True)
class Kind:
    """A simple type: its name in the schema, and how its values are read and written."""

    schema_name: str
    decode: Callable[[str], Any]
    """Raises ValueError for what is none; its words say what is wanted."""
    encode: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Record:
    """Fields that belong together."""

    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """One element of a record: what it is called outside, and inside."""

    name: str
    attribute: str
    kind: Kind | Record
    is_required: bool = False
    is_list: bool = False
    may_be_nil: bool = False
    """Nil takes the value away, where leaving the element out leaves it as it was."""


def _decode_number(text: str) -> int:
    digits = text.strip().removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20 and int(digits) <= INTEGER_MAX):
        raise ValueError("a whole number")
    return int(text)


def _decode_flag(text: str) -> bool:
    found = {"true": True, "1": True, "false": False, "0": False}.get(text.strip())
    if found is None:
        raise ValueError("true or false")
    return found


def _decode_instant(text: str) -> int:
    try:
        us = parse_us(text.strip())
    except (ValueError, OverflowError) as error:
        raise ValueError("an instant, as 2011-03-04T10:00:00Z") from error
    return max(1, min(us, INSTANT_US_MAX))


NAME = Kind("xs:string", str.strip, escape)
TEXT = Kind("xs:string", str, escape)
NUMBER = Kind("xs:long", _decode_number, str)
NUMBER_OR_NOTHING = Kind("xs:string", lambda text: _decode_number(text) if text.strip() else None, str)
"""A number that may also be an empty element, as a request has it that acknowledges nothing yet."""
FLAG = Kind("xs:boolean", _decode_flag, lambda value: "true" if value else "false")
INSTANT = Kind("xs:dateTime", _decode_instant, format_us)


def decode_fields(fields: tuple[Field, ...], element: etree._Element, namespace: str) -> dict[str, Any]:
    """The values of an element's fields, by attribute; raises BadRequest."""
    known = {field.name: field for field in fields}
    values: dict[str, Any] = {}
    holder = split_tag(element.tag)[1][:100]
    for child in elements_of(element):
        child_namespace, name = split_tag(child.tag)
        field = known.get(name) if child_namespace in (namespace, "") else None
        if field is None:
            raise BadRequest(f"{holder} has no {name[:100]!r} of this namespace: use {', '.join(known) or 'nothing'}")
        if field.is_list:
            values.setdefault(field.attribute, []).append(_decode(field, child, namespace))
        elif field.attribute in values:
            raise BadRequest(f"{holder} has {field.name} twice")
        else:
            values[field.attribute] = _decode(field, child, namespace)
    missing = [field.name for field in fields if field.is_required and values.get(field.attribute) in (None, "")]
    if missing:
        raise BadRequest(f"{holder} needs {', '.join(missing)}")
    return values


def _decode(field: Field, element: etree._Element, namespace: str) -> Any:
    if field.may_be_nil and (element.get(_NIL) or "").strip() in ("1", "true"):
        return None
    if isinstance(field.kind, Record):
        return decode_fields(field.kind.fields, element, namespace)
    try:
        return field.kind.decode(text_of(element) if field.kind is NAME else raw_text_of(element))
    except ValueError as error:
        raise BadRequest(f"{field.name} is {error}") from error


def encode_fields(fields: tuple[Field, ...], values: Mapping[str, Any]) -> str:
    """The elements of some values, in the order of the schema; what is None is left out."""
    written: list[str] = []
    for field in fields:
        value = values.get(field.attribute)
        ones: Iterable[Any] = () if value is None else value if field.is_list else (value,)
        for one in ones:
            inside = encode_fields(field.kind.fields, one) if isinstance(field.kind, Record) else field.kind.encode(one)
            written.append(f"<{field.name}>{inside}</{field.name}>")
    return "".join(written)
