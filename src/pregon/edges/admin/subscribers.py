"""Subscribers: the list, the form of one, its page, and letting one go."""

from __future__ import annotations

from typing import Any

import msgspec
from markupsafe import Markup

from pregon.edges.admin.catalogue import EntryForm, Fields, deleter, read_count, require_entry, switcher
from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.failures import plain_words
from pregon.edges.admin.keys import list_keys
from pregon.edges.admin.listing import Listing
from pregon.edges.admin.routes import Page
from pregon.edges.admin.signing import list_secrets
from pregon.edges.admin.subscription_state import state_of
from pregon.edges.admin.visit import Visit
from pregon.limits import LIST_ROWS_MAX
from pregon.model.catalog import PushOptions, Subscriber
from pregon.model.quantities import parse_duration_ms, write_duration
from pregon.security.keys import ADMIN, SUBSCRIBER
from pregon.store.catalog_search import ListQuery

_ROWS = 20
_DURATIONS = {"time_limit": "time_limit_ms", "delay_first": "delay_ms_first", "delay_max": "delay_ms_max"}
"""Fields of a form, and what of a push they say."""
_COUNTS = {"rate": "rate_per_s", "parallel": "parallel", "attempts": "attempts_max"}
_BOXES = dict.fromkeys(("description", "mode", "endpoint", "format", *_DURATIONS, *_COUNTS, "on_poison"), False)


def list_subscribers(visit: Visit) -> AdminAnswer:
    """The list."""
    lists = visit.desk.gate.lists
    listing = Listing(visit, "/admin/subscribers").find(lambda query: lists.subscribers(visit.caller, query))
    return visit.page("subscribers.html", listing=listing)


def read_subscriber(fields: Fields) -> dict[str, Any]:
    """The values of a subscriber that a form says; what of a push is left empty is as usual. Raises BadRequest."""
    push = msgspec.to_builtins(PushOptions())
    for name, option in _DURATIONS.items():
        said = fields[name].replace(" ", "")
        push[option] = parse_duration_ms(said) if said else push[option]
    for name, option in _COUNTS.items():
        count = read_count(fields[name])
        push[option] = push[option] if count is None else count
    push["on_poison"] = fields["on_poison"] or push["on_poison"]
    plain = {name: fields[name] for name in ("description", "mode", "endpoint", "format")}
    return {**plain, "push": push}


def write_subscriber(subscriber: Subscriber) -> Fields:
    """What a form of a subscriber has in its fields."""
    push = subscriber.push
    return {
        "description": subscriber.description,
        "mode": subscriber.mode,
        "endpoint": subscriber.endpoint,
        "format": subscriber.format,
        **{name: write_duration(getattr(push, option)) for name, option in _DURATIONS.items()},
        **{name: str(getattr(push, option) or "") for name, option in _COUNTS.items()},
        "on_poison": push.on_poison,
    }


_form = EntryForm("subscriber", "subscriber_form.html", _BOXES, read_subscriber, write_subscriber)


def show_subscriber(visit: Visit) -> AdminAnswer:
    """The page of a subscriber."""
    subscriber = require_entry(visit, "subscriber")
    query = ListQuery(subscriber=subscriber.name, sort="failing", descending=True, rows=_ROWS + 1)
    rows = visit.desk.gate.lists.subscriptions(visit.caller, query).result()
    return visit.page(
        "subscriber.html",
        subscriber=subscriber,
        rows=rows[:_ROWS],
        has_more=len(rows) > _ROWS,
        keys=list_keys(visit, SUBSCRIBER, subscriber.name),
        secrets=list_secrets(visit, subscriber.name),
        state_of=state_of,
        plain_words=lambda text: plain_words(text, visit.say),
    )


def show_cost(visit: Visit, mismatch: Markup | None = None) -> AdminAnswer:
    """What deleting a subscriber would take away, before it is done."""
    subscriber = require_entry(visit, "subscriber")
    query = ListQuery(subscriber=subscriber.name, sort="pending", descending=True, rows=LIST_ROWS_MAX)
    rows = visit.desk.gate.lists.subscriptions(visit.caller, query).result()
    return visit.page(
        "subscriber_delete.html",
        400 if mismatch else 200,
        subscriber=subscriber,
        mismatch=mismatch,
        rows=rows[:_ROWS],
        subscriptions=len(rows),
        has_more=len(rows) == LIST_ROWS_MAX,
        waiting=sum(one.pending for one in rows),
        parked=sum(one.parked for one in rows),
        keys=list_keys(visit, SUBSCRIBER, subscriber.name),
        secrets=list_secrets(visit, subscriber.name),
    )


PAGES = [
    Page("GET", "subscribers", list_subscribers),
    Page("GET", "subscribers/-/new", _form.show_new, ADMIN),
    Page("POST", "subscribers/-/new", _form.create, ADMIN),
    Page("GET", "subscribers/{subscriber}", show_subscriber),
    Page("GET", "subscribers/{subscriber}/edit", _form.show, ADMIN),
    Page("POST", "subscribers/{subscriber}/edit", _form.save, ADMIN),
    Page("POST", "subscribers/{subscriber}/enable", switcher("subscriber", is_enabled=True), ADMIN),
    Page("POST", "subscribers/{subscriber}/disable", switcher("subscriber", is_enabled=False), ADMIN),
    Page("GET", "subscribers/{subscriber}/delete", show_cost, ADMIN),
    Page("POST", "subscribers/{subscriber}/delete", deleter("subscriber", show_cost), ADMIN),
]
