"""All the pages, joined."""

from __future__ import annotations

from pregon.edges.admin import entry, messages, overview, provider_entry, topics, traces
from pregon.edges.admin.routes import Page

PAGES: list[Page] = [
    *entry.PAGES,
    *messages.PAGES,
    *overview.PAGES,
    *provider_entry.PAGES,
    *topics.PAGES,
    *traces.PAGES,
]
