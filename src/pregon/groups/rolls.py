"""The rolls of the groups in use, and how what happens in a group is written: used in the committer's thread only.

A roll is read when its group is first needed and kept while it is used. The records of one transaction for one group
become one batch of its topic; the rows of the members that they moved are written with it.

Promises:
- A roll never says more than the store: it is forgotten when a transaction is undone, and with its group.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
from sqlalchemy import Connection, Row

from pregon.causal.stamps import Stamp, decode_stamp, decode_stamps, encode_stamps
from pregon.errors import NotFound, PregonError
from pregon.groups.roll import MEMBERS_LEFT_BEHIND, Roll, Rolled
from pregon.groups.tails import Tails
from pregon.groups.window import Record, Window
from pregon.limits import BATCH_BYTES_MAX, BATCH_MESSAGES_MAX, GROUP_SEEN_BEHIND_MAX, MIB
from pregon.model.batch import Packing, StoredBatch, encode, stamp
from pregon.model.group import (
    AFTER_HEADER,
    ANSWERS_HEADER,
    GONE,
    JOINED,
    KIND_HEADER,
    LEFT,
    PRODUCER,
    STAMP_HEADER,
    topic_of,
)
from pregon.model.message import NO_HEADERS, Outgoing
from pregon.model.trace import ACCEPTED, Trace
from pregon.store import groups as rows
from pregon.store.log import append, read_range
from pregon.store.transaction import Accepted, Transaction

_ROLLS_MAX = 200
_RECORD_OVERHEAD_BYTES = 500
_BATCH_BYTES_ENOUGH = BATCH_BYTES_MAX - MIB


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """What a record says, besides who says it and when."""

    kind: str
    body: bytes
    content_type: str
    id: str = ""
    """What recognises it when it is repeated; left out: its stamp."""
    answers: str = ""
    headers: Mapping[str, str] = NO_HEADERS
    published_us: int = 0


def no_group(name: str) -> NotFound:
    """The error for a group that does not exist."""
    return NotFound(f"there is no group {name[:160]!r}: `pregon group list` shows what there is")


class Rolls:
    """Keeps the rolls."""

    def __init__(self, tails: Tails | None = None) -> None:
        self.tails = tails if tails is not None else Tails()
        self._rolls: OrderedDict[str, Roll] = OrderedDict()
        self.counts = Counter({"messages": 0, "joined": 0, "left": 0})
        """What was written since the hub started: records, members that came, members that went."""

    def forget(self, name: str = "") -> None:
        """What is remembered may no longer be so: of one group, or of all."""
        if name:
            self._rolls.pop(name, None)
        else:
            self._rolls.clear()

    def require(self, transaction: Transaction, name: str) -> Roll:
        """The roll of a group; raises NotFound."""
        roll = self._rolls.get(name)
        if roll is not None:
            self._rolls.move_to_end(name)
            return roll
        row = rows.find_group(transaction.connection, name)
        if row is None:
            raise no_group(name)
        roll = self._rolls[name] = load_roll(transaction.connection, row)
        # Not within a transaction, in which a roll may say more than the store.
        transaction.after_commit.append(self._trim)
        return roll

    def _trim(self) -> None:
        """Let rolls go that were not used for long."""
        while len(self._rolls) > _ROLLS_MAX:
            self._rolls.popitem(last=False)

    def shown(self, name: str) -> list[Rolled]:
        """The members of a group that was just used in this transaction."""
        roll = self._rolls.get(name)
        members = list(roll.members.values()) if roll is not None else []
        return [one for one in members if one.is_in and one.participant_id is not None]

    def say(self, transaction: Transaction, roll: Roll, sender: Rolled, after: tuple[Stamp, ...], words: Words) -> int:
        """Store a message of a member that was checked; its number in the log. Never raises one of our errors."""
        stamp_ = Stamp(sender.member, sender.number + 1)
        roll.head_seq += 1
        roll.window.add(Record(roll.head_seq, stamp_, after))
        roll.sent(sender, stamp_, words.kind)
        self._gathered(transaction, roll).add(transaction, stamp_, after, sender.name, words)
        self.counts["messages"] += 1
        if words.kind in (JOINED, LEFT, GONE):
            self.counts["joined" if words.kind == JOINED else "left"] += 1
        return roll.head_seq

    def _gathered(self, transaction: Transaction, roll: Roll) -> _Gathered:
        gathered: _Gathered | None = transaction.gathered.get(("group", roll.id))
        if gathered is None:
            gathered = transaction.gathered["group", roll.id] = _Gathered(roll, self.tails)
            transaction.finish_with(gathered.write)
        return gathered

    def say_as_hub(self, transaction: Transaction, roll: Roll, kind: str, about: Mapping[str, Any]) -> int:
        """The hub, a member that has seen everything, tells the others."""
        hub = roll.hub
        after = roll.window.after(hub.member, roll.head_seq, hub.sent_seq)
        words = Words(kind=kind, body=msgspec.json.encode(about), content_type="application/json")
        seq = self.say(transaction, roll, hub, after, words)
        hub.sent_seq = seq
        return seq

    def touch(self, transaction: Transaction, roll: Roll, rolled: Rolled) -> None:
        """The row of a member is to be written, without a message."""
        roll.changed.add(rolled.member)
        self._gathered(transaction, roll)


class _Gathered:
    """The records of one transaction for one group, until they are written as one batch."""

    def __init__(self, roll: Roll, tails: Tails) -> None:
        self._roll = roll
        self._tails = tails
        self._packing = Packing()
        self._size_bytes = 0

    def add(self, transaction: Transaction, stamp_: Stamp, after: tuple[Stamp, ...], name: str, words: Words) -> None:
        """One more."""
        headers = {
            **words.headers,
            KIND_HEADER: words.kind,
            STAMP_HEADER: str(stamp_),
            AFTER_HEADER: encode_stamps(after),
        }
        if words.answers:
            headers[ANSWERS_HEADER] = words.answers
        message = Outgoing(words.body, words.id or str(stamp_), name, words.content_type, headers)
        size = message.size_bytes + _RECORD_OVERHEAD_BYTES
        if len(self._packing) >= BATCH_MESSAGES_MAX or self._size_bytes + size > _BATCH_BYTES_ENOUGH:
            # The rows of members are written at the end: what moves them now is not yet all in the roll.
            self._write_batch(transaction)
        self._packing.add(message, words.published_us or transaction.now_us, message.id)
        self._size_bytes += size

    def write(self, transaction: Transaction) -> None:
        """Store what was gathered, and the rows of the members that moved."""
        self._write_batch(transaction)
        write_roll(transaction.connection, self._roll)

    def _write_batch(self, transaction: Transaction) -> None:
        roll, connection, now_us = self._roll, transaction.connection, transaction.now_us
        count = len(self._packing)
        if count:
            packing, self._packing, self._size_bytes = self._packing, Packing(), 0
            arrow = encode(stamp(packing.pack(""), PRODUCER, now_us))
            base_seq = append(connection, roll.topic_id, count, arrow, now_us)
            topic, last_seq = topic_of(roll.entry.name), base_seq + count - 1
            batch = StoredBatch(base_seq, count, arrow)
            transaction.accepted.append(Accepted(topic, batch))
            transaction.after_commit.append(partial(self._tails.add, topic, roll.topic_id, batch))
            transaction.traces.append(
                Trace(
                    at_us=now_us, kind=ACCEPTED, topic=topic, producer=PRODUCER, first_seq=base_seq, last_seq=last_seq
                )
            )


def write_roll(connection: Connection, roll: Roll) -> None:
    """Write what changed of a roll."""
    if roll.changed:
        changed = [roll.members[member] for member in sorted(roll.changed)]
        roll.changed.clear()
        rows.update_members(connection, [_values(roll.id, one) for one in changed])
    frontier = " ".join(f"{one}@{seq}" for one, seq in roll.window.frontier.items())
    rows.mark_group(connection, roll.id, frontier, roll.numbered)


def _values(group_id: int, one: Rolled) -> dict[str, Any]:
    return {
        "of_group": group_id,
        "of_member": one.member,
        "new_name": one.name,
        "new_kind": one.kind,
        "new_state": one.state,
        "new_number": one.number,
        "new_sent_seq": one.sent_seq,
        "new_seen_seq": one.seen_seq,
        "new_joined_seq": one.joined_seq,
        "new_left_seq": one.left_seq,
        "new_subscriber": one.subscriber,
    }


def insert_rolled(connection: Connection, group_id: int, one: Rolled) -> None:
    """The row of a new member."""
    rows.insert_member(
        connection,
        {
            "group_id": group_id,
            "member": one.member,
            "participant_id": one.participant_id,
            "name": one.name,
            "kind": one.kind,
            "state": one.state,
            "joined_seq": one.joined_seq,
            "seen_seq": one.seen_seq,
            "subscriber": one.subscriber,
        },
    )


def load_roll(connection: Connection, row: Row[Any]) -> Roll:
    """The roll of a group as the store has it."""
    window = Window(_decode_frontier(row.frontier), head_seq=row.head_seq)
    first_seq = max(row.tail_seq, row.head_seq - GROUP_SEEN_BEHIND_MAX + 1)
    while first_seq <= row.head_seq:
        found = read_range(
            connection,
            row.topic_id,
            first_seq,
            row.head_seq,
            messages_max=BATCH_MESSAGES_MAX,
            bytes_max=BATCH_BYTES_MAX,
        )
        if not found:
            break
        for record in (record for batch in found for record in records_of(batch)):
            window.load(record)
        first_seq = found[-1].last_seq + 1
    roll = Roll(row.id, row.topic_id, rows.entry_of(row), row.head_seq, row.numbered, window, row.pair or "")
    for one in rows.list_members(connection, row.id, row.head_seq - MEMBERS_LEFT_BEHIND):
        roll.put(
            Rolled(
                one.member,
                one.participant_id,
                one.name,
                one.kind,
                one.state,
                one.joined_seq,
                number=one.number,
                sent_seq=one.sent_seq,
                seen_seq=one.seen_seq,
                left_seq=one.left_seq,
                subscriber=one.subscriber,
            )
        )
    return roll


def records_of(batch: StoredBatch) -> list[Record]:
    """The records of a batch of a group's log; what is no record is left out."""
    found: list[Record] = []
    for message in batch.messages(""):
        try:
            headers = message.headers
            stamp_, after = decode_stamp(headers[STAMP_HEADER]), decode_stamps(headers.get(AFTER_HEADER, ""))
        except (KeyError, PregonError):
            continue
        found.append(Record(message.seq, stamp_, after))
    return found


def _decode_frontier(text: str) -> list[tuple[Stamp, int]]:
    pairs = (word.partition("@") for word in text.split())
    return [(decode_stamp(stamp_), int(seq)) for stamp_, _, seq in pairs]
