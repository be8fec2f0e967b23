"""What is set aside in all subscriptions, and what was given up: look, choose, and settle several at once.

Promises:
- How many messages of which subscriptions it concerns is said before anything is done.
- At most `CHOSEN_MAX` at once. What cannot be done for one subscription does not stop the others, and is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.failures import plain_words
from pregon.edges.admin.listing import Listing
from pregon.edges.admin.problems import Explained
from pregon.edges.admin.routes import Page
from pregon.edges.admin.trace_sentences import KIND_WORDS, LOOKS
from pregon.edges.admin.visit import Visit, parse_number
from pregon.errors import BadRequest, PregonError
from pregon.hub.auditing import spans_of
from pregon.limits import LIST_ROWS_MAX
from pregon.model.names import check_name
from pregon.model.trace import CANCELLED, EXPIRED, Trace, TraceQuery
from pregon.security.keys import OPERATE
from pregon.store.exceptions import ParkedQuery

CHOSEN_MAX = LIST_ROWS_MAX
HERE = "/admin/parked"
UNPARK, CANCEL = "unpark", "cancel"
_ROWS = 100
_GIVEN_UP_ROWS = 50
_SPANS_CHARACTERS = 120
Chosen = dict[tuple[str, str], list[int]]
"""Numbers of messages, by topic and subscriber."""


def list_parked(visit: Visit) -> AdminAnswer:
    """What is set aside, newest first."""
    say, q = visit.say, visit.query.get("q", "").strip()[:160]
    query = ParkedQuery(q=q, before=visit.query.get("before", ""), rows=_ROWS)
    found = visit.desk.gate.lists.parked(visit.caller, query).result()
    return visit.page(
        "parked.html",
        listing=_Searched(q),
        found=found,
        is_first=not query.before,
        chosen_max=CHOSEN_MAX,
        next_page=f"{HERE}?{urlencode({'q': q, 'before': found.next} if q else {'before': found.next})}",
        plain_words=lambda failure: plain_words(failure, say),
    )


class _Searched:
    """What the search box needs to know of a list whose pages go by a key."""

    path = HERE

    def __init__(self, q: str) -> None:
        self.q = q
        self.kept: dict[str, str] = {}


def list_expired(visit: Visit) -> AdminAnswer:
    """What was given up and can be brought back, by subscription; and the last ones, with when and why."""
    gate = visit.desk.gate
    listing = Listing(visit, f"{HERE}/expired", sort="messages")
    listing.find(lambda query: gate.lists.expired(visit.caller, query))
    tickets = [gate.traces(visit.caller, TraceQuery(kind=kind, max=_GIVEN_UP_ROWS)) for kind in (EXPIRED, CANCELLED)]
    found: list[Trace] = [one for ticket in tickets for one in ticket.result()]
    newest = sorted(found, key=lambda one: -one.id)[:_GIVEN_UP_ROWS]
    return visit.page(
        "parked_expired.html",
        listing=listing,
        traces=newest,
        kind_badge=lambda kind: (LOOKS[kind], visit.say(KIND_WORDS[kind])),
    )


# Several at once.


def read_chosen(texts: Iterable[str]) -> Chosen:
    """What the boxes of a list say, `topic/subscriber/seq`; raises BadRequest for too many or none."""
    chosen: Chosen = {}
    for count, text in enumerate(texts):
        if count == CHOSEN_MAX:
            raise BadRequest(f"at most {CHOSEN_MAX} messages at once")
        topic, _, rest = text.partition("/")
        subscriber, _, seq = rest.partition("/")
        names = check_name("topic", topic), check_name("subscriber", subscriber)
        chosen.setdefault(names, []).append(parse_number(seq))
    if not chosen:
        raise BadRequest("choose at least one message: check the boxes before them")
    return chosen


def confirm(visit: Visit) -> AdminAnswer:
    """Say what would be done with what was chosen, or with all that was found."""
    if visit.is_checked("all"):
        query = ParkedQuery(q=visit.field("q")[:160], rows=CHOSEN_MAX)
        rows = visit.desk.gate.lists.parked(visit.caller, query).result().rows
        chosen = read_chosen(f"{one.topic}/{one.subscriber}/{one.seq}" for one in rows)
    else:
        chosen = read_chosen(visit.form.get("one", []))
    return _draw(visit, chosen, [])


def settle(visit: Visit) -> AdminAnswer:
    """Do it, subscription by subscription."""
    gate, verb, reason = visit.desk.gate, _verb(visit), visit.field("reason")
    chosen = read_chosen(visit.form.get("one", []))
    done, failed, problems = 0, Chosen(), list[tuple[str, str, Explained]]()
    for (topic, subscriber), seqs in chosen.items():
        try:
            if verb == UNPARK:
                done += gate.unpark(visit.caller, topic, subscriber, seqs).result()
            else:
                done += gate.cancel(visit.caller, topic, subscriber, seqs, reason).result()
        except PregonError as error:
            problems.append((topic, subscriber, visit.explain(error)))
            failed[topic, subscriber] = seqs
    if problems:
        return _draw(visit, failed, problems, done)
    return visit.go(_back(visit), "unparked" if verb == UNPARK else "given_up", done)


def _draw(
    visit: Visit, chosen: Chosen, problems: list[tuple[str, str, Explained]], done: int | None = None
) -> AdminAnswer:
    return visit.page(
        "parked_confirm.html",
        409 if problems else 200,
        verb=_verb(visit),
        chosen=[(topic, name, len(seqs), _spans(seqs)) for (topic, name), seqs in chosen.items()],
        values=[f"{topic}/{name}/{seq}" for (topic, name), seqs in chosen.items() for seq in seqs],
        count=sum(len(seqs) for seqs in chosen.values()),
        reason=visit.field("reason"),
        back=_back(visit),
        problems=problems,
        done=done,
    )


def _verb(visit: Visit) -> str:
    verb = visit.field("do")
    if verb not in (UNPARK, CANCEL):
        raise BadRequest(f"what is chosen is to {UNPARK} or to {CANCEL}, not to {verb[:40]!r}")
    return verb


def _back(visit: Visit) -> str:
    return visit.back() if visit.field("back") else HERE


def _spans(seqs: list[int]) -> str:
    text = spans_of(seqs)
    return text if len(text) <= _SPANS_CHARACTERS else f"{text[:_SPANS_CHARACTERS]} …"


PAGES = [
    Page("GET", "parked", list_parked),
    Page("GET", "parked/expired", list_expired),
    Page("POST", "parked/chosen", confirm, OPERATE),
    Page("POST", "parked/settle", settle, OPERATE),
]
