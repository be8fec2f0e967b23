"""Producers: the list, the form of one, its page, and letting one go."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from pregon.edges.admin.catalogue import EntryForm, Fields, deleter, place_of, require_entry, switcher
from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.keys import list_keys
from pregon.edges.admin.listing import Listing
from pregon.edges.admin.routes import Page
from pregon.edges.admin.visit import Visit
from pregon.errors import PregonError
from pregon.model.catalog import Producer
from pregon.model.trace import ACCEPTED, TraceQuery
from pregon.security.keys import ADMIN, PRODUCER

_TRACES = 10
_BOXES = {"description": False}


def list_producers(visit: Visit) -> AdminAnswer:
    """The list."""
    lists = visit.desk.gate.lists
    listing = Listing(visit, "/admin/producers").find(lambda query: lists.producers(visit.caller, query))
    return visit.page("producers.html", listing=listing)


def _read(fields: Fields) -> dict[str, Any]:
    return {"description": fields["description"]}


def _write(producer: Producer) -> Fields:
    return {"description": producer.description}


_form = EntryForm("producer", "producer_form.html", _BOXES, _read, _write)


def show_producer(visit: Visit) -> AdminAnswer:
    """The page of a producer."""
    return _draw(visit)


def _draw(visit: Visit, error: PregonError | None = None) -> AdminAnswer:
    producer = require_entry(visit, "producer")
    query = TraceQuery(producer=producer.name, kind=ACCEPTED, max=_TRACES)
    return visit.page(
        "producer.html",
        200 if error is None else visit.desk.status_of(error),
        error=error and visit.explain(error),
        producer=producer,
        keys=list_keys(visit, PRODUCER, producer.name),
        traces=visit.desk.gate.traces(visit.caller, query).result(),
    )


def show_cost(visit: Visit, mismatch: Markup | None = None) -> AdminAnswer:
    """What deleting a producer would take away, before it is done."""
    producer = require_entry(visit, "producer")
    return visit.page(
        "producer_delete.html",
        400 if mismatch else 200,
        producer=producer,
        keys=list_keys(visit, PRODUCER, producer.name),
        mismatch=mismatch,
    )


def grant(visit: Visit) -> AdminAnswer:
    """Let it publish to a restricted topic."""
    name = visit.names["producer"]
    try:
        visit.desk.gate.grant(visit.caller, name, visit.field("topic"), is_granted=True).result()
    except PregonError as error:
        return _draw(visit, error)
    return visit.go(place_of("producer", name), "granted")


def withdraw(visit: Visit) -> AdminAnswer:
    """Let it no more."""
    name = visit.names["producer"]
    visit.desk.gate.grant(visit.caller, name, visit.field("topic"), is_granted=False).result()
    return visit.go(place_of("producer", name), "withdrawn")


PAGES = [
    Page("GET", "producers", list_producers),
    Page("GET", "producers/-/new", _form.show_new, ADMIN),
    Page("POST", "producers/-/new", _form.create, ADMIN),
    Page("GET", "producers/{producer}", show_producer),
    Page("GET", "producers/{producer}/edit", _form.show, ADMIN),
    Page("POST", "producers/{producer}/edit", _form.save, ADMIN),
    Page("POST", "producers/{producer}/enable", switcher("producer", is_enabled=True), ADMIN),
    Page("POST", "producers/{producer}/disable", switcher("producer", is_enabled=False), ADMIN),
    Page("POST", "producers/{producer}/grant", grant, ADMIN),
    Page("POST", "producers/{producer}/withdraw", withdraw, ADMIN),
    Page("GET", "producers/{producer}/delete", show_cost, ADMIN),
    Page("POST", "producers/{producer}/delete", deleter("producer", show_cost), ADMIN),
]
