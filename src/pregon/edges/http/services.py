"""Services over HTTP: ask, submit, collect; what there is; how it is run; what was set aside; CURVE keys."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from msgspec import Meta

from pregon.edges.http.answers import FRAMES, Answer, json_answer
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.forms import view
from pregon.edges.http.machines import split_frames
from pregon.edges.http.routes import Desk, Route
from pregon.errors import (
    AlreadyExists,
    AnswerTimeout,
    DeadlinePassed,
    LimitReached,
    NotFound,
    NotPending,
    PoisonRequest,
    QueueFull,
    ServiceFailed,
    ServiceUnserved,
    VersionUnserved,
)
from pregon.limits import (
    LIST_ROWS_MAX,
    MESSAGE_ID_BYTES_MAX,
    SERVICE_BODY_BYTES_MAX,
    SERVICE_FRAMES_MAX,
    SERVICE_WAIT_MS_MAX,
)
from pregon.model.service import STATES, WAITING, CurveKey, Result
from pregon.services.options import ServiceOptions
from pregon.services.poison import decode_number
from pregon.wire.services import PRIORITY_DEFAULT, PRIORITY_MAX, RequestOptions

_WaitMs = Annotated[int, Meta(ge=0, le=60_000)]


class AskQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How to ask: a durable request is answered with its id as soon as it is on disk, another with its answer."""

    durable: bool = True
    wait_ms: _WaitMs = 0
    """Of a durable request: how long to wait for its result before it is answered as waiting."""
    key: Annotated[str, Meta(max_length=MESSAGE_ID_BYTES_MAX)] = ""
    """Its id: asked again with the same one, it is the same request."""
    version: Annotated[str, Meta(max_length=128)] = ""
    priority: Annotated[int, Meta(ge=0, le=PRIORITY_MAX)] = PRIORITY_DEFAULT
    deadline_ms: Annotated[int, Meta(ge=0, le=SERVICE_WAIT_MS_MAX)] = 0
    """The answer is of no use after this long; 0 for no such limit."""


class CollectQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How long to wait for a result that is not there yet."""

    wait_ms: _WaitMs = 0


class RequestsQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which durable requests: in a state, after an id."""

    state: Annotated[str, Meta(pattern=f"^({'|'.join(STATES)})?$")] = ""
    after: str = ""
    max: Annotated[int, Meta(ge=1, le=LIST_ROWS_MAX)] = 100


class RowsQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """At most so many."""

    max: Annotated[int, Meta(ge=1, le=LIST_ROWS_MAX)] = 100


