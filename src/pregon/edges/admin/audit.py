"""The audit: who changed what, and when; found by who, what, how and in which time, newest first."""

from __future__ import annotations

from urllib.parse import urlencode

from pregon.edges.admin.audit_sentences import (
    ACTION_WORDS,
    KIND_WORDS,
    name_who,
    place_of,
    read_detail,
    sentence,
)
from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.formats import parse_local
from pregon.edges.admin.routes import Page
from pregon.edges.admin.visit import Visit
from pregon.errors import BadRequest, PregonError
from pregon.model.administration import AuditPage, AuditQuery

ROWS = 50
_FIELDS = ("who", "kind", "object", "action", "since", "until")
_KINDS_OF_WHO = ("administrator ", "oidc ", "token ", "producer ", "subscriber ", "entry link", "data directory")
_TEXT_CHARACTERS_MAX = 400


def show_audit(visit: Visit) -> AdminAnswer:
    """The page."""
    asked = {name: visit.query.get(name, "").strip()[:_TEXT_CHARACTERS_MAX] for name in _FIELDS}
    error, found = None, AuditPage()
    try:
        found = visit.desk.gate.audit(visit.caller, read_query(visit, asked)).result()
    except BadRequest as refused:
        error = refused
    kept = {name: value for name, value in asked.items() if value}
    return _draw(visit, asked, found, error, kept)


def _draw(
    visit: Visit, asked: dict[str, str], found: AuditPage, error: PregonError | None, kept: dict[str, str]
) -> AdminAnswer:
    say = visit.say
    return visit.page(
        "audit.html",
        200 if error is None else visit.desk.status_of(error),
        error=error and visit.explain(error),
        asked=asked,
        rows=found,
        sentence=lambda entry: sentence(entry, say),
        name_who=lambda who: name_who(who, say),
        place_of=place_of,
        read_detail=read_detail,
        kinds=[(code, say(text)) for code, text in KIND_WORDS.items()],
        actions=[(code, say(text)) for code, text in ACTION_WORDS.items()],
        is_narrowed=bool(kept),
        is_later="before" in visit.query,
        first_link=f"/admin/audit?{urlencode(kept)}" if kept else "/admin/audit",
        next_link=f"/admin/audit?{urlencode({**kept, 'before': found.next})}" if found.next else "",
        by_who=lambda who: f"/admin/audit?{urlencode({'who': who})}",
    )


def read_query(visit: Visit, asked: dict[str, str]) -> AuditQuery:
    """What the form asks for; raises BadRequest. A name alone is that of a person of these pages."""
    who = asked["who"]
    if who and not who.startswith(_KINDS_OF_WHO):
        who = f"administrator {who}"
    before = visit.query.get("before", "0")
    if not before.isascii() or not before.isdigit() or len(before) > 18:
        raise BadRequest("`before` is the number that the page before said")
    return AuditQuery(
        who=who,
        kind=asked["kind"],
        object=asked["object"],
        action=asked["action"],
        since_us=parse_local(asked["since"], visit.zone) if asked["since"] else 0,
        until_us=parse_local(asked["until"], visit.zone) if asked["until"] else 0,
        before=int(before),
        max=ROWS,
    )


PAGES = [Page("GET", "audit", show_audit)]
