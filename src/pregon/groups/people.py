"""Who takes part: who shows which token, remembered so that a message costs no look into the store.

Used by all threads. What is remembered of a participant is forgotten when it is renamed or goes, and of all when a
transaction is undone: somebody may have been looked up in it who then was never enrolled.
"""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection

from pregon.errors import Unauthorized
from pregon.groups.tokens import require_participant
from pregon.security.callers import Caller
from pregon.store.transaction import Transaction

_REMEMBERED_MAX = 20_000
_MOVED = "participants moved"


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
        person = _look(connection, caller, token)
        if len(self._by_token) >= _REMEMBERED_MAX:
            self._by_token.clear()
        self._by_token[token] = person
        # What was looked up while somebody was renamed or went may be wrong by now. Looked at when it is there
        # already: who forgets either finds it, or has counted before.
        if changes != self._changes:
            self._by_token.pop(token, None)
        return person

    def require_within(self, transaction: Transaction, caller: Caller, token: str) -> Person:
        """The same as this transaction has it: what is remembered does not know who was renamed in it."""
        if _MOVED in transaction.gathered:
            return _look(transaction.connection, caller, token)
        return self.require(transaction.connection, caller, token)

    def find_known(self, caller: Caller, token: str) -> Person | None:
        """Who shows this token, if it was looked up before; raises Unauthorized for another's."""
        known = self._by_token.get(token)
        if known is not None and known.caller and known.caller != caller.name:
            raise Unauthorized("this participant was enrolled with a key: present the same one")
        return known

    def moved(self, transaction: Transaction, participant_id: int) -> None:
        """A participant has another name in this transaction, or is gone."""
        transaction.gathered[_MOVED] = True
        transaction.after_commit.append(lambda: self._forget(participant_id))

    def forget(self) -> None:
        """What is remembered may no longer be so."""
        self._changes += 1
        self._by_token.clear()

    def _forget(self, participant_id: int) -> None:
        self._changes += 1
        for token, person in self._by_token.copy().items():
            if person.id == participant_id:
                self._by_token.pop(token, None)


def _look(connection: Connection, caller: Caller, token: str) -> Person:
    row = require_participant(connection, caller, token)
    return Person(row.id, row.name, row.caller)
