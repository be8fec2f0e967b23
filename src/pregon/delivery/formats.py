"""A message as an HTTP request: a SOAP envelope, an event of CloudEvents, or as it is.

    soap         the envelope of the reception, with the topic besides, and WS-Addressing
    cloudevents  an event in binary mode: its attributes in ce-* headers, its data in the body
    raw          the body as it was published, with what the hub knows of it in Pregon-* headers

Pure: where a request goes, and what its answer means, is left to others.

Promises:
- Whatever is in a message, its headers are lines of printable ASCII: no producer can add a header or a request.
- The same message has the same wsa:MessageID and webhook-id in each attempt, after a restart, and for each subscriber.
- raw and cloudevents are signed as Standard Webhooks has it, if there are secrets; SOAP has no place for that.
- A message with the number 0, which no topic has, says that it is a test: `Pregon-Test: true`, and `ps:test` in SOAP.
  So does its webhook-id, which is signed: the signature of a test is that of no message, whatever it is said to be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

import msgspec
from multidict import istr

from pregon.clock import format_us
from pregon.model import events
from pregon.model.catalog import CLOUDEVENTS, RAW, SOAP
from pregon.model.group import AFTER_HEADER, ANSWERS_HEADER, KIND_HEADER, STAMP_HEADER, TOPIC_PREFIX
from pregon.model.header_texts import PRINTABLE, header_content_type, header_text
from pregon.model.message import Message
from pregon.security.signatures import sign
from pregon.soap.content import put_content
from pregon.soap.texts import CONTENT_TYPES, escape, message_urn, write_envelope
from pregon.soap.vocabulary import PS, SOAP_11, SOAP_ACTION_HEADER, WSA
from pregon.version import __version__

USER_AGENT = f"pregon/{__version__}"
SOAP_ACTION = f"{PS}/entrega/DeliverNotification"
"""The action of a pushed envelope, unless the message was published with one of its own."""
TEST_SEQ = 0
"""The number of a message that is in no topic, and only sent to see what becomes of it."""
SIGNATURE_HEADER = "webhook-signature"
TEST_ID_PREFIX = "test:"
"""How its webhook-id begins; it has a part more than that of a message of a topic which is called so."""
EVENT = "application/cloudevents+json"
_EVENT_KIND = "application/cloudevents"

# Names of headers of the kind that aiohttp need not fold to compare: there are many in each request.
_USER_AGENT = istr("User-Agent")
_ACCEPT_ENCODING = istr("Accept-Encoding")
_ATTEMPT = istr("Pregon-Attempt")
_CONTENT_TYPE = istr("Content-Type")
_SOAP_ACTION = istr("SOAPAction")
_TEST = istr("Pregon-Test")
_TOPIC = istr("Pregon-Topic")
_SEQ = istr("Pregon-Seq")
_ID = istr("Pregon-Id")
_PRODUCER = istr("Pregon-Producer")
_PUBLISHED_AT = istr("Pregon-Published-At")
_ACCEPTED_AT = istr("Pregon-Accepted-At")
_KEY = istr("Pregon-Key")
_MATCHED = istr("Pregon-Matched")
_WEBHOOK_ID = istr("webhook-id")
_WEBHOOK_TIMESTAMP = istr("webhook-timestamp")
_WEBHOOK_SIGNATURE = istr(SIGNATURE_HEADER)
_TRACEPARENT = istr("traceparent")
_TRACESTATE = istr("tracestate")

_EVENT_SAFE = PRINTABLE.replace(" ", "").replace('"', "")
_EVENT_SAFE_ONLY = re.compile(r"[!#-$&-~]+", re.ASCII)
_NAME_SAFE = "!#$&'*+-.^_`|~"
_TRACE_PARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]{1,100})?", re.ASCII)
_TRACE_STATE = re.compile(r"[!-~][ -~]{0,510}[!-~]", re.ASCII)
_ACTION = re.compile(r"[!#-~]{1,500}", re.ASCII)


@dataclass(frozen=True, slots=True)
class PushRequest:
    """What to post."""

    headers: dict[str, str]
    body: bytes


class _Occasion(NamedTuple):
    """What a request says besides its message."""

    secrets: Sequence[bytes]
    now_s: int
    matched: str
    endpoint: str


def make_request(
    format: str,
    message: Message,
    *,
    secrets: Sequence[bytes],
    now_s: int,
    matched: str = "",
    attempt: int = 1,
    endpoint: str = "",
) -> PushRequest:
    """The request that pushes a message; `matched` says by what a filter let it pass, empty if there is none."""
    write = _WRITERS[format]
    message_headers = message.headers
    headers: dict[str, str] = {_USER_AGENT: USER_AGENT, _ACCEPT_ENCODING: "identity", _ATTEMPT: str(attempt)}
    if message.seq == TEST_SEQ:
        headers[_TEST] = "true"
    if message_headers:
        _pass_trace_on(message_headers, headers)
    body = write(message, headers, _Occasion(secrets, now_s, matched, endpoint))
    return PushRequest(headers, body)


def message_id(message: Message) -> str:
    """The webhook-id of a message: that of its urn, without the full stops that separate what is signed."""
    own = f"{message.topic.replace('.', '~')}:{message.seq}:{message.accepted_us}"
    return TEST_ID_PREFIX + own if message.seq == TEST_SEQ else own


def _write_soap(message: Message, headers: dict[str, str], occasion: _Occasion) -> bytes:
    action = message.headers.get(SOAP_ACTION_HEADER, "")
    if not _ACTION.fullmatch(action):
        action = SOAP_ACTION
    headers[_CONTENT_TYPE] = CONTENT_TYPES[SOAP_11]
    headers[_SOAP_ACTION] = f'"{action}"'
    addressing = (
        ("MessageID", message_urn(message)),
        ("Action", action),
        ("To", occasion.endpoint),
    )
    matched = f"<ps:matched>{escape(occasion.matched)}</ps:matched>" if occasion.matched else ""
    test = "<ps:test>true</ps:test>" if message.seq == TEST_SEQ else ""
    entries = (
        "".join(f'<wsa:{name} xmlns:wsa="{WSA}">{escape(value)}</wsa:{name}>' for name, value in addressing if value)
        + f"<ps:producer>{escape(message.producer)}</ps:producer>"
        + f"<ps:notificationId>{message.seq}</ps:notificationId>"
        + f"<ps:topic>{escape(message.topic)}</ps:topic>{matched}{test}{_of_group(message)}"
    )
    return write_envelope(SOAP_11, entries, put_content(message.body, message.content_type))


def _of_group(message: Message) -> str:
    """What a message of a group says of its sender and its place in the causal order; nothing for any other."""
    if not message.topic.startswith(TOPIC_PREFIX):
        return ""
    headers = message.headers
    said = {
        "groupSender": message.key or "",
        "groupKind": headers.get(KIND_HEADER, ""),
        "groupStamp": headers.get(STAMP_HEADER, ""),
        "groupAfter": headers.get(AFTER_HEADER, ""),
        "groupAnswers": headers.get(ANSWERS_HEADER, ""),
    }
    return "".join(f"<ps:{name}>{escape(value)}</ps:{name}>" for name, value in said.items() if value)


def _write_event(message: Message, headers: dict[str, str], occasion: _Occasion) -> bytes:
    content_type = message.content_type
    if content_type.strip()[: len(_EVENT_KIND)].lower() == _EVENT_KIND:
        # An event inside an event: in binary mode its content type would say that it is the event itself.
        return _write_structured(message, headers, occasion)
    attributes = events.attributes_of(message)
    attributes.pop("datacontenttype", None)
    _say_matched(attributes, occasion.matched)
    for name, value in attributes.items():
        headers[_event_name(name)] = _event_text(value)
    body = message.body
    if body:
        headers[_CONTENT_TYPE] = header_content_type(content_type)
    _sign(message, headers, body, occasion)
    return body


def _write_structured(message: Message, headers: dict[str, str], occasion: _Occasion) -> bytes:
    event = events.as_structured(message)
    _say_matched(event, occasion.matched)
    body = msgspec.json.encode(event)
    headers[_CONTENT_TYPE] = EVENT
    _sign(message, headers, body, occasion)
    return body


def _say_matched(attributes: dict[str, str], matched: str) -> None:
    if matched:
        attributes["pregonmatched"] = matched
    else:
        # Only the hub says by which filter a message passed.
        attributes.pop("pregonmatched", None)


def _write_raw(message: Message, headers: dict[str, str], occasion: _Occasion) -> bytes:
    headers[_CONTENT_TYPE] = header_content_type(message.content_type)
    headers[_TOPIC] = header_text(message.topic)
    headers[_SEQ] = str(message.seq)
    headers[_ID] = header_text(message.id)
    headers[_PRODUCER] = header_text(message.producer)
    headers[_PUBLISHED_AT] = format_us(message.published_us)
    headers[_ACCEPTED_AT] = format_us(message.accepted_us)
    if message.key is not None:
        headers[_KEY] = header_text(message.key)
    if occasion.matched:
        headers[_MATCHED] = header_text(occasion.matched)
    for name, value in message.headers.items():
        headers[_own_name(name)] = header_text(value)
    body = message.body
    _sign(message, headers, body, occasion)
    return body


_Write = Callable[[Message, dict[str, str], _Occasion], bytes]
_WRITERS: dict[str, _Write] = {SOAP: _write_soap, CLOUDEVENTS: _write_event, RAW: _write_raw}


def _sign(message: Message, headers: dict[str, str], body: bytes, occasion: _Occasion) -> None:
    own_id = message_id(message)
    headers[_WEBHOOK_ID] = own_id
    headers[_WEBHOOK_TIMESTAMP] = str(occasion.now_s)
    if occasion.secrets:
        headers[_WEBHOOK_SIGNATURE] = sign(occasion.secrets, own_id, occasion.now_s, body)


def _pass_trace_on(given: Mapping[str, str], headers: dict[str, str]) -> None:
    """Give the trace on in which a message was published, whichever way its producer said it."""
    parent = given.get("traceparent") or given.get("ce-traceparent")
    if parent is None or not _TRACE_PARENT.fullmatch(parent):
        return
    headers[_TRACEPARENT] = parent
    state = given.get("tracestate") or given.get("ce-tracestate")
    if state is not None and _TRACE_STATE.fullmatch(state):
        headers[_TRACESTATE] = state


def _event_text(text: str) -> str:
    """The value of an attribute, as the HTTP binding of CloudEvents encodes it."""
    if (text.isalnum() and text.isascii()) or _EVENT_SAFE_ONLY.fullmatch(text):
        return text
    return quote(text, safe=_EVENT_SAFE, errors="replace")


@lru_cache(maxsize=1_024)
def _event_name(attribute: str) -> istr:
    """The header of an attribute, whose names CloudEvents keeps to letters and digits."""
    return istr(f"ce-{attribute}")


@lru_cache(maxsize=1_024)
def _own_name(name: str) -> istr:
    """The header of HTTP's that has one of the message's own."""
    return istr("Pregon-Header-" + quote(name, safe=_NAME_SAFE, errors="replace"))
