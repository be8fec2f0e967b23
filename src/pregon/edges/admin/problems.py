"""Errors and successes in words: what a person reads when something was refused, and when something was done.

An error has a stable code; here each code that a page can meet has a sentence of its own in both languages. What the
hub says besides, in English, is shown beneath it for who wants to know exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from pregon.edges.admin.words import Words
from pregon.errors import PregonError

SENTENCES = {
    "bad_request": "Something in the request is not right.",
    "bad_name": "That is not a name: use letters, digits, points, hyphens and underscores, and begin with "
    "a letter or a digit.",
    "bad_filter": "The filter cannot be understood.",
    "bad_schema": "The schema cannot be understood.",
    "bad_xml": "The XML cannot be read.",
    "schema_mismatch": "The message does not fit the topic's schema.",
    "endpoint_forbidden": "Messages may not be pushed to that address.",
    "too_large": "That is larger than what is allowed.",
    "not_found": "What you are looking for is not there, or not any more.",
    "already_exists": "There is one with that name already.",
    "unauthorized": "The name or the password is not right.",
    "forbidden": "You may not do that.",
    "changed": "Somebody else changed this meanwhile: look at it again, then decide.",
    "method_unknown": "That cannot be done at this address.",
    "limit_reached": "That would be more than what is allowed.",
    "not_pending": "Some of those messages are not waiting any more.",
    "disabled": "It is disabled: enable it first.",
    "data_lost": "Those messages are not in the log any more.",
    "hub_busy": "The hub has too much to do right now. Try again in a moment.",
    "rate_limited": "Too many attempts. Wait a while, then try again.",
    "hub_stopping": "The hub is stopping. Try again in a moment.",
    "hub_unreachable": "There was no answer in time. Try again in a moment.",
    "store_full": "The disk of the hub is full: nothing can be written until there is room.",
    "store_failed": "The database of the hub failed.",
    "keys_unavailable": "The identity provider cannot be reached.",
    "internal_error": "The hub failed to carry this out: its log says why.",
}
_OTHERWISE = "That did not work."
DONE = {
    "created": "Created.",
    "saved": "Saved.",
    "deleted": "Deleted.",
    "enabled": "Enabled.",
    "disabled": "Disabled.",
    "revoked": "Revoked.",
    "granted": "Granted.",
    "withdrawn": "Withdrawn.",
    "paused": "Paused: messages wait, and nothing is pushed.",
    "resumed": "Resumed.",
    "published": "Published as message {n}.",
    "replayed": "Replayed: the messages from there on are delivered again.",
    "parked": "{n} set aside.",
    "unparked": "{n} will be delivered again.",
    "skipped": "{n} skipped.",
    "given_up": "{n} given up: never delivered, unless they are replayed.",
    "tried": "The hub tries at once: what happens is seen below.",
    "released": "{n} will be worked on again.",
    "dropped": "{n} forgotten.",
    "removed": "Removed from the group.",
    "left": "You have left.",
    "password": "The password was changed.",
    "ended": "The other sessions were ended.",
    "shown_out": "Ended: whoever it was must enter again.",
}


@dataclass(frozen=True, slots=True)
class Explained:
    """An error for a person."""

    code: str
    sentence: Markup
    detail: str
    """What the hub says, in English."""


def explain(error: PregonError, say: Words) -> Explained:
    """An error in words."""
    return Explained(error.code, say(SENTENCES.get(error.code, _OTHERWISE)), str(error))


def done_sentence(key: str, count: str, say: Words) -> Markup | None:
    """What was done, in words; None for what is no key of ours."""
    text = DONE.get(key)
    if text is None:
        return None
    return say(text, n=count if count.isascii() and count.isdigit() and len(count) < 20 else "?")
