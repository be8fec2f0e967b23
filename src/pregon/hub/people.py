"""The people of the administration pages: who they are, who is in, and how somebody gets in.

Every method answers when what it did is on disk: it blocks, and one that hashes a password takes a tenth of a second.
So it is for threads that may wait, never for a door's own. It may be called from many at once.

Entering fails alike, and takes as long, for a name that nobody has, a wrong password and somebody who is disabled.
Failures are limited by name and by address (see `security.attempts`). What a browser gets is a token of 256 random
bits, of which the store has the SHA-256.

A hub that has nobody yet can hand out a link, by which the first administrator is made: it is in memory only, works
once, and is gone as soon as there is anybody.

Promises:
- A person who was disabled, removed, or given another password or role is out at once.
- Nobody makes or changes people because a hub is open: whoever enters has scopes that an open hub does not give.
- No password, token or link is logged, audited or part of an error.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from pregon.clock import monotonic_ms
from pregon.errors import BadName, BadRequest, PregonError, Unauthorized
from pregon.hub import people_changes
from pregon.hub.auditing import Note, audited, note_of, write_note
from pregon.hub.hub import Hub
from pregon.hub.people_changes import REFUSED, Wanted
from pregon.hub.people_door import Doorkeeper
from pregon.hub.people_memory import SessionMemory
from pregon.hub.people_present import PeoplePresent
from pregon.hub.people_rights import require_shown
from pregon.limits import ENTRY_ADDRESS_FAILURES_MAX, ENTRY_NAME_FAILURES_MAX
from pregon.model.administration import (
    ADMINISTRATOR,
    ENTER,
    ENTER_FAILED,
    LEAVE,
    OIDC,
    PASSWORD,
    SESSION,
    Administrator,
    Session,
)
from pregon.model.names import check_name
from pregon.security.callers import Caller
from pregon.security.keys import READ, hash_secret, is_secret
from pregon.security.passwords import DEFAULT_COSTS, Costs
from pregon.security.roles import caller_of, check_role, name_of_caller
from pregon.store import admin_sessions, administrators
from pregon.store.administrators import KeptAdministrator
from pregon.store.change import Change
from pregon.store.transaction import Transaction

T = TypeVar("T")
Entered = tuple[str, Session]
"""A token for the browser, and the session that it opens."""

PERSON = "administrator"
"""What the audit calls a person of the pages."""
_LINK = "entry link"
"""Who made the first administrator, as the audit has it."""
_LINK_GONE = (
    "this link was used already, or is of an earlier start of the hub: its log has the new one, if there is one"
)
_NAME_CHARACTERS_MAX = 160
_SEEN_EVERY_US = admin_sessions.SEEN_EVERY_MS * 1_000


class People:
    """Who may enter, who is in, and the first one's link."""

    def __init__(self, hub: Hub, costs: Costs = DEFAULT_COSTS, now_ms: Callable[[], float] = monotonic_ms) -> None:
        self._hub = hub
        self._now_ms = now_ms
        self._has_any: bool | None = None
        """None: nobody has asked yet. Once there is somebody there always is."""
        self._link: bytes | None = None
        self._sessions = SessionMemory()
        self._door = Doorkeeper(costs, now_ms)
        self.present = PeoplePresent(hub, self._sessions)

    # Who there is.

    def has_any(self) -> bool:
        """Whether somebody may enter with a password; of whom at least one administers."""
        if self._has_any is None:
            count = self._hub.read_at_start(administrators.count_administrators)
            # Somebody may have been made meanwhile.
            self._has_any = bool(self._has_any) or count > 0
        return self._has_any

    def list(self, caller: Caller) -> Sequence[Administrator]:
        """Everybody, by name, for readers."""
        self._hub.keyring.rules.require(caller, READ)
        return self._hub.read(administrators.list_administrators).result()

    def create(self, caller: Caller, name: str, password: str, role: str = ADMINISTRATOR) -> Administrator:
        """Let somebody in from now on; raises BadName, BadRequest, AlreadyExists or LimitReached."""
        require_shown(self._hub, caller)
        password_hash = self._door.hash_new(check_name(PERSON, name), password)
        check_role(role)

        def change(transaction: Transaction) -> Administrator:
            made = people_changes.create_person(transaction, name, password_hash, role)
            transaction.after_commit.append(self._found)
            return made

        return self._carry_out(change, note_of(caller, "create", PERSON, [name], {"role": role}))

    def change(
        self,
        caller: Caller,
        name: str,
        *,
        password: str | None = None,
        role: str | None = None,
        enabled: bool | None = None,
    ) -> Administrator:
        """Change a person, whose sessions end; raises NotFound, BadRequest, LimitReached for the last administrator."""
        require_shown(self._hub, caller)
        if password is None and role is None and enabled is None:
            raise BadRequest("say what to change: the password, the role, or whether this person may enter")
        if role is not None:
            check_role(role)
        password_hash = None if password is None else self._door.hash_new(name, password)
        wanted = Wanted(password_hash=password_hash, role=role, enabled=enabled)
        said = {"role": role, "enabled": enabled, "password": None if password is None else "changed"}
        told = {what: value for what, value in said.items() if value is not None}

        def change(transaction: Transaction) -> Administrator:
            changed, ended = people_changes.change_person(transaction, name, wanted)
            self._end_after(transaction, ended)
            return changed

        return self._carry_out(change, note_of(caller, "update", PERSON, [name], told))

    def remove(self, caller: Caller, name: str) -> bool:
        """Let somebody in no more, at once; whether there was one. Raises LimitReached for the last administrator."""
        require_shown(self._hub, caller)

        def change(transaction: Transaction) -> bool:
            existed, ended = people_changes.remove_person(transaction, name)
            self._end_after(transaction, ended)
            return existed

        return self._carry_out(change, note_of(caller, "delete", PERSON, [name]))

    def change_own_password(self, session: Session, old: str, new: str) -> Entered:
        """Give oneself another password; the session to go on with, because all others end.

        Raises Unauthorized for a wrong old one, RateLimited after many, BadRequest for a new one that may not be.
        """
        if session.source != PASSWORD:
            raise BadRequest("your password is kept by the identity provider: change it there")
        begun = self._door.begin_with(("own", session.name), ENTRY_NAME_FAILURES_MAX)
        kept = self._find_person(session.name)
        if not self._door.is_right(kept.password_hash if kept else None, old) or kept is None:
            self._note_failure(kept, "")
            raise Unauthorized("the password that you have now is another one")
        self._door.succeed(begun)
        wanted = Wanted(password_hash=self._door.hash_new(session.name, new))

        def prepare(transaction: Transaction) -> str:
            people_changes.require_same(transaction, kept)
            changed, ended = people_changes.change_person(transaction, session.name, wanted)
            self._end_after(transaction, ended)
            write_note(
                transaction,
                note_of(caller_of(session), "update", PERSON, [session.name], {"password": "changed"}),
            )
            return changed.role

        return self._let_in(session.name, PASSWORD, "", prepare)

    # Coming and going.

    def enter(self, name: str, password: str, address: str = "") -> Entered:
        """Let somebody in by a password; raises Unauthorized, RateLimited, or LimitReached when too many are in."""
        name = name[:_NAME_CHARACTERS_MAX]
        begun = self._door.begin(name, address)
        kept = self._find_person(name)
        is_right = self._door.is_right(kept.password_hash if kept else None, password)
        if kept is None or not is_right or not kept.known.enabled:
            self._note_failure(kept, address)
            raise Unauthorized(REFUSED)
        self._door.succeed(begun, name, address)
        renewed = self._door.hash_again(kept.password_hash, password)

        def prepare(transaction: Transaction) -> str:
            there = people_changes.require_same(transaction, kept)
            if renewed:
                administrators.change_administrator(transaction.connection, name, password_hash=renewed)
            return there.role

        return self._let_in(name, PASSWORD, address, prepare)

    def enter_by_provider(self, name: str, role: str, address: str = "") -> Entered:
        """Let somebody in whom an identity provider has sent, by the name that it says."""
        check_role(role)
        if not 0 < len(name) <= _NAME_CHARACTERS_MAX or not name.isprintable():
            raise BadRequest(f"the name that the identity provider says has 1 to {_NAME_CHARACTERS_MAX} characters")
        return self._let_in(name, OIDC, address, lambda _: role)

    def refuse_by_provider(self, name: str = "", address: str = "") -> None:
        """Write down that somebody whom an identity provider has sent was not let in; who, if it is known."""
        who = name_of_caller(name, OIDC) if name else ""
        self._note_refusal(who, name, {"source": OIDC}, address)

    def find_session(self, token: str, *, is_active: bool = True) -> Session | None:
        """Who shows this token, if still in. `is_active=False`: a page that asks by itself keeps nobody in."""
        if not 0 < len(token) <= 100 or not token.isascii():
            return None
        token_hash, now_ms = hash_secret(token), self._now_ms()
        session = self._sessions.find(token_hash, now_ms) or self._read_session(token_hash, now_ms)
        now_us, options = self._hub.clock.now_us(), self._hub.options
        if session is None or now_us >= min(session.expires_us, session.seen_us + options.admin_idle_ms * 1_000):
            return None
        if is_active and self._sessions.note_use(token_hash, now_us, _SEEN_EVERY_US):
            self._write_seen(token_hash, now_us)
        return session

    def leave(self, token: str) -> bool:
        """End a session; whether there was one."""
        token_hash = hash_secret(token[:100])

        def change(transaction: Transaction) -> bool:
            session = admin_sessions.delete_session(transaction.connection, token_hash)
            self._end_after(transaction, [token_hash])
            if session is not None:
                write_note(transaction, note_of(caller_of(session), LEAVE, SESSION, [session.name]))
            return session is not None

        return self._carry_out(change)

    def leave_all(self, name: str, source: str = PASSWORD, but: str = "") -> int:
        """End every session of a person, but for that of a token if one is given; how many."""
        who, kept = name_of_caller(name, source), hash_secret(but[:100])

        def change(transaction: Transaction) -> int:
            ended = admin_sessions.delete_sessions_of(transaction.connection, name, source, but=kept)
            self._end_after(transaction, ended)
            return len(ended)

        return self._carry_out(change, Note(who, LEAVE, SESSION, name, {"all": True}))

    # The first one.

    def make_link(self) -> str | None:
        """A secret by which the first administrator is made, instead of the one before; None when there is somebody."""
        if self.has_any():
            return None
        secret = secrets.token_urlsafe(32)
        self._link = hash_secret(secret)
        return secret

    def is_link(self, secret: str) -> bool:
        """Whether this is the secret of the link, and there is still nobody."""
        return is_secret(secret[:100], self._link) and not self.has_any()

    def use_link(self, secret: str, name: str, password: str, address: str = "") -> Entered:
        """Make the first administrator, who is in at once; raises Unauthorized, RateLimited, BadName or BadRequest."""
        if not self.is_link(secret):
            self._door.begin_with("link", ENTRY_ADDRESS_FAILURES_MAX)
            raise Unauthorized(_LINK_GONE)
        password_hash = self._door.hash_new(check_name(PERSON, name), password)

        def prepare(transaction: Transaction) -> str:
            if administrators.count_administrators(transaction.connection):
                raise Unauthorized(_LINK_GONE)
            made = people_changes.create_person(transaction, name, password_hash, ADMINISTRATOR)
            write_note(transaction, Note(_LINK, "create", PERSON, name, {"role": ADMINISTRATOR}))
            transaction.after_commit.append(self._found)
            return made.role

        return self._let_in(name, PASSWORD, address, prepare)

    # How it is done.

    def _carry_out(self, change: Callable[[Transaction], T], note: Note | None = None) -> T:
        """Have a change on disk, with its note."""
        answer: T = self._hub.submit(audited(Change(change), note)).result()
        return answer

    def _let_in(self, name: str, source: str, address: str, prepare: Callable[[Transaction], str]) -> Entered:
        """A session, in the transaction of what must be so, or be done, before it, and which says the role.

        Read earlier, the role could be one that was taken away while the password was hashed.
        """
        token = secrets.token_urlsafe(32)
        token_hash, lasts_us = hash_secret(token), self._hub.options.admin_session_ms * 1_000

        def change(transaction: Transaction) -> Session:
            people_changes.require_room(transaction)
            role = prepare(transaction)
            now_us = transaction.now_us
            session = Session(
                name=name, role=role, source=source, created_us=now_us, seen_us=now_us, expires_us=now_us + lasts_us
            )
            self._end_after(transaction, people_changes.begin_session(transaction, token_hash, session))
            said = {"source": source, **({"address": address[:100]} if address else {})}
            write_note(transaction, note_of(caller_of(session), ENTER, SESSION, [name], said))
            return session

        return token, self._carry_out(change)

    def _end_after(self, transaction: Transaction, ended: Sequence[bytes]) -> None:
        if ended:
            transaction.after_commit.append(partial(self._sessions.end, ended))

    def _found(self) -> None:
        """There is somebody."""
        self._has_any, self._link = True, None

    def _find_person(self, name: str) -> KeptAdministrator | None:
        try:
            check_name(PERSON, name)
        except BadName:
            return None
        return self._hub.read(lambda connection: administrators.find_administrator(connection, name)).result()

    def _read_session(self, token_hash: bytes, now_ms: float) -> Session | None:
        ended = self._sessions.ended
        found = self._hub.read(lambda connection: admin_sessions.find_session(connection, token_hash)).result()
        return None if found is None else self._sessions.keep(token_hash, found, now_ms, ended)

    def _write_seen(self, token_hash: bytes, now_us: int) -> None:
        """Nobody waits for it: one that is lost ends a session a minute early."""
        operation = Change(lambda transaction: admin_sessions.note_seen(transaction.connection, token_hash, now_us))
        operation.is_durable = False
        try:
            self._hub.submit(operation)
        except PregonError:
            return

    def _note_failure(self, kept: KeptAdministrator | None, address: str) -> None:
        """Somebody did not get in. A name that nobody has is not written down: people type passwords there."""
        self._note_refusal("", kept.known.name if kept else "", {}, address)

    def _note_refusal(self, who: str, name: str, said: dict[str, str], address: str) -> None:
        if self._door.may_audit_failure():
            told = {**said, **({"address": address[:100]} if address else {})}
            note = Note(who, ENTER_FAILED, SESSION, name, told)
            self._carry_out(lambda transaction: write_note(transaction, note))
