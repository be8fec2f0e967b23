"""The traces by SOAP: what happened to which messages, when, newest first; and the whole story of one message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pregon.edges.soap.operations import Operation, OperationsService, Values
from pregon.edges.soap.records import FLAG, INSTANT, NAME, NUMBER, TEXT, Field, Record
from pregon.edges.soap.services import Desk
from pregon.errors import BadRequest
from pregon.limits import LIST_ROWS_MAX
from pregon.model.trace import KINDS, TraceQuery
from pregon.soap.vocabulary import TRAZAS

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
        Field("attempt", "attempt", NUMBER),
        Field("latencyMs", "latency_ms", NUMBER),
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
_STANDING = Record(
    "Standing",
    (
        Field("subscriber", "subscriber", NAME, is_required=True),
        Field("state", "state", NAME, is_required=True),
        Field("since", "at_us", INSTANT),
        Field("reason", "reason", TEXT),
        Field("mode", "mode", NAME, is_required=True),
        Field("attempts", "attempts", NUMBER),
        Field("nextTry", "next_try_us", INSTANT),
        Field("failingSince", "failing_since_us", INSTANT),
        Field("lastFailure", "last_failure", TEXT),
    ),
)
_STORY_ASKS = (
    Field("topic", "topic", NAME, is_required=True),
    Field("notificationId", "seq", NUMBER, is_required=True),
)
_STORY_ANSWERS = (
    Field("topic", "topic", NAME, is_required=True),
    Field("notificationId", "seq", NUMBER, is_required=True),
    Field("producer", "producer", NAME),
    Field("acceptedAt", "accepted_us", INSTANT),
    Field("id", "id", TEXT),
    Field("key", "key", TEXT),
    Field("contentType", "content_type", TEXT),
    Field("publishedAt", "published_us", INSTANT),
    Field("trace", "traces", _TRACE, is_list=True),
    Field("isWhole", "is_whole", FLAG, is_required=True),
    Field("subscription", "subscriptions", _STANDING, is_list=True),
)


async def _search(desk: Desk, values: Values) -> Mapping[str, Any]:
    query = TraceQuery(**{"max": _ROWS_DEFAULT, **values})
    if not 1 <= query.max <= LIST_ROWS_MAX:
        raise BadRequest(f"max is 1 to {LIST_ROWS_MAX}")
    if query.kind and query.kind not in KINDS:
        raise BadRequest(f"kind is one of {', '.join(KINDS)}")
    if query.seq < 0 or query.before < 0:
        raise BadRequest("notificationId and before are numbers from 1")
    found = await desk.answer(desk.gate.traces(desk.caller, query))
    return {"traces": [_given(trace) for trace in found], "before": found.next or None}


async def _tell(desk: Desk, values: Values) -> Mapping[str, Any]:
    story = await desk.answer(desk.gate.story(desk.caller, values["topic"], values["seq"]))
    told = _given(story)
    told["traces"] = [_given(trace) for trace in story.traces]
    told["subscriptions"] = [_given(one) for one in story.subscriptions]
    # Said in any case: a story that is not whole must not look like one that is.
    return {**told, "is_whole": story.is_whole}


def _given(record: Any) -> dict[str, Any]:
    """The fields of a record that say something; the others are left out."""
    return {name: value or None for name, value in msgspec.structs.asdict(record).items()}


def traces_service() -> OperationsService:
    """`/soap/trazas`."""
    search = (
        "Traces, newest first; what is left out does not restrict. `from` is included and `to` is not. "
        "When there may be more, the answer has a `before`, however many traces it has: ask again with it."
    )
    tell = (
        "All that is known of one message: what it is, what happened to it, oldest first, and how it stands for each "
        "subscription. What the log and the traces have forgotten is left out."
    )
    operations = (
        Operation("SearchTraces", search, _ASKS, _ANSWERS, _search),
        Operation("GetStory", tell, _STORY_ASKS, _STORY_ANSWERS, _tell),
    )
    return OperationsService("Trazas", TRAZAS, operations)
