"""Marks among the traces: an archive says how far it has copied them, and the hub forgets nothing after that.

GET    /v1/traces/marks            every mark
PUT    /v1/traces/marks/{name}     put one
DELETE /v1/traces/marks/{name}     take one away
"""

from __future__ import annotations

import msgspec

from pregon.edges.http.answers import Answer, json_answer, no_content
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.forms import Number, view
from pregon.edges.http.routes import Desk, Route
from pregon.errors import BadName, LimitReached, NotFound
from pregon.hub import trace_marks
from pregon.model.trace import TraceMark


class MarkIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The id of the last trace that was copied; 0: none was."""

    id: Number


class MarkOut(TraceMark, frozen=True, kw_only=True):
    """A mark that was put, where it was before, and whether it went back."""

    previous_id: int | None
    is_moved_back: bool


class MarksOut(msgspec.Struct, kw_only=True):
    """Every mark, by name."""

    items: list[TraceMark]


async def put_mark(desk: Desk, exchange: Exchange) -> Answer:
    """Say how far the traces are copied."""
    caller, wanted = desk.caller(exchange), await exchange.json(MarkIn)
    done = await desk.answer(trace_marks.put_mark(desk.gate, caller, exchange.params["name"], wanted.id))
    shown = {**view(done.mark), "previous_id": done.previous_id, "is_moved_back": done.is_moved_back}
    return json_answer(shown)


async def list_marks(desk: Desk, exchange: Exchange) -> Answer:
    """How far everybody is."""
    found = await desk.answer(trace_marks.list_marks(desk.gate, desk.caller(exchange)))
    return json_answer({"items": [view(one) for one in found]})


async def delete_mark(desk: Desk, exchange: Exchange) -> Answer:
    """Let go of what a mark held."""
    name = exchange.params["name"]
    if not await desk.answer(trace_marks.delete_mark(desk.gate, desk.caller(exchange), name)):
        raise NotFound("there is no such mark: GET /v1/traces/marks lists them")
    return no_content()


_MARK = {
    "name": "archive", "id": 184_467, "created_at": "2026-11-15T10:00:00.000000Z",
    "put_at": "2026-11-16T10:00:00.000000Z",
}  # fmt: skip
_TAG = "traces"
ROUTES = [
    Route(
        method="GET", path="/v1/traces/marks", handler=list_marks, tag=_TAG,
        summary="How far the traces are copied, by whom", answer=MarksOut, answer_example={"items": [_MARK]},
    ),
    Route(
        method="PUT", path="/v1/traces/marks/{name}", handler=put_mark, tag=_TAG,
        summary="Say how far the traces are copied: what comes after is not forgotten",
        description="Put it again from time to time, at the same id if there is nothing new: a mark that nobody puts "
        "for `trace_mark_ms` is dropped. A lower id than before is taken, and `is_moved_back` says so: what lies "
        "between may be forgotten already.",
        body=MarkIn, answer=MarkOut, errors=(BadName, LimitReached), example={"id": 184_467},
        answer_example={**_MARK, "previous_id": 184_012, "is_moved_back": False},
    ),
    Route(
        method="DELETE", path="/v1/traces/marks/{name}", handler=delete_mark, tag=_TAG,
        summary="Take a mark away: what it held is forgotten by its age", status=204,
    ),
]  # fmt: skip
