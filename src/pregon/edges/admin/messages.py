"""One message: what it is, its body, what it is now for each subscription, and everything that happened to it.

A message that retention has removed from the log still has a story, as long as there are traces of it.
"""

from __future__ import annotations

from markupsafe import Markup

from pregon import limits
from pregon.edges.admin.bodies import HEX, JSON, ShownBody, show_body
from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.failures import plain_words
from pregon.edges.admin.routes import Page
from pregon.edges.admin.trace_sentences import plain_reason, tell_story
from pregon.edges.admin.visit import Visit, parse_number
from pregon.edges.admin.words import Words
from pregon.errors import NotFound
from pregon.hub.options import LogRead
from pregon.model import trace as kinds
from pregon.model.message import Message
from pregon.model.trace import Standing

STANDING_WORDS = {
    kinds.ACKNOWLEDGED: "has it",
    kinds.PENDING: "waiting",
    kinds.PARKED: "set aside",
    kinds.RETURNED: "to be delivered again",
    kinds.EXPIRED: "expired",
    kinds.CANCELLED: "given up",
    kinds.FILTERED: "filtered out",
    kinds.NOT_ENTITLED: "from before it subscribed",
}
LOOKS = {
    kinds.ACKNOWLEDGED: "good",
    kinds.PARKED: "warn",
    kinds.RETURNED: "warn",
    kinds.EXPIRED: "bad",
    kinds.CANCELLED: "bad",
}
"""How a word looks; the others are plain, but for one that waits because pushing fails."""
_REASON_WORDS = (
    "nothing is pushed to it: it is disabled",
    "nothing is pushed in it: the subscription is paused",
    "its filter has not looked at it yet",
)
"""What the hub itself gives as a reason; other reasons are somebody's own words."""
_SANDBOX = "sandbox; default-src 'none'"
_ENDINGS = {JSON: "json", HEX: "bin"}
"""How a file with the body is called: nothing that opens in a browser when it is clicked upon."""


def show_message(visit: Visit) -> AdminAnswer:
    """The page of a message."""
    topic, seq = _place(visit)
    story = visit.desk.gate.story(visit.caller, topic, seq).result()
    log = _read(visit, topic, seq)
    message = _find(log, topic)
    say = visit.say
    return visit.page(
        "message.html",
        story=story,
        message=message,
        body=_shown(message) if message else None,
        head_seq=log.head_seq,
        tail_seq=log.tail_seq,
        standings=[_Told(one, say) for one in story.subscriptions],
        happened=tell_story(story.traces, say),
        rows_max=limits.LIST_ROWS_MAX,
    )


def download_body(visit: Visit) -> AdminAnswer:
    """The body, byte for byte, to be kept and not to be opened."""
    topic, seq = _place(visit)
    message = _find(_read(visit, topic, seq), topic)
    if message is None:
        raise NotFound(f"{topic} does not have message {seq} any more, or not yet")
    ending = _ENDINGS.get(_shown(message).kind, "txt")
    return AdminAnswer(
        message.body,
        content_type="application/octet-stream",
        headers=[
            # The names of topics have no character that means something here.
            ("content-disposition", f'attachment; filename="{topic}-{seq}.{ending}"'),
            ("content-security-policy", _SANDBOX),
            *visit.cookie_headers(),
        ],
    )


def _shown(message: Message) -> ShownBody:
    return show_body(message.content_type, message.body)


def _place(visit: Visit) -> tuple[str, int]:
    """Which message; raises BadRequest."""
    return visit.names["topic"], parse_number(visit.names["seq"])


def _read(visit: Visit, topic: str, seq: int) -> LogRead:
    return visit.desk.gate.read_log(visit.caller, topic, (seq, seq), 1, limits.PULL_BYTES_MAX).result()


def _find(log: LogRead, topic: str) -> Message | None:
    """The message, if the log has it."""
    return next((message for batch in log.batches for message in batch.messages(topic)), None)


class _Told:
    """What a message is for a subscription, told."""

    def __init__(self, standing: Standing, say: Words) -> None:
        self.standing = standing
        is_failing = bool(standing.failing_since_us)
        self.word = say(STANDING_WORDS[standing.state])
        self.look = LOOKS.get(standing.state, "bad" if is_failing else "plain")
        failure = standing.last_failure if is_failing else ""
        self.why = plain_words(failure, say) if failure else _why(standing, say)
        self.detail = failure or ("" if standing.reason in _REASON_WORDS else standing.reason)
        """As the hub or a person noted it; empty if the plain words say all of it."""


def _why(standing: Standing, say: Words) -> Markup:
    if standing.reason in _REASON_WORDS:
        return say(standing.reason)
    return plain_reason(standing.state, standing.reason, say)


PAGES = [
    Page("GET", "messages/{topic}/{seq}", show_message),
    Page("GET", "messages/{topic}/{seq}/body", download_body),
]
