"""What changes of the people of the administration pages do in a transaction. Who may ask for them is said in `people`.

Promises:
- There is always somebody who administers, once there is anybody: the last one is not removed, disabled or demoted.
- Each of them raises before it has written anything, or not at all.
"""

from __future__ import annotations

import msgspec

from pregon.errors import AlreadyExists, BadRequest, LimitReached, NotFound, Unauthorized
from pregon.limits import ADMIN_SESSIONS_MAX, ADMIN_SESSIONS_OF_PERSON_MAX, ADMINISTRATORS_MAX
from pregon.model.administration import ADMINISTRATOR, PASSWORD, Administrator, Session
from pregon.store import admin_sessions, administrators
from pregon.store.administrators import KeptAdministrator
from pregon.store.transaction import Transaction

REFUSED = "the name or the password is wrong, or this person may not enter"
"""One answer for all of them: nobody learns from it who there is."""
_LAST = "this is the last one who administers: make another administrator first"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What to change of a person; None for as it is."""

    password_hash: str | None = None
    role: str | None = None
    enabled: bool | None = None


def create_person(transaction: Transaction, name: str, password_hash: str, role: str) -> Administrator:
    """Add a person; raises AlreadyExists or LimitReached, and BadRequest for a first one who could not administer."""
    connection, now_us = transaction.connection, transaction.now_us
    if administrators.find_administrator(connection, name) is not None:
        raise AlreadyExists(f"there is a person {name} already: change that one, or choose another name")
    count = administrators.count_administrators(connection)
    if count >= ADMINISTRATORS_MAX:
        raise LimitReached(f"there are {count} people already: remove one who needs to enter no more")
    if not count and role != ADMINISTRATOR:
        raise BadRequest(f"the first person is an {ADMINISTRATOR}: nobody else could make the others")
    known = Administrator(name=name, role=role, created_us=now_us, changed_us=now_us)
    administrators.insert_administrator(connection, KeptAdministrator(known, password_hash))
    return known


def change_person(transaction: Transaction, name: str, wanted: Wanted) -> tuple[Administrator, list[bytes]]:
    """Change a person, and end the sessions; who it is then, and which sessions. Raises NotFound or LimitReached."""
    connection = transaction.connection
    known = require_person(transaction, name).known
    changed = msgspec.structs.replace(
        known,
        role=known.role if wanted.role is None else wanted.role,
        enabled=known.enabled if wanted.enabled is None else wanted.enabled,
        changed_us=transaction.now_us,
    )
    if not _administers(changed):
        _require_another(transaction, known)
    values = {"role": changed.role, "enabled": changed.enabled, "changed_us": changed.changed_us}
    if wanted.password_hash is not None:
        values["password_hash"] = wanted.password_hash
    administrators.change_administrator(connection, name, **values)
    return changed, admin_sessions.delete_sessions_of(connection, name, PASSWORD)


def remove_person(transaction: Transaction, name: str) -> tuple[bool, list[bytes]]:
    """Remove a person and the sessions; whether there was one, and which sessions. Raises LimitReached."""
    kept = administrators.find_administrator(transaction.connection, name)
    if kept is None:
        return False, []
    _require_another(transaction, kept.known)
    administrators.delete_administrator(transaction.connection, name)
    return True, admin_sessions.delete_sessions_of(transaction.connection, name, PASSWORD)


def require_person(transaction: Transaction, name: str) -> KeptAdministrator:
    """The person; raises NotFound."""
    kept = administrators.find_administrator(transaction.connection, name)
    if kept is None:
        raise NotFound(f"there is no person {name[:160]}: `pregon admin list` shows who there is")
    return kept


def require_same(transaction: Transaction, kept: KeptAdministrator) -> Administrator:
    """Who it is now; raises Unauthorized for another password than was compared, or who may not enter."""
    there = administrators.find_administrator(transaction.connection, kept.known.name)
    if there is None or not there.known.enabled or there.password_hash != kept.password_hash:
        raise Unauthorized(REFUSED)
    return there.known


def require_room(transaction: Transaction) -> None:
    """Raises LimitReached when there are as many sessions as may be."""
    if admin_sessions.count_sessions(transaction.connection) >= ADMIN_SESSIONS_MAX:
        raise LimitReached(f"{ADMIN_SESSIONS_MAX} people are in already: come back when some have left")


def begin_session(transaction: Transaction, token_hash: bytes, session: Session) -> list[bytes]:
    """Let somebody in; the sessions of the same person that end because there are too many."""
    keep = ADMIN_SESSIONS_OF_PERSON_MAX - 1
    ended = admin_sessions.delete_sessions_of(transaction.connection, session.name, session.source, keep)
    admin_sessions.insert_session(transaction.connection, token_hash, session)
    return ended


def _administers(person: Administrator) -> bool:
    return person.enabled and person.role == ADMINISTRATOR


def _require_another(transaction: Transaction, person: Administrator) -> None:
    if _administers(person) and not administrators.has_administrator_besides(transaction.connection, person.name):
        raise LimitReached(_LAST)
