"""CloudEvents 1.0: an event from outside as a message, a message as an event.

An event's attributes travel as headers of the message, `ce-` before each name, so that they come back as they
were; its data is the message's body, its `datacontenttype` the content type, its `partitionkey` the key. The
message's id is the event's source and id together, because that pair is what CloudEvents calls the same event.
A message that was no event becomes one of type `pregon.message`, from its producer.

Pure: no HTTP here; which bytes came in which header is the door's business.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from pregon import limits
from pregon.clock import INSTANT_US_MAX, format_us, parse_us
from pregon.errors import BadEvent
from pregon.model.group import AFTER_HEADER, ANSWERS_HEADER, KIND_HEADER, STAMP_HEADER, TOPIC_PREFIX
from pregon.model.message import DEFAULT_CONTENT_TYPE, Message, Outgoing

HEADER_PREFIX = "ce-"
JSON_CONTENT_TYPE = "application/json"
_REQUIRED = ("id", "source", "type")
_NAME = re.compile(r"[a-z0-9]{1,20}", re.ASCII)
_DATA = ("data", "data_base64")
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_OF_GROUPS = {
    KIND_HEADER: "pregongroupkind",
    STAMP_HEADER: "pregongroupstamp",
    AFTER_HEADER: "pregongroupafter",
    ANSWERS_HEADER: "pregongroupanswers",
}
"""Headers of a group's messages, and the attributes that say the same."""
_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_objects = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode


