"""Groups and participants as a caller of the hub may make, see and change them; see `desk` for who may what."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Connection, Row

from pregon.errors import BadRequest, PregonError, Unauthorized, Unavailable
from pregon.groups import entries
from pregon.groups.of_two import require_not_of_two
from pregon.groups.people import People, Person
from pregon.groups.presence import Presence
from pregon.groups.reading import Reading
from pregon.groups.rolls import Rolls, no_group
from pregon.hub.auditing import note_of, set_fields
from pregon.hub.directory import Directory
from pregon.hub.gate import Gate
from pregon.hub.waiting import WaitingRoom
from pregon.limits import GROUPS_OF_PARTICIPANT_MAX, LIST_ROWS_MAX, WAIT_MS_MAX
from pregon.model.group import Group, GroupMember, Membership, Participant, fold_nick, topic_of
from pregon.security.callers import Caller
from pregon.security.keys import ADMIN, READ
from pregon.store import groups as rows
from pregon.store.change import Change
from pregon.store.ticket import Ticket, pass_on, then
from pregon.store.transaction import Transaction
from pregon.wire.groups import Memberships, Mine

T = TypeVar("T")
GROUP = "group"
"""What the audit calls one."""


class EntryDesk:
    """Groups, and who takes part."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._hub = gate.hub
        self.rolls = Rolls()
        self._people = People()
        self._presence = Presence()
        self._refused = 0
        self._reading = Reading(gate.hub, self.rolls.tails)
        self._changes = WaitingRoom()
        """Who waits for its groups to change, by the id of the participant."""
        gate.hub.on_undone(self._forget)
        gate.hub.follow(self.rolls.tails)

    def start(self) -> None:
        """Begin to call those who wait."""
        self._changes.start()

    def stop(self) -> None:
        """Answer those who wait."""
        self._changes.stop()

    def _forget(self) -> None:
        """A transaction was undone: what was read in it may never have been."""
        self.rolls.forget()
        self._people.forget()

    def counts(self, caller: Caller) -> dict[str, int]:
        """What was written since the hub started, what was refused, and how many are here."""
        self._gate.rules.require(caller, READ)
        return {**self.rolls.counts, "refused": self._refused, "here": self._presence.count()}

    # What all verbs begin with.

    def _require_user(self, caller: Caller) -> None:
        rules = self._gate.rules
        if rules.require_keys and not rules.is_open and not caller.is_known:
            raise Unauthorized("groups of this hub are for who has a key: present it")

    def _submit(self, change: Callable[[Transaction], T], size_bytes: int = 300) -> Ticket[T]:
        return self._hub.submit(Change(change, size_bytes))

    def _submit_lightly(self, change: Callable[[Transaction], None]) -> None:
        """A change that nobody waits for: written with what is written next, and let be when the hub is busy."""
        operation = Change(change)
        operation.is_durable = False
        with contextlib.suppress(Unavailable):
            self._hub.submit(operation)

    def _as_person(
        self, caller: Caller, token: str, change: Callable[[Transaction, Person], T], size_bytes: int = 300
    ) -> Ticket[T]:
        """A change in the name of who shows a token."""
        self._require_user(caller)
        # Who is known to be wrong is refused here, not in the writer's thread.
        self._people.find_known(caller, token)

        def carry_out(transaction: Transaction) -> T:
            try:
                person = self._people.require_within(transaction, caller, token)
                self._presence.touch(person.id)
                return change(transaction, person)
            except PregonError:
                self._refused += 1
                raise

        return self._submit(carry_out, size_bytes)

    def _look(self, caller: Caller, token: str, look: Callable[[Connection, Person | None], T]) -> Ticket[T]:
        """A look in the name of who shows a token, if one is shown."""
        self._require_user(caller)

        def read(connection: Connection) -> T:
            return look(connection, self._people.require(connection, caller, token) if token else None)

        return self._hub.read(read)

    def _moved(self, transaction: Transaction, *participants: int) -> None:
        """After the commit: who may read what has changed, and so have the groups of these."""

        def tell() -> None:
            self._reading.forget(*participants)
            self._changes.topics_moved({str(one) for one in participants})

        transaction.after_commit.append(tell)

    # Groups.

    def create_group(self, caller: Caller, entry: Group, token: str = "") -> Ticket[Group]:
        """Make a group."""
        self._require_user(caller)
        if not self._hub.options.auto_create or token == "":
            self._gate.rules.require(caller, ADMIN)
        if entry.is_private:
            raise BadRequest("a private conversation is made by asking for it with somebody, not as a group")
        create = entries.create_group(self.rolls, entry)

        def change(transaction: Transaction, directory: Directory) -> Group:
            if token:
                self._people.require_within(transaction, caller, token)
            made: Group = create(transaction, directory)
            return made

        # Who makes one on first use, like who makes a topic so, is not one who administers.
        said = None if token else note_of(caller, "create", GROUP, [entry.name], set_fields(entry, without=("name",)))
        return self._hub.change(change, said)

    def update_group(self, caller: Caller, name: str, values: dict[str, Any]) -> Ticket[Group]:
        """Give a group other values."""
        self._gate.rules.require(caller, ADMIN)
        require_not_of_two(caller, name)
        note = note_of(caller, "update", GROUP, [name], values)
        changed = self._hub.change(entries.update_group(self.rolls, name, values), note)

        def tell(entry: Group) -> Group:
            self._reading.forget_all()
            return entry

        return then(changed, tell)

    def delete_group(self, caller: Caller, name: str) -> Ticket[bool]:
        """Give a group up, with its messages."""
        self._gate.rules.require(caller, ADMIN)
        require_not_of_two(caller, name)
        topic = topic_of(name)
        delete = entries.delete_group(self.rolls, name, self._hub.deleting("topic", (topic,)))

        def change(transaction: Transaction, directory: Directory) -> bool:
            was_there, participants = delete(transaction, directory)
            # Before those are called who wait for a message of it.
            transaction.after_commit.append(lambda: self.rolls.tails.forget(topic))
            self._moved(transaction, *participants)
            return bool(was_there)

        return self._hub.change(change, note_of(caller, "delete", GROUP, [name]))

    def show_group(self, caller: Caller, name: str, token: str = "") -> Ticket[dict[str, Any]]:
        """A group, with its members for who may see them."""

        def look(connection: Connection, person: Person | None) -> dict[str, Any]:
            row = rows.find_group(connection, name)
            members = rows.list_members(connection, row.id) if row is not None else []
            is_member = person is not None and any(one.participant_id == person.id for one in members)
            may_see = is_member or self._gate.rules.may(caller, READ)
            if row is None or (row.pair is not None and not is_member and ADMIN not in caller.scopes):
                raise no_group(name)
            shown = [self._shown(one) for one in members if one.state == "in" and one.participant_id is not None]
            return {
                **msgspec.to_builtins(rows.entry_of(row)),
                "head_seq": row.head_seq,
                "members": msgspec.to_builtins(shown) if may_see else [],
            }

        return self._look(caller, token, look)

    def _shown(self, one: Row[Any]) -> GroupMember:
        return GroupMember(
            member=one.member,
            name=one.name,
            kind=one.kind,
            is_here=self._presence.is_here(one.participant_id),
            number=one.number,
            joined_seq=one.joined_seq,
        )

    def list_groups(
        self, caller: Caller, token: str = "", after: str = "", rows_max: int = 100
    ) -> Ticket[list[dict[str, Any]]]:
        """Groups by name; private conversations only for those who have them, and for readers."""

        def look(connection: Connection, person: Person | None) -> list[dict[str, Any]]:
            is_all = person is None and ADMIN in caller.scopes
            mine = person.id if person is not None else 0
            found = rows.list_groups(
                connection, after, max(1, min(rows_max, LIST_ROWS_MAX)), participant_id=mine, is_all=is_all
            )
            return [
                {**msgspec.to_builtins(rows.entry_of(row)), "head_seq": row.head_seq, "members": row.members}
                for row in found
            ]

        return self._look(caller, token, look)

    def _require_reader(self, connection: Connection, caller: Caller, person: Person | None, group: str) -> int:
        """The oldest message that who asks may see; raises for who may see none. What is private is for the two."""
        if person is None:
            self._gate.rules.require(caller, READ)
            row = rows.find_group(connection, group)
            if row is None or (row.pair is not None and ADMIN not in caller.scopes):
                raise no_group(group)
            return 1
        return self._reading.require(connection, person.id, group).first_seq

    def list_members(self, caller: Caller, group: str, token: str = "") -> Ticket[list[GroupMember]]:
        """Who is in a group; raises NotAMember for who is not and may not look."""

        def look(connection: Connection, person: Person | None) -> list[GroupMember]:
            self._require_reader(connection, caller, person, group)
            row = rows.find_group(connection, group)
            if row is None:
                raise no_group(group)
            members = rows.list_members(connection, row.id)
            return [self._shown(one) for one in members if one.state == "in" and one.participant_id is not None]

        return self._look(caller, token, look)

    # Who takes part.

    def enroll(self, caller: Caller, name: str, secret: str = "") -> Ticket[Participant]:
        """Take part; the answer is the only one that has the token.

        Who brings a secret of its own may ask again when the answer was lost: the same name with the same secret is
        answered with the same token.
        """
        self._require_user(caller)
        return self._submit(lambda transaction: entries.enroll(transaction, name, caller.name, secret))

    def rename(self, caller: Caller, token: str, name: str) -> Ticket[Participant]:
        """Take part under another name."""

        def change(transaction: Transaction, person: Person) -> Participant:
            renamed = entries.rename(transaction, self.rolls, person, name)
            self._people.moved(transaction, person.id)
            self._moved(transaction, person.id)
            return renamed

        return self._as_person(caller, token, change)

    def retire(self, caller: Caller, token: str) -> Ticket[bool]:
        """Take part no more."""

        def change(transaction: Transaction, person: Person) -> bool:
            entries.retire(transaction, self.rolls, person)
            self._people.moved(transaction, person.id)
            self._moved(transaction, person.id)
            self._presence.forget(person.id)
            return True

        return self._as_person(caller, token, change)

    def list_participants(self, caller: Caller, after: str = "", rows_max: int = 100) -> Ticket[list[str]]:
        """Names, for readers."""
        self._gate.rules.require(caller, READ)
        most = max(1, min(rows_max, LIST_ROWS_MAX))
        return self._hub.read(lambda connection: rows.list_participants(connection, fold_nick(after), most))

    def mine(self, caller: Caller, wanted: Mine) -> Ticket[Memberships]:
        """The groups of a participant, at once or when they have changed."""

        def look(connection: Connection, person: Person | None) -> tuple[str, Memberships]:
            if person is None:
                raise Unauthorized("show your token")
            self._presence.touch(person.id)
            key = str(person.id)
            version = self._changes.version(key)
            found = rows.list_memberships(connection, person.id, GROUPS_OF_PARTICIPANT_MAX + 1)
            shown = [_membership(connection, row, person) for row in found]
            return key, Memberships(name=person.name, groups=shown, version=version)

        answer: Ticket[Memberships] = Ticket()

        def looked(ticket: Ticket[tuple[str, Memberships]]) -> None:
            try:
                key, found = ticket.value()
                if wanted.wait_ms <= 0 or found.version != wanted.version:
                    answer.resolve(found)
                    return
                again = Mine(token=wanted.token, version=wanted.version)
                answer.give_up = self._changes.wait(
                    key,
                    found.version,
                    min(wanted.wait_ms, WAIT_MS_MAX),
                    lambda _: pass_on(lambda: self.mine(caller, again), answer),
                )
            except PregonError as error:
                answer.fail(error)

        self._look(caller, wanted.token, look).when_done(looked)
        return answer

    def touch(self, caller: Caller, token: str) -> None:
        """Who shows this token is here: an open socket says so now and then."""
        person = self._people.find_known(caller, token)
        if person is not None:
            self._presence.touch(person.id)
            return

        def touch(_connection: Connection, found: Person | None) -> None:
            if found is not None:
                self._presence.touch(found.id)

        with contextlib.suppress(Unavailable):
            self._look(caller, token, touch)


def _membership(connection: Connection, row: Row[Any], person: Person) -> Membership:
    others: tuple[str, ...] = ()
    if row.pair is not None:
        ids = [int(one) for one in row.pair.split() if int(one) != person.id]
        found = [rows.find_participant(connection, one) for one in ids]
        others = tuple(one.name for one in found if one is not None)
    return Membership(
        group=row.name,
        member=row.member,
        kind=row.kind,
        is_private=row.pair is not None,
        others=others,
        seen_seq=row.seen_seq,
        head_seq=row.head_seq,
    )
