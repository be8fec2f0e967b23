"""A test message to a topic: a message like any other, that says of itself that it is a test."""

from __future__ import annotations

from pregon.delivery.rehearsal import TEST_PRODUCER
from pregon.edges.admin.catalogue import require_entry
from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.routes import Page
from pregon.edges.admin.visit import Visit
from pregon.errors import PregonError
from pregon.model.events import JSON_CONTENT_TYPE
from pregon.model.message import Outgoing
from pregon.security.keys import OPERATE
from pregon.store.catalog_search import ListQuery

TEST_HEADERS = {"test": "true"}
"""By which receivers can tell a test from the rest."""
_SUGGESTED = 50
_COUNTED = 200
_SAMPLE = '{"test": true}'


def show_trial(visit: Visit) -> AdminAnswer:
    """The form."""
    return _draw(visit, {"producer": TEST_PRODUCER, "content_type": JSON_CONTENT_TYPE, "body": _SAMPLE})


def send_trial(visit: Visit) -> AdminAnswer:
    """Publish it, and on to its story."""
    topic = visit.names["topic"]
    fields = {
        "producer": visit.field("producer"),
        "content_type": visit.field("content_type"),
        "body": visit.text("body"),
    }
    try:
        message = Outgoing(fields["body"].encode(), content_type=fields["content_type"], headers=TEST_HEADERS)
        published = visit.desk.gate.publish(visit.caller, topic, fields["producer"], message).result()
    except PregonError as error:
        return _draw(visit, fields, error)
    return visit.go(f"/admin/messages/{topic}/{published.seq}", "published", published.seq)


def _draw(visit: Visit, fields: dict[str, str], error: PregonError | None = None) -> AdminAnswer:
    topic = require_entry(visit, "topic")
    lists = visit.desk.gate.lists
    rows = lists.subscriptions(visit.caller, ListQuery(topic=topic.name, rows=_COUNTED)).result()
    producers = lists.producers(visit.caller, ListQuery(rows=_COUNTED)).result()
    return visit.page(
        "topic_trial.html",
        200 if error is None else visit.desk.status_of(error),
        topic=topic,
        subscriptions=len(rows),
        pushed=sum(one.mode == "push" and one.enabled and not one.subscription.paused for one in rows),
        has_more=len(rows) == _COUNTED,
        suggested=[one.producer.name for one in producers if not one.keys and one.producer.enabled][:_SUGGESTED],
        fields=fields,
        error=error and visit.explain(error),
    )


PAGES = [
    Page("GET", "topics/{topic}/test", show_trial, OPERATE),
    Page("POST", "topics/{topic}/test", send_trial, OPERATE),
]
