"""Who changed what: the audit, searched.

GET    /v1/audit            entries, newest first
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pregon.edges.http.answers import Answer, json_answer
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.forms import Page, decode_number_cursor, encode_cursor, view
from pregon.edges.http.operate import Moment, parse_time
from pregon.edges.http.routes import Desk, Route
from pregon.model.administration import AuditEntry, AuditQuery

_Text = Annotated[str, Meta(max_length=400)]


class AuditIn(Page, kw_only=True, forbid_unknown_fields=True):
    """Which entries: what is left out does not restrict. Newest first."""

    who: _Text = ""
    kind: _Text = ""
    object: _Text = ""
    """All of it; with `*` at its end, what begins so."""
    action: _Text = ""
    since: Moment | UnsetType = UNSET
    until: Moment | UnsetType = UNSET


class AuditOut(msgspec.Struct, kw_only=True):
    """One thing that somebody did; `who` is empty for anybody, on a hub that is open."""

    id: int
    at: str
    who: str
    action: str
    kind: str
    object: str
    detail: dict[str, Any]


class AuditOutPage(msgspec.Struct, kw_only=True):
    """Entries; `next` is `cursor` of the next page, null at the end. A page that is not full may have a next one."""

    items: list[AuditOut]
    next: str | None


async def search_audit(desk: Desk, exchange: Exchange) -> Answer:
    """Who changed what, newest first."""
    caller, wanted = desk.caller(exchange), exchange.query(AuditIn)
    query = AuditQuery(
        who=wanted.who,
        kind=wanted.kind,
        object=wanted.object,
        action=wanted.action,
        since_us=0 if wanted.since is UNSET else parse_time("since", wanted.since),
        until_us=0 if wanted.until is UNSET else parse_time("until", wanted.until),
        before=decode_number_cursor(wanted.cursor, 18),
        max=wanted.max,
    )
    found = await desk.answer(desk.gate.audit(caller, query))
    following = encode_cursor([found.next]) if found.next else None
    return json_answer({"items": [_show(one) for one in found], "next": following})


def _show(entry: AuditEntry) -> dict[str, Any]:
    return {**view(entry), "detail": msgspec.json.decode(entry.detail) if entry.detail else {}}


ROUTES = [
    Route(
        method="GET", path="/v1/audit", handler=search_audit, tag="audit",
        summary="Who changed what, newest first",
        description="Every change of the catalogue, of keys, secrets, schemas, services and people, what operators did "
        "to subscriptions and requests, and who entered the administration pages.",
        query=AuditIn, answer=AuditOutPage,
        answer_example={
            "items": [
                {
                    "id": 9, "at": "2026-11-15T10:00:00.000000Z", "who": "administrator ana", "action": "update",
                    "kind": "topic", "object": "fallecidos", "detail": {"description": "Certificates of death"},
                }
            ],
            "next": None,
        },
    ),
]  # fmt: skip
