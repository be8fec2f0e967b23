"""Live streams of a topic: as server-sent events and as a WebSocket, both resumable from a number.

    GET /v1/topics/{topic}/stream?from=17          text/event-stream; each event's id is the message's number
    WebSocket at the same address                  each text frame is a message as JSON

Without `from` (or the `Last-Event-ID` that browsers send when they come back) a stream begins with what is
published next. It reads from the log, so nothing is skipped and nobody is waited for: a client that reads slowly
is behind, and holds up no one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from pregon import limits
from pregon.edges.http.answers import Stream, choose
from pregon.edges.http.exchange import Exchange, Receive, Send
from pregon.edges.http.forms import Positive, message_out
from pregon.edges.http.routes import Desk, Route
from pregon.errors import BadRequest, NotAcceptable, NotFound
from pregon.hub.options import LogRead
from pregon.model.batch import StoredBatch
from pregon.model.message import Message
from pregon.security.callers import Caller

SSE = "text/event-stream"
PATH = "/v1/topics/{topic}/stream"
_MESSAGES_AT_ONCE = 500
_HEARTBEAT_MS = 15_000
_KEY_PROTOCOL = "pregon.key."


class StreamQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """From which message on; left out: from the next one."""

    from_: Positive | UnsetType = msgspec.field(name="from", default=UNSET)


async def stream_events(desk: Desk, exchange: Exchange) -> Stream:
    """The topic as server-sent events."""
    choose(exchange.header(b"accept"), (SSE,))
    presented = exchange.presented
    topic = exchange.params["topic"]
    first = await _first_seq(desk, desk.caller(exchange), exchange, exchange.header(b"last-event-id"))
    desk.require_room_for_stream()
    gone = asyncio.ensure_future(exchange.until_gone())

    async def chunks() -> AsyncIterator[bytes]:
        with desk.stream():
            yield b": pregon\n\n"
            async for batch in _batches(desk, presented, topic, first, gone):
                yield b": still here\n\n" if batch is None else b"".join(_sse(batch, topic))

    return Stream(_closing(chunks(), gone), SSE, [(b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")])


async def _closing(chunks: AsyncIterator[bytes], gone: asyncio.Future[None]) -> AsyncGenerator[bytes, None]:
    try:
        async for chunk in chunks:
            yield chunk
    finally:
        gone.cancel()


def _sse(batch: StoredBatch, topic: str) -> list[bytes]:
    return [
        b"id: %d\nevent: message\ndata: %s\n\n" % (message.seq, _one_line(message)) for message in batch.messages(topic)
    ]


def _one_line(message: Message) -> bytes:
    """A message as JSON without line ends, which a body that is JSON itself may have between its tokens."""
    text = msgspec.json.encode(message_out(message))
    return msgspec.json.format(text, indent=-1) if b"\n" in text or b"\r" in text else text


async def _first_seq(desk: Desk, caller: Caller, exchange: Exchange, last_event_id: str) -> int:
    """Where to begin; raises what reading the topic raises, before anything is sent."""
    wanted = exchange.query(StreamQuery)
    if last_event_id:
        # It wins: who comes back asks at the address at which it began, and says here how far it got.
        if not last_event_id.isascii() or not last_event_id.isdigit() or len(last_event_id) > 18:
            raise BadRequest("Last-Event-ID is the number of the last message that you got")
        wanted = StreamQuery(from_=int(last_event_id) + 1)
    read = await _read(desk, caller, exchange.params["topic"], limits.INTEGER_MAX)
    return read.head_seq + 1 if wanted.from_ is UNSET else wanted.from_


async def _read(desk: Desk, caller: Caller, topic: str, first_seq: int) -> LogRead:
    ticket = desk.gate.read_log(caller, topic, (first_seq, None), _MESSAGES_AT_ONCE, limits.MIB)
    read: LogRead = await desk.answer(ticket)
    return read


async def _batches(
    desk: Desk, presented: str, topic: str, next_seq: int, gone: asyncio.Future[None]
) -> AsyncIterator[StoredBatch | None]:
    """Batches from a number on, as they come; None now and then when there is nothing.

    Ends when the client goes, and raises when its key is revoked or expires.
    """
    topic_id = 0
    while not gone.done() and not desk.is_stopping:
        version = desk.hub.waiting.version(topic)
        caller = desk.gate.identify(presented, is_counted=False)
        read = await _read(desk, caller, topic, next_seq)
        if topic_id not in (0, read.topic_id):
            raise NotFound(f"{topic} was deleted and made again: its numbers begin anew")
        topic_id = read.topic_id
        for batch in read.batches:
            yield batch
            next_seq = batch.last_seq + 1
        if read.batches:
            continue
        news = asyncio.ensure_future(desk.answer(desk.hub.wait_for_news(topic, version, _HEARTBEAT_MS)))
        stopping = asyncio.ensure_future(desk.stopping.wait())
        await asyncio.wait({news, gone, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not news.done():
            news.cancel()
        elif not news.result():
            yield None


async def serve_socket(desk: Desk, exchange: Exchange, receive: Receive, send: Send) -> None:
    """The topic on a WebSocket."""
    presented = exchange.presented or key_of_protocols(exchange)
    topic = exchange.params["topic"]
    first = await _first_seq(desk, desk.gate.identify(presented), exchange, "")
    with desk.stream():
        await accept_socket(exchange, send)
        gone = asyncio.ensure_future(_until_closed(receive))
        try:
            async for batch in _batches(desk, presented, topic, first, gone):
                for message in batch.messages(topic) if batch is not None else ():
                    if gone.done():
                        return
                    await send({"type": "websocket.send", "text": msgspec.json.encode(message_out(message)).decode()})
            if not gone.done():
                await send({"type": "websocket.close", "code": 1001, "reason": "the hub is stopping"})
        finally:
            gone.cancel()


async def accept_socket(exchange: Exchange, send: Send) -> None:
    """Say yes to a WebSocket; if it offers our protocol, with that."""
    offered: list[str] = exchange.scope.get("subprotocols", [])
    accept: dict[str, Any] = {"type": "websocket.accept"}
    if "pregon" in offered:
        accept["subprotocol"] = "pregon"
    await send(accept)


def key_of_protocols(exchange: Exchange) -> str:
    """Browsers cannot set headers on a WebSocket: they offer the protocols `pregon` and `pregon.key.KEY`."""
    offered: list[str] = exchange.scope.get("subprotocols", [])
    return next((one.removeprefix(_KEY_PROTOCOL) for one in offered if one.startswith(_KEY_PROTOCOL)), "")


async def _until_closed(receive: Receive) -> None:
    """What clients say is read and dropped, so that their going is noticed."""
    while (await receive())["type"] != "websocket.disconnect":
        pass


SOCKETS = {PATH: serve_socket}
ROUTES = [
    Route(
        method="GET",
        path=PATH,
        handler=stream_events,
        tag="messages",
        summary="Follow a topic live, as server-sent events or on a WebSocket",
        description="Begins with the message number `from`, or after `Last-Event-ID`, or with what is published next. "
        "A WebSocket at the same address sends each message as a text frame of JSON. In a browser, where a WebSocket "
        "has no headers, offer the protocols `pregon` and `pregon.key.KEY`.",
        query=StreamQuery,
        headers={"Last-Event-ID": "The number of the last message that you got"},
        answers=(SSE,),
        errors=(NotAcceptable,),
    )
]
