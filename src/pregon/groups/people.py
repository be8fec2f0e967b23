"""Who takes part: who shows which token, remembered so that a message costs no look into the store.

Used by all threads. What is remembered is forgotten when a participant is renamed or goes.
"""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection

from pregon.errors import Unauthorized
from pregon.groups.tokens import require_participant
from pregon.security.callers import Caller

_REMEMBERED_MAX = 20_000


class Person(msgspec.Struct, frozen=True):
    """A participant that has shown its token."""

    id: int
    name: str
    caller: str = ""


class People:
    """Knows who shows a token."""

    def __init__(self) -> None:
        self._by_token: dict[str, Person] = {}
        self._changes = 0

    def require(self, connection: Connection, caller: Caller, token: str) -> Person:
        """Who shows this token; raises Unauthorized."""
        known = self.find_known(caller, token)
        if known is not None:
            return known
        changes = self._changes
        row = require_participant(connection, caller, token)
        person = Person(row.id, row.name, row.caller)
        if len(self._by_token) >= _REMEMBERED_MAX:
            self._by_token.clear()
        # What was looked up while somebody was renamed or went may be wrong by now.
        if changes == self._changes:
            self._by_token[token] = person
        return person

    def find_known(self, caller: Caller, token: str) -> Person | None:
        """Who shows this token, if it was looked up before; raises Unauthorized for another's."""
        known = self._by_token.get(token)
        if known is not None and known.caller and known.caller != caller.name:
            raise Unauthorized("this participant was enrolled with a key: present the same one")
        return known

    def forget(self) -> None:
        """Somebody has another name, or is gone."""
        self._changes += 1
        self._by_token.clear()
