"""What the audit says, as sentences: who did what to what. What is not known here is told as it was noted."""

from __future__ import annotations

from typing import Any

import msgspec
from markupsafe import Markup, escape

from pregon.edges.admin.words import Words
from pregon.model.administration import AuditEntry

_ACTION_SENTENCES = {
    ("create", "topic"): "{who} created the topic {what}",
    ("update", "topic"): "{who} changed the topic {what}",
    ("delete", "topic"): "{who} deleted the topic {what}",
    ("enable", "topic"): "{who} enabled the topic {what}",
    ("disable", "topic"): "{who} disabled the topic {what}",
    ("test", "topic"): "{who} sent a test message to the topic {what}",
    ("update", "schema"): "{who} gave the topic {what} another schema",
    ("create", "producer"): "{who} created the producer {what}",
    ("update", "producer"): "{who} changed the producer {what}",
    ("delete", "producer"): "{who} deleted the producer {what}",
    ("enable", "producer"): "{who} enabled the producer {what}",
    ("disable", "producer"): "{who} disabled the producer {what}",
    ("grant", "producer"): "{who} let the producer {what} publish to a topic",
    ("ungrant", "producer"): "{who} withdrew a topic from the producer {what}",
    ("create", "subscriber"): "{who} created the subscriber {what}",
    ("update", "subscriber"): "{who} changed the subscriber {what}",
    ("delete", "subscriber"): "{who} deleted the subscriber {what}",
    ("enable", "subscriber"): "{who} enabled the subscriber {what}",
    ("disable", "subscriber"): "{who} disabled the subscriber {what}",
    ("test", "subscriber"): "{who} tested the web service of the subscriber {what}",
    ("create", "secret"): "{who} gave the subscriber {what} a new signing secret",
    ("revoke", "secret"): "{who} ended a signing secret of the subscriber {what}",
    ("create", "subscription"): "{who} created the subscription {what}",
    ("update", "subscription"): "{who} changed the subscription {what}",
    ("delete", "subscription"): "{who} deleted the subscription {what}",
    ("pause", "subscription"): "{who} paused the subscription {what}",
    ("resume", "subscription"): "{who} resumed the subscription {what}",
    ("try_now", "subscription"): "{who} had the subscription {what} tried again at once",
    ("park", "subscription"): "{who} set messages of the subscription {what} aside",
    ("unpark", "subscription"): "{who} had messages of the subscription {what} delivered again that were set aside",
    ("cancel", "subscription"): "{who} skipped messages of the subscription {what}",
    ("replay", "subscription"): "{who} replayed the subscription {what}",
    ("create", "key"): "{who} made a key for the {what}",
    ("revoke", "key"): "{who} revoked a key of the {what}",
    ("create", "curve-key"): "{who} let the CURVE key {what} in",
    ("delete", "curve-key"): "{who} let the CURVE key {what} in no more",
    ("update", "service"): "{who} changed how the service {what} is run",
    ("reset", "service"): "{who} had the service {what} run as all the others",
    ("release", "request"): "{who} had the request {what} worked on again",
    ("drop", "request"): "{who} forgot the request {what}, which was set aside",
    ("forget", "request"): "{who} forgot the durable request {what}",
    ("create", "group"): "{who} created the group {what}",
    ("update", "group"): "{who} changed the group {what}",
    ("delete", "group"): "{who} deleted the group {what}",
    ("remove", "group"): "{who} removed a member from the group {what}",
    ("create", "administrator"): "{who} let {what} enter these pages",
    ("update", "administrator"): "{who} changed the person {what}",
    ("enable", "administrator"): "{who} let {what} enter again",
    ("disable", "administrator"): "{who} let {what} enter no more",
    ("delete", "administrator"): "{who} removed the person {what}",
    ("enter", "session"): "{who} entered",
    ("enter_failed", "session"): "Somebody could not enter as {what}",
    ("leave", "session"): "{who} left",
    ("end", "session"): "{who} ended the sessions of {what}",
}
_KEY_WORDS = {"producer": "producer {name}", "subscriber": "subscriber {name}", "token": "token {name}"}
_WHO_WORDS = {
    "oidc": "{name} (by the identity provider)",
    "token": "the token {name}",
    "producer": "the producer {name}",
    "subscriber": "the subscriber {name}",
}
_OTHER_WORDS = {
    "entry link": "The link of a new hub",
    "data directory": "Somebody at the data directory",
}
KIND_WORDS = {
    "topic": "topics",
    "schema": "schemas",
    "producer": "producers",
    "subscriber": "subscribers",
    "secret": "signing secrets",
    "subscription": "subscriptions",
    "key": "keys and tokens",
    "curve-key": "CURVE keys",
    "service": "services",
    "request": "requests to services",
    "group": "groups",
    "administrator": "people of these pages",
    "session": "who entered and left",
}
ACTION_WORDS = {
    "create": "created",
    "update": "changed",
    "delete": "deleted",
    "grant": "granted",
    "ungrant": "withdrawn",
    "revoke": "revoked",
    "test": "tested",
    "try_now": "tried again",
    "park": "set aside",
    "unpark": "delivered again",
    "cancel": "skipped",
    "replay": "replayed",
    "release": "worked on again",
    "drop": "dropped",
    "forget": "forgotten",
    "reset": "as all the others",
    "remove": "removed from a group",
    "enter": "entered",
    "enter_failed": "could not enter",
    "leave": "left",
    "end": "shown out",
}
_PLACES = {
    "topic": "/admin/topics/{0}",
    "schema": "/admin/topics/{0}",
    "producer": "/admin/producers/{0}",
    "subscriber": "/admin/subscribers/{0}",
    "secret": "/admin/subscribers/{0}",
    "subscription": "/admin/subscriptions/{0}/{1}",
    "service": "/admin/services/{0}",
    "group": "/admin/groups/{0}",
}
_VALUE_CHARACTERS_MAX = 400


