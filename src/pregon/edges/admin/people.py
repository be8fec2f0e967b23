"""People and tokens: who may enter these pages, and which programs may administer, operate and read.

Promises:
- A token's secret is in one answer, to the form that made it, and in no address.
- The last person who administers, and the last token that does, stay.
"""

from __future__ import annotations

from collections.abc import Callable

from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.problems import Explained
from pregon.edges.admin.routes import Page
from pregon.edges.admin.visit import Visit
from pregon.errors import BadRequest, LimitReached, NotFound, PregonError
from pregon.hub.access import NewKey
from pregon.model.administration import PASSWORD, READER, ROLES, Administrator
from pregon.model.quantities import parse_duration_ms
from pregon.security.keys import ADMIN, READ, SCOPES, TOKEN

_TOKEN_FIELDS = ("owner", "label", "lifetime")


def show_people(visit: Visit) -> AdminAnswer:
    """The page."""
    return _page(visit)


def _explain(visit: Visit, error: PregonError | None) -> Explained | None:
    """An error in words; what is refused because it is the last one has words of its own."""
    if isinstance(error, LimitReached) and "last" in str(error):
        sentence = visit.say("It is the last one that administers: make another first, or nobody could.")
        return Explained(error.code, sentence, str(error))
    return None if error is None else visit.explain(error)


def _page(visit: Visit, error: PregonError | None = None) -> AdminAnswer:
    gate = visit.desk.gate
    # On an open hub the gate would show them to everybody; who reads these pages need not know them.
    tokens = gate.list_keys(visit.caller, TOKEN).result() if visit.may_administer else []
    return visit.page(
        "people.html",
        200 if error is None else visit.desk.status_of(error),
        error=_explain(visit, error),
        people=visit.desk.people.list(visit.caller),
        tokens=tokens,
        present=visit.desk.people.present.list(visit.caller) if visit.may_administer else [],
        is_open=gate.rules.is_open,
        require_keys=gate.rules.require_keys,
        provider=visit.desk.provider,
        me=visit.session.name if visit.session and visit.session.source == PASSWORD else "",
    )


# People.


def show_new(visit: Visit) -> AdminAnswer:
    """The form of somebody new."""
    return _form(visit)


def _form(visit: Visit, error: PregonError | None = None) -> AdminAnswer:
    return visit.page(
        "person_form.html",
        200 if error is None else visit.desk.status_of(error),
        error=_explain(visit, error),
        name=visit.field("name"),
        role=visit.field("role") or READER,
    )


def create(visit: Visit) -> AdminAnswer:
    """Let somebody in from now on."""
    try:
        visit.desk.people.create(visit.caller, visit.field("name"), new_password(visit), visit.field("role"))
    except PregonError as error:
        return _form(visit, error)
    return visit.go("/admin/people", "created")


def new_password(visit: Visit) -> str:
    """The password of a form, written twice alike; raises BadRequest."""
    password = visit.text("password")
    if password != visit.text("again"):
        raise BadRequest("the two passwords are not the same")
    return password


def show_person(visit: Visit) -> AdminAnswer:
    """What may be changed of somebody."""
    return _person(visit)


def _require_person(visit: Visit) -> Administrator:
    name = visit.names["person"]
    found = next((one for one in visit.desk.people.list(visit.caller) if one.name == name), None)
    if found is None:
        raise NotFound(f"nobody here is called {name[:160]!r}")
    return found


def _person(visit: Visit, error: PregonError | None = None) -> AdminAnswer:
    person = _require_person(visit)
    return visit.page(
        "person.html",
        200 if error is None else visit.desk.status_of(error),
        error=_explain(visit, error),
        person=person,
        is_me=visit.session is not None and visit.session.source == PASSWORD and visit.session.name == person.name,
        roles=ROLES,
    )


def _changer(change: Callable[[Visit], object], done: str) -> Callable[[Visit], AdminAnswer]:
    """A form that changes somebody: back to their page, or there with what was refused."""

    def carry_out(visit: Visit) -> AdminAnswer:
        try:
            change(visit)
        except PregonError as error:
            return _person(visit, error)
        return visit.go(f"/admin/people/{visit.names['person']}", done)

    return carry_out


