"""Entering and leaving: the password, the one-time link of a new hub, and how one likes the pages."""

from __future__ import annotations

from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.problems import Explained
from pregon.edges.admin.routes import NOBODY, Page
from pregon.edges.admin.visit import LANGUAGE, SESSION, THEME, THEMES, Visit
from pregon.edges.admin.words import LANGUAGES
from pregon.errors import NotFound, PregonError
from pregon.security.keys import READ


def show_entry(visit: Visit) -> AdminAnswer:
    """The page where one enters."""
    if visit.session is not None:
        return visit.go(visit.back())
    if visit.desk.provider is None and not visit.desk.people.has_any():
        return visit.go("/admin/setup")
    return draw_entry(visit)


def draw_entry(visit: Visit, status: int = 200, error: Explained | None = None) -> AdminAnswer:
    """The same page, with why somebody was not let in."""
    return visit.page(
        "enter.html",
        status,
        error=error,
        back=visit.back(),
        has_ended="ended" in visit.query,
        is_new=not visit.desk.people.has_any(),
        provider=visit.desk.provider,
    )


def enter(visit: Visit) -> AdminAnswer:
    """Enter with a name and a password."""
    try:
        entered = visit.desk.people.enter(visit.field("name"), visit.text("password"), visit.request.address)
    except PregonError as error:
        return draw_entry(visit, visit.desk.status_of(error), visit.explain(error))
    visit.enter(entered)
    return visit.go(visit.back())


def leave(visit: Visit) -> AdminAnswer:
    """Leave."""
    visit.desk.people.leave(visit.cookies.get(SESSION, ""))
    visit.leave()
    return visit.go("/admin/enter", "left")


def show_setup(visit: Visit) -> AdminAnswer:
    """The page of a hub that has no administrator yet: with its link, a form; without, how to get one."""
    return _setup(visit, visit.query.get("link", ""))


def _setup(visit: Visit, link: str, error: PregonError | None = None) -> AdminAnswer:
    people = visit.desk.people
    if people.has_any():
        return visit.go("/admin/enter")
    return visit.page(
        "setup.html",
        200 if error is None else visit.desk.status_of(error),
        error=error and visit.explain(error),
        link=link if link and people.is_link(link) else "",
        has_wrong_link=bool(link) and not people.is_link(link),
        name=visit.field("name"),
        provider=visit.desk.provider,
    )


def set_up(visit: Visit) -> AdminAnswer:
    """Make the first administrator, and let them in."""
    link, password = visit.field("link"), visit.text("password")
    if visit.desk.people.has_any():
        return visit.go("/admin/enter")
    try:
        if password != visit.text("again"):
            return visit.page(
                "setup.html", 400, error=None, link=link, has_wrong_link=False, name=visit.field("name"),
                differs=True, provider=visit.desk.provider,
            )  # fmt: skip
        entered = visit.desk.people.use_link(link, visit.field("name"), password, visit.request.address)
    except PregonError as error:
        return _setup(visit, link, error)
    visit.enter(entered)
    return visit.go("/admin")


def choose_language(visit: Visit) -> AdminAnswer:
    """Another language from now on."""
    if visit.names["language"] not in LANGUAGES:
        raise NotFound("the pages are in Spanish and English")
    visit.remember_choice(LANGUAGE, visit.names["language"])
    return visit.go(visit.back())


def choose_theme(visit: Visit) -> AdminAnswer:
    """Light, dark, or as the system has it."""
    if visit.names["theme"] not in THEMES:
        raise NotFound("the pages are light or dark")
    visit.remember_choice(THEME, visit.names["theme"])
    return visit.go(visit.back())


PAGES = [
    Page("GET", "enter", show_entry, NOBODY),
    Page("POST", "enter", enter, NOBODY),
    Page("POST", "leave", leave, READ),
    Page("GET", "setup", show_setup, NOBODY),
    Page("POST", "setup", set_up, NOBODY),
    Page("GET", "language/{language}", choose_language, NOBODY),
    Page("GET", "theme/{theme}", choose_theme, NOBODY),
]
