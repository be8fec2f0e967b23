"""A message of a member: checked, given its place in the causal order, and stored. In the committer's thread."""

from __future__ import annotations

from typing import Any

from pregon.causal.encoding import decode_control
from pregon.causal.stamps import Stamp, decode_stamp, encode_stamps
from pregon.clock import INSTANT_US_MAX
from pregon.errors import BadRequest
from pregon.groups.membership import end_push
from pregon.groups.people import Person
from pregon.groups.roll import JOINING as WAITS
from pregon.groups.roll import Roll, Rolled
from pregon.groups.rolls import Rolls, Words
from pregon.limits import MESSAGE_ID_BYTES_MAX
from pregon.model.group import HEADER_PREFIX, HOSTED, JOINED, LEFT, MEMBER_KINDS, MESSAGE, topic_of
from pregon.store.cursors import find_place
from pregon.store.dedupe import find_published, remember_published
from pregon.store.transaction import Transaction
from pregon.wire.groups import Send, Sent


def check_send(wanted: Send) -> None:
    """Raises BadRequest for what no member may send; asked in the thread of the door."""
    if wanted.kind not in MEMBER_KINDS:
        raise BadRequest(f"a member sends {', '.join(MEMBER_KINDS)}, not {wanted.kind[:40]!r}")
    if any(name.lower().startswith(HEADER_PREFIX) for name in wanted.headers):
        raise BadRequest(f"headers that begin with {HEADER_PREFIX} are the hub's: call yours otherwise")
    if len(wanted.id.encode()) > MESSAGE_ID_BYTES_MAX:
        raise BadRequest(f"an id has at most {MESSAGE_ID_BYTES_MAX} bytes")
    if wanted.answers:
        decode_stamp(wanted.answers)
    if not 0 <= wanted.published_us <= INSTANT_US_MAX:
        raise BadRequest(f"{wanted.published_us} is no time of publication: use microseconds since 1970")


def send(transaction: Transaction, rolls: Rolls, person: Person, wanted: Send, body: bytes) -> Sent:
    """Store it, or recognise it."""
    roll = rolls.require(transaction, wanted.group)
    sender = roll.require_member(person.id)
    if wanted.answers:
        roll.require_known(decode_stamp(wanted.answers))
    if sender.kind == HOSTED:
        return _send_hosted(transaction, rolls, roll, sender, (wanted, body))
    return _send_native(transaction, rolls, roll, sender, (wanted, body))


def _send_native(transaction: Transaction, rolls: Rolls, roll: Roll, sender: Rolled, what: tuple[Send, bytes]) -> Sent:
    wanted, body = what
    if not wanted.control:
        raise BadRequest(f"member {sender.member} keeps its own clock: send what its message depends on (`control`)")
    kind, stamp, after, end = decode_control(wanted.control)
    if end != len(wanted.control) or kind:
        raise BadRequest("the control information has bytes that do not belong to it")
    if not roll.check(sender, stamp, after):
        return Sent(seq=roll.window.find_seq(stamp) or 0, stamp=str(stamp), after=encode_stamps(after), duplicate=True)
    if (sender.state == WAITS) != (wanted.kind == JOINED):
        raise BadRequest("the first message of a member is `joined`, and no other is")
    seq = rolls.say(transaction, roll, sender, after, _words(wanted, body))
    if wanted.kind == LEFT:
        end_push(transaction, roll, sender)
    return Sent(seq=seq, stamp=str(stamp), after=encode_stamps(after))


def _send_hosted(transaction: Transaction, rolls: Rolls, roll: Roll, sender: Rolled, what: tuple[Send, bytes]) -> Sent:
    wanted, body = what
    if wanted.control or wanted.kind != MESSAGE:
        raise BadRequest(
            f"the hub works out what messages of member {sender.member} depend on: say what it has seen (`seen_seq`)"
        )
    told = _Told.of(transaction, roll)
    known = told.find(transaction, sender, wanted.id)
    if known is not None:
        record = roll.window.find_record(known)
        stamp, after = (str(record.stamp), encode_stamps(record.after)) if record is not None else ("", "")
        return Sent(seq=known, stamp=stamp, after=after, duplicate=True)
    seen_seq = _seen(transaction, roll, sender, wanted)
    after_stamps = roll.window.after(sender.member, seen_seq, sender.sent_seq)
    seq = rolls.say(transaction, roll, sender, after_stamps, _words(wanted, body))
    sender.sent_seq, sender.seen_seq = seen_seq, max(seen_seq, sender.seen_seq)
    told.remember(transaction, sender, wanted.id, seq)
    return Sent(seq=seq, stamp=str(Stamp(sender.member, sender.number)), after=encode_stamps(after_stamps))


def _seen(transaction: Transaction, roll: Roll, sender: Rolled, wanted: Send) -> int:
    """Up to where a hosted member has seen the group: as it says, or as its web service has acknowledged."""
    seen_seq = wanted.seen_seq
    if seen_seq is None and sender.subscriber:
        place = find_place(transaction.connection, topic_of(roll.entry.name), sender.subscriber)
        seen_seq = place.cursor.acked_seq if place is not None else None
    if seen_seq is None:
        seen_seq = sender.seen_seq
    if seen_seq > roll.head_seq:
        raise BadRequest(f"{roll.entry.name} has messages up to {roll.head_seq}, and you say that you saw {seen_seq}")
    return max(seen_seq, sender.sent_seq)


def _words(wanted: Send, body: bytes) -> Words:
    return Words(
        kind=wanted.kind,
        body=body,
        content_type=wanted.content_type,
        answers=wanted.answers,
        headers=wanted.headers,
        published_us=wanted.published_us,
    )


class _Told:
    """The ids of one transaction by which hosted members' messages are recognised."""

    def __init__(self, roll: Roll) -> None:
        self._topic_id = roll.topic_id
        self._new: dict[tuple[int, str], int] = {}
        self._unwritten: list[dict[str, Any]] = []

    @classmethod
    def of(cls, transaction: Transaction, roll: Roll) -> _Told:
        """Those of a group."""
        key = ("ids of group", roll.id)
        told: _Told | None = transaction.gathered.get(key)
        if told is None:
            told = transaction.gathered[key] = cls(roll)
            transaction.finish_with(told.write)
        return told

    def find(self, transaction: Transaction, sender: Rolled, message_id: str) -> int | None:
        """The number of a message with this id of this sender."""
        if not message_id:
            return None
        known = self._new.get((sender.member, message_id))
        if known is not None:
            return known
        # Members have no producer: they are remembered as negative ones.
        return find_published(transaction.connection, self._topic_id, -sender.member, [message_id]).get(message_id)

    def remember(self, transaction: Transaction, sender: Rolled, message_id: str, seq: int) -> None:
        """It has this number."""
        if not message_id:
            return
        self._new[sender.member, message_id] = seq
        self._unwritten.append(
            {
                "topic_id": self._topic_id,
                "producer_id": -sender.member,
                "message_id": message_id,
                "seq": seq,
                "at_us": transaction.now_us,
            }
        )

    def write(self, transaction: Transaction) -> None:
        """Store them."""
        if self._unwritten:
            unwritten, self._unwritten = self._unwritten, []
            remember_published(transaction.connection, unwritten)
