"""What is said in groups over HTTP: send, read, compare, see.

    POST /v1/groups/{group}/messages?seen=17             say something, having seen the group up to message 17
    GET  /v1/groups/{group}/messages?after=17            what was said after it, in causal order
    GET  /v1/groups/{group}/messages/{stamp}/relation    which of two messages was first, if one was
    GET  /v1/groups/{group}/trace                        what was said and when each member was shown it
    GET  /groups/{group}/diagram, diagram.svg            the same, drawn

The order of a group's log is a causal one, so whoever reads it here reads causes before what follows from them. What
may be large to write, a trace or its drawing, is written in a thread of its own: the door goes on meanwhile.
"""

from __future__ import annotations

import asyncio
from typing import Any

from pregon.clock import wall_us
from pregon.edges.http.answers import Answer, json_answer
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.forms import view
from pregon.edges.http.groups import TOKEN_HEADERS, find_token, require_token
from pregon.edges.http.groups_forms import (
    MESSAGE_EXAMPLE,
    DiagramQuery,
    GroupMessageOut,
    GroupMessagesOut,
    ReadQuery,
    RelationOut,
    RelationQuery,
    SendQuery,
    SentOut,
    TraceQuery,
    message_of,
    sent_out,
)
from pregon.edges.http.publish import own_headers
from pregon.edges.http.routes import Desk, Handler, Route
from pregon.errors import NotAMember, TooLarge
from pregon.groups.spacetime import POLICY, DiagramOptions, render_page, render_svg
from pregon.groups.trace import GroupTrace
from pregon.hub.options import LogRead
from pregon.limits import STREAM_RANGE_BYTES_MAX
from pregon.model.group import topic_of
from pregon.model.message import DEFAULT_CONTENT_TYPE
from pregon.wire import groups as wire

HTML, SVG = "text/html", "image/svg+xml"
_POLICY = (b"content-security-policy", POLICY.encode())


async def send(desk: Desk, exchange: Exchange) -> Answer:
    """Say something."""
    groups, caller, token = desk.require_groups(), desk.caller(exchange), require_token(exchange)
    wanted = exchange.query(SendQuery)
    body = await exchange.body(desk.hub.options.body_bytes_max)
    sending = wire.Send(
        group=exchange.params["group"],
        token=token,
        seen_seq=wanted.seen,
        id=wanted.id,
        answers=wanted.answers or "",
        content_type=exchange.content_type or DEFAULT_CONTENT_TYPE,
        headers=own_headers(exchange),
        published_us=wall_us(),
    )
    desk.bridge.burst()
    sent: wire.Sent = await desk.answer(groups.send(caller, sending, body))
    return json_answer(sent_out(sent), 200 if sent.duplicate else 201)


async def read(desk: Desk, exchange: Exchange) -> Answer:
    """What was said after a number."""
    groups, caller, token = desk.require_groups(), desk.caller(exchange), require_token(exchange)
    wanted, group = exchange.query(ReadQuery), exchange.params["group"]
    asked = wire.Read(
        group=group,
        token=token,
        after_seq=wanted.after,
        max=wanted.max,
        bytes_max=STREAM_RANGE_BYTES_MAX,
        wait_ms=wanted.wait_ms,
        seen_seq=wanted.seen,
    )
    found: LogRead = await exchange.unless_gone(desk.answer(groups.read(caller, asked)), desk.stopping)
    messages = [
        message_of(message, GroupMessageOut) for batch in found.batches for message in batch.messages(topic_of(group))
    ]
    return json_answer(GroupMessagesOut(messages=messages, head_seq=found.head_seq))


async def relate(desk: Desk, exchange: Exchange) -> Answer:
    """Which of two messages was first, if one was."""
    groups, caller, params = desk.require_groups(), desk.caller(exchange), exchange.params
    one, other = params["stamp"], exchange.query(RelationQuery).to
    relation = await desk.answer(groups.relation(caller, params["group"], one, other, find_token(exchange)))
    return json_answer(RelationOut(one=one, other=other, relation=relation))


