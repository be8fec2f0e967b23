"""Testing a subscriber's web service: a test message is sent there, and what went over the wire is shown.

A web service may take two minutes to answer, and pages are made by few threads: so the page of a test does not wait for
it, but asks again until it is there. What came of the last tests is kept in memory, for who sent them.

Promises:
- No thread waits longer than `_GLANCE_S` for a web service.
- At most `_KEPT_MAX` tests are kept; the oldest gives way. Only who sent a test sees what came of it.
"""

from __future__ import annotations

import secrets
import threading
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pregon.delivery.rehearsal import GivenAnswer, Rehearsal, Request, Trial
from pregon.edges.admin.bodies import ShownBody, show_body
from pregon.edges.admin.catalogue import place_of, require_entry
from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.failures import plain_words
from pregon.edges.admin.routes import Page
from pregon.edges.admin.visit import Visit
from pregon.edges.rehearsal_forms import readable_text
from pregon.errors import NotFound, PregonError
from pregon.limits import REQUEST_BYTES_MAX
from pregon.security.keys import OPERATE
from pregon.store.ticket import Ticket

_KEPT_MAX = 32
_GLANCE_S = 0.8
"""Most web services answer within it: their tests are shown at once."""
_BYTES = "application/x-bytes"
"""A type of which nothing is known: it is shown byte by byte."""
OUTCOME_WORDS = {
    "delivered": "The web service took the message: a push would be settled.",
    "refused": "The web service does not want this message: a push would be tried again, and then block or be set "
    "aside, as the subscriber says.",
    "unreachable": "The web service was not reached: a push would wait, and be tried again until it gets through.",
    "gone": "The web service says that it is gone: the hub would stop pushing to it, and everything would wait.",
}


@dataclass(frozen=True, slots=True)
class _Sent:
    who: str
    subscriber: str
    ticket: Ticket[Rehearsal]


@dataclass(slots=True)
class _Kept:
    """The last tests, by names that nobody can guess."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    tests: dict[str, _Sent] = field(default_factory=dict)

    def keep(self, sent: _Sent) -> str:
        name = secrets.token_urlsafe(12)
        with self.lock:
            while len(self.tests) >= _KEPT_MAX:
                del self.tests[next(iter(self.tests))]
            self.tests[name] = sent
        return name


def _kept(visit: Visit) -> _Kept:
    kept: _Kept = visit.desk.remembered.setdefault("subscriber_trials", _Kept())
    return kept


def show_trial(visit: Visit) -> AdminAnswer:
    """The form."""
    return _draw(visit, {"content_type": "", "body": ""})


def send_trial(visit: Visit) -> AdminAnswer:
    """Send it, and on to what comes of it."""
    name = require_entry(visit, "subscriber").name
    fields = {"content_type": visit.field("content_type"), "body": visit.text("body")}
    try:
        trial = Trial(body=fields["body"].encode() or None, content_type=fields["content_type"])
        ticket = visit.desk.rehearsals.rehearse(visit.caller, name, trial)
    except PregonError as error:
        return _draw(visit, fields, error)
    kept = _kept(visit).keep(_Sent(visit.caller.name, name, ticket))
    return visit.go(f"{place_of('subscriber', name)}/test/{kept}")


def show_result(visit: Visit) -> AdminAnswer:
    """What came of a test, or that it is under way."""
    sent = _require_sent(visit)
    with suppress(PregonError):
        sent.ticket.result(_GLANCE_S)
    return _draw_result(visit, sent, "subscriber_trial_result.html")


def show_live_result(visit: Visit) -> AdminAnswer:
    """The part of it that is asked for again until it is there."""
    return _draw_result(visit, _require_sent(visit), "subscriber_trial_live.html")


def _require_sent(visit: Visit) -> _Sent:
    sent = _kept(visit).tests.get(visit.names["trial"])
    if sent is None or (sent.who, sent.subscriber) != (visit.caller.name, visit.names["subscriber"]):
        raise NotFound("this test is not remembered any more: send another")
    return sent


def _draw(visit: Visit, fields: dict[str, str], error: PregonError | None = None) -> AdminAnswer:
    return visit.page(
        "subscriber_trial.html",
        200 if error is None else visit.desk.status_of(error),
        subscriber=require_entry(visit, "subscriber"),
        fields=fields,
        error=error and visit.explain(error),
    )


def _draw_result(visit: Visit, sent: _Sent, template: str) -> AdminAnswer:
    rehearsal, error = None, None
    if sent.ticket.is_done:
        try:
            rehearsal = sent.ticket.value()
        except PregonError as failure:
            error = visit.explain(failure)
    return visit.page(
        template,
        name=sent.subscriber,
        trial=visit.names["trial"],
        rehearsal=rehearsal,
        error=error,
        verdict=visit.say(OUTCOME_WORDS[rehearsal.outcome]) if rehearsal else "",
        plain=plain_words(rehearsal.reason, visit.say) if rehearsal and not rehearsal.is_delivered else "",
        request_body=_show(rehearsal.request) if rehearsal else None,
        answer_body=_show(rehearsal.answer) if rehearsal else None,
    )


def _show(part: Request | GivenAnswer) -> ShownBody:
    """A body as it was on the wire, not laid out: this is about what was sent and answered exactly."""
    text = readable_text(part.body, part.body_is_cut)
    shown = show_body(_BYTES, part.body) if text is None else show_body("text/plain", text.encode())
    return replace(shown, is_cut=shown.is_cut or part.body_is_cut)


PAGES = [
    Page("GET", "subscribers/{subscriber}/test", show_trial, OPERATE),
    Page("POST", "subscribers/{subscriber}/test", send_trial, OPERATE, form_bytes_max=REQUEST_BYTES_MAX),
    Page("GET", "subscribers/{subscriber}/test/{trial}", show_result, OPERATE),
    Page("GET", "live/subscribers/{subscriber}/test/{trial}", show_live_result, OPERATE, is_live=True),
]
