"""Publish over HTTP: one message as it is, an event, or many at once.

    POST /v1/topics/{topic}/messages    any body; CloudEvents in binary, structured and batch mode
    POST /v1/topics/{topic}/batches     JSON, CloudEvents or an Arrow stream, all or none

The answer is sent when everything is on disk. A publication that carries an `Idempotency-Key` (or is an event, or
has ids) may be sent again: it is stored once, and answered with its first number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import unquote

import msgspec
from msgspec import Meta

from pregon import limits
from pregon.clock import wall_us
from pregon.edges.http.answers import ARROW, EVENT, EVENTS, JSON, Answer, json_answer
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.forms import MessageIn
from pregon.edges.http.routes import Desk, Route
from pregon.errors import BadBatch, BadRequest, Disabled, MediaTypeUnknown, SchemaMismatch, TooLarge
from pregon.hub.way import Published
from pregon.model import events
from pregon.model.batch import Packing, decode_sent, encode
from pregon.model.ids import NewId, new_id
from pregon.model.message import DEFAULT_CONTENT_TYPE, NO_HEADERS, Outgoing, check_outgoing
from pregon.model.tables import batch_of_stream
from pregon.model.trace_context import find_trace, with_trace, with_trace_in_all, with_trace_in_batch
from pregon.security.callers import Caller

DEFAULT_PRODUCER = "http"
_HEADER_PREFIX = b"pregon-header-"
_EVENT_PREFIX = b"ce-"
_MESSAGE_OVERHEAD_BYTES = 200


class PublishedOut(msgspec.Struct, kw_only=True):
    """Where a message is stored."""

    topic: str
    seq: int
    id: str
    duplicate: bool


class PublishedManyOut(msgspec.Struct, kw_only=True):
    """Where several messages are stored: their numbers, in the order in which they came."""

    topic: str
    count: int
    duplicates: int
    seqs: list[int]


class BatchIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Messages to publish together."""

    messages: Annotated[list[MessageIn], Meta(min_length=1, max_length=limits.BATCH_MESSAGES_MAX)]


async def publish_message(desk: Desk, exchange: Exchange) -> Answer:
    """One message, or one event, or a batch of events."""
    caller = desk.caller(exchange)
    topic, producer = exchange.params["topic"], producer_of(caller, exchange)
    headers = exchange.headers
    content_type = exchange.content_type
    if content_type[:23].lower() == "application/cloudevents":
        media_type = exchange.media_type
        body = await exchange.body(limits.REQUEST_BYTES_MAX)
        if media_type == EVENTS:
            return await _publish_events(desk, caller, (topic, producer), exchange, body)
        if media_type != EVENT:
            raise MediaTypeUnknown(f"of CloudEvents {EVENT} and {EVENTS} are taken")
        message, published_us = events.decode_structured(body)
    else:
        body = await exchange.body(desk.hub.options.body_bytes_max)
        if b"ce-specversion" in headers:
            message, published_us = events.decode_binary(_event_attributes(headers), content_type, body)
        else:
            message, published_us = _plain(exchange, headers, content_type, body), None
    if b"traceparent" in headers:
        message = with_trace(message, find_trace(exchange.scope["headers"]))
    key = idempotency_key(exchange)
    if key:
        message = msgspec.structs.replace(message, id=key)
    elif message.id is None:
        message = msgspec.structs.replace(message, id=NewId(new_id()))
    desk.bridge.burst()
    published: Published = await desk.answer(desk.gate.publish(caller, topic, producer, message, published_us))
    out = PublishedOut(topic=topic, seq=published.seq, id=str(message.id), duplicate=published.duplicate)
    location = f"/v1/topics/{topic}/messages/{published.seq}".encode()
    return json_answer(out, 200 if published.duplicate else 201, ((b"location", location),))


def producer_of(caller: Caller, exchange: Exchange) -> str:
    """In whose name: as the request says, else as the key says, else the producer `http`."""
    named = exchange.headers.get(b"pregon-producer")
    if named is not None:
        return exchange.header(b"pregon-producer")
    if len(caller.producers) == 1:
        return next(iter(caller.producers))
    return DEFAULT_PRODUCER


