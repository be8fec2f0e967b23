"""How a test of a web service is asked for and shown, the same over HTTP and in PREGON/1.

Bodies are `text` where they are UTF-8 that JSON and people can read, else `base64`.
"""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pregon.delivery.rehearsal import TEST_TOPIC, Headers, Rehearsal, Trial
from pregon.errors import BadRequest
from pregon.limits import CONTENT_TYPE_BYTES_MAX, NAME_CHARACTERS_MAX, REHEARSAL_BODY_BYTES_MAX

REHEARSAL_JSON_BYTES_MAX = 7 * REHEARSAL_BODY_BYTES_MAX
"""A body of nothing but control characters, each of which JSON writes with six, and what is around it."""


class RehearsalIn(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A test to send: its body as one of text and base64, else a small sample in the subscriber's format."""

    topic: Annotated[str, Meta(max_length=NAME_CHARACTERS_MAX)] = TEST_TOPIC
    content_type: Annotated[str, Meta(max_length=CONTENT_TYPE_BYTES_MAX)] = ""
    text: str | UnsetType = UNSET
    base64: str | UnsetType = UNSET

    def trial(self) -> Trial:
        """The test; raises BadRequest if its body is said twice, or is no base64."""
        return Trial(topic=self.topic, content_type=self.content_type, body=self._body())

    def _body(self) -> bytes | None:
        if self.text is not UNSET:
            if self.base64 is not UNSET:
                raise BadRequest("a test has one of text and base64, or neither")
            return self.text.encode("utf-8", "surrogatepass")
        if self.base64 is UNSET:
            return None
        try:
            return base64.b64decode(self.base64, validate=True)
        except (binascii.Error, ValueError) as error:
            raise BadRequest("base64 of a test is not base64") from error


class HeaderOut(msgspec.Struct, frozen=True):
    """One header, as it was on the wire."""

    name: str
    value: str


class SentOut(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What was sent."""

    request_line: str
    headers: list[HeaderOut]
    body_is_cut: bool
    text: str | UnsetType = UNSET
    base64: str | UnsetType = UNSET


class AnsweredOut(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What was answered; `status` is null when there was no answer."""

    status: int | None
    reason: str
    headers: list[HeaderOut]
    body_is_cut: bool
    text: str | UnsetType = UNSET
    base64: str | UnsetType = UNSET


class RehearsalOut(msgspec.Struct, kw_only=True):
    """How a test went: what was sent, what was answered, and what a push would have made of it."""

    subscriber: str
    endpoint: str
    format: str
    outcome: str
    reason: str
    latency_ms: int
    at_us: int
    request: SentOut
    answer: AnsweredOut


def rehearsal_out(rehearsal: Rehearsal) -> RehearsalOut:
    """A rehearsal as it is shown."""
    request, answer = rehearsal.request, rehearsal.answer
    sent = SentOut(
        request_line=request.request_line,
        headers=_headers_out(request.headers),
        body_is_cut=request.body_is_cut,
    )
    answered = AnsweredOut(
        status=answer.status,
        reason=answer.reason,
        headers=_headers_out(answer.headers),
        body_is_cut=answer.body_is_cut,
    )
    _show_body(sent, request.body, request.body_is_cut)
    _show_body(answered, answer.body, answer.body_is_cut)
    return RehearsalOut(
        subscriber=rehearsal.subscriber,
        endpoint=rehearsal.endpoint,
        format=rehearsal.format,
        outcome=rehearsal.outcome,
        reason=rehearsal.reason,
        latency_ms=rehearsal.latency_ms,
        at_us=rehearsal.at_us,
        request=sent,
        answer=answered,
    )


def _headers_out(headers: Headers) -> list[HeaderOut]:
    return [HeaderOut(name, value) for name, value in headers]


def _show_body(out: SentOut | AnsweredOut, body: bytes, is_cut: bool) -> None:
    text = readable_text(body, is_cut)
    if text is None:
        out.base64 = base64.b64encode(body).decode()
    else:
        out.text = text


def readable_text(body: bytes, is_cut: bool = False) -> str | None:
    """A body as text if that is what it is; one that was cut may end in the middle of a character."""
    for dropped in range(4 if is_cut else 1):
        try:
            text = body[: len(body) - dropped].decode()
        except UnicodeDecodeError:
            continue
        # What no text has: then it is bytes that happen to be UTF-8.
        return None if "\0" in text else text
    return None
