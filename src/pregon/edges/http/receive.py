"""Receive over HTTP: pull with the acknowledgement of the last answer, read by number, whole ranges as tables.

    POST /v1/topics/{topic}/subscriptions/{subscriber}/pull    what is pending
    POST /v1/topics/{topic}/subscriptions/{subscriber}/ack     acknowledge, and know that it is on disk
    GET  /v1/topics/{topic}/messages                           a page of messages by number
    GET  /v1/topics/{topic}/messages/{seq}                     one message
    GET  /v1/topics/{topic}/messages/{seq}/body                its body, as it was published
    GET  /v1/topics/{topic}/batches                            a range as an Arrow stream

Messages come as JSON, as a batch of CloudEvents, or as an Arrow stream, as `Accept` asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pregon import limits
from pregon.edges.http.answers import (
    ARROW,
    EVENT,
    EVENTS,
    JSON,
    Answer,
    Headers,
    Stream,
    choose,
    header_value,
    json_answer,
)
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.forms import MESSAGE_EXAMPLE, MessageOut, Number, Positive, message_out
from pregon.edges.http.routes import Desk, Route
from pregon.edges.http.table_stream import table_stream
from pregon.errors import AckBeyondHead, BadRequest, DataLost, NotAcceptable, NotFound
from pregon.hub.options import LogRead
from pregon.hub.pending import Match
from pregon.hub.pull import Pulled, PullRequest
from pregon.hub.tables import TablePart
from pregon.model import events
from pregon.model.batch import StoredBatch
from pregon.model.header_texts import header_content_type
from pregon.model.message import Message, with_reasons
from pregon.model.tables import EVERYTHING, select_columns, served, served_stream
from pregon.security.callers import Caller

ANY = "*/*"
_FORMS = (JSON, EVENTS, ARROW)
_COLUMNS_CHARACTERS_MAX = 200
_SANDBOX = (b"content-security-policy", b"sandbox; default-src 'none'")


class PullIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to pull: everything up to `ack` is acknowledged first, and the answer waits up to `wait_ms` for news."""

    ack: Number | None = None
    epoch: Number | None = None
    after: Number | None = None
    max: Annotated[int, Meta(ge=1, le=limits.PULL_MESSAGES_MAX)] = 100
    wait_ms: Annotated[int, Meta(ge=0, le=limits.WAIT_MS_MAX)] = 0


class PullOut(msgspec.Struct, kw_only=True):
    """What is pending, in order. Acknowledge `last_seq` with the next pull."""

    messages: list[MessageOut]
    last_seq: int | None
    acked_seq: int
    head_seq: int
    epoch: int


class AckIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Acknowledge everything up to a number."""

    seq: Number
    epoch: Number | None = None


class AckOut(msgspec.Struct, kw_only=True):
    """Everything up to here is settled."""

    acked_seq: int


class RangeQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which messages: from a number to a number, both included; left out: from the oldest, to the newest."""

    from_: Positive = msgspec.field(name="from", default=1)
    to: Positive | UnsetType = UNSET

    @property
    def numbers(self) -> tuple[int, int | None]:
        """First and last; None for the newest."""
        return self.from_, None if self.to is UNSET else self.to


class MessagesQuery(RangeQuery, kw_only=True, forbid_unknown_fields=True):
    """A page of messages by number."""

    max: Annotated[int, Meta(ge=1, le=limits.PULL_MESSAGES_MAX)] = 100


class BatchesQuery(RangeQuery, kw_only=True, forbid_unknown_fields=True):
    """A range as a table; `columns` names those that are wanted, with commas between them, all if it is left out."""

    columns: Annotated[str, Meta(max_length=_COLUMNS_CHARACTERS_MAX)] = ""


class MessagesOut(msgspec.Struct, kw_only=True):
    """Messages by number; `next` is the number with which to go on, null at the end of the log or range."""

    messages: list[MessageOut]
    tail_seq: int
    head_seq: int
    next: int | None


async def pull(desk: Desk, exchange: Exchange) -> Answer:
    """What is pending for a subscription."""
    form = choose(exchange.header(b"accept"), _FORMS)
    caller = desk.caller(exchange)
    wanted = await exchange.json(PullIn)
    topic = exchange.params["topic"]
    request = PullRequest(
        topic=topic,
        subscriber=exchange.params["subscriber"],
        ack=wanted.ack,
        epoch=wanted.epoch,
        after=wanted.after,
        messages_max=wanted.max,
        wait_ms=wanted.wait_ms,
    )
    if wanted.ack:
        desk.bridge.burst_after_answer()
    answer = desk.answer(desk.gate.pull(caller, request))
    pulled: Pulled = await (exchange.unless_gone(answer, desk.stopping) if wanted.wait_ms else answer)
    last_seq = pulled.batches[-1].last_seq if pulled.batches else None
    if form == JSON:
        out = PullOut(
            messages=[message_out(message) for message in _messages(pulled.batches, topic, pulled.matches)],
            last_seq=last_seq,
            acked_seq=pulled.acked_seq,
            head_seq=pulled.head_seq,
            epoch=pulled.epoch,
        )
        return json_answer(out)
    numbers = {"acked-seq": pulled.acked_seq, "head-seq": pulled.head_seq, "epoch": pulled.epoch}
    if last_seq is not None:
        numbers["last-seq"] = last_seq
    headers = [(b"pregon-" + name.encode(), b"%d" % number) for name, number in numbers.items()]
    if form == ARROW:
        return _table(pulled.batches, headers)
    return _listed_events(_messages(pulled.batches, topic, pulled.matches), headers)


