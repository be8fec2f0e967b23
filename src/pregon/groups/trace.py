"""What was said in a group, and when each member was shown it: read from the logs, to be drawn or told.

The messages are those of the group's own topic. When each member was shown them is what members say of themselves
(topic `pregon.deliveries`), or, of a web service that is pushed to, what the traces of its subscription say.
Drawing is left to `spacetime`, and the reason why a message waited to `spacetime_why`.

Promises:
- Bounded: at most MESSAGES_MAX messages, DELIVERIES_MAX deliveries, and so many bytes looked at; what is left out is
  said in `is_whole`.
- There is at most one delivery of a message to a member: the first. It is of a message that the trace has, or of one
  that another hub of the group has (see `trace_merging`).
- Messages stand after those that they depend on.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from sqlalchemy import Connection, select

from pregon import limits
from pregon.causal.stamps import decode_stamp
from pregon.errors import BadRequest, NotFound
from pregon.model import group as g
from pregon.model.message import Message
from pregon.model.trace import DELIVERED, TraceQuery
from pregon.store.log import find_ends, read_range, seq_at
from pregon.store.schema_groups import causal_group, group_member
from pregon.store.trace_search import find_traces

MESSAGES_MAX = 2_000
"""Messages of one trace."""
MESSAGES_USUAL = 200
"""Messages of a trace for which nobody said where it begins: the last ones."""
DELIVERIES_MAX = 50_000
"""Deliveries of one trace."""
REPORTS_MAX = 20_000
"""Reports of members that are looked through for one trace, those of other groups included."""
READ_BYTES_MAX = 64 * limits.MIB
"""Arrow bytes that are read of each of the two topics for one trace."""
TEXT_CHARACTERS_MAX = 80
"""What is told of a message's text."""

_PAGE_MESSAGES, _PAGE_BYTES = 500, 4 * limits.MIB
_PUSHED_PAGES_MAX = 4
_TEXT_BYTES = 4 * TEXT_CHARACTERS_MAX
_JOINER = "\N{ZERO WIDTH JOINER}"


class TracedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a group."""

    seq: int
    stamp: str
    member: int
    """Who sent it."""
    name: str
    """As who sent it was called then."""
    kind: str
    after: tuple[str, ...] = ()
    answers: str = ""
    accepted_us: int
    published_us: int
    """When its sender says that it sent it, by the sender's clock."""
    text: str = ""
    about: int = 0
    """The member whose coming or going the hub announces with it."""


class TracedDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a member was shown: when it came and when it was shown, by that member's clock."""

    member: int
    stamp: str
    received_us: int
    delivered_us: int
    waited_for: str = ""

    @property
    def was_held(self) -> bool:
        """Whether it came before something that it depends on, and had to wait for that."""
        return bool(self.waited_for) and self.received_us < self.delivered_us


class GroupTrace(msgspec.Struct, frozen=True, kw_only=True):
    """A part of what was said in a group."""

    group: str
    members: list[tuple[int, str]] = []
    """Numbers and names, as they were called last, of all that have a part in it."""
    messages: list[TracedMessage] = []
    deliveries: list[TracedDelivery] = []
    head_seq: int = 0
    """The newest message of the group, whether or not it is here."""
    hubs: int = 1
    """In how many hubs the group lives."""
    hubs_here: int = 1
    """Of how many of them the messages are here."""
    is_whole: bool = True
    """Whether nothing had to be left out of what was asked for."""


class _Subject(msgspec.Struct):
    """What the hub says of a member."""

    member: int = 0
    name: str = ""
    old: str = ""


class _Report(msgspec.Struct):
    """What one member was shown, as it stands in the topic of deliveries."""

    member: int
    rows: list[g.DeliveryRow]


