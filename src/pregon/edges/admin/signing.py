"""The secrets with which pushes to a subscriber are signed: a new one, which ends the old ones, and ending one at once.

Promises:
- A secret is in one answer, to the form that made it, and in no address.
"""

from __future__ import annotations

from collections.abc import Sequence

from pregon.edges.admin.catalogue import place_of, require_entry
from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.routes import Page
from pregon.edges.admin.visit import Visit
from pregon.errors import NotFound, PregonError
from pregon.model.catalog import SigningSecret
from pregon.model.quantities import parse_duration_ms
from pregon.security.keys import ADMIN


def list_secrets(visit: Visit, subscriber: str) -> Sequence[SigningSecret]:
    """The secrets of a subscriber, without what is secret of them, for who administers; none for others."""
    return visit.desk.gate.list_secrets(visit.caller, subscriber).result() if visit.may_administer else []


def show_new(visit: Visit) -> AdminAnswer:
    """The form of a new secret."""
    return _draw(visit, "24h")


def create(visit: Visit) -> AdminAnswer:
    """Make it, and show it this once."""
    name, overlap = visit.names["subscriber"], visit.field("overlap")
    try:
        overlap_ms = parse_duration_ms(overlap.replace(" ", "") or "0s") or 0
        made = visit.desk.gate.create_secret(visit.caller, name, visit.field("given"), overlap_ms).result()
    except PregonError as error:
        return _draw(visit, overlap, error)
    return visit.page("secret_made.html", name=name, secret=made)


def revoke(visit: Visit) -> AdminAnswer:
    """End one at once."""
    name, secret_id = visit.names["subscriber"], visit.names["secret"]
    if not visit.desk.gate.revoke_secret(visit.caller, name, secret_id).result():
        raise NotFound(f"{name} has no secret {secret_id[:40]}")
    return visit.go(place_of("subscriber", name), "revoked")


def _draw(visit: Visit, overlap: str, error: PregonError | None = None) -> AdminAnswer:
    name = require_entry(visit, "subscriber").name
    return visit.page(
        "secret_form.html",
        200 if error is None else visit.desk.status_of(error),
        name=name,
        secrets=list_secrets(visit, name),
        overlap=overlap,
        error=error and visit.explain(error),
    )


PAGES = [
    Page("GET", "subscribers/{subscriber}/secrets/new", show_new, ADMIN),
    Page("POST", "subscribers/{subscriber}/secrets/new", create, ADMIN),
    Page("POST", "subscribers/{subscriber}/secrets/{secret}/revoke", revoke, ADMIN),
]