def idempotency_key(exchange: Exchange) -> str:
    """The key under which a request may be repeated, empty if there is none: a text, with or without quotes."""
    key = exchange.header(b"idempotency-key").strip()
    if len(key) >= 2 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if len(key.encode()) > limits.MESSAGE_ID_BYTES_MAX:
        raise BadRequest(f"an Idempotency-Key has at most {limits.MESSAGE_ID_BYTES_MAX} bytes")
    return key


def own_headers(exchange: Exchange) -> dict[str, str]:
    """The headers of the message itself, which a request has after a prefix."""
    return {
        name.removeprefix(_HEADER_PREFIX).decode("ascii"): exchange.header(name)
        for name in exchange.headers
        if name.startswith(_HEADER_PREFIX) and len(name) > len(_HEADER_PREFIX)
    }


def _plain(exchange: Exchange, headers: dict[bytes, bytes], content_type: str, body: bytes) -> Outgoing:
    own = own_headers(exchange) or NO_HEADERS
    key = exchange.header(b"pregon-key") if b"pregon-key" in headers else None
    return Outgoing(body, None, key, content_type or DEFAULT_CONTENT_TYPE, own)


def _event_attributes(headers: dict[bytes, bytes]) -> dict[str, str]:
    """CloudEvents in headers: values are percent-encoded where they are not printable ASCII."""
    try:
        return {
            name.removeprefix(_EVENT_PREFIX).decode("ascii"): unquote(value.decode(), errors="strict")
            for name, value in headers.items()
            if name.startswith(_EVENT_PREFIX)
        }
    except UnicodeDecodeError as error:
        raise BadRequest("an attribute of the event is not UTF-8") from error


async def publish_batch(desk: Desk, exchange: Exchange) -> Answer:
    """Many messages, all or none."""
    caller = desk.caller(exchange)
    way = (exchange.params["topic"], producer_of(caller, exchange))
    key, media_type = idempotency_key(exchange), exchange.media_type
    if media_type not in (JSON, EVENTS, ARROW):
        raise MediaTypeUnknown(f"a batch is {JSON}, {EVENTS} or {ARROW}")
    body = await exchange.body(limits.REQUEST_BYTES_MAX)
    if media_type == EVENTS:
        return await _publish_events(desk, caller, way, exchange, body)
    if media_type == ARROW:
        batch = batch_of_stream(body, wall_us(), new_id())
        batch = with_trace_in_batch(batch, _trace_of(exchange), limits.BATCH_BYTES_MAX)
        batch = decode_sent(encode(batch), desk.hub.options.body_bytes_max)
        return await _publish_arrow(desk, caller, way, batch, key)
    try:
        messages = _traced(exchange, [one.outgoing() for one in _decode_batch(body).messages])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"the body is wrong: {str(error)[:200]}") from error
    if any(message.id is not None for message in messages):
        return await _publish_many(desk, caller, way, messages)
    packing, now_us = Packing(), wall_us()
    for message in messages:
        check_outgoing(message, desk.hub.options.body_bytes_max)
        packing.add(message, now_us)
    if packing.size_bytes + _MESSAGE_OVERHEAD_BYTES * len(messages) > limits.BATCH_BYTES_MAX:
        raise TooLarge(f"the messages have over {limits.BATCH_BYTES_MAX} bytes together: send smaller batches")
    return await _publish_arrow(desk, caller, way, packing.pack(f"{new_id()}-"), key)


_decode_batch = msgspec.json.Decoder(BatchIn).decode


async def _publish_arrow(desk: Desk, caller: Caller, way: tuple[str, str], batch: Any, key: str) -> Answer:
    """A checked batch without ids that anybody gave: recognised when repeated by the request's key, if it has one."""
    desk.bridge.burst()
    session = f"idempotency {hashlib.sha256(key.encode()).hexdigest()}" if key else ""
    ticket = desk.gate.publish_batch(caller, way, batch, session, 1 if key else 0)
    published: Published = await desk.answer(ticket)
    seqs = list(range(published.seq, published.seq + published.count))
    duplicates = published.count if published.duplicate else 0
    return _many_answer(way[0], seqs, duplicates)


