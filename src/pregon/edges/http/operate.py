"""What is done besides receiving: park, unpark, cancel, replay; and what is known: accounting and traces."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pregon.clock import parse_us
from pregon.edges.http.answers import Answer, json_answer
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.forms import Number, Page, Positive, decode_number_cursor, encode_cursor, view
from pregon.edges.http.routes import Desk, Route
from pregon.errors import BadRequest, LimitReached, NotPending
from pregon.limits import LIST_ROWS_MAX
from pregon.model.subscription import Accounting
from pregon.model.trace import KINDS, Story, Trace, TraceQuery

Moment = Annotated[str, Meta(max_length=40, extra_json_schema={"format": "date-time"})]
_Seqs = Annotated[list[Positive], Meta(min_length=1, max_length=LIST_ROWS_MAX)]


class SeqsIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Messages by number, and why."""

    seqs: _Seqs
    reason: Annotated[str, Meta(max_length=500)] = ""


class UnparkIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Parked messages by number; none named: all of them."""

    seqs: Annotated[list[Positive], Meta(max_length=LIST_ROWS_MAX)] = []


class CountOut(msgspec.Struct, kw_only=True):
    """How many messages it was."""

    count: int


class ReplayIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """From which message on to deliver again: a number, or the first that was accepted at a time."""

    from_seq: Positive | None = None
    from_time: Moment | None = None


class ReplayOut(msgspec.Struct, kw_only=True):
    """Where the subscription stands now. Acknowledgements that name an older epoch are ignored."""

    acked_seq: int
    epoch: int


class ParkedQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What is set aside after a number."""

    after: Number = 0


class ParkedOut(msgspec.Struct, kw_only=True):
    """A message that is set aside, or returned and waiting to be delivered again."""

    seq: int
    returned: bool
    reason: str
    at: str


class ParkedPage(msgspec.Struct, kw_only=True):
    """What is set aside; `next` is `after` of the next page."""

    items: list[ParkedOut]
    next: int | None


class TracesQuery(Page, kw_only=True, forbid_unknown_fields=True):
    """Which traces: what is left out does not restrict. Newest first."""

    topic: str = ""
    producer: str = ""
    subscriber: str = ""
    kind: Annotated[str, Meta(pattern=f"^({'|'.join(KINDS)})$")] | UnsetType = UNSET
    seq: Number = 0
    """With a topic."""
    since: Moment | UnsetType = UNSET
    until: Moment | UnsetType = UNSET


class TracesPage(msgspec.Struct, kw_only=True):
    """Traces; `next` is `cursor` of the next page, null at the end. A page that is not full may have a next one."""

    items: list[Trace]
    next: str | None


def _names(exchange: Exchange) -> tuple[str, str]:
    return exchange.params["topic"], exchange.params["subscriber"]


async def park(desk: Desk, exchange: Exchange) -> Answer:
    """Set pending messages aside."""
    caller, wanted = desk.caller(exchange), await exchange.json(SeqsIn)
    count = await desk.answer(desk.gate.park(caller, *_names(exchange), wanted.seqs, wanted.reason))
    return json_answer(CountOut(count=count))


async def cancel(desk: Desk, exchange: Exchange) -> Answer:
    """Give pending or parked messages up."""
    caller, wanted = desk.caller(exchange), await exchange.json(SeqsIn)
    count = await desk.answer(desk.gate.cancel(caller, *_names(exchange), wanted.seqs, wanted.reason))
    return json_answer(CountOut(count=count))


async def unpark(desk: Desk, exchange: Exchange) -> Answer:
    """Deliver parked messages again."""
    caller, wanted = desk.caller(exchange), await exchange.json(UnparkIn)
    return json_answer(CountOut(count=await desk.answer(desk.gate.unpark(caller, *_names(exchange), wanted.seqs))))


async def list_parked(desk: Desk, exchange: Exchange) -> Answer:
    """What is set aside."""
    caller, wanted = desk.caller(exchange), exchange.query(ParkedQuery)
    rows = await desk.answer(desk.gate.list_parked(caller, *_names(exchange), wanted.after))
    following = rows[-1]["seq"] if len(rows) == LIST_ROWS_MAX else None
    return json_answer({"items": [view(row) for row in rows], "next": following})


async def replay(desk: Desk, exchange: Exchange) -> Answer:
    """Move the cursor back."""
    caller, wanted = desk.caller(exchange), await exchange.json(ReplayIn)
    from_us = None if wanted.from_time is None else parse_time("from_time", wanted.from_time)
    ticket = desk.gate.replay(caller, *_names(exchange), from_seq=wanted.from_seq, from_us=from_us)
    cursor = await desk.answer(ticket)
    return json_answer(ReplayOut(acked_seq=cursor.acked_seq, epoch=cursor.epoch))


async def account(desk: Desk, exchange: Exchange) -> Answer:
    """Where every message of the subscription is."""
    caller = desk.caller(exchange)
    return json_answer(await desk.answer(desk.gate.account(caller, *_names(exchange))))


def parse_time(name: str, text: str) -> int:
    """A time of a request in microseconds since 1970, 1 at least; raises BadRequest, with the name of the field."""
    try:
        us = parse_us(text.upper())
    except (ValueError, OverflowError) as error:
        raise BadRequest(f"{name} is an RFC 3339 time, such as 2026-11-15T10:00:00Z") from error
    # 0 would be no limit: the first microsecond of 1970 stands for all that was before.
    return max(1, us)


