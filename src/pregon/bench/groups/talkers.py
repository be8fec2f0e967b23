"""Who takes part: the same conversation with a hub, with causal order and without it.

A talker says what to ask the hub, and what it is shown of each answer. Sockets and times are left to `crowd`, which
is the same for all ways of talking:

    plain       a producer and a subscriber of a topic: PUBLISH, PULL; what is read is shown as it comes
    ordered     a member of a group: GROUP_SEND with control information, GROUP_READ; what is read is put in order by
                `causal.Member` before it is shown
    library     a member of a group by the library's `Conversation`, with its events, its history and its members

Nobody is shown its own messages. Nobody acknowledges what it has read while that is measured: a plain talker reads
ahead of its cursor and moves it between rounds, so that the hub writes nothing for readers, as it does not for members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Protocol

from pregon.bench.groups.records import read_records
from pregon.causal.encoding import encode_control
from pregon.causal.history import History
from pregon.causal.member import Member, MemberState
from pregon.causal.stamps import decode_stamps
from pregon.client import calls
from pregon.client.calls import Call, Pulled, PullOptions
from pregon.client.groups import calls as group_calls
from pregon.client.groups.conversation import Conversation
from pregon.client.groups.events import GroupMember, GroupMessage
from pregon.client.groups.intake import Path
from pregon.client.groups.sending import Words
from pregon.clock import wall_us
from pregon.model.group import JOINED, MESSAGE
from pregon.model.message import DEFAULT_CONTENT_TYPE, Outgoing
from pregon.wire.groups import Joined, Read, Send

READ_WAIT_MS = 50_000
"""Longer than a round of everybody else: nobody asks again in the middle of one."""

Ask = Callable[[Call[Any]], Any]
"""Asks the hub and waits for the answer."""


class Talker(Protocol):
    """One of those who take part."""

    @property
    def waited(self) -> int:
        """Messages that it was shown later than they came, because another had to be shown first."""
        ...

    def send(self, body: bytes) -> Call[Any]:
        """The next message."""
        ...

    def read(self, *, settles: bool = False) -> Call[Pulled]:
        """What to ask for next; and whether this is the time to acknowledge what was read."""
        ...

    def took(self, pulled: Pulled) -> Iterator[bytes]:
        """The bodies that are shown of an answer, in order."""
        ...

    def leave(self, ask: Ask) -> None:
        """Take part no more."""
        ...


class PlainTalker:
    """A producer and subscriber of a topic."""

    waited = 0

    def __init__(self, topic: str, name: str, ask: Ask) -> None:
        self._topic = topic
        self._name = name
        ask(calls.create("subscription", {"topic": topic, "subscriber": name, "start": "latest"}))
        self._seq: int | None = None
        self._options = PullOptions(
            max=group_calls.READ_MESSAGES_MAX, bytes_max=group_calls.READ_BYTES_MAX, wait_ms=READ_WAIT_MS
        )

    def send(self, body: bytes) -> Call[Any]:
        """The next message."""
        return calls.publish(self._topic, self._name, Outgoing(body, key=self._name))

    def read(self, *, settles: bool = False) -> Call[Pulled]:
        """What comes after what was read."""
        ack = self._seq if settles else None
        return calls.pull(self._topic, self._name, ack, None, self._options, after=self._seq)

    def took(self, pulled: Pulled) -> Iterator[bytes]:
        """All messages of others."""
        self._seq = pulled.last_seq or self._seq
        for message in pulled:
            if message.key != self._name:
                yield message.body

    def leave(self, ask: Ask) -> None:
        """Give the subscription back."""
        ask(calls.delete("subscription", (self._topic, self._name)))


class OrderedTalker:
    """A member of a group that puts what it reads in order."""

    def __init__(self, group: str, name: str, ask: Ask) -> None:
        self._group = group
        self._token = ask(group_calls.enroll(name)).token
        joined: Joined = ask(group_calls.join(group, self._token))
        self._seq = joined.seq
        # How messages relate is not asked here: only their order is paid for.
        self._member = Member(joined.member, joined.clock, history=History(0))
        self._member.frontier.update(decode_stamps(joined.frontier))
        self.waited = 0
        ask(self._say(b"{}", JOINED))

    def send(self, body: bytes) -> Call[Any]:
        """The next message, with what it depends on."""
        return self._say(body, MESSAGE)

    def _say(self, body: bytes, kind: str) -> Call[Any]:
        message = self._member.broadcast()
        control = encode_control(message.stamp, message.after)
        header = Send(group=self._group, token=self._token, control=control, kind=kind, published_us=wall_us())
        return group_calls.send(header, body)

    def read(self, *, settles: bool = False) -> Call[Pulled]:
        """What comes after what was read."""
        return group_calls.read(self._group, self._token, self._seq, READ_WAIT_MS)

    def took(self, pulled: Pulled) -> Iterator[bytes]:
        """What may be shown."""
        self._seq = pulled.last_seq or self._seq
        # What comes back of its own is known already, and not shown.
        for delivery in chain.from_iterable(map(self._member.receive, read_records(pulled))):
            if delivery.waited_for is not None:
                self.waited += 1
            message = delivery.message.body
            if message is not None:
                yield message.body

    def leave(self, ask: Ask) -> None:
        """Take part no more, in any group."""
        ask(group_calls.retire(self._token))


class LibraryTalker:
    """A member of a group by the library's conversation."""

    waited = 0

    def __init__(self, group: str, name: str, ask: Ask) -> None:
        self._token = ask(group_calls.enroll(name)).token
        joined: Joined = ask(group_calls.join(group, self._token))
        frontier = {stamp.member: stamp.number for stamp in decode_stamps(joined.frontier)}
        state = MemberState(me=joined.member, clock=joined.clock, frontier=frontier)
        path = Path(self._token, joined.member, joined.seq, joined.seq, joined.highest)
        members = [GroupMember(row.member, row.name, row.is_here) for row in joined.members if row.number]
        self._conversation = Conversation(group, name, state, [path], members, is_traced=joined.traced)
        ask(self._say(b"{}", JOINED))

    def send(self, body: bytes) -> Call[Any]:
        """The next message."""
        return self._say(body, MESSAGE)

    def _say(self, body: bytes, kind: str) -> Call[Any]:
        words = Words(body=body, content_type=DEFAULT_CONTENT_TYPE, headers={}, kind=kind)
        own = self._conversation.make(words, wall_us())
        # Whether it is stored is known to the crowd, which waits for it before the next one.
        self._conversation.sending.due()
        self._conversation.sending.stored(own, 0)
        assert own.call is not None
        return own.call

    def read(self, *, settles: bool = False) -> Call[Pulled]:
        """What the conversation asks next, to be waited for as long as the others wait."""
        call = self._conversation.next_call(0)
        assert call is not None and isinstance(call.header, Read)
        call.header.wait_ms = READ_WAIT_MS
        return call

    def took(self, pulled: Pulled) -> Iterator[bytes]:
        """What the conversation shows."""
        conversation, now_us = self._conversation, wall_us()
        conversation.took(0, pulled, now_us)
        while (event := conversation.next_event(now_us)) is not None:
            if isinstance(event, GroupMessage):
                yield event.body

    def leave(self, ask: Ask) -> None:
        """Take part no more, in any group."""
        ask(group_calls.retire(self._token))


PLAIN, ORDERED, LIBRARY = "plain", "ordered", "library"
TALKERS: dict[str, Callable[[str, str, Ask], Talker]] = {
    PLAIN: PlainTalker,
    ORDERED: OrderedTalker,
    LIBRARY: LibraryTalker,
}
