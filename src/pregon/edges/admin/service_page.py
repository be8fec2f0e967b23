"""One service: how it does, how it is run, and its last requests; and durable requests, of one service or of all."""

from __future__ import annotations

from typing import Any

from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.routes import Page
from pregon.edges.admin.services import full_name, order_workers, require_services
from pregon.edges.admin.visit import Visit
from pregon.errors import NotFound, PregonError
from pregon.model.quantities import parse_duration_ms, write_duration
from pregon.model.service import PARKED, STATES, WAITING
from pregon.security.keys import ADMIN, OPERATE
from pregon.services.options import LIVENESS, POLICIES

_RECENT_SHOWN = 20
_RECENT_LOOKED_AT = 1_000
_DURABLE_ROWS = 50
_DURATIONS = ("beat_ms", "answer_ms", "wait_ms", "keep_results_ms")
_NUMBERS = ("patience", "attempts_max", "queue_max")
_LINK_BYTES_MAX = 400


def show_service(visit: Visit) -> AdminAnswer:
    """The page."""
    return _page(visit)


def _page(visit: Visit, error: PregonError | None = None, entered: dict[str, Any] | None = None) -> AdminAnswer:
    desk, name = require_services(visit), visit.names["service"]
    lines = [one for one in desk.list_services(visit.caller).result() if one["type"] == name]
    if not lines:
        raise NotFound(f"nobody serves {name[:160]!r} or has asked for it since the hub started")
    workers = desk.list_workers(visit.caller).result()
    recent = desk.list_recent(visit.caller, _RECENT_LOOKED_AT).result()
    options = lines[0]["options"]
    shown = {**options, **{field: write_duration(options[field]) for field in _DURATIONS}}
    return visit.page(
        "service.html",
        200 if error is None else visit.desk.status_of(error),
        error=error and visit.explain(error),
        name=name,
        lines=lines,
        full_name=full_name,
        workers=order_workers([one for one in workers if _serves(one["types"], name)]),
        recent=[one for one in recent if one["service"].partition("@")[0] == name][:_RECENT_SHOWN],
        waiting=len(desk.list_durable(visit.caller, name, WAITING, rows_max=_DURABLE_ROWS + 1).result()),
        options=options,
        entered=shown if entered is None else entered,
        policies=POLICIES,
        ways=LIVENESS,
    )


def _serves(types: list[str], name: str) -> bool:
    return any(one.partition("@")[0] == name for one in types)


def set_options(visit: Visit) -> AdminAnswer:
    """Run it in another way."""
    desk, name = require_services(visit), visit.names["service"]
    entered: dict[str, Any] = {
        field: visit.field(field) for field in ("policy", "liveness", *_DURATIONS, *_NUMBERS)
    } | {"durable": visit.is_checked("durable")}
    try:
        values = {
            **entered,
            **{field: parse_duration_ms(entered[field]) for field in _DURATIONS},
            **{field: visit.number(field) for field in _NUMBERS},
        }
        desk.set_options(visit.caller, name, values).result()
    except PregonError as error:
        return _page(visit, error, entered)
    return visit.go(f"/admin/services/{name}", "saved")


def reset_options(visit: Visit) -> AdminAnswer:
    """Run it as all the others."""
    name = visit.names["service"]
    require_services(visit).reset_options(visit.caller, name).result()
    return visit.go(f"/admin/services/{name}", "saved")


# Durable requests.


def show_durable(visit: Visit) -> AdminAnswer:
    """A page of them, by id."""
    return _durable(visit)


def _durable(visit: Visit, error: PregonError | None = None) -> AdminAnswer:
    desk, query = require_services(visit), visit.query
    service, state, after = (query.get(name, "")[:_LINK_BYTES_MAX] for name in ("service", "state", "after"))
    state = state if state in STATES else ""
    rows = desk.list_durable(visit.caller, service.strip(), state, after, _DURABLE_ROWS + 1).result()
    return visit.page(
        "durable.html",
        200 if error is None else visit.desk.status_of(error),
        error=error and visit.explain(error),
        rows=rows[:_DURABLE_ROWS],
        next_after=rows[_DURABLE_ROWS - 1]["id"] if len(rows) > _DURABLE_ROWS else "",
        service=service.strip(),
        state=state,
        after=after,
        parked=PARKED,
        waiting=WAITING,
    )


def release_durable(visit: Visit) -> AdminAnswer:
    """Have one worked on again that was set aside."""
    job_type = visit.field("service").partition("@")[0]
    try:
        require_services(visit).release_durable(visit.caller, job_type, visit.field("id")).result()
    except PregonError as error:
        return _durable(visit, error)
    return visit.go("/admin/durable", "released", 1)


def forget_durable(visit: Visit) -> AdminAnswer:
    """Forget one that has ended or was set aside."""
    job_type = visit.field("service").partition("@")[0]
    try:
        require_services(visit).forget_durable(visit.caller, job_type, visit.field("id")).result()
    except PregonError as error:
        return _durable(visit, error)
    return visit.go("/admin/durable", "dropped", 1)


PAGES = [
    Page("GET", "services/{service}", show_service),
    Page("POST", "services/{service}/options", set_options, ADMIN),
    Page("POST", "services/{service}/reset", reset_options, ADMIN),
    Page("GET", "durable", show_durable),
    Page("POST", "durable/release", release_durable, OPERATE),
    Page("POST", "durable/forget", forget_durable, OPERATE),
]
