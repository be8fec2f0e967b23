"""The door of the pages: finds the page, knows who asks, and lets it answer.

Promises:
- Whoever has not entered sees nothing but the page where one enters.
- A form changes something only if a page of ours was sent to the same person before.
- Whatever breaks, the person is told in words, and the hub goes on.
"""

from __future__ import annotations

import logging
from urllib.parse import quote

from pregon.edges.admin.assets import PREFIX, show_asset
from pregon.edges.admin.desk import AdminDesk
from pregon.edges.admin.exchange import AdminAnswer, AdminRequest
from pregon.edges.admin.pages import PAGES
from pregon.edges.admin.routes import NOBODY, Page, PageRouter
from pregon.edges.admin.visit import Visit
from pregon.errors import Forbidden, InternalError, PregonError
from pregon.limits import ADMIN_ENTRY_BYTES_MAX

log = logging.getLogger("pregon.edges")

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_ALWAYS = [
    ("content-security-policy", _POLICY),
    # Not no-referrer: a browser would then not say where a form comes from.
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("x-frame-options", "DENY"),
]
_NOT_KEPT = ("cache-control", "no-store")


class AdminDoor:
    """Answers everything under /admin. May be called from several threads at once."""

    def __init__(self, desk: AdminDesk) -> None:
        self.desk = desk
        self._router = PageRouter(PAGES)

    def handle(self, request: AdminRequest) -> AdminAnswer:
        """Answer a request; never raises."""
        try:
            if request.path.startswith(PREFIX):
                answer = show_asset(request.path)
                answer.headers += _ALWAYS
                return answer
        except PregonError as error:
            return self.refuse(request, error)
        visit = Visit(self.desk, request)
        try:
            answer = self._visit(visit)
        except PregonError as error:
            answer = visit.problem(error)
        except Exception:  # An edge: whatever a page breaks, its viewer is told and the hub goes on.
            log.exception("a page failed by a bug", extra={"path": request.path[:200]})
            answer = visit.problem(InternalError("the page could not be made; the hub's log says why"))
        # What was drawn elsewhere, such as a diagram, brings a policy of its own: two would forbid what either does.
        named = {name for name, _ in answer.headers}
        answer.headers += [one for one in (*_ALWAYS, _NOT_KEPT) if one[0] not in named]
        return answer

    def body_bytes_max(self, method: str, path: str) -> int:
        """How large the body of a request may be: it is read before anybody knows who sends it."""
        try:
            page, _ = self._router.find(method, path)
        except PregonError:
            return 0
        return ADMIN_ENTRY_BYTES_MAX if page.scope == NOBODY else page.form_bytes_max

    def refuse(self, request: AdminRequest, error: PregonError) -> AdminAnswer:
        """The answer to what could not be read."""
        answer = Visit(self.desk, request).problem(error)
        answer.headers += [*_ALWAYS, _NOT_KEPT]
        return answer

    def _visit(self, visit: Visit) -> AdminAnswer:
        try:
            page, visit.names = self._router.find(visit.request.method, visit.request.path)
        except PregonError:
            # Whoever is in stays in: what is not there is said among the other pages.
            visit.identify(is_active=False)
            raise
        visit.identify(is_active=not page.is_live)
        return self._answer(visit, page)

    def _answer(self, visit: Visit, page: Page) -> AdminAnswer:
        if page.scope != NOBODY:
            if visit.session is None:
                return self._to_entry(visit)
            if page.scope not in visit.caller.scopes:
                raise Forbidden(f"this needs the scope {page.scope}: ask an administrator of this hub")
        if visit.request.method == "POST":
            visit.require_own_form()
        return page.handler(visit)

    def _to_entry(self, visit: Visit) -> AdminAnswer:
        if not self.desk.people.has_any() and self.desk.provider is None:
            return visit.go("/admin/setup")
        has_ended = "&ended=1" if visit.cookies.get("pregon_admin") else ""
        # A form cannot be sent again from there: its page can.
        back = visit.address if visit.request.method == "GET" and not visit.request.is_fragment else "/admin"
        entry = f"/admin/enter?back={quote(back, safe='')}{has_ended}"
        if visit.request.is_fragment:
            return AdminAnswer(b"", 401, headers=[("hx-redirect", entry)])
        return visit.go(entry)
