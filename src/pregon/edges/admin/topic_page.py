"""One topic: its figures, who subscribed to it, who may publish to it, its schema and its last messages."""

from __future__ import annotations

from dataclasses import dataclass

from pregon.edges.admin.catalogue import place_of, require_entry
from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.failures import plain_words
from pregon.edges.admin.routes import Page
from pregon.edges.admin.subscription_state import state_of
from pregon.edges.admin.visit import Visit
from pregon.edges.rehearsal_forms import readable_text
from pregon.errors import PregonError
from pregon.hub.schema_book import NONE
from pregon.limits import PULL_BYTES_MAX
from pregon.model.catalog import SchemaVersion, Topic
from pregon.model.group import TOPIC_PREFIX
from pregon.model.message import Message
from pregon.security.keys import ADMIN
from pregon.store.catalog_search import ListQuery

_MESSAGES = 10
_ROWS = 20
_BEGINNING_CHARACTERS = 90


@dataclass(frozen=True, slots=True)
class LastMessage:
    """A message in the list of the last ones."""

    seq: int
    accepted_us: int
    producer: str
    content_type: str
    size: int
    beginning: str
    """The first of its text; empty for what is none."""


def beginning_of(body: bytes) -> str:
    """The first characters of a body in one line; empty if it is no text."""
    bytes_max = 4 * _BEGINNING_CHARACTERS
    line = " ".join((readable_text(body[:bytes_max], len(body) > bytes_max) or "").split())
    if not line.isprintable():
        return ""
    return line if len(line) <= _BEGINNING_CHARACTERS else f"{line[:_BEGINNING_CHARACTERS]}…"


def show_topic(visit: Visit) -> AdminAnswer:
    """The page of a topic."""
    return draw_topic(visit)


def draw_topic(visit: Visit, error: PregonError | None = None) -> AdminAnswer:
    """The page of a topic, with what could not be done on it."""
    topic: Topic = require_entry(visit, "topic")
    lists = visit.desk.gate.lists
    query = ListQuery(topic=topic.name, sort="failing", descending=True, rows=_ROWS + 1)
    subscriptions = lists.subscriptions(visit.caller, query).result()
    grantees = lists.producers(visit.caller, ListQuery(topic=topic.name, rows=_ROWS + 1)).result()
    messages = _find_last(visit, topic)
    return visit.page(
        "topic.html",
        200 if error is None else visit.desk.status_of(error),
        error=error and visit.explain(error),
        topic=topic,
        is_of_group=topic.name.startswith(TOPIC_PREFIX),
        subscriptions=subscriptions[:_ROWS],
        has_more_subscriptions=len(subscriptions) > _ROWS,
        grantees=grantees[:_ROWS],
        has_more_grantees=len(grantees) > _ROWS,
        schema=find_schema(visit, topic),
        messages=messages,
        newest_us=messages[0].accepted_us if messages else None,
        state_of=state_of,
        plain_words=lambda text: plain_words(text, visit.say),
    )


def find_schema(visit: Visit, topic: Topic, version: int = 0) -> SchemaVersion | None:
    """A version of a topic's schema, the newest for 0; None if it has none, or none any more."""
    if not topic.schema_version:
        return None
    before = version + 1 if version else 0
    found = next(iter(visit.desk.gate.list_schemas(visit.caller, topic.name, before, 1).result()), None)
    if found is None or (not version and found.kind == NONE) or (version and found.version != version):
        return None
    return found


def _find_last(visit: Visit, topic: Topic) -> list[LastMessage]:
    """The last messages, newest first."""
    first = max(topic.tail_seq, topic.head_seq - _MESSAGES + 1)
    if first > topic.head_seq:
        return []
    numbers = (first, topic.head_seq)
    found = visit.desk.gate.read_log(visit.caller, topic.name, numbers, _MESSAGES, PULL_BYTES_MAX).result()
    messages = [_last(one) for batch in found.batches for one in batch.messages(topic.name)]
    return messages[::-1]


def _last(message: Message) -> LastMessage:
    body = message.body
    return LastMessage(
        seq=message.seq,
        accepted_us=message.accepted_us,
        producer=message.producer,
        content_type=message.content_type,
        size=len(body),
        beginning=beginning_of(body),
    )


def grant(visit: Visit) -> AdminAnswer:
    """Let a producer publish to a restricted topic."""
    topic = visit.names["topic"]
    try:
        visit.desk.gate.grant(visit.caller, visit.field("producer"), topic, is_granted=True).result()
    except PregonError as error:
        return draw_topic(visit, error)
    return visit.go(place_of("topic", topic), "granted")


def withdraw(visit: Visit) -> AdminAnswer:
    """Let it no more."""
    topic = visit.names["topic"]
    visit.desk.gate.grant(visit.caller, visit.field("producer"), topic, is_granted=False).result()
    return visit.go(place_of("topic", topic), "withdrawn")


PAGES = [
    Page("GET", "topics/{topic}", show_topic),
    Page("POST", "topics/{topic}/grant", grant, ADMIN),
    Page("POST", "topics/{topic}/withdraw", withdraw, ADMIN),
]
