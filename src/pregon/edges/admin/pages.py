"""All the pages, joined."""

from __future__ import annotations

from pregon.edges.admin import (
    entry,
    keys,
    messages,
    overview,
    parked,
    producers,
    provider_entry,
    signing,
    subscriber_trials,
    subscribers,
    subscription,
    subscription_acts,
    subscriptions,
    topic_page,
    topic_schemas,
    topic_trials,
    topics,
    traces,
)
from pregon.edges.admin.routes import Page

PAGES: list[Page] = [
    *entry.PAGES,
    *keys.PAGES,
    *messages.PAGES,
    *overview.PAGES,
    *parked.PAGES,
    *producers.PAGES,
    *provider_entry.PAGES,
    *signing.PAGES,
    *subscriber_trials.PAGES,
    *subscribers.PAGES,
    *subscription.PAGES,
    *subscription_acts.PAGES,
    *subscriptions.PAGES,
    *topic_page.PAGES,
    *topic_schemas.PAGES,
    *topic_trials.PAGES,
    *topics.PAGES,
    *traces.PAGES,
]
