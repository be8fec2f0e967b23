"""A message before it is sent and after it is received.

`Outgoing` is what a producer says. `Message` is what a subscriber gets: a light view of one row of an
Arrow batch, whose columns are turned into Python values once for the whole batch, when first asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol

import msgspec
import pyarrow as pa

from pregon import limits
from pregon.clock import format_us
from pregon.errors import BadRequest, TooLarge

DEFAULT_CONTENT_TYPE = "application/octet-stream"
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Outgoing(msgspec.Struct, frozen=True):
    """A message to publish. Without an id it gets one; with one, publishing it again stores nothing new."""

    body: bytes
    id: str | None = None
    key: str | None = None
    content_type: str = DEFAULT_CONTENT_TYPE
    headers: Mapping[str, str] = NO_HEADERS

    @property
    def size_bytes(self) -> int:
        """What it takes at most besides its id and content type."""
        size = len(self.body) + 4 * len(self.key or "")
        if self.headers:
            size += 4 * sum(len(name) + len(value) for name, value in self.headers.items())
        return size


def check_outgoing(message: Outgoing, body_bytes_max: int = limits.BODY_BYTES_MAX) -> None:
    """Raises TooLarge or BadRequest when the message passes a limit, saying which."""
    if len(message.body) > body_bytes_max:
        raise TooLarge(f"the body has {len(message.body)} bytes; at most {body_bytes_max} are allowed")
    if message.id is not None and (not message.id or _is_over(message.id, limits.MESSAGE_ID_BYTES_MAX)):
        raise BadRequest(f"a message id has 1 to {limits.MESSAGE_ID_BYTES_MAX} bytes")
    if message.key is not None and _is_over(message.key, limits.KEY_BYTES_MAX):
        raise BadRequest(f"a key has at most {limits.KEY_BYTES_MAX} bytes")
    if message.content_type is not DEFAULT_CONTENT_TYPE and (
        not message.content_type or _is_over(message.content_type, limits.CONTENT_TYPE_BYTES_MAX)
    ):
        raise BadRequest(f"a content type has 1 to {limits.CONTENT_TYPE_BYTES_MAX} bytes")
    if message.headers:
        _check_headers(message.headers)


def _is_over(text: str, bytes_max: int) -> bool:
    """Whether a text has more bytes in UTF-8, which are at most four a character; raises BadRequest if it has none."""
    if text.isascii():
        return len(text) > bytes_max
    try:
        return len(text.encode()) > bytes_max
    except UnicodeEncodeError as error:
        raise BadRequest("a text of the message is not Unicode that UTF-8 can write") from error


def _check_headers(headers: Mapping[str, str]) -> None:
    if len(headers) > limits.HEADERS_MAX:
        raise BadRequest(f"a message has at most {limits.HEADERS_MAX} headers")
    try:
        size = sum(len(name.encode()) + len(value.encode()) for name, value in headers.items())
    except UnicodeEncodeError as error:
        raise BadRequest("a header of the message is not Unicode that UTF-8 can write") from error
    if size > limits.HEADERS_BYTES_MAX:
        raise BadRequest(f"the headers of a message have at most {limits.HEADERS_BYTES_MAX} bytes")


class Rows:
    """The columns of one stored batch as Python lists, each made when first asked for."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch

    def _list(self, name: str) -> list[Any]:
        values: list[Any] = self.batch.column(name).to_pylist()
        return values

    @cached_property
    def ids(self) -> list[str]:
        """The message ids."""
        return self._list("id")

    @cached_property
    def keys(self) -> list[str | None]:
        """The keys, None where there is none."""
        return self._list("key")

    @cached_property
    def content_types(self) -> list[str]:
        """The content types."""
        return self._list("content_type")

    @cached_property
    def headers(self) -> list[dict[str, str]]:
        """The headers."""
        return [dict(pairs) for pairs in self._list("headers")]

    @cached_property
    def published_us(self) -> list[int]:
        """When the producer says that it published, in microseconds since 1970."""
        values: list[int] = self.batch.column("published_at").view(pa.int64()).to_pylist()
        return values

    @cached_property
    def accepted_us(self) -> list[int]:
        """When the hub accepted, in microseconds since 1970."""
        values: list[int] = self.batch.column("accepted_at").view(pa.int64()).to_pylist()
        return values

    @cached_property
    def producers(self) -> list[str]:
        """Who published."""
        return self._list("producer")

    @cached_property
    def bodies(self) -> list[bytes]:
        """The bodies."""
        return self._list("body")


class Message(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A received message. `seq` is its number in the topic (the *notificationId*), from 1, without gaps."""

    # A struct that the garbage collector need not follow: it points to its batch, and nothing points back.
    _rows: Rows
    _row: int
    seq: int
    topic: str
    matched: str = ""
    """Why the subscription's filter wants it; empty without a filter, and for a message that was read by number."""

    @property
    def body(self) -> bytes:
        """What was published, byte for byte."""
        return self._rows.bodies[self._row]

    @property
    def id(self) -> str:
        """The id that the producer gave, or that was made for it."""
        return self._rows.ids[self._row]

    @property
    def key(self) -> str | None:
        """The key, if the producer gave one."""
        return self._rows.keys[self._row]

    @property
    def content_type(self) -> str:
        """The content type of the body."""
        return self._rows.content_types[self._row]

    @property
    def headers(self) -> dict[str, str]:
        """The headers that the producer gave."""
        return self._rows.headers[self._row]

    @property
    def producer(self) -> str:
        """Who published it, as the hub knows it."""
        return self._rows.producers[self._row]

    @property
    def published_us(self) -> int:
        """When the producer says that it published it, in microseconds since 1970."""
        return self._rows.published_us[self._row]

    @property
    def accepted_us(self) -> int:
        """When the hub accepted it, in microseconds since 1970; never less than for the message before."""
        return self._rows.accepted_us[self._row]

    @property
    def text(self) -> str:
        """The body read as UTF-8, with what is not UTF-8 replaced."""
        return self.body.decode(errors="replace")

    def describe(self) -> dict[str, Any]:
        """All but the body, ready for JSON; `matched` only where a filter said why."""
        told: dict[str, Any] = {
            "topic": self.topic,
            "seq": self.seq,
            "id": self.id,
            "key": self.key,
            "content_type": self.content_type,
            "headers": self.headers,
            "producer": self.producer,
            "published_at": format_us(self.published_us),
            "accepted_at": format_us(self.accepted_us),
        }
        return {**told, "matched": self.matched} if self.matched else told

    def __repr__(self) -> str:
        return f"<Message {self.topic} {self.seq} from {self.producer}, {len(self.body)} bytes>"


class Match(Protocol):
    """Why a filter wants messages first..last."""

    @property
    def first_seq(self) -> int:
        """The first of them."""
        ...

    @property
    def last_seq(self) -> int:
        """The last of them."""
        ...

    @property
    def reason(self) -> str:
        """Why."""
        ...


def with_reasons(messages: Iterable[Message], matches: Sequence[Match]) -> Iterator[Message]:
    """Messages, each with why the filter wants it; both in order of their numbers."""
    place = 0
    for message in messages:
        while place < len(matches) and matches[place].last_seq < message.seq:
            place += 1
        if place < len(matches) and matches[place].first_seq <= message.seq:
            yield Message(message._rows, message._row, message.seq, message.topic, matches[place].reason)
        else:
            yield message