_SWITCHES = {
    ("enabled", "true"): "enable",
    ("enabled", "false"): "disable",
    ("paused", "true"): "pause",
    ("paused", "false"): "resume",
}
"""Changes of one field that people have a verb for."""


def sentence(entry: AuditEntry, say: Words) -> Markup:
    """What was done, in a sentence."""
    text = _ACTION_SENTENCES.get((_verb(entry), entry.kind))
    who = Markup("<b>{}</b>").format(name_who(entry.who, say))
    if text is None:
        return Markup("{}: {} {} <b>{}</b>").format(who, entry.action, entry.kind, entry.object)
    return say(text, who=who, what=Markup("<b>{}</b>").format(name_what(entry, say)))


def _verb(entry: AuditEntry) -> str:
    """What was done, as people say it."""
    detail = read_detail(entry) if entry.action == "update" else []
    return _SWITCHES.get(detail[0], entry.action) if len(detail) == 1 else entry.action


def name_who(who: str, say: Words) -> Markup:
    """Somebody as people call them."""
    kind, _, name = who.partition(" ")
    if not who:
        return say("Anybody (the hub was open)")
    if who in _OTHER_WORDS:
        return say(_OTHER_WORDS[who])
    if kind == "administrator" and name:
        return escape(name)
    return say(_WHO_WORDS[kind], name=name) if name and kind in _WHO_WORDS else escape(who)


def name_what(entry: AuditEntry, say: Words) -> Markup:
    """What it was done to: a subscription is named as one place, a key by its owner."""
    first, _, rest = entry.object.partition(" ")
    if entry.kind == "subscription" and rest:
        return Markup("{} → {}").format(first, rest)
    if entry.kind == "key" and rest and first in _KEY_WORDS:
        return say(_KEY_WORDS[first], name=rest)
    if entry.kind == "session" and not entry.object:
        return say("a name that nobody has")
    return escape(entry.object)


def place_of(entry: AuditEntry) -> str:
    """The page of what it was done to, if it has one and may still be there."""
    names = entry.object.split(" ")
    if entry.kind == "key" and len(names) == 2 and names[0] in ("producer", "subscriber"):
        return _PLACES[names[0]].format(names[1])
    place = _PLACES.get(entry.kind, "")
    is_whole = len(names) == (2 if "{1}" in place else 1)
    is_there = entry.action not in ("delete", "forget", "drop")
    return place.format(*names) if place and is_whole and is_there and all(names) else ""


def read_detail(entry: AuditEntry) -> list[tuple[str, str]]:
    """How it was asked for, field by field; as it stands if it is no JSON object."""
    if not entry.detail:
        return []
    try:
        found = msgspec.json.decode(entry.detail, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return [("", entry.detail[:_VALUE_CHARACTERS_MAX])]
    return [(name, _write(value)) for name, value in found.items()]


def _write(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= _VALUE_CHARACTERS_MAX else text[: _VALUE_CHARACTERS_MAX - 1] + "…"