class Frame(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A frame of an answer: as text if it is UTF-8, else in base 64."""

    text: str | None = None
    base64: str | None = None


class ResultOut(msgspec.Struct, kw_only=True):
    """A request: waiting, answered with frames, failed or parked with a code and a message."""

    id: str
    service: str
    state: str
    frames: list[Frame] = []
    code: str = ""
    message: str = ""
    attempts: int = 0
    submitted_at: str | None = None
    ended_at: str | None = None


class Rows(msgspec.Struct, kw_only=True):
    """What there is."""

    items: list[dict[str, Any]]


def _frame(raw: bytes) -> Frame:
    try:
        return Frame(text=raw.decode())
    except UnicodeDecodeError:
        return Frame(base64=base64.b64encode(raw).decode())


def _shown(result: Result) -> dict[str, Any]:
    shown = view(result)
    del shown["user"], shown["body"]
    return {**shown, "frames": [_frame(one) for one in result.body]}


async def ask(desk: Desk, exchange: Exchange) -> Answer:
    """Ask a service."""
    services, caller, wanted = desk.require_services(), desk.caller(exchange), exchange.query(AskQuery)
    raw = await exchange.body(SERVICE_BODY_BYTES_MAX)
    body = split_frames(raw, SERVICE_FRAMES_MAX) if exchange.media_type == FRAMES else [raw]
    name = exchange.params["type"]
    options = RequestOptions(
        version=wanted.version,
        priority=wanted.priority,
        deadline_ms=wanted.deadline_ms or None,
        durable=wanted.durable,
        key=wanted.key,
    )
    if not wanted.durable:
        answer = services.ask(caller, name, body, options)
        frames = await exchange.unless_gone(desk.answer(answer), desk.stopping)
        return json_answer({"service": name, "state": "answered", "frames": [_frame(one) for one in frames]})
    (id,) = await desk.answer(services.ask(caller, name, body, options))
    durable_id = id.decode()
    where = (b"location", f"/v1/services/{name}/requests/{quote(durable_id, safe='')}".encode())
    waited = desk.answer(services.collect(caller, durable_id, wanted.wait_ms))
    result: Result = await exchange.unless_gone(waited, desk.stopping)
    return json_answer(_shown(result), 202 if result.state == WAITING else 200, [where])


async def collect(desk: Desk, exchange: Exchange) -> Answer:
    """The result of a durable request."""
    services, caller, wanted = desk.require_services(), desk.caller(exchange), exchange.query(CollectQuery)
    ticket = services.collect(caller, exchange.params["id"], wanted.wait_ms)
    result: Result = await exchange.unless_gone(desk.answer(ticket), desk.stopping)
    if result.service.partition("@")[0] != exchange.params["type"]:
        raise NotFound(f"{exchange.params['type']} has no durable request {exchange.params['id']!r}")
    return json_answer(_shown(result))


async def list_durable(desk: Desk, exchange: Exchange) -> Answer:
    """The durable requests of a service."""
    services, caller, wanted = desk.require_services(), desk.caller(exchange), exchange.query(RequestsQuery)
    ticket = services.list_durable(caller, exchange.params["type"], wanted.state, wanted.after, wanted.max)
    return _rows(await desk.answer(ticket))


async def release_durable(desk: Desk, exchange: Exchange) -> Answer:
    """Have one that was set aside worked on again."""
    services, caller, params = desk.require_services(), desk.caller(exchange), exchange.params
    return json_answer(await desk.answer(services.release_durable(caller, params["type"], params["id"])))


async def forget_durable(desk: Desk, exchange: Exchange) -> Answer:
    """Forget one that has ended, or was set aside."""
    services, caller, params = desk.require_services(), desk.caller(exchange), exchange.params
    await desk.answer(services.forget_durable(caller, params["type"], params["id"]))
    return Answer(b"", 204)


def _rows(rows: Sequence[Any]) -> Answer:
    return json_answer({"items": [view(one) if isinstance(one, msgspec.Struct) else one for one in rows]})


async def show_broker(desk: Desk, exchange: Exchange) -> Answer:
    """Where clients and workers connect."""
    return json_answer(desk.require_services().broker(desk.caller(exchange)))


async def list_services(desk: Desk, exchange: Exchange) -> Answer:
    """Every service."""
    return _rows(await desk.answer(desk.require_services().list_services(desk.caller(exchange))))


async def list_workers(desk: Desk, exchange: Exchange) -> Answer:
    """Every worker."""
    return _rows(await desk.answer(desk.require_services().list_workers(desk.caller(exchange))))


async def list_requests(desk: Desk, exchange: Exchange) -> Answer:
    """What workers have, and what waits."""
    services, caller, wanted = desk.require_services(), desk.caller(exchange), exchange.query(RowsQuery)
    return _rows(await desk.answer(services.list_requests(caller, wanted.max)))


async def list_recent(desk: Desk, exchange: Exchange) -> Answer:
    """The last requests that ended."""
    services, caller, wanted = desk.require_services(), desk.caller(exchange), exchange.query(RowsQuery)
    return _rows(await desk.answer(services.list_recent(caller, wanted.max)))


async def list_poison(desk: Desk, exchange: Exchange) -> Answer:
    """What was set aside."""
    return _rows(await desk.answer(desk.require_services().list_poison(desk.caller(exchange))))


async def release_poison(desk: Desk, exchange: Exchange) -> Answer:
    """Have a durable request that was set aside worked on again."""
    ticket = desk.require_services().release_poison(desk.caller(exchange), decode_number(exchange.params["number"]))
    return json_answer(await desk.answer(ticket))


async def drop_poison(desk: Desk, exchange: Exchange) -> Answer:
    """Forget what was set aside."""
    await desk.answer(
        desk.require_services().drop_poison(desk.caller(exchange), decode_number(exchange.params["number"]))
    )
    return Answer(b"", 204)


async def set_options(desk: Desk, exchange: Exchange) -> Answer:
    """Run a service in another way."""
    services, caller = desk.require_services(), desk.caller(exchange)
    values = await exchange.json(dict[str, Any])
    return json_answer(await desk.answer(services.set_options(caller, exchange.params["type"], values)))


async def reset_options(desk: Desk, exchange: Exchange) -> Answer:
    """Run a service as all the others."""
    await desk.answer(desk.require_services().reset_options(desk.caller(exchange), exchange.params["type"]))
    return Answer(b"", 204)


class CurveKeyIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The public part of a CURVE key, and which job types it opens."""

    name: str
    public: str
    asks: list[str] = []
    serves: list[str] = []


async def keep_key(desk: Desk, exchange: Exchange) -> Answer:
    """Let a CURVE key in."""
    services, caller = desk.require_services(), desk.caller(exchange)
    new = await exchange.json(CurveKeyIn)
    key = CurveKey(name=new.name, public=new.public, asks=tuple(new.asks), serves=tuple(new.serves))
    return json_answer(view(await desk.answer(services.keep_key(caller, key))), 201)


async def list_keys(desk: Desk, exchange: Exchange) -> Answer:
    """Who may come in."""
    return _rows(desk.require_services().list_keys(desk.caller(exchange)))


async def forget_key(desk: Desk, exchange: Exchange) -> Answer:
    """Let a CURVE key in no more."""
    await desk.answer(desk.require_services().forget_key(desk.caller(exchange), exchange.params["name"]))
    return Answer(b"", 204)


_TAG = "services"
_OF_TYPE = "/v1/services/{type}"
_RESULT = {
    "id": "01a1e2", "service": "sqrt", "state": "answered", "frames": [{"text": "10"}], "code": "", "message": "",
    "attempts": 0, "submitted_at": "2026-11-16T10:00:00.000000Z", "ended_at": "2026-11-16T10:00:00.004000Z",
}  # fmt: skip
_ERRORS = (AnswerTimeout, QueueFull, ServiceUnserved, ServiceFailed, VersionUnserved, DeadlinePassed, PoisonRequest)
ROUTES = [
    Route(
        method="POST", path=f"{_OF_TYPE}/requests", handler=ask, tag=_TAG,
        summary="Ask a service: a durable request, or one that is answered while you wait (durable=false)",
        description="The body is the request, as it is; several frames are sent as they are to /v1/frames.",
        query=AskQuery, bodies={"text/plain": "100", "application/json": 100, FRAMES: None}, answer=ResultOut,
        also=(202,), errors=(*_ERRORS, LimitReached, AlreadyExists), answer_example=_RESULT,
    ),
    Route(
        method="GET", path=f"{_OF_TYPE}/requests", handler=list_durable, tag=_TAG,
        summary="The durable requests of a service, by id", query=RequestsQuery, answer=Rows,
    ),
    Route(
        method="GET", path=f"{_OF_TYPE}/requests/{{id}}", handler=collect, tag=_TAG,
        summary="The result of a durable request", query=CollectQuery, answer=ResultOut, answer_example=_RESULT,
    ),
    Route(
        method="DELETE", path=f"{_OF_TYPE}/requests/{{id}}", handler=forget_durable, tag=_TAG,
        summary="Forget one that has ended, or was set aside", status=204, errors=(NotPending,),
    ),
    Route(
        method="POST", path=f"{_OF_TYPE}/requests/{{id}}/release", handler=release_durable, tag=_TAG,
        summary="Work again on one that was set aside", answer=dict, errors=(LimitReached,),
        answer_example={"number": 1, "durable_id": "01a1e2"},
    ),
    Route(
        method="GET", path="/v1/broker", handler=show_broker, tag=_TAG,
        summary="Where clients and workers of services connect", answer=dict,
        answer_example={"front": "tcp://127.0.0.1:5573", "back": "tcp://127.0.0.1:5574", "curve_key": ""},
    ),
    Route(method="GET", path="/v1/services", handler=list_services, tag=_TAG, summary="Every service", answer=Rows),
    Route(method="GET", path="/v1/workers", handler=list_workers, tag=_TAG, summary="Every worker", answer=Rows),
    Route(
        method="GET", path="/v1/requests", handler=list_requests, tag=_TAG,
        summary="What workers have, and what waits", query=RowsQuery, answer=Rows,
    ),
    Route(
        method="GET", path="/v1/requests/recent", handler=list_recent, tag=_TAG,
        summary="The last requests that ended, newest first", query=RowsQuery, answer=Rows,
    ),
    Route(
        method="PATCH", path=_OF_TYPE, handler=set_options, tag=_TAG, summary="Run a service in another way",
        body=ServiceOptions, answer=dict, example={"policy": "least-loaded"},
        answer_example={"type": "sqrt", "options": {"policy": "least-loaded"}},
    ),
    Route(
        method="DELETE", path=_OF_TYPE, handler=reset_options, tag=_TAG, summary="Run it as all the others",
        status=204,
    ),
    Route(
        method="GET", path="/v1/poison", handler=list_poison, tag=_TAG,
        summary="Requests that were set aside because worker after worker was lost with them", answer=Rows,
    ),
    Route(
        method="POST", path="/v1/poison/{number}/release", handler=release_poison, tag=_TAG,
        summary="Work on a durable one again", answer=dict, errors=(LimitReached,),
        answer_example={"number": 1, "durable_id": "01a1e2"},
    ),
    Route(method="DELETE", path="/v1/poison/{number}", handler=drop_poison, tag=_TAG, summary="Forget one", status=204),
    Route(
        method="POST", path="/v1/curve-keys", handler=keep_key, tag="access", summary="Let a CURVE key in",
        body=CurveKeyIn, answer=CurveKey, status=201, errors=(LimitReached, AlreadyExists),
        example={"name": "tarifas", "public": "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "serves": ["tarifas.*"]},
    ),
    Route(
        method="GET", path="/v1/curve-keys", handler=list_keys, tag="access", summary="Who may come in by CURVE",
        answer=Rows,
    ),
    Route(
        method="DELETE", path="/v1/curve-keys/{name}", handler=forget_key, tag="access",
        summary="Let a CURVE key in no more", status=204,
    ),
]  # fmt: skip
