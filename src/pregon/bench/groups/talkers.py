"""Who takes part in the experiment: the same conversation with a hub, with causal order and without it.

A talker says what to ask the hub, and what it is shown of each answer. Sockets and times are left to `crowd`, which
is the same for all ways of talking:

    ordered     a member of a group: GROUP_SEND with control information, GROUP_READ; what is read is put in order by
                `causal.Member` before it is shown
    plain       a producer and a subscriber of a topic: PUBLISH, PULL; what is read is shown as it comes
    unordered   a member of a group that neither says nor asks what its messages depend on: what is left of `ordered`
                is how the hub stores and hands out a group's messages
    library     a member of a group by the library's own `Conversation`, with its events, history and view of members

Promises:
- Nobody is shown its own messages, in any way of talking.
- Nothing is read beyond what was asked for once: no acknowledgement is written while a round is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from pregon.causal.encoding import encode_control
from pregon.causal.history import History
from pregon.causal.member import Member, MemberState
from pregon.causal.stamps import Stamp, decode_stamps
from pregon.client import calls
from pregon.client.calls import Call, Pulled, PullOptions
from pregon.client.groups import calls as group_calls
from pregon.client.groups.conversation import Conversation
from pregon.client.groups.events import GroupMember, GroupMessage
from pregon.client.groups.intake import Path
from pregon.client.groups.records import read_record
from pregon.client.groups.sending import Words
from pregon.clock import wall_us
from pregon.model.group import JOINED, MESSAGE
from pregon.model.message import DEFAULT_CONTENT_TYPE, Outgoing
from pregon.wire.groups import Joined, Send

READ_WAIT_MS = 50_000
"""Longer than a round of everybody else: nobody asks again in the middle of one."""
READ_MESSAGES_MAX = 500

Ask = Callable[[Call[Any]], Any]
"""Asks the hub and waits for the answer."""


class Talker(Protocol):
    """One of those who take part."""

    name: str

    def send(self, body: bytes) -> Call[Any]:
        """The next message."""
        ...

    def read(self) -> Call[Pulled]:
        """What to ask for next."""
        ...

    def took(self, pulled: Pulled) -> Iterator[bytes]:
        """The bodies that are shown of an answer, in order."""
        ...


class PlainTalker:
    """A producer and subscriber of a topic."""

    def __init__(self, topic: str, name: str, ask: Ask) -> None:
        self.name = name
        self._topic = topic
        ask(calls.create("subscription", {"topic": topic, "subscriber": name, "start": "latest"}))
        self._seq: int | None = None
        self._options = PullOptions(max=READ_MESSAGES_MAX, bytes_max=group_calls.READ_BYTES_MAX, wait_ms=READ_WAIT_MS)

    def send(self, body: bytes) -> Call[Any]:
        """The next message."""
        return calls.publish(self._topic, self.name, Outgoing(body, key=self.name))

    def read(self) -> Call[Pulled]:
        """What comes after what was read."""
        return calls.pull(self._topic, self.name, None, None, self._options, after=self._seq)

    def took(self, pulled: Pulled) -> Iterator[bytes]:
        """All of others."""
        for message in pulled:
            self._seq = message.seq
            if message.key != self.name:
                yield message.body


class OrderedTalker:
    """A member of a group that puts what it reads in order."""

    def __init__(self, group: str, name: str, ask: Ask) -> None:
        self.name = name
        self._group = group
        self._token = ask(group_calls.enroll(name)).token
        joined: Joined = ask(group_calls.join(group, self._token))
        self._seq = joined.seq
        self._member = Member(joined.member, joined.clock)
        self._member.frontier.update(decode_stamps(joined.frontier))
        self.held = 0
        """Messages that had to wait for others."""
        ask(self._send(b"{}", JOINED))

    def send(self, body: bytes) -> Call[Any]:
        """The next message, with what it depends on."""
        return self._send(body, MESSAGE)

    def _send(self, body: bytes, kind: str) -> Call[Any]:
        message = self._member.broadcast()
        control = encode_control(message.stamp, self._named(message.after))
        header = Send(
            group=self._group,
            token=self._token,
            control=control,
            kind=kind,
            content_type=DEFAULT_CONTENT_TYPE,
            published_us=wall_us(),
        )
        return group_calls.send(header, body)

    def _named(self, after: tuple[Stamp, ...]) -> tuple[Stamp, ...]:
        return after

    def read(self) -> Call[Pulled]:
        """What comes after what was read."""
        return group_calls.read(self._group, self._token, self._seq, READ_WAIT_MS)

    def took(self, pulled: Pulled) -> Iterator[bytes]:
        """What may be shown."""
        receive, me = self._member.receive, self._member.me
        for message in pulled:
            self._seq = message.seq
            record = read_record(message, 0, 0)
            assert record is not None
            if record.stamp.member == me:
                continue
            for delivery in receive(record):
                self.held += delivery.waited_for is not None
                arrival = delivery.message.body
                if arrival.kind == MESSAGE:
                    yield arrival.message.body


class UnorderedTalker(OrderedTalker):
    """A member of a group that names no dependency and shows what comes as it comes."""

    def _named(self, after: tuple[Stamp, ...]) -> tuple[Stamp, ...]:
        return ()

    def took(self, pulled: Pulled) -> Iterator[bytes]:
        """All messages of others."""
        for message in pulled:
            self._seq = message.seq
            if message.key != self.name and message.headers["group-kind"] == MESSAGE:
                yield message.body


class LibraryTalker:
    """A member of a group by the library's conversation."""

    def __init__(self, group: str, name: str, ask: Ask) -> None:
        self.name = name
        token = ask(group_calls.enroll(name)).token
        joined: Joined = ask(group_calls.join(group, token))
        frontier = {stamp.member: stamp.number for stamp in decode_stamps(joined.frontier)}
        state = MemberState(me=joined.member, clock=joined.clock, frontier=frontier)
        path = Path(token, joined.member, joined.seq, joined.seq, joined.highest)
        members = [GroupMember(row.member, row.name, row.is_here) for row in joined.members if row.number]
        self._conversation = Conversation(group, name, state, [path], members, is_traced=joined.traced)
        ask(self._make(b"{}", JOINED))

    def send(self, body: bytes) -> Call[Any]:
        """The next message."""
        return self._make(body, MESSAGE)

    def _make(self, body: bytes, kind: str) -> Call[Any]:
        words = Words(body=body, content_type=DEFAULT_CONTENT_TYPE, headers={}, kind=kind)
        own = self._conversation.make(words, wall_us())
        self._conversation.sending.due()
        self._conversation.sending.stored(own, 0)
        assert own.call is not None
        return own.call

    def read(self) -> Call[Pulled]:
        """What the conversation asks next."""
        call = self._conversation.next_call(0)
        assert call is not None
        return call

    def took(self, pulled: Pulled) -> Iterator[bytes]:
        """What the conversation shows."""
        conversation = self._conversation
        now_us = wall_us()
        conversation.took(0, pulled, now_us)
        while (event := conversation.next_event(now_us)) is not None:
            if isinstance(event, GroupMessage):
                yield event.body


TALKERS: dict[str, Callable[[str, str, Ask], Talker]] = {
    "plain": PlainTalker,
    "ordered": OrderedTalker,
    "unordered": UnorderedTalker,
    "library": LibraryTalker,
}
_ = History
