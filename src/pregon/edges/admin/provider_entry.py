"""The pages by which one enters with an identity provider: on the way there, and back."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from pregon.edges.admin.entry import draw_entry
from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.problems import Explained
from pregon.edges.admin.routes import NOBODY, Page
from pregon.edges.admin.visit import Visit
from pregon.errors import NotFound, PregonError

if TYPE_CHECKING:
    from pregon.edges.admin.provider import NotLetIn, Provider

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
        return draw_entry(visit, visit.desk.status_of(error), visit.explain(error))
    return AdminAnswer(b"", 303, "", [("location", address), *visit.cookie_headers()])


def finish(visit: Visit) -> AdminAnswer:
    """Back from the provider."""
    from pregon.edges.admin.provider import NotLetIn

    provider = _require_provider(visit)
    try:
        arrived = provider.finish(visit.cookies.get(_BROWSER, ""), visit.query)
        entered = visit.desk.people.enter_by_provider(arrived.name, arrived.role, visit.request.address)
    except NotLetIn as refusal:
        return _refuse(visit, refusal)
    except PregonError as error:
        return draw_entry(visit, visit.desk.status_of(error), visit.explain(error))
    visit.enter(entered)
    return visit.go(arrived.back)


def _refuse(visit: Visit, refusal: NotLetIn) -> AdminAnswer:
    if refusal.reason == "unknown_entry" and visit.session is not None:
        # Somebody who is in went back in the browser's history.
        return visit.go("/admin")
    if refusal.reason in ("no_role", "untrusted"):
        visit.desk.people.refuse_by_provider(refusal.name, visit.request.address)
    is_known = refusal.reason == "no_role"
    explained = Explained(
        "forbidden" if is_known else "unauthorized", visit.say(SENTENCES[refusal.reason]), str(refusal)
    )
    return draw_entry(visit, 403 if is_known else 401, explained)


def _require_provider(visit: Visit) -> Provider:
    provider = visit.desk.provider
    if provider is None:
        raise NotFound("this hub has no identity provider for people: enter with a password")
    return provider


PAGES = [
    Page("GET", "enter/provider", begin, NOBODY),
    Page("GET", "enter/callback", finish, NOBODY),
]
