"""Keys of a producer or a subscriber: those that there are, a new one, and ending one.

Promises:
- A key's secret is in one answer, to the form that made it, and in no address.
"""

from __future__ import annotations

from collections.abc import Sequence

from pregon.edges.admin.catalogue import Handler, place_of, read_count, require_entry
from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.routes import Page
from pregon.edges.admin.visit import Visit
from pregon.errors import NotFound, PregonError
from pregon.hub.access import NewKey
from pregon.model.quantities import parse_bytes, parse_duration_ms
from pregon.security.keys import ADMIN, PRODUCER, SUBSCRIBER, Key

_FIELDS = ("label", "lifetime", "requests_per_s", "body_bytes_max", "others", "overlap")
_BLANK = dict.fromkeys(_FIELDS, "") | {"others": "stay", "overlap": "24h"}


def list_keys(visit: Visit, kind: str, owner: str) -> Sequence[Key]:
    """The keys of an owner, without their secrets, for who administers; none for others."""
    return visit.desk.gate.list_keys(visit.caller, kind, owner).result() if visit.may_administer else []


def read_key(kind: str, owner: str, fields: dict[str, str]) -> NewKey:
    """The key that a form asks for; raises BadRequest."""
    return NewKey(
        kind=kind,
        owner=owner,
        label=fields["label"],
        requests_per_s=read_count(fields["requests_per_s"]),
        body_bytes_max=parse_bytes(fields["body_bytes_max"].replace(" ", "") or None),
        lifetime_ms=parse_duration_ms(fields["lifetime"].replace(" ", "") or None),
        overlap_ms=parse_duration_ms(fields["overlap"].replace(" ", "") or "0s") if fields["others"] == "end" else None,
    )


class _Pages:
    """The pages of the keys of one kind of owner."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def show_new(self, visit: Visit) -> AdminAnswer:
        """The form of a new key."""
        return self._draw(visit, dict(_BLANK))

    def create(self, visit: Visit) -> AdminAnswer:
        """Make it, and show it this once."""
        fields = {name: visit.field(name) for name in _FIELDS}
        owner = visit.names[self._kind]
        try:
            made = visit.desk.gate.create_key(visit.caller, read_key(self._kind, owner, fields)).result()
        except PregonError as error:
            return self._draw(visit, fields, error)
        return visit.page("key_made.html", kind=self._kind, owner=owner, place=place_of(self._kind, owner), key=made)

    def revoke(self, visit: Visit) -> AdminAnswer:
        """End one at once."""
        owner, key_id = visit.names[self._kind], visit.names["key"]
        if not visit.desk.gate.revoke_key(visit.caller, self._kind, owner, key_id).result():
            raise NotFound(f"{owner} has no key {key_id[:40]}")
        return visit.go(place_of(self._kind, owner), "revoked")

    def _draw(self, visit: Visit, fields: dict[str, str], error: PregonError | None = None) -> AdminAnswer:
        owner = require_entry(visit, self._kind).name
        return visit.page(
            "key_form.html",
            200 if error is None else visit.desk.status_of(error),
            kind=self._kind,
            owner=owner,
            place=place_of(self._kind, owner),
            keys=list_keys(visit, self._kind, owner),
            fields=fields,
            error=error and visit.explain(error),
        )


def _pages_of(kind: str) -> list[Page]:
    pages, under = _Pages(kind), f"{kind}s/{{{kind}}}/keys"
    handlers: list[tuple[str, str, Handler]] = [
        ("GET", f"{under}/new", pages.show_new),
        ("POST", f"{under}/new", pages.create),
        ("POST", f"{under}/{{key}}/revoke", pages.revoke),
    ]
    return [Page(method, path, handler, ADMIN) for method, path, handler in handlers]


PAGES = [*_pages_of(PRODUCER), *_pages_of(SUBSCRIBER)]