async def _trace(desk: Desk, exchange: Exchange, wanted: TraceQuery) -> GroupTrace:
    groups, caller = desk.require_groups(), desk.caller(exchange)
    asked = groups.diagram_data(caller, exchange.params["group"], wanted.from_, wanted.to, find_token(exchange))
    trace: GroupTrace = await desk.answer(asked)
    return trace


async def show_trace(desk: Desk, exchange: Exchange) -> Answer:
    """What was said, and when each member was shown it."""
    trace = await _trace(desk, exchange, exchange.query(TraceQuery))
    return await asyncio.to_thread(_trace_answer, trace)


def _trace_answer(trace: GroupTrace) -> Answer:
    shown = view(trace)
    for part in ("messages", "deliveries"):
        shown[part] = [view(one) for one in shown[part]]
    return json_answer(shown)


async def show_page(desk: Desk, exchange: Exchange) -> Answer:
    """The diagram as a page."""
    wanted = exchange.query(DiagramQuery)
    options = _options(exchange, wanted)
    page = await asyncio.to_thread(render_page, await _trace(desk, exchange, wanted), options)
    return Answer(page.encode(), 200, f"{HTML}; charset=utf-8", [_POLICY])


async def show_picture(desk: Desk, exchange: Exchange) -> Answer:
    """The diagram as a picture."""
    wanted = exchange.query(DiagramQuery)
    options = _options(exchange, wanted)
    picture = await asyncio.to_thread(render_svg, await _trace(desk, exchange, wanted), options)
    return Answer(picture.encode(), 200, SVG, [_POLICY])


def _options(exchange: Exchange, wanted: DiagramQuery) -> DiagramOptions:
    """In the language that the query names, else in the first of ours that the reader's browser does."""
    named = (part.strip()[:2].lower() for part in exchange.header(b"accept-language").split(","))
    lang = wanted.lang or next((one for one in named if one in ("en", "es")), "en")
    return DiagramOptions(lang=lang, is_logical=wanted.logical, width=wanted.width, theme=wanted.theme)


def _route(method: str, path: str, handler: Handler, summary: str, **more: Any) -> Route:
    headers = {**TOKEN_HEADERS, **more.pop("headers", {})}
    return Route(method=method, path=path, handler=handler, tag="groups", summary=summary, headers=headers, **more)


_GROUP = "/v1/groups/{group}"
ROUTES = [
    _route(
        "POST", f"{_GROUP}/messages", send, "Say something in a group",
        description="The body is the message, as it is. It depends on what its sender has `seen`, and is told to "
        "others after that. Answered when it is on disk: 201, or 200 if it had been sent before with the same `id`.",
        query=SendQuery, bodies={"text/plain": "sí, a las cinco", "application/json": {"hora": 17}}, status=201,
        also=(200,), answer=SentOut, errors=(NotAMember, TooLarge),
        headers={"Pregon-Header-NAME": "A header of the message, as many as there are"},
        answer_example={"seq": 17, "stamp": "3:4", "after": ["2:7"], "duplicate": False},
    ),
    _route(
        "GET", f"{_GROUP}/messages", read, "What was said in a group, in causal order", query=ReadQuery,
        answer=GroupMessagesOut, errors=(NotAMember,), answer_example={"messages": [MESSAGE_EXAMPLE], "head_seq": 17},
    ),
    _route(
        "GET", f"{_GROUP}/messages/{{stamp}}/relation", relate, "Which of two messages was first, if one was",
        query=RelationQuery, answer=RelationOut, errors=(NotAMember,),
        answer_example={"one": "2:7", "other": "3:4", "relation": "before"},
    ),
    _route(
        "GET", f"{_GROUP}/trace", show_trace, "What was said in a group, and when each member was shown it",
        query=TraceQuery, answer=dict, errors=(NotAMember,),
    ),
    _route(
        "GET", "/groups/{group}/diagram", show_page, "A group as a space-time diagram, and why what waited",
        query=DiagramQuery, answers=(HTML,), errors=(NotAMember,),
    ),
    _route(
        "GET", "/groups/{group}/diagram.svg", show_picture, "The diagram as a picture", query=DiagramQuery,
        answers=(SVG,), errors=(NotAMember,),
    ),
]  # fmt: skip