def _messages(batches: Sequence[StoredBatch], topic: str, matches: Sequence[Match] = ()) -> list[Message]:
    messages = [message for batch in batches for message in batch.messages(topic)]
    return list(with_reasons(messages, matches)) if matches else messages


def _table(batches: Sequence[StoredBatch], headers: Headers) -> Answer:
    return Answer(b"".join(served_stream(batches)), 200, ARROW, headers)


def _listed_events(messages: Sequence[Message], headers: Headers) -> Answer:
    listed = [events.as_structured(message) for message in messages]
    return Answer(msgspec.json.encode(listed), 200, EVENTS, headers)


async def ack(desk: Desk, exchange: Exchange) -> Answer:
    """Acknowledge, durably."""
    caller = desk.caller(exchange)
    wanted = await exchange.json(AckIn)
    topic, subscriber = exchange.params["topic"], exchange.params["subscriber"]
    desk.bridge.burst()
    acked_seq = await desk.answer(desk.gate.ack(caller, topic, subscriber, wanted.seq, wanted.epoch))
    return json_answer(AckOut(acked_seq=acked_seq))


async def list_messages(desk: Desk, exchange: Exchange) -> Answer:
    """A page of messages by number."""
    form = choose(exchange.header(b"accept"), _FORMS)
    caller = desk.caller(exchange)
    wanted = exchange.query(MessagesQuery)
    topic = exchange.params["topic"]
    read = await _read(desk, caller, topic, wanted.numbers, wanted.max)
    last_seq = read.batches[-1].last_seq if read.batches else None
    end = read.head_seq if wanted.to is UNSET else min(wanted.to, read.head_seq)
    next_seq = last_seq + 1 if last_seq is not None and last_seq < end else None
    if form == JSON:
        out = MessagesOut(
            messages=[message_out(message) for message in _messages(read.batches, topic)],
            tail_seq=read.tail_seq,
            head_seq=read.head_seq,
            next=next_seq,
        )
        return json_answer(out)
    headers = [(b"pregon-head-seq", b"%d" % read.head_seq)]
    return _table(read.batches, headers) if form == ARROW else _listed_events(_messages(read.batches, topic), headers)


async def _read(
    desk: Desk,
    caller: Caller,
    topic: str,
    numbers: tuple[int, int | None],
    messages_max: int,
    *,
    is_whole: bool = False,
) -> LogRead:
    bytes_max = limits.STREAM_RANGE_BYTES_MAX
    ticket = desk.gate.read_log(caller, topic, numbers, messages_max, bytes_max, is_whole=is_whole)
    read: LogRead = await desk.answer(ticket)
    return read


async def show_message(desk: Desk, exchange: Exchange) -> Answer:
    """One message, as JSON or as an event."""
    form = choose(exchange.header(b"accept"), (JSON, EVENT))
    message = await _one(desk, exchange)
    if form == JSON:
        return json_answer(message_out(message))
    return Answer(msgspec.json.encode(events.as_structured(message)), 200, EVENT)


async def show_body(desk: Desk, exchange: Exchange) -> Answer:
    """The body of one message, as it was published."""
    message = await _one(desk, exchange)
    headers = [
        (b"pregon-seq", b"%d" % message.seq),
        (b"pregon-id", header_value(message.id)),
        (b"pregon-producer", message.producer.encode()),
        # Whatever a producer published is shown to browsers as data, never run.
        _SANDBOX,
    ]
    return Answer(message.body, 200, header_content_type(message.content_type), headers)


async def _one(desk: Desk, exchange: Exchange) -> Message:
    caller = desk.caller(exchange)
    topic, text = exchange.params["topic"], exchange.params["seq"]
    if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < 1:
        raise BadRequest("a message number is 1, 2, 3 …")
    seq = int(text)
    read = await _read(desk, caller, topic, (seq, seq), 1)
    if not read.batches:
        raise NotFound(f"{topic} has no message {seq}: it has {read.tail_seq} to {read.head_seq}")
    (message,) = _messages(read.batches, topic)
    return message


