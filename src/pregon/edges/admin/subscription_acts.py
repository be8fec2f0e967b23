"""What operators do with one subscription: pause it, try again now, skip or set aside a message, replay.

What takes something away, or sends it again, is said first in numbers on a page of its own. What is then done is what
was said: a date is turned into a number before, and the number is what is sent.
"""

from __future__ import annotations

import re

from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.formats import parse_local
from pregon.edges.admin.routes import Page
from pregon.edges.admin.subscriptions import names_of, place_of, require_subscription
from pregon.edges.admin.visit import Visit, parse_number
from pregon.errors import BadRequest, PregonError
from pregon.hub.handling import ReplayPlan
from pregon.limits import LIST_ROWS_MAX
from pregon.security.keys import OPERATE

_NUMBER = r"(?<!\d)(\d{1,18})(?!\d)"
_RUN = re.compile(rf"{_NUMBER}(?:\s*(?:-|–|\.\.)\s*{_NUMBER})?", re.ASCII)
_NUMBERS_CHARACTERS_MAX = 20_000


def parse_numbers(text: str) -> list[int]:
    """Numbers of messages as people write them: `17`, `17-20 25`, `17, 18`; raises BadRequest."""
    if len(text) > _NUMBERS_CHARACTERS_MAX:
        raise BadRequest("that is too long: write ranges, such as 17-20")
    rest = _RUN.sub(" ", text).replace(",", " ").replace(";", " ").strip()
    if rest or not text.strip():
        raise BadRequest(f"{(rest or text)[:40]!r} is no number of a message: write 17, or 17-20 25")
    found: set[int] = set()
    for first_text, last_text in _RUN.findall(text):
        first, last = int(first_text), int(last_text or first_text)
        if not 1 <= first <= last:
            raise BadRequest(f"{first}-{last} is no range of messages: write the smaller number first")
        if len(found) + last - first + 1 > LIST_ROWS_MAX:
            raise BadRequest(f"at most {LIST_ROWS_MAX} messages at once")
        found.update(range(first, last + 1))
    return sorted(found)


def pause(visit: Visit) -> AdminAnswer:
    """Push nothing more in it."""
    visit.desk.gate.handling.pause(visit.caller, *names_of(visit), is_paused=True).result()
    return visit.go(place_of(*names_of(visit)), "paused")


def resume(visit: Visit) -> AdminAnswer:
    """Push again, at once."""
    visit.desk.gate.handling.pause(visit.caller, *names_of(visit), is_paused=False).result()
    return visit.go(place_of(*names_of(visit)), "resumed")


def try_now(visit: Visit) -> AdminAnswer:
    """Push at once what waits for its next try."""
    is_pushed = visit.desk.gate.handling.try_now(visit.caller, *names_of(visit)).result()
    return visit.go(place_of(*names_of(visit)), "tried" if is_pushed else "")


def unpark_all(visit: Visit) -> AdminAnswer:
    """Deliver all again that is set aside in it."""
    count = visit.desk.gate.unpark(visit.caller, *names_of(visit)).result()
    return visit.go(place_of(*names_of(visit)), "unparked", count)


# Skip the next one, and set some aside.


def show_skip(visit: Visit, error: PregonError | None = None) -> AdminAnswer:
    """Which one would be skipped."""
    upcoming = visit.desk.gate.handling.next_pending(visit.caller, *names_of(visit)).result()
    return visit.page(
        "subscription_skip.html",
        200 if error is None else visit.desk.status_of(error),
        entry=require_subscription(visit),
        place=place_of(*names_of(visit)),
        upcoming=upcoming,
        error=error and visit.explain(error),
    )


def skip(visit: Visit) -> AdminAnswer:
    """Give up the one that was said."""
    try:
        reason = visit.field("reason") or "skipped"
        count = visit.desk.gate.cancel(visit.caller, *names_of(visit), [visit.number("seq")], reason).result()
    except PregonError as error:
        return show_skip(visit, error)
    return visit.go(place_of(*names_of(visit)), "skipped", count)


def show_park(visit: Visit, error: PregonError | None = None) -> AdminAnswer:
    """Which to set aside."""
    return visit.page(
        "subscription_park.html",
        200 if error is None else visit.desk.status_of(error),
        entry=require_subscription(visit),
        place=place_of(*names_of(visit)),
        numbers=visit.field("numbers") if error else visit.query.get("numbers", "")[:200],
        reason=visit.field("reason") if error else "",
        rows_max=LIST_ROWS_MAX,
        error=error and visit.explain(error),
    )


def park(visit: Visit) -> AdminAnswer:
    """Set them aside, so that those after them go on."""
    try:
        seqs = parse_numbers(visit.field("numbers"))
        count = visit.desk.gate.park(visit.caller, *names_of(visit), seqs, visit.field("reason")).result()
    except PregonError as error:
        return show_park(visit, error)
    return visit.go(place_of(*names_of(visit)), "parked", count)


# Replay.


def show_replay(visit: Visit) -> AdminAnswer:
    """From where, and what that would deliver again."""
    entry, names = require_subscription(visit), names_of(visit)
    from_seq, from_at = visit.query.get("from_seq", "").strip()[:20], visit.query.get("from_at", "").strip()[:40]
    plan: ReplayPlan | None = None
    error: PregonError | None = None
    try:
        if from_seq:
            plan = visit.desk.gate.handling.plan_replay(visit.caller, *names, from_seq=parse_number(from_seq)).result()
        elif from_at:
            from_us = parse_local(from_at, visit.zone)
            plan = visit.desk.gate.handling.plan_replay(visit.caller, *names, from_us=from_us).result()
    except PregonError as raised:
        error = raised
    return visit.page(
        "subscription_replay.html",
        200 if error is None else visit.desk.status_of(error),
        entry=entry,
        place=place_of(*names),
        accounting=visit.desk.gate.account(visit.caller, *names).result(),
        from_seq=from_seq,
        from_at=from_at,
        plan=plan,
        error=error and visit.explain(error),
    )


def replay(visit: Visit) -> AdminAnswer:
    """Deliver again what was said."""
    visit.desk.gate.replay(visit.caller, *names_of(visit), from_seq=visit.number("from_seq")).result()
    return visit.go(place_of(*names_of(visit)), "replayed")


_HERE = "subscriptions/{topic}/{subscriber}"
PAGES = [
    Page("POST", f"{_HERE}/pause", pause, OPERATE),
    Page("POST", f"{_HERE}/resume", resume, OPERATE),
    Page("POST", f"{_HERE}/try", try_now, OPERATE),
    Page("POST", f"{_HERE}/unpark", unpark_all, OPERATE),
    Page("GET", f"{_HERE}/skip", show_skip, OPERATE),
    Page("POST", f"{_HERE}/skip", skip, OPERATE),
    Page("GET", f"{_HERE}/park", show_park, OPERATE),
    Page("POST", f"{_HERE}/park", park, OPERATE),
    Page("GET", f"{_HERE}/replay", show_replay, OPERATE),
    Page("POST", f"{_HERE}/replay", replay, OPERATE),
]
