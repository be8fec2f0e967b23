"""The hub itself as tables over HTTP, for data tools: Arrow streams, and which message or trace is the first of a time.

    GET /v1/traces/batches                        what happened, in the order of its ids
    GET /v1/traces/id                             the first trace at a time or later
    GET /v1/subscriptions/batches                 the accounting of every subscription
    GET /v1/topics/{topic}/seq                    the first message accepted at a time or later
    GET /v1/topics/{topic}/sessions/{session}     what a producer stored under one of its sessions

The messages of a topic as a table are in `receive`.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from pregon.edges.http.answers import ARROW, Answer, Stream, choose, json_answer
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.forms import Positive
from pregon.edges.http.operate import Moment, parse_time
from pregon.edges.http.publish import producer_of
from pregon.edges.http.routes import Desk, Route
from pregon.edges.http.table_stream import first_in_turn, in_turn, table_stream
from pregon.errors import BadName, BadRequest, DataLost, NotAcceptable
from pregon.hub.tables import NOTHING, SessionPlan, SessionQuery, TablePart, TraceStart
from pregon.model.names import check_name
from pregon.model.tables import SERVED_HEAD
from pregon.store.accounts import SCHEMA_ACCOUNTS
from pregon.store.session_rows import SESSION_BYTES_MAX
from pregon.store.ticket import Ticket
from pregon.store.trace_table import SCHEMA_TRACES

_TRACES_HEAD: bytes = SCHEMA_TRACES.serialize().to_pybytes()
_ACCOUNTS_HEAD: bytes = SCHEMA_ACCOUNTS.serialize().to_pybytes()


class TraceRange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which traces: from an id to an id, both included; left out: from the oldest, to the newest."""

    from_: Positive = msgspec.field(name="from", default=1)
    to: Positive | UnsetType = UNSET


class NoQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Nothing to say."""


class TimeQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The time of which the number is asked for."""

    time: Moment


class SeqOut(msgspec.Struct, kw_only=True):
    """The first message that was accepted at that time or later; the next one to come if there is none yet."""

    seq: int


class TraceIdOut(msgspec.Struct, kw_only=True):
    """The first trace at that time or later; the next one to come if there is none yet."""

    id: int


