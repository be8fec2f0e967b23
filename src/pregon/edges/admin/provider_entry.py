"""The pages by which one enters with an identity provider: on the way there, and back."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from pregon.edges.admin.entry import draw_entry
from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.problems import Explained
from pregon.edges.admin.routes import NOBODY, Page
from pregon.edges.admin.visit import Visit
from pregon.errors import (
    BadRequest,
    HubBusy,
    HubStopping,
    KeysUnavailable,
    LimitReached,
    NotFound,
    PregonError,
)

if TYPE_CHECKING:
    from pregon.edges.admin.provider import Provider

_BROWSER = "pregon_provider"
_BROWSER_S = 600
_CALLBACK = "/admin/enter/callback"
SENTENCES = {
    "unknown_entry": "This entry was begun in another browser, too long ago, or was used already. Begin again.",
    "denied": "The identity provider did not let you in.",
    "failed": "The identity provider could not say who you are. Try again; if it stays so, tell an administrator of "
    "this hub.",
    "untrusted": "What the identity provider says of you cannot be trusted, so you were not let in.",
    "no_role": "The identity provider knows you, but gives you no role at this hub. Ask whoever manages its people.",
}
_DETAILS = {
    "unknown_entry": "no entry that is as the provider repeats it was begun in this browser in the last ten minutes",
    "denied": "the provider answered access_denied",
    "failed": "the provider gave no token: the log of the hub says why",
    "untrusted": "the provider's token was not accepted: the log of the hub says why",
    "no_role": "one of pregon:admin, pregon:operate and pregon:read must be in the claim with the roles",
}
_CODES = {"no_role": "forbidden"}
_ELSEWHERE: dict[str, PregonError] = {
    error.code: error
    for error in (
        KeysUnavailable("it gave no answer, or one that cannot be used: the log of the hub says why"),
        HubBusy("many people are entering at this moment"),
        HubStopping("the hub is stopping"),
        LimitReached("too many people are in"),
        BadRequest("the name that the provider says cannot be used"),
    )
}
"""What may go wrong that is not about the person."""


def begin(visit: Visit) -> AdminAnswer:
    """To the provider."""
    provider = _require_provider(visit)
    if visit.session is not None:
        return visit.go(visit.back())
    browser = visit.cookies.get(_BROWSER, "")
    if not 0 < len(browser) <= 100 or not browser.isascii():
        browser = secrets.token_urlsafe(24)
    # Given again each time: it must last as long as the entry that begins now.
    visit.set_cookie(_BROWSER, browser, seconds=_BROWSER_S)
    try:
        address = provider.begin(browser, visit.request.base_url + _CALLBACK, visit.back())
    except PregonError as error:
        return _go_to_refusal(visit, error.code, visit.back())
    return AdminAnswer(b"", 303, "", [("location", address), *visit.cookie_headers()])


def finish(visit: Visit) -> AdminAnswer:
    """Back from the provider."""
    from pregon.edges.admin.provider import NotLetIn

    provider = _require_provider(visit)
    try:
        arrived = provider.finish(visit.cookies.get(_BROWSER, ""), visit.query)
        entered = visit.desk.people.enter_by_provider(arrived.name, arrived.role, visit.request.address)
    except NotLetIn as refusal:
        if refusal.reason == "unknown_entry" and visit.session is not None:
            # Somebody who is in went back in the browser's history.
            return visit.go("/admin")
        if refusal.reason in ("no_role", "untrusted"):
            visit.desk.people.refuse_by_provider(refusal.name, visit.request.address)
        return _go_to_refusal(visit, refusal.reason, refusal.back)
    except PregonError as error:
        return _go_to_refusal(visit, error.code, "/admin")
    visit.enter(entered)
    return visit.go(arrived.back)


def _go_to_refusal(visit: Visit, why: str, back: str) -> AdminAnswer:
    """On to a page that says why: not here, where the address has what the provider sent."""
    return visit.go(f"/admin/enter/refused?{urlencode({'why': why, 'back': back})}")


def show_refusal(visit: Visit) -> AdminAnswer:
    """The page where one enters, with why somebody was not let in: in words of ours, whatever the address says."""
    _require_provider(visit)
    why = visit.query.get("why", "")
    if why in _ELSEWHERE:
        error = _ELSEWHERE[why]
        return draw_entry(visit, visit.desk.status_of(error), visit.explain(error))
    if why not in SENTENCES:
        return visit.go("/admin/enter")
    code = _CODES.get(why, "unauthorized")
    return draw_entry(
        visit, 403 if code == "forbidden" else 401, Explained(code, visit.say(SENTENCES[why]), _DETAILS[why])
    )


def _require_provider(visit: Visit) -> Provider:
    provider = visit.desk.provider
    if provider is None:
        raise NotFound("this hub has no identity provider for people: enter with a password")
    return provider


PAGES = [
    Page("GET", "enter/provider", begin, NOBODY),
    Page("GET", "enter/callback", finish, NOBODY),
    Page("GET", "enter/refused", show_refusal, NOBODY),
]
