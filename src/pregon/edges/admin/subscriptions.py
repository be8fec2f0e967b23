"""Subscriptions: the list, the form of one, and letting one go. How one goes is shown by `subscription`."""

from __future__ import annotations

from typing import Any

import msgspec
from markupsafe import Markup

from pregon.edges.admin.catalogue import Fields, changed_values, differences, read_fields
from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.failures import plain_words
from pregon.edges.admin.listing import Listing
from pregon.edges.admin.routes import Page
from pregon.edges.admin.subscription_state import state_of
from pregon.edges.admin.visit import Visit, parse_number
from pregon.errors import NotFound, PregonError
from pregon.hub.registry import fingerprint
from pregon.model.catalog import EARLIEST, LATEST, Subscription
from pregon.model.quantities import parse_duration_ms, write_duration
from pregon.security.keys import ADMIN
from pregon.store.catalog_search import ListQuery

STATES = ("", "failing", "waiting", "paused", "parked")
_NUMBER = "number"
_NAMES_OFFERED = 200
_BOXES = {"pending_max": False, "pending_age": False, "filter": False}
_NEW_BOXES = {"topic": False, "subscriber": False, "start": False, "start_seq": False, "paused": True, **_BOXES}


def place_of(topic: str, subscriber: str) -> str:
    """The address of a subscription's page."""
    return f"/admin/subscriptions/{topic}/{subscriber}"


def require_subscription(visit: Visit) -> Subscription:
    """The subscription that the address names; raises NotFound."""
    found = visit.desk.gate.show(visit.caller, "subscription", names_of(visit)).result()
    assert isinstance(found, Subscription)
    return found


def names_of(visit: Visit) -> tuple[str, str]:
    """The topic and the subscriber in the address."""
    return visit.names["topic"], visit.names["subscriber"]


def list_subscriptions(visit: Visit) -> AdminAnswer:
    """The list: those that fail come first."""
    lists, say = visit.desk.gate.lists, visit.say
    listing = Listing(visit, "/admin/subscriptions", sort="failing", keep=("state", "topic", "subscriber"))
    more = {name: value[:160] for name, value in listing.kept.items()}
    listing.find(lambda query: lists.subscriptions(visit.caller, query), **more)
    return visit.page(
        "subscriptions.html",
        listing=listing,
        state=listing.kept.get("state", ""),
        state_of=state_of,
        plain_words=lambda failure: plain_words(failure, say),
    )


# The form.


def read_limits(fields: Fields) -> dict[str, Any]:
    """The values that a form says of what may be changed; raises BadRequest."""
    pending_max = fields["pending_max"].replace(" ", "")
    return {
        "pending_max": parse_number(pending_max) if pending_max else None,
        "pending_age_ms": parse_duration_ms(fields["pending_age"].replace(" ", "") or None),
        "filter": fields["filter"],
    }


def read_start(fields: Fields) -> str:
    """Where a new subscription begins; raises BadRequest."""
    return str(parse_number(fields["start_seq"])) if fields["start"] == _NUMBER else fields["start"]


def write_limits(entry: Subscription) -> Fields:
    """What a form of a subscription has in its fields."""
    return {
        "pending_max": "" if entry.pending_max is None else str(entry.pending_max),
        "pending_age": write_duration(entry.pending_age_ms),
        "filter": msgspec.json.format(entry.filter, indent=2) if entry.filter else "",
    }


def show_new(visit: Visit) -> AdminAnswer:
    """The form of one that is to be made, with the names that another page gives."""
    fields = dict.fromkeys(_NEW_BOXES, "") | {"start": EARLIEST}
    for name in ("topic", "subscriber"):
        fields[name] = visit.query.get(name, "")[:160]
    return _draw_new(visit, fields)


def create(visit: Visit) -> AdminAnswer:
    """Make it; the form again if that is refused."""
    fields = read_fields(visit, _NEW_BOXES)
    try:
        wanted = Subscription(
            topic=fields["topic"],
            subscriber=fields["subscriber"],
            start=read_start(fields),
            paused=bool(fields["paused"]),
            **read_limits(fields),
        )
        visit.desk.gate.create(visit.caller, wanted).result()
    except PregonError as error:
        return _draw_new(visit, fields, error)
    return visit.go(place_of(fields["topic"], fields["subscriber"]), "created")


def _draw_new(visit: Visit, fields: Fields, error: PregonError | None = None) -> AdminAnswer:
    lists, query = visit.desk.gate.lists, ListQuery(rows=_NAMES_OFFERED)
    return visit.page(
        "subscription_form.html",
        200 if error is None else visit.desk.status_of(error),
        entry=None,
        fields=fields,
        now={},
        starts=(EARLIEST, LATEST, _NUMBER),
        topics=[one.topic.name for one in lists.topics(visit.caller, query).result()],
        subscribers=[one.subscriber.name for one in lists.subscribers(visit.caller, query).result()],
        error=error and visit.explain(error),
    )


def show_form(visit: Visit) -> AdminAnswer:
    """The form of one that is there."""
    entry = require_subscription(visit)
    return _draw(visit, entry, write_limits(entry))


def save(visit: Visit) -> AdminAnswer:
    """Change it; the form again if that is refused."""
    entry, fields = require_subscription(visit), read_fields(visit, _BOXES)
    try:
        values = changed_values(entry, read_limits(fields))
        if values:
            visit.desk.gate.update(
                visit.caller, "subscription", names_of(visit), values, visit.field("expected")
            ).result()
    except PregonError as error:
        return _draw(visit, require_subscription(visit), fields, error)
    return visit.go(place_of(*names_of(visit)), "saved")


def _draw(visit: Visit, entry: Subscription, fields: Fields, error: PregonError | None = None) -> AdminAnswer:
    is_changed = error is not None and error.code == "changed"
    return visit.page(
        "subscription_form.html",
        200 if error is None else visit.desk.status_of(error),
        entry=entry,
        fields=fields,
        expected=fingerprint(entry),
        now=differences(fields, write_limits(entry)) if is_changed else {},
        error=error and visit.explain(error),
    )


# Letting go.


def show_cost(visit: Visit, mismatch: Markup | None = None) -> AdminAnswer:
    """What deleting it would take away, before it is done."""
    entry = require_subscription(visit)
    return visit.page(
        "subscription_delete.html",
        400 if mismatch else 200,
        entry=entry,
        place=place_of(*names_of(visit)),
        accounting=visit.desk.gate.account(visit.caller, *names_of(visit)).result(),
        mismatch=mismatch,
    )


def delete(visit: Visit) -> AdminAnswer:
    """Delete it, once the subscriber's name was written."""
    topic, subscriber = names_of(visit)
    if visit.field("name") != subscriber:
        return show_cost(visit, visit.say("That is not its name. Write {name} to delete it.", name=subscriber))
    if not visit.desk.gate.delete(visit.caller, "subscription", (topic, subscriber)).result():
        raise NotFound(f"{subscriber} is not subscribed to {topic}")
    return visit.go("/admin/subscriptions", "deleted")


PAGES = [
    Page("GET", "subscriptions", list_subscriptions),
    Page("GET", "subscriptions/new", show_new, ADMIN),
    Page("POST", "subscriptions/new", create, ADMIN),
    Page("GET", "subscriptions/{topic}/{subscriber}/edit", show_form, ADMIN),
    Page("POST", "subscriptions/{topic}/{subscriber}/edit", save, ADMIN),
    Page("GET", "subscriptions/{topic}/{subscriber}/delete", show_cost, ADMIN),
    Page("POST", "subscriptions/{topic}/{subscriber}/delete", delete, ADMIN),
]
