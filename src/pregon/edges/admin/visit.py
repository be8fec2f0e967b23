"""One visit to a page: who it is, what is asked, in which language and zone; and how a page answers.

Promises:
- A form is taken only from a page of ours that was drawn for the same person (`require_own_form`).
- Whatever goes into an answer's head is an address or a cookie that was made here.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode
from zoneinfo import ZoneInfo

from markupsafe import Markup

from pregon.clock import wall_us
from pregon.edges.admin import formats
from pregon.edges.admin.desk import AdminDesk
from pregon.edges.admin.exchange import AdminAnswer, AdminRequest
from pregon.edges.admin.problems import Explained, done_sentence, explain
from pregon.edges.admin.rendering import render
from pregon.edges.admin.words import LANGUAGES, Words, choose_language, words_of
from pregon.errors import BadRequest, Forbidden, PregonError
from pregon.limits import INTEGER_MAX
from pregon.model.administration import OIDC, Session
from pregon.security.callers import ANYBODY, Caller
from pregon.security.keys import ADMIN, OPERATE
from pregon.security.roles import caller_of

SESSION, ENTRY = "pregon_admin", "pregon_entry"
LANGUAGE, ZONE, THEME = "pregon_language", "pregon_zone", "pregon_theme"
THEMES = ("auto", "light", "dark")
_FIELDS_MAX = 2_000
_YEAR_S = 31_536_000
_UTC = ZoneInfo("UTC")


class Visit:
    """A request in hand, for a page."""

    def __init__(self, desk: AdminDesk, request: AdminRequest) -> None:
        self.desk = desk
        self.request = request
        self.names: dict[str, str] = {}
        """What stands in the address: `topics/{topic}`."""
        self.session: Session | None = None
        self.caller: Caller = ANYBODY
        self.now_us = wall_us()
        self.cookies = _parse_cookies(request.cookies)
        self._made_cookies: list[str] = []

    # Who it is.

    def identify(self, *, is_active: bool) -> None:
        """Find out who this is; nobody, if there is no session."""
        token = self.cookies.get(SESSION, "")
        session = self.desk.people.find_session(token, is_active=is_active) if token else None
        if session is not None and session.source == OIDC and self.desk.provider is None:
            # Nobody vouches for them any more.
            session = None
        self.session = session
        if self.session is not None:
            self.caller = caller_of(self.session)

    @property
    def may_operate(self) -> bool:
        """Whether this person may move messages."""
        return OPERATE in self.caller.scopes

    @property
    def may_administer(self) -> bool:
        """Whether this person may change the catalogue, keys and people."""
        return ADMIN in self.caller.scopes

    @cached_property
    def csrf(self) -> str:
        """What a form of this person has: nobody else's page can know it."""
        mine = self.cookies.get(SESSION, "") if self.session else self.cookies.get(ENTRY, "")
        if not mine:
            mine = secrets.token_urlsafe(24)
            self.set_cookie(ENTRY, mine)
        return hmac.new(mine.encode(), b"form", hashlib.sha256).hexdigest()

    def require_own_form(self) -> None:
        """Raises Forbidden for a form that no page of ours has drawn for this person."""
        has_mark = (SESSION if self.session else ENTRY) in self.cookies
        if not has_mark or not hmac.compare_digest(self.field("csrf").encode(), self.csrf.encode()):
            raise Forbidden("this form was not sent from a page of this hub, or the page is old: open it again")

    # What is asked.

    @cached_property
    def query(self) -> dict[str, str]:
        """The query of the address; the last of several with one name."""
        return dict(_parse_fields(self.request.query))

    @cached_property
    def form(self) -> dict[str, list[str]]:
        """The fields of a form; raises BadRequest for what is none."""
        if not self.request.content_type.startswith("application/x-www-form-urlencoded"):
            return {}
        try:
            text = self.request.body.decode("ascii")
        except UnicodeDecodeError as error:
            raise BadRequest("the form cannot be read") from error
        found: dict[str, list[str]] = {}
        for name, value in _parse_fields(text):
            found.setdefault(name, []).append(value)
        return found

    def field(self, name: str) -> str:
        """A field of the form without the white space around it, empty if it is not there."""
        return self.form.get(name, [""])[-1].strip()

    def text(self, name: str) -> str:
        """A field of the form as it is, with the line ends that everybody else uses."""
        return self.form.get(name, [""])[-1].replace("\r\n", "\n")

    def numbers(self, name: str) -> list[int]:
        """All the fields of a name as numbers; raises BadRequest."""
        return [parse_number(text) for text in self.form.get(name, [])]

    def number(self, name: str) -> int:
        """A field of the form as a number; raises BadRequest."""
        return parse_number(self.field(name))

    def is_checked(self, name: str) -> bool:
        """Whether a box of the form is checked."""
        return name in self.form

    @cached_property
    def zone(self) -> ZoneInfo:
        """The viewer's zone, as the browser told; UTC until it has."""
        return formats.find_zone(self.cookies.get(ZONE, "").replace("%2F", "/")) or _UTC

    @cached_property
    def say(self) -> Words:
        """What is said, in the viewer's language."""
        chosen = self.cookies.get(LANGUAGE, "")
        return words_of(chosen if chosen in LANGUAGES else choose_language(self.request.languages))

    @property
    def address(self) -> str:
        """The address of this page, with its query, as a link that comes back to it."""
        query = {name: value for name, value in self.query.items() if name not in ("done", "n")}
        return f"/admin/{quote(self.request.path)}".rstrip("/") + (f"?{urlencode(query)}" if query else "")

    def back(self) -> str:
        """Where to go back to, if the query names a page of ours; else the overview."""
        wanted = self.query.get("back", "") or self.field("back")
        is_ours = wanted == "/admin" or wanted.startswith(("/admin/", "/admin?"))
        return wanted if is_ours and wanted.isprintable() and wanted.isascii() and "\\" not in wanted else "/admin"

    # How it is answered.

    def set_cookie(self, name: str, value: str, *, seconds: int | None = None, for_scripts: bool = False) -> None:
        """Have the browser keep something; as long as it runs, unless seconds are given."""
        parts = [f"{name}={value}", "Path=/admin", "SameSite=Lax"]
        if seconds is not None:
            parts.append(f"Max-Age={seconds}")
        if not for_scripts:
            parts.append("HttpOnly")
        if self.request.is_secure:
            parts.append("Secure")
        self._made_cookies.append("; ".join(parts))
        self.cookies[name] = value

    def enter(self, entered: tuple[str, Session]) -> None:
        """This person has entered: from now on the browser says so."""
        token, self.session = entered
        self.caller = caller_of(self.session)
        self.set_cookie(SESSION, token)

    def leave(self) -> None:
        """The browser forgets who it was."""
        self.set_cookie(SESSION, "", seconds=0)
        self.session = None

    def remember_choice(self, name: str, value: str) -> None:
        """Keep how somebody likes the pages."""
        self.set_cookie(name, value, seconds=_YEAR_S)

    def page(self, template: str, status: int = 200, /, **values: Any) -> AdminAnswer:
        """A page of a template."""
        drawn = render(template, {**self.values(), **values})
        return AdminAnswer(drawn, status, headers=self.cookie_headers())

    def go(self, path: str, done: str = "", count: int | None = None) -> AdminAnswer:
        """On to another page of ours, which says what was done (a key of `problems.DONE`)."""
        query = urlencode({"done": done} | ({} if count is None else {"n": str(count)})) if done else ""
        onward = f"{path}{'&' if '?' in path else '?'}{query}" if query else path
        return AdminAnswer(b"", 303, "", [("location", onward), *self.cookie_headers()])

    def cookie_headers(self) -> list[tuple[str, str]]:
        """The cookies that were made."""
        return [("set-cookie", one) for one in self._made_cookies]

    def explain(self, error: PregonError) -> Explained:
        """An error in words."""
        return explain(error, self.say)

    def done_sentence(self) -> Markup | None:
        """What was done on the page before, in words, if something was."""
        return done_sentence(self.query.get("done", ""), self.query.get("n", ""), self.say)

    def problem(self, error: PregonError) -> AdminAnswer:
        """A page that says what went wrong."""
        status = self.desk.status_of(error)
        template = "problem_part.html" if self.request.is_fragment else "problem.html"
        return self.page(template, status, error=self.explain(error), status=status)

    def when(self, us: int | None) -> Markup:
        """A time in the viewer's zone."""
        return formats.when(us, self.zone)

    def ago(self, us: int | None) -> str:
        """How long ago a time is."""
        return formats.ago(us, self.now_us, self.say)

    def values(self) -> dict[str, Any]:
        """What every template may use."""
        theme = self.cookies.get(THEME, "auto")
        return {
            "visit": self,
            "_": self.say,
            "when": self.when,
            "ago": self.ago,
            "may_operate": self.may_operate,
            "may_administer": self.may_administer,
            "theme": theme if theme in THEMES else "auto",
        }


def _parse_cookies(header: str) -> dict[str, str]:
    pairs = (part.strip().partition("=") for part in header[:8_000].split(";"))
    return {name: value for name, _, value in pairs if name}


def _parse_fields(text: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=_FIELDS_MAX, errors="strict")
    except ValueError as error:
        raise BadRequest("the form cannot be read, or has too many fields") from error


def parse_number(text: str) -> int:
    """What a person or an address gives as a number; raises BadRequest for what is none."""
    if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) > INTEGER_MAX:
        raise BadRequest(f"{text[:40]!r} is not a number: write 1, 2, 3 …")
    return int(text)
