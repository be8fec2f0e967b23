"""Traces: what happened to which messages, searched by any of their fields, and taken along as a file.

Newest first, a page at a time. Nothing is counted, so a page takes as long among ten million traces as among ten.
"""

from __future__ import annotations

from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.routes import Page
from pregon.edges.admin.trace_export import export_csv, export_parquet
from pregon.edges.admin.trace_search import TraceSearch
from pregon.edges.admin.trace_sentences import KIND_WORDS, tell
from pregon.edges.admin.visit import Visit
from pregon.errors import BadRequest, NotFound
from pregon.limits import ADMIN_EXPORT_ROWS_MAX
from pregon.model.trace import KINDS, TracePage
from pregon.store.catalog_search import ListQuery

_ROWS = 100
_NAMES = 20
"""Names that a field suggests."""


def list_traces(visit: Visit) -> AdminAnswer:
    """The page of a search."""
    search, found, error, status = TraceSearch(visit), TracePage(), None, 200
    try:
        found = visit.desk.gate.traces(visit.caller, search.query(_ROWS)).result()
    except BadRequest as refused:
        error, status = visit.explain(refused), visit.desk.status_of(refused)
    say = visit.say
    return visit.page(
        "traces.html",
        status,
        search=search,
        rows=[tell(trace, say) for trace in found],
        next=found.next,
        is_short=found.next and len(found) < _ROWS,
        kinds=[("", say("any")), *((kind, say(KIND_WORDS[kind])) for kind in KINDS)],
        keep_days=visit.desk.settings.traces_keep_days,
        export_rows_max=ADMIN_EXPORT_ROWS_MAX,
        error=error,
    )


def suggest_names(visit: Visit) -> AdminAnswer:
    """Names for a field of the search, as it is being filled in."""
    lists, kind = visit.desk.gate.lists, visit.names["kind"]
    query = ListQuery(q=visit.query.get(kind, "").strip()[:160], rows=_NAMES)
    if kind == "topic":
        names = [row.topic.name for row in lists.topics(visit.caller, query).result()]
    elif kind == "producer":
        names = [row.producer.name for row in lists.producers(visit.caller, query).result()]
    elif kind == "subscriber":
        names = [row.subscriber.name for row in lists.subscribers(visit.caller, query).result()]
    else:
        raise NotFound("names are of a topic, a producer or a subscriber")
    return visit.page("traces_names.html", names=names)


PAGES = [
    Page("GET", "traces", list_traces),
    Page("GET", "traces/names/{kind}", suggest_names),
    Page("GET", "traces.csv", export_csv),
    Page("GET", "traces.parquet", export_parquet),
]