def is_json(content_type: str) -> bool:
    """Whether a content type says that the body is JSON."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == JSON_CONTENT_TYPE or kind.endswith("+json")


def decode_binary(attributes: Mapping[str, str], content_type: str, body: bytes) -> tuple[Outgoing, int | None]:
    """The message of an event whose attributes came beside its data, and when it was published; raises BadEvent."""
    return _outgoing(dict(attributes), content_type or DEFAULT_CONTENT_TYPE, body)


def decode_structured(text: bytes) -> tuple[Outgoing, int | None]:
    """The message of an event that came as one JSON object; raises BadEvent."""
    return _of_object(_decode_json(text, _decode_object))


def decode_batch(text: bytes) -> list[tuple[Outgoing, int | None]]:
    """The messages of a JSON list of events; raises BadEvent."""
    return [_of_object(one) for one in _decode_json(text, _decode_objects)]


def _decode_json(text: bytes, decode: Any) -> Any:
    try:
        return decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadEvent(f"this is not CloudEvents JSON: {str(error)[:200]}") from error


def _of_object(fields: dict[str, msgspec.Raw]) -> tuple[Outgoing, int | None]:
    # An attribute that is null is one that is not there.
    fields = {name: raw for name, raw in fields.items() if name == "data" or bytes(raw).strip() != b"null"}
    attributes = {name: _text_of(name, raw) for name, raw in fields.items() if name not in _DATA}
    if "data" in fields and "data_base64" in fields:
        raise BadEvent("an event has data or data_base64, not both")
    content_type = attributes.pop("datacontenttype", JSON_CONTENT_TYPE)
    body = b""
    if "data_base64" in fields:
        try:
            body = base64.b64decode(_text_of("data_base64", fields["data_base64"]), validate=True)
        except (binascii.Error, ValueError) as error:
            raise BadEvent("data_base64 is not base64") from error
    elif "data" in fields:
        body = bytes(fields["data"])
        value = _value_of("data", fields["data"])
        if isinstance(value, str) and not is_json(content_type):
            body = value.encode("utf-8", "surrogatepass")
    return _outgoing(attributes, content_type, body)


def _value_of(name: str, raw: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadEvent(f"{name[:40]} of an event cannot be read: {str(error)[:100]}") from error


def _text_of(name: str, raw: msgspec.Raw) -> str:
    value = _value_of(name, raw)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int):
        return str(value)
    raise BadEvent(f"the attribute {name[:40]!r} of an event is a text, a whole number or a boolean")


def _outgoing(attributes: dict[str, str], content_type: str, body: bytes) -> tuple[Outgoing, int | None]:
    if attributes.get("specversion") != "1.0":
        raise BadEvent("an event says specversion 1.0; other versions of CloudEvents are not taken")
    for name in _REQUIRED:
        if not attributes.get(name):
            raise BadEvent(f"an event has an {name} that is not empty" if name == "id" else f"an event has a {name}")
    for name in attributes:
        if not _NAME.fullmatch(name) or name in _DATA or name == "datacontenttype":
            raise BadEvent(f"{name[:40]!r} is no name of an attribute: use 1 to 20 of a-z 0-9")
    published_us = None
    if "time" in attributes:
        if not is_rfc_3339(attributes["time"]):
            raise BadEvent("time of an event is an RFC 3339 time, such as 2026-11-15T10:00:00Z")
        us = parse_us(attributes["time"].upper())
        # What happened before 1970 is published now: the event keeps its own time.
        published_us = us if 0 <= us <= INSTANT_US_MAX else None
    headers = {f"{HEADER_PREFIX}{name}": value for name, value in attributes.items()}
    message_id = _message_id(attributes["source"], attributes["id"])
    return Outgoing(body, message_id, attributes.get("partitionkey"), content_type, headers), published_us


def _message_id(source: str, event_id: str) -> str:
    joined = f"{source} {event_id}"
    # A source is a URI reference, in which no blank may be; with one, the two could not be told apart again.
    if " " not in source and len(joined.encode("utf-8", "surrogatepass")) <= limits.MESSAGE_ID_BYTES_MAX:
        return joined
    whole = f"{len(source)} {joined}".encode("utf-8", "surrogatepass")
    return "ce-sha256 " + hashlib.sha256(whole).hexdigest()


def is_rfc_3339(text: str) -> bool:
    """Whether a text is a time as RFC 3339 writes it, with its zone."""
    if not _RFC_3339.fullmatch(text):
        return False
    try:
        parse_us(text.upper())
    except (ValueError, OverflowError):
        return False
    return True


def attributes_of(message: Message) -> dict[str, str]:
    """The attributes of the event that a message is, as texts; `datacontenttype` among them if it has data."""
    headers = message.headers
    given = {
        name.removeprefix(HEADER_PREFIX): value for name, value in headers.items() if name.startswith(HEADER_PREFIX)
    }
    if not _is_event(given):
        given = {
            "specversion": "1.0",
            "id": message.id,
            "source": f"/producers/{message.producer}",
            "type": "pregon.message",
            "time": format_us(message.published_us),
        }
    if message.body:
        given["datacontenttype"] = message.content_type
    if message.key is not None:
        given.setdefault("partitionkey", message.key)
    given["pregontopic"] = message.topic
    given["pregonproducer"] = message.producer
    given["pregonsequence"] = str(message.seq)
    if message.topic.startswith(TOPIC_PREFIX):
        given.update({_OF_GROUPS[name]: value for name, value in headers.items() if name in _OF_GROUPS and value})
    # Only the hub says by which filter a message passed.
    given.pop("pregonmatched", None)
    if message.matched:
        given["pregonmatched"] = message.matched
    return given


def _is_event(given: Mapping[str, str]) -> bool:
    """Whether headers that look like an event's attributes are all of one."""
    return (
        given.get("specversion") == "1.0"
        and all(given.get(name) for name in _REQUIRED)
        and all(_NAME.fullmatch(name) and name not in (*_DATA, "datacontenttype") for name in given)
        and ("time" not in given or is_rfc_3339(given["time"]))
    )


def as_structured(message: Message) -> dict[str, Any]:
    """The event that a message is, as one JSON object; its body as data, or as data_base64 where JSON cannot say it."""
    event: dict[str, Any] = attributes_of(message)
    body = message.body
    if not body:
        return event
    if is_json(message.content_type) and is_json_text(body):
        event["data"] = msgspec.Raw(body)
    else:
        try:
            text = body.decode()
            is_text = message.content_type.startswith("text/") or "xml" in message.content_type
        except UnicodeDecodeError:
            is_text = False
        event.update({"data": text} if is_text else {"data_base64": base64.b64encode(body).decode()})
    return event


def is_json_text(body: bytes) -> bool:
    """Whether the bytes are one JSON value."""
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