async def search_traces(desk: Desk, exchange: Exchange) -> Answer:
    """What happened, newest first."""
    caller, wanted = desk.caller(exchange), exchange.query(TracesQuery)
    query = TraceQuery(
        topic=wanted.topic,
        producer=wanted.producer,
        subscriber=wanted.subscriber,
        kind="" if wanted.kind is UNSET else wanted.kind,
        seq=wanted.seq,
        since_us=0 if wanted.since is UNSET else parse_time("since", wanted.since),
        until_us=0 if wanted.until is UNSET else parse_time("until", wanted.until),
        before=decode_number_cursor(wanted.cursor, 18),
        max=wanted.max,
    )
    found = await desk.answer(desk.gate.traces(caller, query))
    following = encode_cursor([found.next]) if found.next else None
    return json_answer({"items": [view(one) for one in found], "next": following})


async def show_story(desk: Desk, exchange: Exchange) -> Answer:
    """All that is known of one message."""
    caller, text = desk.caller(exchange), exchange.params["seq"]
    if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < 1:
        raise BadRequest("a message number is 1, 2, 3 …")
    story: Story = await desk.answer(desk.gate.story(caller, exchange.params["topic"], int(text)))
    shown = view(story)
    shown["traces"] = [view(one) for one in story.traces]
    shown["subscriptions"] = [view(one) for one in story.subscriptions]
    return json_answer(shown)


_BASE = "/v1/topics/{topic}/subscriptions/{subscriber}"
_TAG = "subscriptions"
ROUTES = [
    Route(
        method="POST", path=f"{_BASE}/park", handler=park, tag=_TAG,
        summary="Set pending messages aside, so that the ones after them go on",
        body=SeqsIn, answer=CountOut, errors=(NotPending, LimitReached),
        example={"seqs": [17], "reason": "no such person"}, answer_example={"count": 1},
    ),
    Route(
        method="POST", path=f"{_BASE}/unpark", handler=unpark, tag=_TAG,
        summary="Deliver parked messages again, all of them if none is named",
        body=UnparkIn, answer=CountOut, errors=(NotPending,), example={"seqs": [17]}, answer_example={"count": 1},
    ),
    Route(
        method="POST", path=f"{_BASE}/cancel", handler=cancel, tag=_TAG,
        summary="Give pending or parked messages up: they are never delivered",
        description="They count as expired, and are traced as cancelled. A replay over them makes them pending again.",
        body=SeqsIn, answer=CountOut, errors=(NotPending, LimitReached),
        example={"seqs": [17], "reason": "published by mistake"}, answer_example={"count": 1},
    ),
    Route(
        method="POST", path=f"{_BASE}/replay", handler=replay, tag=_TAG,
        summary="Deliver again from a number or a time on",
        body=ReplayIn, answer=ReplayOut, example={"from_seq": 1}, answer_example={"acked_seq": 0, "epoch": 1},
    ),
    Route(
        method="GET", path=f"{_BASE}/parked", handler=list_parked, tag=_TAG,
        summary="What is set aside", query=ParkedQuery, answer=ParkedPage,
        answer_example={
            "items": [{"seq": 17, "returned": False, "reason": "no such person", "at": "2026-11-15T10:00:00.000000Z"}],
            "next": None,
        },
    ),
    Route(
        method="GET", path=f"{_BASE}/account", handler=account, tag=_TAG,
        summary="Where every message is: accepted = acknowledged + pending + parked + expired + filtered",
        answer=Accounting,
        answer_example={
            "topic": "fallecidos", "subscriber": "bps", "accepted": 17, "acknowledged": 15, "pending": 1, "parked": 1,
            "expired": 0, "filtered": 0, "first_seq": 1, "acked_seq": 16, "head_seq": 17,
        },
    ),
    Route(
        method="GET", path="/v1/traces", handler=search_traces, tag="traces",
        summary="What happened to which messages, newest first", query=TracesQuery, answer=TracesPage,
        answer_example={
            "items": [
                {
                    "at": "2026-11-15T10:00:00.000000Z", "kind": "acknowledged", "topic": "fallecidos", "first_seq": 1,
                    "last_seq": 17, "producer": "", "subscriber": "bps", "detail": "", "attempt": 0, "latency_ms": 0,
                    "id": 9,
                }
            ],
            "next": None,
        },
    ),
    Route(
        method="GET", path="/v1/topics/{topic}/messages/{seq}/story", handler=show_story, tag="traces",
        summary="A message's whole story: what it is, what happened to it, how it stands for each subscription",
        description="What the log and the traces have forgotten is null. A subscriber's key gets what concerns it.",
        answer=Story,
        answer_example={
            "topic": "fallecidos", "seq": 17, "producer": "dgrec", "accepted_at": "2026-11-15T10:00:00.001000Z",
            "id": "018f4e", "key": None, "content_type": "application/json",
            "published_at": "2026-11-15T10:00:00.000000Z",
            "traces": [
                {
                    "at": "2026-11-15T10:00:00.001000Z", "kind": "accepted", "topic": "fallecidos", "first_seq": 17,
                    "last_seq": 17, "producer": "dgrec", "subscriber": "", "detail": "", "attempt": 0, "latency_ms": 0,
                    "id": 8,
                }
            ],
            "is_whole": True,
            "subscriptions": [
                {
                    "subscriber": "bps", "state": "pending", "at": None, "reason": "", "mode": "push", "attempts": 3,
                    "next_try_at": "2026-11-15T10:00:08.000000Z", "failing_since_at": "2026-11-15T10:00:01.000000Z",
                    "last_failure": "HTTP 503 Service Unavailable",
                }
            ],
        },
    ),
]  # fmt: skip