class _Reading:
    """Messages of a topic from a number on, page by page, until so many bytes."""

    def __init__(self, connection: Connection, topic: str) -> None:
        ends = find_ends(connection, topic)
        self.connection, self.topic = connection, topic
        self.is_there = ends is not None
        self.topic_id, self.tail_seq, self.head_seq = ends or (0, 1, 0)
        self.is_whole = True

    def messages(self, first_seq: int, last_seq: int) -> Iterator[Message]:
        """What the log has between two numbers; `is_whole` then says whether that was all of it."""
        size, first_seq = 0, max(first_seq, self.tail_seq)
        while first_seq <= last_seq:
            if size >= READ_BYTES_MAX:
                self.is_whole = False
                return
            batches = read_range(
                self.connection, self.topic_id, first_seq, last_seq, messages_max=_PAGE_MESSAGES, bytes_max=_PAGE_BYTES
            )
            if not batches:
                return
            for batch in batches:
                size += len(batch.arrow)
                yield from batch.messages(self.topic)
            first_seq = batches[-1].last_seq + 1


def read_trace(
    connection: Connection, group: str, first_seq: int = 0, last_seq: int | None = None, oldest_seq: int = 1
) -> GroupTrace:
    """What was said between two numbers of the group's log, without them the last of it. Raises NotFound.

    Who may not see what was said before a number (`oldest_seq`) is told nothing of it.
    """
    log = _Reading(connection, g.topic_of(group))
    if not log.is_there:
        raise NotFound(f"there is no group {group!r}: `pregon group list` shows what there is")
    last = min(last_seq, log.head_seq) if last_seq else log.head_seq
    first = max(first_seq if first_seq > 0 else last - MESSAGES_USUAL + 1, oldest_seq, log.tail_seq)
    if first > last and log.head_seq >= log.tail_seq:
        raise NotFound(f"{group} has no such messages: it has {log.tail_seq} to {log.head_seq}")
    is_short = last - first < MESSAGES_MAX
    found = log.messages(first, min(last, first + MESSAGES_MAX - 1))
    messages = [traced for traced in map(_trace_message, found) if traced is not None]
    reports = _Reading(connection, g.DELIVERIES_TOPIC)
    roll = _read_roll(connection, group)
    deliveries = _read_deliveries(reports, roll, messages) if messages and reports.is_there else {}
    for member, subscriber in roll.pushed.items():
        if messages:
            _add_pushed(log, member, subscriber, messages, deliveries)
    return GroupTrace(
        group=group,
        members=_name_members(messages, deliveries, roll.names),
        messages=messages,
        deliveries=list(deliveries.values())[:DELIVERIES_MAX],
        head_seq=log.head_seq,
        hubs=roll.stride,
        is_whole=is_short and log.is_whole and reports.is_whole and len(deliveries) <= DELIVERIES_MAX,
    )


def _trace_message(message: Message) -> TracedMessage | None:
    """What is told of a message; None for one that has no stamp, and so is no member's."""
    headers = message.headers
    kind = headers.get(g.KIND_HEADER, g.MESSAGE)
    try:
        stamp = decode_stamp(headers.get(g.STAMP_HEADER, ""))
    except BadRequest:
        return None
    subject = _Subject() if kind in g.MEMBER_KINDS else _read_subject(message.body)
    text = f"{subject.old} → {subject.name}" if subject.old else subject.name
    return TracedMessage(
        seq=message.seq,
        stamp=str(stamp),
        member=stamp.member,
        name=clean(message.key or ""),
        kind=kind,
        after=tuple(headers.get(g.AFTER_HEADER, "").split()),
        answers=headers.get(g.ANSWERS_HEADER, ""),
        accepted_us=message.accepted_us,
        published_us=message.published_us,
        text=_text_of(message) if kind == g.MESSAGE else clean(text)[:TEXT_CHARACTERS_MAX],
        about=subject.member,
    )


def _read_subject(body: bytes) -> _Subject:
    try:
        return msgspec.json.decode(body, type=_Subject)
    except msgspec.MsgspecError:
        return _Subject()


def _text_of(message: Message) -> str:
    """The beginning of a body that is text, without what could change how the rest is shown."""
    media = message.content_type.partition(";")[0].strip().lower()
    if not (media.startswith("text/") or media.endswith(("json", "xml"))):
        return ""
    # A character that is cut in two at the end is no reason to say that the body is not text.
    return clean(message.body[:_TEXT_BYTES].decode(errors="ignore"))[:TEXT_CHARACTERS_MAX]


def clean(text: str) -> str:
    """A text on one line, with what is not to be seen replaced: it may have come from anybody."""
    words = " ".join(text.split())
    return "".join(one if one.isprintable() or one == _JOINER else "\N{REPLACEMENT CHARACTER}" for one in words)


