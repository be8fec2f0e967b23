"""A test message to a topic: a message like any other, that says of itself that it is a test."""

from __future__ import annotations

from pregon.delivery.rehearsal import TEST_PRODUCER
from pregon.edges.admin.catalogue import require_entry
from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.routes import Page
from pregon.edges.admin.visit import Visit
from pregon.errors import PregonError
from pregon.limits import REQUEST_BYTES_MAX
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
    return _draw(visit, {"producer": _choose_producer(visit), "content_type": JSON_CONTENT_TYPE, "body": _SAMPLE})


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
    told = {"producer": fields["producer"], "seq": published.seq}
    visit.desk.gate.note_test(visit.caller, "topic", topic, told).result()
    return visit.go(f"/admin/messages/{topic}/{published.seq}", "published", published.seq)


def _choose_producer(visit: Visit) -> str:
    """In whose name, unless another is chosen: one of our own, if this person may have it made or it is there."""
    names = _list_without_key(visit)
    return TEST_PRODUCER if visit.may_administer or TEST_PRODUCER in names else next(iter(names), "")


def _list_without_key(visit: Visit) -> list[str]:
    """Producers in whose name anybody may publish."""
    rows = visit.desk.gate.lists.producers(visit.caller, ListQuery(rows=_COUNTED)).result()
    return [one.producer.name for one in rows if not one.keys and one.producer.enabled][:_SUGGESTED]


def _draw(visit: Visit, fields: dict[str, str], error: PregonError | None = None) -> AdminAnswer:
    topic = require_entry(visit, "topic")
    query = ListQuery(topic=topic.name, rows=_COUNTED)
    rows = visit.desk.gate.lists.subscriptions(visit.caller, query).result()
    return visit.page(
        "topic_trial.html",
        200 if error is None else visit.desk.status_of(error),
        topic=topic,
        subscriptions=len(rows),
        pushed=sum(one.mode == "push" and one.enabled and not one.subscription.paused for one in rows),
        has_more=len(rows) == _COUNTED,
        suggested=_list_without_key(visit),
        fields=fields,
        error=error and visit.explain(error),
    )


PAGES = [
    Page("GET", "topics/{topic}/test", show_trial, OPERATE),
    Page("POST", "topics/{topic}/test", send_trial, OPERATE, form_bytes_max=REQUEST_BYTES_MAX),
]
