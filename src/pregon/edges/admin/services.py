"""Services: who serves what, what waits, what is under way; and requests that were set aside.

The figures are the broker's own of this moment, and live; what was set aside is not, so that nothing moves under
somebody who chooses among it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.listing import ROWS, Listing
from pregon.edges.admin.routes import Page
from pregon.edges.admin.visit import Visit
from pregon.errors import BadRequest, NotFound, PregonError
from pregon.security.keys import OPERATE
from pregon.services.desk import ServicesDesk
from pregon.store.ticket import Ticket

WORKERS_SHOWN, REQUESTS_SHOWN = 100, 15
_POISON_SHOWN = 200
_REQUESTS_LOOKED_AT = 1_000
_COLUMNS = ("name", "workers", "free", "waiting", "in_hand", "answered", "failed", "work_ms")
Row = dict[str, Any]


def require_services(visit: Visit) -> ServicesDesk:
    """The desk of services; raises NotFound on a hub without them."""
    if visit.desk.services is None:
        raise NotFound("this hub runs no services: set services_front and services_back, and start it again")
    return visit.desk.services


def show_services(visit: Visit) -> AdminAnswer:
    """The page."""
    if visit.desk.services is None:
        return visit.page("services_none.html")
    return _page(visit, visit.desk.services)


def _page(visit: Visit, desk: ServicesDesk, error: PregonError | None = None) -> AdminAnswer:
    poison = desk.list_poison(visit.caller).result()
    return visit.page(
        "services.html",
        200 if error is None else visit.desk.status_of(error),
        error=error and visit.explain(error),
        poison=poison[::-1][:_POISON_SHOWN],
        poison_count=len(poison),
        **_live_values(visit, desk),
    )


def show_live(visit: Visit) -> AdminAnswer:
    """The part of it that is live."""
    return visit.page("services_live.html", **_live_values(visit, require_services(visit)))


def _live_values(visit: Visit, desk: ServicesDesk) -> Row:
    services = desk.list_services(visit.caller).result()
    workers = desk.list_workers(visit.caller).result()
    requests = desk.list_requests(visit.caller, _REQUESTS_LOOKED_AT).result()
    listing = list_page(visit, [one for one in services if is_used(one)])
    totals = add_up(services, workers, len(desk.list_poison(visit.caller).result()))
    if listing.q:
        wanted = listing.q.casefold()
        workers = [one for one in workers if any(wanted in name.casefold() for name in (one["name"], *one["types"]))]
        requests = [one for one in requests if wanted in one["service"].casefold()]
    return {
        "listing": listing,
        "live_address": listing.link_page(listing.page).replace("/admin/services", "/admin/live/services", 1),
        "workers": order_workers(workers)[:WORKERS_SHOWN],
        "workers_more": max(0, len(workers) - WORKERS_SHOWN),
        "requests": sorted(requests, key=lambda one: -one["since_ms"])[:REQUESTS_SHOWN],
        "requests_more": max(0, len(requests) - REQUESTS_SHOWN),
        "totals": totals,
        "settings": visit.desk.settings,
    }


def is_used(service: Row) -> bool:
    """Whether there is anything to tell of a service: the one for requests that name none is always there."""
    return any(service[name] for name in ("workers", "waiting", "in_hand", "answered", "failed", "refused"))


def list_page(visit: Visit, services: list[Row]) -> Listing:
    """One page of the services: those with most waiting first, unless another order is asked for."""
    listing = Listing(visit, "/admin/services", sort="waiting")
    if listing.sort not in _COLUMNS:
        raise BadRequest(f"the list is sorted by one of {', '.join(_COLUMNS)}, not by {listing.sort!r}")
    wanted = listing.q.casefold()
    found = sorted((one for one in services if wanted in full_name(one).casefold()), key=full_name)
    if listing.sort == "name":
        found = found[::-1] if listing.descending else found
    else:
        found.sort(key=lambda one: one[listing.sort], reverse=listing.descending)
    first = (listing.page - 1) * ROWS
    listing.rows, listing.has_next = found[first : first + ROWS], len(found) > first + ROWS
    return listing


def full_name(service: Row) -> str:
    """A job type with its version, as requests name it."""
    return f"{service['type']}@{service['version']}" if service["version"] else str(service["type"])


def order_workers(workers: list[Row]) -> list[Row]:
    """Those that need somebody's eye first, then the busiest."""
    return sorted(workers, key=lambda one: (one["state"] == "ready", -one["in_hand"], one["name"]))


def add_up(services: list[Row], workers: list[Row], poison: int) -> Row:
    """The figures at the top."""
    return {
        "ready": sum(one["state"] == "ready" for one in workers),
        "lost": sum(one["state"] == "lost" for one in workers),
        "slots": sum(one["slots"] for one in workers if one["state"] == "ready"),
        "free": sum(one["free"] for one in workers if one["state"] == "ready"),
        **{name: sum(one[name] for one in services) for name in ("waiting", "in_hand", "answered", "failed")},
        "stuck": sum(bool(one["waiting"] and not one["workers"]) for one in services),
        "poison": poison,
    }


# What was set aside.


def release(visit: Visit) -> AdminAnswer:
    """Have durable requests worked on again."""
    desk = require_services(visit)
    return _each_chosen(visit, desk, "released", lambda number: desk.release_poison(visit.caller, number))


def drop(visit: Visit) -> AdminAnswer:
    """Forget requests."""
    desk = require_services(visit)
    return _each_chosen(visit, desk, "dropped", lambda number: desk.drop_poison(visit.caller, number))


def _each_chosen(visit: Visit, desk: ServicesDesk, done: str, carry_out: Callable[[int], Ticket[Any]]) -> AdminAnswer:
    chosen = visit.numbers("only") or sorted(set(visit.numbers("number")))
    if not chosen:
        return _page(visit, desk, BadRequest("choose at least one request"))
    count, failed = 0, None
    for number in chosen[:_POISON_SHOWN]:
        try:
            carry_out(number).result()
            count += 1
        except NotFound:
            continue  # Somebody else was faster.
        except PregonError as error:
            failed = failed or error
    return visit.go("/admin/services", done, count) if failed is None else _page(visit, desk, failed)


PAGES = [
    Page("GET", "services", show_services),
    Page("GET", "live/services", show_live, is_live=True),
    Page("POST", "poison/release", release, OPERATE),
    Page("POST", "poison/drop", drop, OPERATE),
]
