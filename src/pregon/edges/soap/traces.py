"""The traces by SOAP: what happened to which messages, when, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pregon.edges.soap.operations import Operation, OperationsService, Values
from pregon.edges.soap.records import INSTANT, NAME, NUMBER, TEXT, Field, Record
from pregon.edges.soap.services import Desk
from pregon.edges.soap.vocabulary import TRAZAS
from pregon.errors import BadRequest
from pregon.limits import LIST_ROWS_MAX
from pregon.model.trace import KINDS, TraceQuery

_ROWS_DEFAULT = 100
_TRACE = Record(
    "Trace",
    (
        Field("traceId", "id", NUMBER, is_required=True),
        Field("at", "at_us", INSTANT, is_required=True),
        Field("kind", "kind", NAME, is_required=True),
        Field("topic", "topic", NAME, is_required=True),
        Field("firstNotificationId", "first_seq", NUMBER, is_required=True),
        Field("lastNotificationId", "last_seq", NUMBER, is_required=True),
        Field("producer", "producer", NAME),
        Field("subscriber", "subscriber", NAME),
        Field("detail", "detail", TEXT),
    ),
)
_ASKS = (
    Field("from", "since_us", INSTANT),
    Field("to", "until_us", INSTANT),
    Field("producer", "producer", NAME),
    Field("subscriber", "subscriber", NAME),
    Field("topic", "topic", NAME),
    Field("kind", "kind", NAME),
    Field("notificationId", "seq", NUMBER),
    Field("before", "before", NUMBER),
    Field("max", "max", NUMBER),
)
_ANSWERS = (Field("trace", "traces", _TRACE, is_list=True), Field("before", "before", NUMBER))


async def _search(desk: Desk, values: Values) -> Mapping[str, Any]:
    query = TraceQuery(**{"max": _ROWS_DEFAULT, **values})
    if not 1 <= query.max <= LIST_ROWS_MAX:
        raise BadRequest(f"max is 1 to {LIST_ROWS_MAX}")
    if query.kind and query.kind not in KINDS:
        raise BadRequest(f"kind is one of {', '.join(KINDS)}")
    if query.seq < 0 or query.before < 0:
        raise BadRequest("notificationId and before are numbers from 1")
    found = await desk.answer(desk.gate.traces(desk.caller, query))
    traces = [{name: value or None for name, value in msgspec.structs.asdict(trace).items()} for trace in found]
    return {"traces": traces, "before": found[-1].id if len(found) == query.max else None}


def traces_service() -> OperationsService:
    """`/soap/trazas`."""
    summary = (
        "Traces, newest first; what is left out does not restrict. `from` is included and `to` is not. "
        "When there may be more, the answer has a `before`: ask again with it."
    )
    return OperationsService("Trazas", TRAZAS, (Operation("SearchTraces", summary, _ASKS, _ANSWERS, _search),))