class _Roll(msgspec.Struct):
    """What the store knows of a group besides its messages."""

    group: str
    stride: int = 1
    offset: int = 0
    names: dict[int, str] = {}
    pushed: dict[int, str] = {}
    """Of members that are web services: the subscriber to whom the group is pushed."""

    def is_elsewhere(self, stamp: str) -> bool:
        """Whether another hub has the messages of who sent this one."""
        member = stamp.partition(":")[0]
        return self.stride > 1 and (int(member) - 1) % self.stride != self.offset if member.isdecimal() else False


def _read_roll(connection: Connection, group: str) -> _Roll:
    groups, members = causal_group.c, group_member.c
    found = connection.execute(select(groups.id, groups.stride, groups.place).where(groups.name == group)).first()
    if found is None:
        return _Roll(group)
    roll = _Roll(group, found.stride, found.place)
    statement = select(members.member, members.name, members.subscriber).where(members.group_id == found.id)
    for row in connection.execute(statement):
        roll.names[row.member] = row.name
        if row.subscriber:
            roll.pushed[row.member] = row.subscriber
    return roll


def _read_deliveries(
    reports: _Reading, roll: _Roll, messages: list[TracedMessage]
) -> dict[tuple[int, str], TracedDelivery]:
    """The first delivery of each message to each member that said so."""
    wanted = {message.stamp for message in messages}
    found: dict[tuple[int, str], TracedDelivery] = {}
    # Nobody is shown a message before the hub has it.
    first_seq = seq_at(reports.connection, reports.topic_id, messages[0].accepted_us)
    last_seq = min(reports.head_seq, first_seq + REPORTS_MAX - 1)
    reports.is_whole = last_seq == reports.head_seq
    for message in reports.messages(first_seq, last_seq):
        if message.key != roll.group:
            continue
        try:
            report = msgspec.json.decode(message.body, type=_Report)
        except msgspec.MsgspecError:
            continue
        for row in report.rows:
            if (row.stamp in wanted or roll.is_elsewhere(row.stamp)) and len(found) <= DELIVERIES_MAX:
                found.setdefault((report.member, row.stamp), _delivery_of(report.member, row))
    return found


def _delivery_of(member: int, row: g.DeliveryRow) -> TracedDelivery:
    return TracedDelivery(
        member=member,
        stamp=row.stamp,
        received_us=row.received_us,
        delivered_us=row.delivered_us,
        waited_for=row.waited_for,
    )


def _add_pushed(
    log: _Reading,
    member: int,
    subscriber: str,
    messages: list[TracedMessage],
    deliveries: dict[tuple[int, str], TracedDelivery],
) -> None:
    """When a web service said that it has them."""
    stamps = {message.seq: message.stamp for message in messages}
    query = TraceQuery(
        topic=log.topic,
        subscriber=subscriber,
        kind=DELIVERED,
        since_us=messages[0].accepted_us,
        max=limits.LIST_ROWS_MAX,
    )
    for _ in range(_PUSHED_PAGES_MAX):
        page = find_traces(log.connection, query)
        # The newest come first: of a message that was pushed again, the first time stays.
        for one in page:
            for seq in range(max(one.first_seq, messages[0].seq), min(one.last_seq, messages[-1].seq) + 1):
                if seq in stamps:
                    deliveries[member, stamps[seq]] = TracedDelivery(
                        member=member, stamp=stamps[seq], received_us=one.at_us, delivered_us=one.at_us
                    )
        if not page.next:
            return
        query = msgspec.structs.replace(query, before=page.next)
    log.is_whole = False


def _name_members(
    messages: list[TracedMessage], deliveries: dict[tuple[int, str], TracedDelivery], called: dict[int, str]
) -> list[tuple[int, str]]:
    """Everybody who sends or is shown something, by number; who is only spoken of has no part in it."""
    names = {message.about: message.text.rpartition("→ ")[2] for message in messages}
    names |= {message.member: message.name for message in messages}
    there = {message.member for message in messages} | {member for member, _ in deliveries}
    return [(member, called.get(member) or names.get(member) or str(member)) for member in sorted(there)]