async def _publish_events(desk: Desk, caller: Caller, way: tuple[str, str], exchange: Exchange, body: bytes) -> Answer:
    decoded = events.decode_batch(body)
    times = [us for _, us in decoded]
    return await _publish_many(desk, caller, way, _traced(exchange, [message for message, _ in decoded]), times)


def _trace_of(exchange: Exchange) -> Mapping[str, str]:
    """The trace of which the request is a part."""
    return find_trace(exchange.scope["headers"]) if b"traceparent" in exchange.headers else NO_HEADERS


def _traced(exchange: Exchange, messages: list[Outgoing]) -> list[Outgoing]:
    return with_trace_in_all(messages, _trace_of(exchange), limits.BATCH_BYTES_MAX)


async def _publish_many(
    desk: Desk, caller: Caller, way: tuple[str, str], messages: list[Outgoing], times: Sequence[int | None] = ()
) -> Answer:
    desk.bridge.burst()
    ticket = desk.gate.publish_many(caller, way[0], way[1], messages, times)
    published: list[Published] = await desk.answer(ticket)
    return _many_answer(way[0], [one.seq for one in published], sum(one.duplicate for one in published))


def _many_answer(topic: str, seqs: list[int], duplicates: int) -> Answer:
    out = PublishedManyOut(topic=topic, count=len(seqs), duplicates=duplicates, seqs=seqs)
    return json_answer(out, 200 if duplicates == len(seqs) else 201)


_HEADERS = {
    "traceparent": "The trace of which this is a part (W3C Trace Context): kept as a header of the messages",
    "Pregon-Producer": "Who publishes; left out: the producer whose key is presented, else `http`",
    "Idempotency-Key": "A text that stands for this publication: sent again with it, it is stored once",
}
_EVENT_EXAMPLE = {
    "specversion": "1.0",
    "id": "1",
    "source": "/dgrec",
    "type": "uy.gub.dgrec.fallecido",
    "data": {"nombre": "Pepe"},
}
_REFUSED = (TooLarge, SchemaMismatch, BadBatch, MediaTypeUnknown, Disabled)
ROUTES = [
    Route(
        method="POST",
        path="/v1/topics/{topic}/messages",
        handler=publish_message,
        tag="messages",
        summary="Publish one message, or an event",
        description="The body is the message, as it is, of any content type. An event of CloudEvents 1.0 is taken in "
        "binary mode (its attributes in ce-* headers), structured and batch mode. Answered when it is on disk: 201, or "
        "200 if it had been published before.",
        bodies={
            "application/octet-stream": "any bytes",
            "application/xml": "<noticia/>",
            EVENT: _EVENT_EXAMPLE,
            EVENTS: [_EVENT_EXAMPLE],
        },
        headers={
            **_HEADERS,
            "Pregon-Key": "The message's key",
            "Pregon-Header-NAME": "A header of the message, as many as there are",
        },
        status=201,
        also=(200,),
        answer=PublishedOut,
        other_answer=PublishedManyOut,
        errors=_REFUSED,
        answer_example={"topic": "fallecidos", "seq": 17, "id": "018f4e", "duplicate": False},
    ),
    Route(
        method="POST",
        path="/v1/topics/{topic}/batches",
        handler=publish_batch,
        tag="messages",
        summary="Publish many messages, all or none",
        description="As JSON, as a batch of CloudEvents, or as an Arrow stream with a column `body` (and any of id, "
        "key, content_type, headers, published_at). JSON messages and events that have ids are recognised one by one "
        "when they are repeated; the others, and a stream, as a whole, by Idempotency-Key.",
        body=BatchIn,
        bodies={EVENTS: [_EVENT_EXAMPLE], ARROW: None},
        headers=_HEADERS,
        status=201,
        also=(200,),
        answer=PublishedManyOut,
        errors=_REFUSED,
        example={"messages": [{"json": {"nombre": "Pepe"}}, {"text": "hola", "key": "1.111.111-1"}]},
        answer_example={"topic": "fallecidos", "count": 2, "duplicates": 0, "seqs": [18, 19]},
    ),
]
