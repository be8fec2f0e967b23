"""The people of the administration pages, who of them is in, and who changed what.

A person has a name, a password and a role; what a role may do is said in `security.roles`. An entry of the audit is one
thing that somebody did: to what, when, and how it was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

READER, OPERATOR, ADMINISTRATOR = "reader", "operator", "administrator"
ROLES = (READER, OPERATOR, ADMINISTRATOR)
"""What a person may do, each more than the one before it."""

PASSWORD, OIDC = "password", "oidc"
SOURCES = (PASSWORD, OIDC)
"""How a session was entered: with a password that the hub knows, or sent by an identity provider."""

ENTER, ENTER_FAILED, LEAVE, END = "enter", "enter_failed", "leave", "end"
"""What the audit calls the coming and going of people, and showing them out; the kind of all is `SESSION`."""
SESSION = "session"


class Administrator(msgspec.Struct, frozen=True, kw_only=True):
    """Who may enter the pages with a password. The password is not here."""

    name: str
    role: str
    """One of `ROLES`."""
    enabled: bool = True
    created_us: int = 0
    changed_us: int = 0


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who is in. What the browser shows of it is not here."""

    name: str
    role: str
    source: str = PASSWORD
    """One of `SOURCES`: two people of one name are told apart by it."""
    created_us: int = 0
    seen_us: int = 0
    """When something was last done in it, to the minute."""
    expires_us: int = 0
    """When it ends, whatever is done in it."""


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that somebody did."""

    at_us: int
    who: str
    """As the gate knows it: `administrator ana`, `token grafana`. Empty for anybody, on a hub that is open."""
    action: str
    kind: str
    object: str
    """The names of what it was done to, by spaces."""
    detail: str = ""
    """What was asked for, as a JSON object; nothing that is secret. Empty for nothing more to say."""
    id: int = 0
    """Its place in the audit: `before` of the next page."""


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries to find; an empty field does not restrict. Newest first, `before` continues a page."""

    who: str = ""
    kind: str = ""
    object: str = ""
    """All of it; with `*` at its end, what begins so."""
    action: str = ""
    since_us: int = 0
    until_us: int = 0
    before: int = 0
    max: int = 50


class AuditPage(list[AuditEntry]):
    """The entries that a search found, newest first.

    `next` is `before` of the next page; 0: there is no more. A page may be short, even empty, and still have a next
    one: a search looks at no more than so many rows at a time.
    """

    def __init__(self, entries: Iterable[AuditEntry] = (), next: int = 0) -> None:
        super().__init__(entries)
        self.next = next
