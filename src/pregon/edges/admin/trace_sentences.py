"""How a trace is told to a person: a word for its kind, a sentence of what happened, and why in plain words.

Promises:
- Every kind of trace has a word and a sentence in both languages.
- What somebody else wrote, such as the reason of a failure, is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import quote

from markupsafe import Markup

from pregon.edges.admin.failures import plain_words
from pregon.edges.admin.formats import number
from pregon.edges.admin.words import Words
from pregon.model import trace as kinds
from pregon.model.trace import Trace

KIND_WORDS = {
    kinds.ACCEPTED: "accepted",
    kinds.DELIVERED: "delivered",
    kinds.FAILED: "push failed",
    kinds.DEFERRED: "kept for later",
    kinds.PULLED: "fetched",
    kinds.ACKNOWLEDGED: "acknowledged",
    kinds.PARKED: "set aside",
    kinds.UNPARKED: "to be delivered again",
    kinds.FILTERED: "filtered out",
    kinds.REPLAYED: "replayed",
    kinds.EXPIRED: "expired",
    kinds.CANCELLED: "given up",
    kinds.REMOVED: "removed",
}
LOOKS = {
    kinds.ACCEPTED: "plain",
    kinds.DELIVERED: "good",
    kinds.FAILED: "bad",
    kinds.DEFERRED: "warn",
    kinds.PULLED: "plain",
    kinds.ACKNOWLEDGED: "good",
    kinds.PARKED: "warn",
    kinds.UNPARKED: "plain",
    kinds.FILTERED: "plain",
    kinds.REPLAYED: "plain",
    kinds.EXPIRED: "bad",
    kinds.CANCELLED: "bad",
    kinds.REMOVED: "plain",
}
"""How the word looks: as a success, a failure, something to look at, or none of these."""
LIST_SENTENCES = {
    kinds.ACCEPTED: "{producer} published {messages} of {topic}",
    kinds.DELIVERED: "The hub delivered {messages} of {topic} to {subscriber}",
    kinds.FAILED: "The hub could not deliver {messages} of {topic} to {subscriber}",
    kinds.DEFERRED: "The hub keeps {messages} of {topic} to deliver later to {subscriber}",
    kinds.PULLED: "{subscriber} fetched {messages} of {topic}",
    kinds.ACKNOWLEDGED: "{subscriber} acknowledged {messages} of {topic}",
    kinds.PARKED: "Set aside for {subscriber}: {messages} of {topic}",
    kinds.UNPARKED: "To be delivered to {subscriber} again: {messages} of {topic}",
    kinds.FILTERED: "The filter of {subscriber} does not want {messages} of {topic}",
    kinds.REPLAYED: "Waiting again for {subscriber}: {messages} of {topic}",
    kinds.EXPIRED: "Expired before {subscriber} had it: {messages} of {topic}",
    kinds.CANCELLED: "Given up for {subscriber}: {messages} of {topic}",
    kinds.REMOVED: "The retention of {topic} removed {messages}",
}
"""In a list of traces of many topics."""
STORY_SENTENCES = {
    kinds.ACCEPTED: "{producer} published it, and the hub stored it",
    kinds.DELIVERED: "The hub delivered it to {subscriber}",
    kinds.FAILED: "The hub could not deliver it to {subscriber}",
    kinds.DEFERRED: "The hub keeps it to deliver later to {subscriber}",
    kinds.PULLED: "{subscriber} fetched it",
    kinds.ACKNOWLEDGED: "{subscriber} acknowledged it",
    kinds.PARKED: "It was set aside for {subscriber}",
    kinds.UNPARKED: "It will be delivered to {subscriber} again",
    kinds.FILTERED: "The filter of {subscriber} does not want it",
    kinds.REPLAYED: "It waits for {subscriber} again",
    kinds.EXPIRED: "It expired before {subscriber} had it",
    kinds.CANCELLED: "It was given up for {subscriber}",
    kinds.REMOVED: "The topic's retention removed it",
}
"""In the story of one message."""
_PUSHED = (kinds.FAILED, kinds.DEFERRED)
"""Kinds whose detail is always why a push failed."""
_REFUSED = re.compile(r"refused \d+ times: ")
"""How the hub begins the reason of what it sets aside by itself."""
_LINK = Markup('<a href="{}">{}</a>')


@dataclass(frozen=True, slots=True)
class Told:
    """A trace, told."""

    trace: Trace
    word: Markup
    look: str
    sentence: Markup
    why: Markup
    """In plain words, empty if there is nothing to say, or no plainer words than those of the detail."""
    again: list[Trace] = field(default_factory=list)
    """Of a failed attempt in a story: those that followed it and failed for the same reason."""


def tell(trace: Trace, say: Words) -> Told:
    """A trace in a list."""
    messages = say("message {seq}", seq=_link_message(trace.topic, trace.first_seq))
    if trace.last_seq != trace.first_seq:
        first, last = (_link_message(trace.topic, seq) for seq in (trace.first_seq, trace.last_seq))
        messages = say("messages {first} to {last}", first=first, last=last)
    return _told(trace, say, say(LIST_SENTENCES[trace.kind], messages=messages, **_names(trace)))


def tell_story(traces: Iterable[Trace], say: Words) -> list[Told]:
    """What happened to one message, oldest first; attempts that failed for the same reason are told once."""
    told: list[Told] = []
    failing: dict[str, Told] = {}
    for trace in traces:
        before = failing.get(trace.subscriber)
        if before and trace.kind == kinds.FAILED and _reason(trace) == _reason(before.trace):
            before.again.append(trace)
            continue
        told.append(_told(trace, say, say(STORY_SENTENCES[trace.kind], **_names(trace))))
        if trace.kind == kinds.FAILED:
            failing[trace.subscriber] = told[-1]
        elif trace.kind != kinds.DEFERRED:
            failing.pop(trace.subscriber, None)
    return told


def _reason(trace: Trace) -> str:
    """Why an attempt failed, without when it is tried again."""
    return trace.detail.rpartition("; ")[0]


def link(text: object, *path: object) -> Markup:
    """A link to a page."""
    return _LINK.format("/".join(["/admin", *(quote(str(part), safe="") for part in path)]), text)


def _names(trace: Trace) -> dict[str, Markup]:
    return {
        "topic": link(trace.topic, "topics", trace.topic),
        "producer": link(trace.producer, "producers", trace.producer),
        "subscriber": link(trace.subscriber, "subscriptions", trace.topic, trace.subscriber),
    }


def _link_message(topic: str, seq: int) -> Markup:
    return link(number(seq), "messages", topic, seq)


def plain_reason(kind: str, detail: str, say: Words) -> Markup:
    """Why, in plain words; empty if there are none plainer than those of the detail."""
    refused = _REFUSED.match(detail)
    if kind == kinds.PARKED and refused:
        failure = detail[refused.end() :]
    elif kind in _PUSHED:
        failure = detail
    else:
        # What a person set aside or gave up has a person's reason.
        return Markup()
    plain = plain_words(failure, say)
    return plain if plain != Markup.escape(failure) else Markup()


def _told(trace: Trace, say: Words, sentence: Markup) -> Told:
    why = plain_reason(trace.kind, trace.detail, say)
    return Told(trace, say(KIND_WORDS[trace.kind]), LOOKS[trace.kind], sentence, why)
