"""Topics: the list, one topic, and what may be done with it."""

from __future__ import annotations

from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.listing import Listing
from pregon.edges.admin.routes import Page
from pregon.edges.admin.visit import Visit


def list_topics(visit: Visit) -> AdminAnswer:
    """The list."""
    lists = visit.desk.gate.lists
    listing = Listing(visit, "/admin/topics").find(lambda query: lists.topics(visit.caller, query))
    return visit.page("topics.html", listing=listing)


PAGES = [
    Page("GET", "topics", list_topics),
]