async def read_batches(desk: Desk, exchange: Exchange) -> Stream:
    """A range of a topic as an Arrow stream, read from the store as the client takes it."""
    choose(exchange.header(b"accept"), (ARROW,))
    wanted = exchange.query(BatchesQuery)
    selection = select_columns(wanted.columns) if wanted.columns else EVERYTHING
    topic = exchange.params["topic"]
    desk.caller(exchange)

    async def read(first_seq: int, last_seq: int | None) -> tuple[LogRead, bytes]:
        async with desk.tables.turn():
            numbers = (first_seq, last_seq)
            found = await _read(desk, desk.caller_again(exchange), topic, numbers, 1, is_whole=True)
            return found, b"".join(piece for batch in found.batches for piece in served(batch, selection))

    first, arrow = await exchange.unless_gone(read(*wanted.numbers), desk.stopping)
    topic_id = first.topic_id
    # Up to what was the newest message when the stream began, whatever is published meanwhile.
    end_seq = first.head_seq if wanted.to is UNSET else min(wanted.to, first.head_seq)

    async def read_next(first_seq: int) -> TablePart:
        found, arrow = await read(first_seq, end_seq)
        if found.topic_id != topic_id:
            raise DataLost(f"{topic} was deleted and made again while it was read: its numbers begin anew")
        if not found.batches or found.batches[0].base_seq > first_seq:
            raise DataLost(f"messages of {topic} from {first_seq} on were removed while it was read: read it again")
        return _part(found, arrow, end_seq)

    headers = [(b"pregon-head-seq", b"%d" % first.head_seq), (b"pregon-tail-seq", b"%d" % first.tail_seq)]
    return table_stream(desk, selection.head, _part(first, arrow, end_seq), read_next, headers)


def _part(found: LogRead, arrow: bytes, end_seq: int) -> TablePart:
    """A part of a range that ends at a number."""
    next_seq = found.batches[-1].last_seq + 1 if found.batches else 0
    return TablePart(arrow=arrow, next=next_seq if next_seq <= end_seq else 0)


_SUBSCRIPTION = "/v1/topics/{topic}/subscriptions/{subscriber}"
ROUTES = [
    Route(
        method="POST", path=f"{_SUBSCRIPTION}/pull", handler=pull, tag="subscriptions",
        summary="Pull what is pending, acknowledging what came before",
        description="Pulling again without acknowledging gives the same messages. `ack` acknowledges everything up to "
        "a number; the answer does not wait for that to be on disk, because losing it only repeats a delivery. With a "
        "filter, `matched` of a message says why it was wanted.",
        body=PullIn, answer=PullOut, answers=(EVENTS, ARROW), errors=(AckBeyondHead, NotAcceptable),
        example={"ack": 16, "max": 100, "wait_ms": 0},
        answer_example={
            "messages": [MESSAGE_EXAMPLE], "last_seq": 17, "acked_seq": 16, "head_seq": 17, "epoch": 0,
        },
    ),
    Route(
        method="POST", path=f"{_SUBSCRIPTION}/ack", handler=ack, tag="subscriptions",
        summary="Acknowledge everything up to a number, durably",
        body=AckIn, answer=AckOut, errors=(AckBeyondHead,), example={"seq": 17}, answer_example={"acked_seq": 17},
    ),
    Route(
        method="GET", path="/v1/topics/{topic}/messages", handler=list_messages, tag="messages",
        summary="Read messages by number",
        query=MessagesQuery, answer=MessagesOut, answers=(EVENTS, ARROW), errors=(NotAcceptable,),
        answer_example={"messages": [MESSAGE_EXAMPLE], "tail_seq": 1, "head_seq": 17, "next": None},
    ),
    Route(
        method="GET", path="/v1/topics/{topic}/messages/{seq}", handler=show_message, tag="messages",
        summary="Read one message, as JSON or as an event",
        answer=MessageOut, answers=(EVENT,), errors=(NotAcceptable,), answer_example=MESSAGE_EXAMPLE,
    ),
    Route(
        method="GET", path="/v1/topics/{topic}/messages/{seq}/body", handler=show_body, tag="messages",
        summary="Read the body of one message, as it was published, with its content type", answers=(ANY,),
    ),
    Route(
        method="GET", path="/v1/topics/{topic}/batches", handler=read_batches, tag="messages",
        summary="Read a range as an Arrow stream: a table in pyarrow, Polars, DuckDB or pandas",
        description="It goes to what is the newest message when it begins. If messages that are still to be sent are "
        "removed meanwhile, or the topic is, it is cut. Fewer `columns` are less to send; `seq` is always there.",
        query=BatchesQuery, answers=(ARROW,), errors=(NotAcceptable,),
    ),
]  # fmt: skip
