"""One subscription: how it is and why, where its messages are, when the next push is tried, what happened last.

The page that one opens when something is wrong, and leaves open while it is repaired: what tells how it goes is live.
"""

from __future__ import annotations

from typing import Any

from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.failures import plain_words
from pregon.edges.admin.routes import Page
from pregon.edges.admin.subscription_state import DONE, FAILING, WAITS, countdown, parts_of, state_of
from pregon.edges.admin.subscriptions import names_of, place_of
from pregon.edges.admin.trace_sentences import KIND_WORDS, LOOKS
from pregon.edges.admin.visit import Visit
from pregon.errors import NotFound
from pregon.model.trace import TraceQuery
from pregon.store.catalog_search import ListQuery, SubscriptionRow

_TRACES = 20
_PARKED = 50
"""Messages set aside that the page shows; the list of all of them has the rest."""


def show_subscription(visit: Visit) -> AdminAnswer:
    """The page."""
    row = _require_row(visit)
    return visit.page(
        "subscription.html",
        row=row,
        **(_live_values(visit, row) | _parked_values(visit, row)),
    )


def show_live(visit: Visit) -> AdminAnswer:
    """How it goes."""
    row = _require_row(visit)
    return visit.page("subscription_live.html", row=row, **_live_values(visit, row))


def show_live_parked(visit: Visit) -> AdminAnswer:
    """What is set aside in it."""
    row = _require_row(visit)
    return visit.page("subscription_parked.html", row=row, **_parked_values(visit, row))


def _require_row(visit: Visit) -> SubscriptionRow:
    topic, subscriber = names_of(visit)
    query = ListQuery(topic=topic, subscriber=subscriber, rows=1)
    for row in visit.desk.gate.lists.subscriptions(visit.caller, query).result():
        return row
    # There is none, or it is not for this one to see: the gate says which, in its own words.
    visit.desk.gate.show(visit.caller, "subscription", (topic, subscriber)).result()
    raise NotFound(f"{subscriber} is not subscribed to {topic}")


def _live_values(visit: Visit, row: SubscriptionRow) -> dict[str, Any]:
    gate, say, names = visit.desk.gate, visit.say, names_of(visit)
    accounting = gate.account(visit.caller, *names).result()
    span = accounting.head_seq - accounting.first_seq + 1
    query = TraceQuery(topic=names[0], subscriber=names[1], max=_TRACES)
    state = state_of(row)
    return {
        "place": place_of(*names),
        "state": state,
        "subscriber": gate.show(visit.caller, "subscriber", (names[1],)).result(),
        "kind": {FAILING: "bad", WAITS: "plain", DONE: "warn" if row.parked else "good"}.get(state, "warn"),
        "accounting": accounting,
        "parts_shown": parts_of(accounting),
        "percent": 100.0 if span <= 0 else 100 * (accounting.acked_seq - accounting.first_seq + 1) / span,
        "left_ms": max(0, row.next_try_us - visit.now_us) // 1_000 if row.next_try_us else 0,
        "countdown": countdown,
        "upcoming": gate.handling.next_pending(visit.caller, *names).result() if row.pending else None,
        "traces": gate.traces(visit.caller, query).result(),
        "plain_words": lambda failure: plain_words(failure, say),
        "kind_badge": lambda kind: (LOOKS[kind], say(KIND_WORDS[kind])),
    }


def _parked_values(visit: Visit, row: SubscriptionRow) -> dict[str, Any]:
    say, names = visit.say, names_of(visit)
    aside = visit.desk.gate.list_parked(visit.caller, *names).result() if row.parked else []
    return {
        "place": place_of(*names),
        "aside": [one for one in aside if not one["returned"]][:_PARKED],
        "plain_words": lambda failure: plain_words(failure, say),
    }


PAGES = [
    Page("GET", "subscriptions/{topic}/{subscriber}", show_subscription),
    Page("GET", "live/subscriptions/{topic}/{subscriber}", show_live, is_live=True),
    Page("GET", "live/subscriptions/{topic}/{subscriber}/parked", show_live_parked, is_live=True),
]
