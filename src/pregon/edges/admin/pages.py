"""All the pages, joined."""

from __future__ import annotations

from pregon.edges.admin import entry, overview, provider_entry, topics
from pregon.edges.admin.routes import Page

PAGES: list[Page] = [
    *entry.PAGES,
    *overview.PAGES,
    *provider_entry.PAGES,
    *topics.PAGES,
]
