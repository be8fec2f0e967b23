"""How messages, entries and pages look in JSON.

A message's body is given as the most readable of three: `json` (the value itself), `text`, or `base64`. A message
to publish says it in one of the same three. Times are RFC 3339 in UTC.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pregon.clock import format_us
from pregon.errors import BadRequest
from pregon.limits import INTEGER_MAX, LIST_ROWS_MAX
from pregon.model.events import JSON_CONTENT_TYPE, is_json, is_json_text
from pregon.model.message import DEFAULT_CONTENT_TYPE, Message, Outgoing

TEXT_CONTENT_TYPE = "text/plain; charset=utf-8"
Number = Annotated[int, Meta(ge=0, le=INTEGER_MAX)]
Positive = Annotated[int, Meta(ge=1, le=INTEGER_MAX)]


class MessageOut(msgspec.Struct, omit_defaults=True, kw_only=True):
    """A message as it is read: its body as one of json, text and base64."""

    topic: str
    seq: int
    id: str
    producer: str
    content_type: str
    published_at: str
    accepted_at: str
    key: str | None = None
    headers: dict[str, str] = {}
    matched: str = ""
    json: msgspec.Raw | UnsetType = UNSET
    text: str | UnsetType = UNSET
    base64: str | UnsetType = UNSET


MESSAGE_EXAMPLE = {
    "topic": "fallecidos",
    "seq": 17,
    "id": "018f4e",
    "producer": "dgrec",
    "content_type": "application/json",
    "published_at": "2026-11-15T10:00:00.000000Z",
    "accepted_at": "2026-11-15T10:00:00.001000Z",
    "json": {"nombre": "Pepe"},
}


class MessageIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A message to publish: its body as one of json, text and base64."""

    id: str | None = None
    key: str | None = None
    content_type: str | None = None
    headers: dict[str, str] = {}
    json: msgspec.Raw | UnsetType = UNSET
    text: str | UnsetType = UNSET
    base64: str | UnsetType = UNSET

    def outgoing(self) -> Outgoing:
        """The message; raises BadRequest if its body is not said once, or is no base64."""
        if (self.json is not UNSET) + (self.text is not UNSET) + (self.base64 is not UNSET) != 1:
            raise BadRequest("a message has one of json, text and base64")
        if self.json is not UNSET:
            return self._of(bytes(self.json), JSON_CONTENT_TYPE)
        if self.text is not UNSET:
            return self._of(self.text.encode("utf-8", "surrogatepass"), TEXT_CONTENT_TYPE)
        try:
            body = base64.b64decode(self.base64, validate=True)  # type: ignore[arg-type]
        except (binascii.Error, ValueError) as error:
            raise BadRequest("base64 of a message is not base64") from error
        return self._of(body, DEFAULT_CONTENT_TYPE)

    def _of(self, body: bytes, content_type: str) -> Outgoing:
        return Outgoing(body, self.id, self.key, self.content_type or content_type, self.headers)


def message_out(message: Message) -> MessageOut:
    """A message as JSON shows it."""
    body, content_type = message.body, message.content_type
    out = MessageOut(
        topic=message.topic,
        seq=message.seq,
        id=message.id,
        producer=message.producer,
        content_type=content_type,
        published_at=format_us(message.published_us),
        accepted_at=format_us(message.accepted_us),
        key=message.key,
        headers=message.headers,
        matched=message.matched,
    )
    if is_json(content_type) and is_json_text(body):
        out.json = msgspec.Raw(body)
        return out
    if content_type.startswith("text/") or "xml" in content_type:
        try:
            out.text = body.decode()
            return out
        except UnicodeDecodeError:
            pass
    out.base64 = base64.b64encode(body).decode()
    return out


class Page(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which page of a list: `cursor` is `next` of the page before."""

    max: Annotated[int, Meta(ge=1, le=LIST_ROWS_MAX)] = 100
    cursor: str = ""


def encode_cursor(names: Sequence[str | int]) -> str:
    """Where a page ended, for who asks for the next."""
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(list(names))).decode().rstrip("=")


def decode_cursor(cursor: str, parts: int) -> tuple[str, ...]:
    """Where the page before ended; raises BadRequest for what is no cursor of ours."""
    if not cursor:
        return ()
    try:
        names = msgspec.msgpack.decode(base64.urlsafe_b64decode(cursor + "=="), type=list[str | int])
    except (msgspec.DecodeError, binascii.Error, ValueError) as error:
        raise BadRequest("cursor is what `next` of the page before said; leave it out for the first page") from error
    if len(names) != parts:
        raise BadRequest("this cursor is of another list")
    return tuple(str(name) for name in names)


def decode_number_cursor(cursor: str, digits_max: int) -> int:
    """The number where the page before ended, 0 for the first page; raises BadRequest for what is no cursor of ours."""
    (number,) = decode_cursor(cursor, 1) or ("0",)
    if not number.isascii() or not number.isdigit() or len(number) > digits_max:
        raise BadRequest("this cursor is of another list")
    return int(number)


def view(entry: Any) -> dict[str, Any]:
    """An entry as REST shows it: times in microseconds become RFC 3339."""
    return _with_times(msgspec.to_builtins(entry))


def _with_times(fields: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, value in fields.items():
        if name.endswith("_us"):
            shown[time_name(name)] = None if value is None else format_us(value)
        else:
            shown[name] = value
    return shown


def time_name(name: str) -> str:
    """created_us as created_at; at_us as at."""
    return name.removesuffix("_us") if name == "at_us" else name.removesuffix("_us") + "_at"