def _change(visit: Visit, *, password: str | None = None, role: str | None = None, enabled: bool | None = None) -> None:
    visit.desk.people.change(visit.caller, visit.names["person"], password=password, role=role, enabled=enabled)


set_password = _changer(lambda visit: _change(visit, password=new_password(visit)), "password")
set_role = _changer(lambda visit: _change(visit, role=visit.field("role")), "saved")
enable = _changer(lambda visit: _change(visit, enabled=True), "enabled")
disable = _changer(lambda visit: _change(visit, enabled=False), "disabled")


def remove(visit: Visit) -> AdminAnswer:
    """Let somebody in no more; the name must be written."""
    name = visit.names["person"]
    try:
        if visit.field("name") != name:
            raise BadRequest("write the name exactly as it is")
        visit.desk.people.remove(visit.caller, name)
    except PregonError as error:
        return _person(visit, error)
    return visit.go("/admin/people", "deleted")


def end(visit: Visit) -> AdminAnswer:
    """End all that somebody has open. In the form, not in the address: a provider's names may be any text."""
    try:
        if not visit.desk.people.present.end(visit.caller, visit.field("name"), visit.field("source")):
            raise NotFound(f"nobody is in as {visit.field('name')[:160]!r}")
    except PregonError as error:
        return _page(visit, error)
    return visit.go("/admin/people", "shown_out")


# Tokens.


def show_new_token(visit: Visit) -> AdminAnswer:
    """The form of a new token."""
    return _token_form(visit)


def _token_form(visit: Visit, error: PregonError | None = None) -> AdminAnswer:
    rules = visit.desk.gate.rules
    return visit.page(
        "token_form.html",
        200 if error is None else visit.desk.status_of(error),
        error=_explain(visit, error),
        entered={name: visit.field(name) for name in _TOKEN_FIELDS},
        scope=visit.field("scope") or (ADMIN if rules.is_open else READ),
        is_open=rules.is_open,
        require_keys=rules.require_keys,
    )


def create_token(visit: Visit) -> AdminAnswer:
    """Make a token, and show it this once."""
    scope = visit.field("scope")
    was_open = visit.desk.gate.rules.is_open
    try:
        if scope not in SCOPES:
            raise BadRequest(f"choose what it may do: {', '.join(SCOPES)}")
        wanted = NewKey(
            kind=TOKEN,
            owner=visit.field("owner"),
            scopes=(scope,),
            label=visit.field("label"),
            lifetime_ms=parse_duration_ms(visit.field("lifetime").replace(" ", "") or None),
        )
        made = visit.desk.gate.create_key(visit.caller, wanted).result()
    except PregonError as error:
        return _token_form(visit, error)
    has_closed = was_open and not visit.desk.gate.rules.is_open
    return visit.page("token_made.html", token=made, scope=scope, has_closed=has_closed, settings=visit.desk.settings)


def revoke_token(visit: Visit) -> AdminAnswer:
    """End a token at once."""
    owner, key_id = visit.names["owner"], visit.names["key"]
    try:
        if not visit.desk.gate.revoke_key(visit.caller, TOKEN, owner, key_id).result():
            raise NotFound(f"there is no token {key_id[:40]} of {owner[:160]}")
    except PregonError as error:
        return _page(visit, error)
    return visit.go("/admin/people", "revoked")


PAGES = [
    Page("GET", "people", show_people),
    Page("GET", "people/-/new", show_new, ADMIN),
    Page("POST", "people/-/new", create, ADMIN),
    Page("POST", "people/-/end", end, ADMIN),
    Page("GET", "people/{person}", show_person, ADMIN),
    Page("POST", "people/{person}/password", set_password, ADMIN),
    Page("POST", "people/{person}/role", set_role, ADMIN),
    Page("POST", "people/{person}/enable", enable, ADMIN),
    Page("POST", "people/{person}/disable", disable, ADMIN),
    Page("POST", "people/{person}/delete", remove, ADMIN),
    Page("GET", "tokens/new", show_new_token, ADMIN),
    Page("POST", "tokens/new", create_token, ADMIN),
    Page("POST", "tokens/{owner}/{key}/revoke", revoke_token, ADMIN),
]
