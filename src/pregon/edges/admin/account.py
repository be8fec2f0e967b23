"""One's own account: who one is here, another password, and ending what one left open elsewhere."""

from __future__ import annotations

from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.people import new_password
from pregon.edges.admin.routes import Page
from pregon.edges.admin.visit import SESSION, Visit
from pregon.errors import Forbidden, PregonError
from pregon.model.administration import PASSWORD, Session
from pregon.security.keys import READ


def show_account(visit: Visit) -> AdminAnswer:
    """The page."""
    return _page(visit)


def _page(visit: Visit, error: PregonError | None = None) -> AdminAnswer:
    session = _session(visit)
    return visit.page(
        "account.html",
        200 if error is None else visit.desk.status_of(error),
        error=error and visit.explain(error),
        session=session,
        has_password=session.source == PASSWORD,
        provider=visit.desk.provider,
        zone=visit.zone.key,
    )


def _session(visit: Visit) -> Session:
    if visit.session is None:
        raise Forbidden("enter first")
    return visit.session


def change_password(visit: Visit) -> AdminAnswer:
    """Give oneself another password; one stays in, and is out everywhere else."""
    try:
        entered = visit.desk.people.change_own_password(_session(visit), visit.text("old"), new_password(visit))
    except PregonError as error:
        return _page(visit, error)
    visit.enter(entered)
    return visit.go("/admin/account", "password")


def end_others(visit: Visit) -> AdminAnswer:
    """End one's other sessions."""
    session = _session(visit)
    visit.desk.people.leave_all(session.name, session.source, but=visit.cookies.get(SESSION, ""))
    return visit.go("/admin/account", "ended")


PAGES = [
    Page("GET", "account", show_account),
    Page("POST", "account/password", change_password, READ),
    Page("POST", "account/end-others", end_others, READ),
]
