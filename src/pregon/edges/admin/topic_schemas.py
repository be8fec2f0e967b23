"""The schema of a topic: what it is, what it was, and giving it another after both were compared.

Promises:
- A schema is set only as it was compared: whoever changes its text afterwards, or whose topic meanwhile got another
  one, is shown the comparison again.
"""

from __future__ import annotations

import hashlib

from pregon.edges.admin.catalogue import place_of, require_entry
from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.routes import Page
from pregon.edges.admin.topic_page import find_schema
from pregon.edges.admin.visit import Visit
from pregon.errors import NotFound, PregonError
from pregon.hub.schema_book import NONE
from pregon.limits import REQUEST_BYTES_MAX
from pregon.model.catalog import SchemaVersion, Topic
from pregon.security.keys import ADMIN

_VERSIONS = 20


def mark_of(kind: str, text: str, version: int) -> str:
    """Stands for a schema that was compared with a version of a topic's schema."""
    return hashlib.sha256(f"{version} {kind} {text}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def show_schema(visit: Visit) -> AdminAnswer:
    """The form, with the schema of now in it."""
    topic = require_entry(visit, "topic")
    there = find_schema(visit, topic)
    return _draw(visit, topic, there.kind if there else "json-schema", there.text if there else "")


def show_version(visit: Visit) -> AdminAnswer:
    """A schema as it was."""
    topic, number = require_entry(visit, "topic"), visit.names["version"]
    is_number = number.isascii() and number.isdigit() and 0 < len(number) < 10
    found = find_schema(visit, topic, int(number)) if is_number else None
    if found is None:
        raise NotFound(f"{topic.name} has no schema {number[:40]}")
    return visit.page("topic_schema_version.html", topic=topic, schema=found)


def set_schema(visit: Visit) -> AdminAnswer:
    """Compare a schema with that of now; set it, if that is asked for and it was compared."""
    topic = require_entry(visit, "topic")
    kind, text = visit.field("kind"), visit.text("text").strip()
    wanted = SchemaVersion(topic=topic.name, kind=kind, text=text)
    try:
        if visit.field("compared") == mark_of(kind, text, topic.schema_version):
            visit.desk.gate.set_schema(visit.caller, wanted).result()
            return visit.go(place_of("topic", topic.name), "saved")
        compared = visit.desk.gate.compare_schema(visit.caller, wanted).result()
    except PregonError as error:
        return _draw(visit, topic, kind, text, error=error)
    return _draw(visit, topic, kind, text, compared=compared)


def remove_schema(visit: Visit) -> AdminAnswer:
    """Take a topic's schema away: anything is accepted again."""
    topic = visit.names["topic"]
    visit.desk.gate.set_schema(visit.caller, SchemaVersion(topic=topic, kind=NONE)).result()
    return visit.go(place_of("topic", topic), "saved")


def _draw(
    visit: Visit,
    topic: Topic,
    kind: str,
    text: str,
    *,
    compared: SchemaVersion | None = None,
    error: PregonError | None = None,
) -> AdminAnswer:
    return visit.page(
        "topic_schema.html",
        200 if error is None else visit.desk.status_of(error),
        topic=topic,
        schema=find_schema(visit, topic),
        versions=visit.desk.gate.list_schemas(visit.caller, topic.name, 0, _VERSIONS).result(),
        kind=kind,
        text=text,
        compared=compared,
        mark=mark_of(kind, text, topic.schema_version) if compared else "",
        error=error and visit.explain(error),
    )


PAGES = [
    Page("GET", "topics/{topic}/schema", show_schema, ADMIN),
    Page("POST", "topics/{topic}/schema", set_schema, ADMIN, form_bytes_max=REQUEST_BYTES_MAX),
    Page("POST", "topics/{topic}/schema/remove", remove_schema, ADMIN),
    Page("GET", "topics/{topic}/schemas/{version}", show_version),
]
