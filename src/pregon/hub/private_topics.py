"""The topics of private conversations: for the two who have them, through the group, and through no other door.

An administrator who shows a token with the scope `admin` sees them like all others. That a hub is open, so that anybody
administers it, is not enough.

Promises:
- The answer to who may not see one does not depend on whether it exists.
- Pages are as full without them as with them: who follows a list to its end misses nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlalchemy import Connection

from pregon.errors import Forbidden
from pregon.hub.registry import Entry, list_entries
from pregon.model.administration import AuditEntry, AuditPage
from pregon.model.catalog import Subscription, Topic
from pregon.model.group import PRIVATE_PREFIX, TOPIC_PREFIX
from pregon.model.trace import TracePage
from pregon.security.callers import Caller
from pregon.security.keys import ADMIN
from pregon.store.ticket import Ticket, then

PREFIX = TOPIC_PREFIX + PRIVATE_PREFIX
"""With which the names of their topics begin."""
_AFTER_ALL = PREFIX[:-1] + chr(ord(PREFIX[-1]) + 1)
"""Follows every name with the prefix, and is no name itself."""
_KINDS = ("topic", "subscription")
"""What is named by its topic first."""


def may_see_private(caller: Caller) -> bool:
    """Whether the caller has shown that it administers the hub."""
    return ADMIN in caller.scopes


def require_not_private(caller: Caller, topic: str) -> None:
    """Raises Forbidden for the topic of a conversation of two, unless an administrator asks who showed that it is."""
    if topic.startswith(PREFIX) and not may_see_private(caller):
        raise Forbidden(f"{topic[:160]} is a private conversation: it is for the two who have it")


def require_entry_not_private(caller: Caller, kind: str, names: Sequence[str]) -> None:
    """The same for an entry that is named by its topic."""
    if kind in _KINDS and names:
        require_not_private(caller, names[0])


def list_others(
    connection: Connection, kind: str, after: tuple[str, ...], names: tuple[str, ...], rows_max: int
) -> list[Entry]:
    """A page of entries, without those of private conversations."""
    page = list_entries(connection, kind, after=after, names=names, rows_max=rows_max)
    shown = [one for one in page if not _topic_of(one).startswith(PREFIX)]
    if len(shown) == len(page) or names[:1] not in ((), ("",)):
        return shown
    # They stand together by name: what comes before them is there, and the page is filled with what comes after them.
    before = [one for one in shown if _topic_of(one) < PREFIX]
    rest = list_entries(connection, kind, after=(_AFTER_ALL,), names=names, rows_max=rows_max)
    return [*before, *rest][: max(1, rows_max)]


def _topic_of(entry: Entry) -> str:
    if isinstance(entry, Subscription):
        return entry.topic
    return entry.name if isinstance(entry, Topic) else ""


def without_private(ticket: Ticket[TracePage]) -> Ticket[TracePage]:
    """A page of traces without those of private conversations; it may be short, and says where to go on as before."""
    return then(ticket, lambda page: TracePage((one for one in page if not one.topic.startswith(PREFIX)), page.next))


def without_private_notes(ticket: Ticket[AuditPage]) -> Ticket[AuditPage]:
    """A page of the audit without what was done to private conversations; it says where to go on as before."""
    return then(ticket, lambda page: AuditPage((one for one in page if not _is_of_two(one)), page.next))


def _is_of_two(note: AuditEntry) -> bool:
    """Whether something was done to the topic of a conversation of two, or to the group that it is."""
    return note.object.startswith(PRIVATE_PREFIX if note.kind == "group" else PREFIX)


def without_private_rows(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of a table with a column `topic`, without those of private conversations."""
    # Imported here: it costs 50 ms that a start need not pay.
    import pyarrow.compute as pc

    is_private = pc.starts_with(rows.column("topic"), PREFIX)
    return rows.filter(pc.invert(is_private)) if is_private.true_count else rows
