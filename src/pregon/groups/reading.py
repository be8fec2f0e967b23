"""What members read: the log of their group from a number on, waiting for more; and how two messages relate."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection

from pregon.causal.history import History
from pregon.causal.message import CausalMessage
from pregon.causal.stamps import decode_stamp
from pregon.errors import NotAMember, NotFound, PregonError
from pregon.groups.rolls import no_group, records_of
from pregon.groups.tails import Tails
from pregon.hub.hub import Hub
from pregon.hub.options import LogRead
from pregon.hub.reading import LogQuery, read_log
from pregon.limits import BATCH_BYTES_MAX, GROUP_SEEN_BEHIND_MAX, PULL_BYTES_MAX, PULL_MESSAGES_MAX, WAIT_MS_MAX
from pregon.model.group import topic_of
from pregon.store import groups as rows
from pregon.store.ticket import Ticket, pass_on
from pregon.wire.groups import Read

_REMEMBERED_MAX = 20_000


class Grant(msgspec.Struct, frozen=True):
    """What a member may read."""

    member: int
    first_seq: int
    traced: bool = False


class Reading:
    """Reads for members."""

    def __init__(self, hub: Hub, tails: Tails) -> None:
        self._hub = hub
        self._tails = tails
        self._grants: dict[tuple[int, str], Grant] = {}
        self._changes = 0

    def forget(self, *participants: int) -> None:
        """These have joined or left something: what they may read is looked up again."""
        self._changes += 1
        for key in [key for key in list(self._grants) if key[0] in participants]:
            self._grants.pop(key, None)

    def forget_all(self) -> None:
        """What members may read of a group has changed."""
        self._changes += 1
        self._grants.clear()

    def require(self, connection: Connection, participant_id: int, group: str) -> Grant:
        """What a participant may read of a group; raises NotFound or NotAMember."""
        key = (participant_id, group)
        grant = self._grants.get(key)
        if grant is not None:
            return grant
        changes = self._changes
        found = rows.find_membership(connection, group, participant_id)
        if found is None:
            if rows.find_group(connection, group) is None:
                raise no_group(group)
            raise NotAMember(f"you are not a member of {group}: join it first")
        member, joined_seq, has_history, is_traced = found
        grant = Grant(member, 1 if has_history else joined_seq, is_traced)
        if len(self._grants) >= _REMEMBERED_MAX:
            self._grants.clear()
        self._grants[key] = grant
        # What was looked up while somebody left may be wrong by now. Looked at when it is there already: who forgets
        # either finds it, or has counted before.
        if changes != self._changes:
            self._grants.pop(key, None)
        return grant

    def read(self, participant_id: int, wanted: Read) -> Ticket[LogRead]:
        """The messages after a number; waits for some, if asked to, when there are none."""
        hub, topic = self._hub, topic_of(wanted.group)
        answer: Ticket[LogRead] = Ticket()
        version = hub.waiting.version(topic)

        def looked(ticket: Ticket[LogRead]) -> None:
            try:
                found = ticket.value()
                if found.batches or wanted.wait_ms <= 0:
                    answer.resolve(found)
                    return
                news = hub.wait_for_news(topic, version, min(wanted.wait_ms, WAIT_MS_MAX))
                answer.give_up = news.abandon
                news.when_done(lambda _: pass_on(lambda: self._look(participant_id, wanted), answer))
            except PregonError as error:
                answer.fail(error)

        self._look(participant_id, wanted).when_done(looked)
        return answer

    def _look(self, participant_id: int, wanted: Read) -> Ticket[LogRead]:
        """What there is now: from memory, if it is the newest of a group that this member is known to read."""
        topic, messages_max = topic_of(wanted.group), min(wanted.max, PULL_MESSAGES_MAX)
        grant = self._grants.get((participant_id, wanted.group))
        if grant is not None and wanted.after_seq + 1 >= grant.first_seq:
            found = self._tails.find(topic, wanted.after_seq, messages_max, min(wanted.bytes_max, PULL_BYTES_MAX))
            if found is not None:
                ticket: Ticket[LogRead] = Ticket()
                ticket.resolve(found)
                return ticket

        def look(connection: Connection) -> LogRead:
            first_seq = self.require(connection, participant_id, wanted.group).first_seq
            query = LogQuery(topic, max(wanted.after_seq + 1, first_seq), None, messages_max, wanted.bytes_max)
            return read_log(connection, query)

        return self._hub.read(look, is_small=True)


def read_relation(connection: Connection, group: str, one: str, other: str) -> str:
    """How a message of a group stands to another; `forgotten` for what is older than the newest few thousand."""
    first, second = decode_stamp(one), decode_stamp(other)
    row = rows.find_group(connection, group)
    if row is None:
        raise no_group(group)
    history = History(GROUP_SEEN_BEHIND_MAX)
    next_seq = max(row.tail_seq, row.head_seq - GROUP_SEEN_BEHIND_MAX + 1)
    while next_seq <= row.head_seq:
        query = LogQuery(topic_of(group), next_seq, row.head_seq, PULL_MESSAGES_MAX, BATCH_BYTES_MAX)
        batches = read_log(connection, query).batches
        if not batches:
            break
        for record in (record for batch in batches for record in records_of(batch)):
            history.add(CausalMessage(record.stamp, record.after))
        next_seq = batches[-1].last_seq + 1
    if first not in history and second not in history and first != second:
        raise NotFound(f"{group} has neither {one} nor {other} among its newest {GROUP_SEEN_BEHIND_MAX} messages")
    return history.relation(first, second).value
