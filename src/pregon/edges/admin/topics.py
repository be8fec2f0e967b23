"""Topics: the list, the form of one, and letting one go. What one topic is and has is shown by `topic_page`."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from pregon.edges.admin.catalogue import EntryForm, Fields, deleter, require_entry, switcher
from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.listing import Listing
from pregon.edges.admin.routes import Page
from pregon.edges.admin.visit import Visit
from pregon.limits import LIST_ROWS_MAX
from pregon.model.catalog import Topic
from pregon.model.quantities import parse_bytes, parse_duration_ms, write_bytes, write_duration
from pregon.security.keys import ADMIN
from pregon.store.catalog_search import ListQuery

_BOXES = {
    "description": False,
    "restricted": True,
    "retention_age": False,
    "retention_bytes": False,
    "when_acknowledged": True,
}
_ROWS_SHOWN = 20


def list_topics(visit: Visit) -> AdminAnswer:
    """The list."""
    lists = visit.desk.gate.lists
    listing = Listing(visit, "/admin/topics").find(lambda query: lists.topics(visit.caller, query))
    return visit.page("topics.html", listing=listing)


def read_topic(fields: Fields) -> dict[str, Any]:
    """The values of a topic that a form says; raises BadRequest."""
    return {
        "description": fields["description"],
        "restricted": bool(fields["restricted"]),
        "retention": {
            "age_ms": parse_duration_ms(fields["retention_age"].replace(" ", "") or None),
            "bytes_max": parse_bytes(fields["retention_bytes"].replace(" ", "") or None),
            "when_acknowledged": bool(fields["when_acknowledged"]),
        },
    }


def write_topic(topic: Topic) -> Fields:
    """What a form of a topic has in its fields."""
    return {
        "description": topic.description,
        "restricted": "1" if topic.restricted else "",
        "retention_age": write_duration(topic.retention.age_ms),
        "retention_bytes": write_bytes(topic.retention.bytes_max),
        "when_acknowledged": "1" if topic.retention.when_acknowledged else "",
    }


_form = EntryForm("topic", "topic_form.html", _BOXES, read_topic, write_topic)


def show_cost(visit: Visit, mismatch: Markup | None = None) -> AdminAnswer:
    """What deleting a topic would take away, before it is done."""
    topic = require_entry(visit, "topic")
    query = ListQuery(topic=topic.name, sort="pending", descending=True, rows=LIST_ROWS_MAX)
    rows = visit.desk.gate.lists.subscriptions(visit.caller, query).result()
    return visit.page(
        "topic_delete.html",
        400 if mismatch else 200,
        topic=topic,
        mismatch=mismatch,
        rows=rows[:_ROWS_SHOWN],
        subscriptions=len(rows),
        has_more=len(rows) == LIST_ROWS_MAX,
        waiting=sum(one.pending for one in rows),
        parked=sum(one.parked for one in rows),
    )


# No name begins with a hyphen: the form of a new one stands in nobody's way.
PAGES = [
    Page("GET", "topics", list_topics),
    Page("GET", "topics/-/new", _form.show_new, ADMIN),
    Page("POST", "topics/-/new", _form.create, ADMIN),
    Page("GET", "topics/{topic}/edit", _form.show, ADMIN),
    Page("POST", "topics/{topic}/edit", _form.save, ADMIN),
    Page("POST", "topics/{topic}/enable", switcher("topic", is_enabled=True), ADMIN),
    Page("POST", "topics/{topic}/disable", switcher("topic", is_enabled=False), ADMIN),
    Page("GET", "topics/{topic}/delete", show_cost, ADMIN),
    Page("POST", "topics/{topic}/delete", deleter("topic", show_cost), ADMIN),
]
