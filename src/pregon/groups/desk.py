"""Groups as a caller of the hub may use them. Every door asks here.

Each verb takes who asks first. Who takes part shows, besides, the token that it got when it was enrolled.

    enroll, join, send, read    whoever may publish: everybody on an open hub, and, unless keys are required, elsewhere
    make a group                the same, if the hub makes things on first use; else the scope admin
    look at members             members, and the scope read
    change or delete a group    the scope admin
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from pregon.errors import AlreadyExists, BadRequest, PregonError, TooLarge
from pregon.groups import entries, membership, sending
from pregon.groups.deliveries import DeliveriesLog
from pregon.groups.entry_desk import GROUP, EntryDesk
from pregon.groups.of_two import require_not_of_two
from pregon.groups.people import Person
from pregon.groups.reading import read_relation
from pregon.groups.trace import GroupTrace, read_trace
from pregon.hub.auditing import audited, note_of
from pregon.hub.directory import Directory
from pregon.hub.gate import Gate
from pregon.hub.options import LogRead
from pregon.hub.registry import require_entry
from pregon.model.catalog import Subscriber, Subscription
from pregon.model.group import HOSTED, MESSAGE, topic_of
from pregon.model.message import Outgoing, check_outgoing
from pregon.security.callers import Caller, not_for
from pregon.security.keys import ADMIN, OPERATE, READ, SUBSCRIBER
from pregon.store.catalog_search import ListQuery
from pregon.store.change import Change
from pregon.store.group_search import GroupRow, search_groups
from pregon.store.ticket import Ticket, pass_on
from pregon.store.transaction import Transaction
from pregon.wire.groups import Join, Joined, Leave, Private, Read, Report, Send, Sent

_SEND_OVERHEAD_BYTES = 600


class GroupsDesk(EntryDesk):
    """The verbs, for callers."""

    def __init__(self, gate: Gate) -> None:
        super().__init__(gate)
        self._deliveries = DeliveriesLog(gate.hub)

    def join(self, caller: Caller, wanted: Join) -> Ticket[Joined]:
        """Become a member, or come back as one."""
        if wanted.subscriber:
            return self._join_by_push(caller, wanted)
        return self._join(caller, wanted)

    def _join(self, caller: Caller, wanted: Join) -> Ticket[Joined]:
        def change(transaction: Transaction, person: Person) -> Joined:
            joined = membership.join(transaction, self.rolls, person, wanted, caller.name)
            if wanted.subscriber:
                membership.set_subscriber(transaction, self.rolls, person, wanted)
            self._moved(transaction, person.id)
            return self._with_members(joined)

        return self._as_person(caller, wanted.token, change)

    def _with_members(self, joined: Joined) -> Joined:
        """In the transaction, so that they are those of the clock."""
        joined.members = [
            one.shown(self._presence.is_here(one.participant_id)) for one in self.rolls.shown(joined.group)
        ]
        return joined

    def _join_by_push(self, caller: Caller, wanted: Join) -> Ticket[Joined]:
        """A web service joins: the group is pushed to its subscriber, from its `joined` on."""
        if wanted.kind != HOSTED:
            raise BadRequest("a web service that is called by push is a hosted member: the hub keeps its clock")
        if not self._gate.rules.may_speak_for(caller, SUBSCRIBER, wanted.subscriber):
            raise not_for(caller, f"the subscriber {wanted.subscriber}")
        answer: Ticket[Joined] = Ticket()

        def look(connection: Connection) -> None:
            entry = require_entry(connection, "subscriber", (wanted.subscriber,))
            assert isinstance(entry, Subscriber)
            if entry.push.parallel > 1:
                raise BadRequest(
                    f"{wanted.subscriber} takes {entry.push.parallel} pushes at once, so that their order is lost: "
                    "set parallel to 1 for who is to see a group in order"
                )

        def joined(ticket: Ticket[Joined]) -> None:
            try:
                found = ticket.value()
                topic = topic_of(wanted.group)
                # From its own `joined` on; what was before can be read.
                start = str(found.seq if not found.is_back else found.seen_seq + 1)
                subscription = Subscription(topic=topic, subscriber=wanted.subscriber, start=start)
                self._hub.create(subscription).when_done(lambda made: subscribed(made, found))
            except PregonError as error:
                answer.fail(error)

        def subscribed(ticket: Ticket[Any], found: Joined) -> None:
            try:
                ticket.value()
            except AlreadyExists:
                pass  # It was subscribed before, and goes on from where it is.
            except PregonError as error:
                answer.fail(error)
                return
            answer.resolve(found)

        def looked(ticket: Ticket[None]) -> None:
            try:
                ticket.value()
                self._join(caller, wanted).when_done(joined)
            except PregonError as error:
                answer.fail(error)

        self._hub.read(look).when_done(looked)
        return answer

    def leave(self, caller: Caller, wanted: Leave) -> Ticket[Sent]:
        """Leave a group; a native member announces it, and then sends `left`."""

        def change(transaction: Transaction, person: Person) -> Sent:
            sent = membership.leave(transaction, self.rolls, person, wanted.group)
            self._moved(transaction, person.id)
            return sent

        return self._as_person(caller, wanted.token, change)

    def remove_member(self, caller: Caller, group: str, member: int) -> Ticket[bool]:
        """An operator takes a member off the roll: one that died without leaving, say; whether there was one."""
        self._gate.rules.require(caller, OPERATE)
        require_not_of_two(caller, group)

        def change(transaction: Transaction) -> bool:
            found = membership.remove(transaction, self.rolls, group, member)
            if found is not None and found.participant_id is not None:
                self._moved(transaction, found.participant_id)
            return found is not None

        note = note_of(caller, "remove", GROUP, [group], {"member": member})
        ticket: Ticket[bool] = self._hub.submit(audited(Change(change), note))
        return ticket

    def send(self, caller: Caller, wanted: Send, body: bytes) -> Ticket[Sent]:
        """Store a message of a member; answers when it is on disk."""
        sending.check_send(wanted)
        if caller.body_bytes_max is not None and len(body) > caller.body_bytes_max:
            raise TooLarge(f"the body has {len(body)} bytes; this key may send at most {caller.body_bytes_max}")
        message = Outgoing(body, wanted.id or None, None, wanted.content_type, wanted.headers)
        check_outgoing(message, self._hub.options.body_bytes_max)

        def change(transaction: Transaction, person: Person) -> Sent:
            sent = sending.send(transaction, self.rolls, person, wanted, body)
            if wanted.kind != MESSAGE:
                self._moved(transaction, person.id)
            return sent

        # What it depends on is longer as text than as control information.
        size_bytes = message.size_bytes + 4 * len(wanted.control) + _SEND_OVERHEAD_BYTES
        return self._as_person(caller, wanted.token, change, size_bytes)

    def read(self, caller: Caller, wanted: Read) -> Ticket[LogRead]:
        """The messages after a number, waiting for some if asked to."""
        self._require_user(caller)
        person = self._people.find_known(caller, wanted.token)
        if person is not None:
            return self._read(person, wanted)
        answer: Ticket[LogRead] = Ticket()

        def known(ticket: Ticket[Person]) -> None:
            try:
                found = self._read(ticket.value(), wanted)
                answer.give_up = found.abandon
                pass_on(lambda: found, answer)
            except PregonError as error:
                answer.fail(error)

        look = self._hub.read(lambda connection: self._people.require(connection, caller, wanted.token))
        look.when_done(known)
        return answer

    def _read(self, person: Person, wanted: Read) -> Ticket[LogRead]:
        self._presence.touch(person.id)
        if wanted.seen_seq is not None:
            self._note_seen(lambda _: person, wanted.group, wanted.seen_seq)
        return self._reading.read(person.id, wanted)

    def _note_seen(self, find: Callable[[Transaction], Person], group: str, seen_seq: int) -> None:
        """Remember how far a member has seen the group; nobody waits for it, and it may be lost with the hub."""

        def change(transaction: Transaction) -> None:
            membership.note_seen(transaction, self.rolls, find(transaction), group, seen_seq)

        self._submit_lightly(change)

    def seen(self, caller: Caller, token: str, group: str, seen_seq: int) -> None:
        """A member says up to where it has seen the group."""
        self.touch(caller, token)
        self._note_seen(lambda transaction: self._people.require_within(transaction, caller, token), group, seen_seq)

    def private(self, caller: Caller, wanted: Private) -> Ticket[Joined]:
        """The conversation of two, made when it is first asked for."""
        self._require_user(caller)

        def change(transaction: Transaction, directory: Directory) -> Joined:
            person = self._people.require_within(transaction, caller, wanted.token)
            self._presence.touch(person.id)
            joined, other = entries.converse(self.rolls, person, wanted.with_)(transaction, directory)
            self._moved(transaction, person.id, other)
            return self._with_members(joined)

        return self._hub.change(change)

    def report(self, caller: Caller, wanted: Report) -> Ticket[int]:
        """What a member was shown, and when; 0 if the group is not traced."""
        self._require_user(caller)
        answer: Ticket[int] = Ticket()

        def look(connection: Connection) -> tuple[Person, int, bool]:
            person = self._people.require(connection, caller, wanted.token)
            grant = self._reading.require(connection, person.id, wanted.group)
            return person, grant.member, grant.traced

        def looked(ticket: Ticket[tuple[Person, int, bool]]) -> None:
            try:
                person, member, is_traced = ticket.value()
                self._presence.touch(person.id)
                if not is_traced or not wanted.rows:
                    answer.resolve(0)
                    return
                pass_on(lambda: self._deliveries.write(wanted, member, person.name), answer)
            except PregonError as error:
                answer.fail(error)

        self._hub.read(look).when_done(looked)
        return answer

    def search(self, caller: Caller, query: ListQuery) -> Ticket[list[GroupRow]]:
        """Groups for who looks for one; private conversations only for who administers."""
        self._gate.rules.require(caller, READ)
        return self._hub.read(lambda connection: search_groups(connection, query, is_all=ADMIN in caller.scopes))

    def relation(self, caller: Caller, group: str, one: str, other: str, token: str = "") -> Ticket[str]:
        """How a message stands to another: same, before, after, concurrent or forgotten."""

        def look(connection: Connection, person: Person | None) -> str:
            self._require_reader(connection, caller, person, group)
            return read_relation(connection, group, one, other)

        return self._look(caller, token, look)

    def diagram_data(
        self, caller: Caller, group: str, first_seq: int, last_seq: int, token: str = ""
    ) -> Ticket[GroupTrace]:
        """Who sent and who was shown what, and when, in a part of the log."""

        def look(connection: Connection, person: Person | None) -> GroupTrace:
            oldest_seq = self._require_reader(connection, caller, person, group)
            return read_trace(connection, group, first_seq, last_seq, oldest_seq)

        return self._look(caller, token, look)