class BatchesFrom(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which batches of the session: from a number on; left out: all that the hub remembers."""

    from_: Positive = msgspec.field(name="from", default=1)


def _numbers(**numbers: int) -> list[tuple[bytes, bytes]]:
    return [(f"pregon-{name.replace('_', '-')}".encode(), b"%d" % number) for name, number in numbers.items()]


async def read_traces(desk: Desk, exchange: Exchange) -> Stream:
    """What happened, oldest first, up to what is the newest now."""
    choose(exchange.header(b"accept"), (ARROW,))
    caller, wanted, tables = desk.caller(exchange), exchange.query(TraceRange), desk.gate.tables
    to_id = None if wanted.to is UNSET else wanted.to
    tail_id, head_id = await desk.answer(tables.trace_ends(caller))
    start = TraceStart(tail_id=tail_id, head_id=head_id)
    # Who only asks which traces there are does so often, and waits for no turn.
    if wanted.from_ <= head_id and exchange.method != "HEAD":
        start = await first_in_turn(
            desk, exchange, lambda: tables.begin_traces(desk.caller_again(exchange), wanted.from_, to_id)
        )
    last_id = start.last_id

    async def read_part(first_id: int) -> TablePart:
        return await in_turn(desk, lambda: tables.traces(desk.caller_again(exchange), first_id, last_id))

    headers = _numbers(head_id=start.head_id, tail_id=start.tail_id)
    return table_stream(desk, _TRACES_HEAD, start.part, read_part, headers)


async def show_trace_id(desk: Desk, exchange: Exchange) -> Answer:
    """Where among the traces a time is."""
    caller, wanted = desk.caller(exchange), exchange.query(TimeQuery)
    at_us = parse_time("time", wanted.time)
    return json_answer(TraceIdOut(id=await desk.answer(desk.gate.tables.trace_id_at(caller, at_us))))


async def read_subscriptions(desk: Desk, exchange: Exchange) -> Stream:
    """Where every message of every subscription is."""
    choose(exchange.header(b"accept"), (ARROW,))
    _, _, tables = desk.caller(exchange), exchange.query(NoQuery), desk.gate.tables

    def ask(after_id: int) -> Ticket[TablePart]:
        return tables.subscriptions(desk.caller_again(exchange), after_id)

    async def read_part(after_id: int) -> TablePart:
        return await in_turn(desk, lambda: ask(after_id))

    first = await first_in_turn(desk, exchange, lambda: ask(0))
    return table_stream(desk, _ACCOUNTS_HEAD, first, read_part)


async def show_seq(desk: Desk, exchange: Exchange) -> Answer:
    """Where in a topic a time is."""
    caller, wanted = desk.caller(exchange), exchange.query(TimeQuery)
    at_us = parse_time("time", wanted.time)
    return json_answer(SeqOut(seq=await desk.answer(desk.gate.tables.seq_at(caller, exchange.params["topic"], at_us))))


async def read_session(desk: Desk, exchange: Exchange) -> Stream:
    """What a producer stored under a session."""
    choose(exchange.header(b"accept"), (ARROW,))
    caller, wanted, tables = desk.caller(exchange), exchange.query(BatchesFrom), desk.gate.tables
    # Names that cannot be are refused, because what is not there is no error here: it is a session not yet begun.
    topic, session = check_name("topic", exchange.params["topic"]), exchange.params["session"]
    producer = check_name("producer", producer_of(caller, exchange))
    if len(session.encode()) > SESSION_BYTES_MAX:
        raise BadRequest(f"the name of a session has at most {SESSION_BYTES_MAX} bytes")
    query = SessionQuery(topic=topic, producer=producer, session=session, from_number=wanted.from_)
    plan: SessionPlan = await desk.answer(tables.plan_session(caller, query))

    async def read_part(from_seq: int) -> TablePart:
        return await in_turn(desk, lambda: tables.session(desk.caller_again(exchange), plan, from_seq))

    first = NOTHING
    if plan.runs and exchange.method != "HEAD":
        first = await first_in_turn(
            desk, exchange, lambda: tables.session(desk.caller_again(exchange), plan, plan.runs[0][0])
        )
    headers = _numbers(first_number=plan.first_number, next_number=plan.next_number)
    return table_stream(desk, SERVED_HEAD, first, read_part, headers)


ROUTES = [
    Route(
        method="GET", path="/v1/traces/batches", handler=read_traces, tag="traces",
        summary="Read traces as an Arrow stream, oldest first",
        description="`Pregon-Head-Id` is the newest trace, where the stream ends unless `to` is before it; "
        "`Pregon-Tail-Id` is the oldest: what came before it is forgotten. Both are 0 when there is none.",
        query=TraceRange, answers=(ARROW,), errors=(NotAcceptable, DataLost),
    ),
    Route(
        method="GET", path="/v1/traces/id", handler=show_trace_id, tag="traces",
        summary="The first trace at a time or later",
        query=TimeQuery, answer=TraceIdOut, answer_example={"id": 184_467},
    ),
    Route(
        method="GET", path="/v1/subscriptions/batches", handler=read_subscriptions, tag="subscriptions",
        summary="Read the accounting of every subscription as an Arrow stream",
        description="`as_of` of a row is the newest trace when the row was read: what the traces up to it say is what "
        "the row says. Rows of one record batch are of one moment.",
        query=NoQuery, answers=(ARROW,), errors=(NotAcceptable,),
    ),
    Route(
        method="GET", path="/v1/topics/{topic}/seq", handler=show_seq, tag="messages",
        summary="The first message that was accepted at a time or later",
        query=TimeQuery, answer=SeqOut, answer_example={"seq": 17},
    ),
    Route(
        method="GET", path="/v1/topics/{topic}/sessions/{session}", handler=read_session, tag="messages",
        summary="Read what a producer stored under one of its sessions, as an Arrow stream",
        description="For the producer by its key, and for readers. `Pregon-Next-Number` is the number of the batch "
        "that is to come, 1 for a session that the hub does not know; `Pregon-First-Number` is the oldest batch that "
        "it remembers.",
        query=BatchesFrom, answers=(ARROW,), errors=(NotAcceptable, BadName, DataLost),
        headers={"Pregon-Producer": "Whose session; left out: the producer whose key is presented, else `http`"},
        has_rest=True,
    ),
]  # fmt: skip
