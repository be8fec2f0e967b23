"""A group on a hub's store as its members use it, hosted and native ones."""

from __future__ import annotations

from dataclasses import dataclass, field

from pregon.causal.encoding import encode_control
from pregon.causal.member import Member
from pregon.causal.message import CausalMessage, Delivery
from pregon.causal.stamps import Stamp, decode_stamp, decode_stamps
from pregon.groups.desk import GroupsDesk
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.model.group import AFTER_HEADER, JOINED, KIND_HEADER, LEFT, MESSAGE, NATIVE, STAMP_HEADER, Group
from pregon.model.message import Message
from pregon.security.callers import ANYBODY
from pregon.wire.groups import Join, Joined, Leave, Read, Send, Sent

from .site import Site

GROUP = "design"


@dataclass
class Stage:
    """A desk, and the tokens of who takes part."""

    desk: GroupsDesk
    tokens: dict[str, str] = field(default_factory=dict)

    @classmethod
    def on(cls, hub: Hub) -> Stage:
        """A started desk on a hub."""
        stage = cls(GroupsDesk(Gate(hub)))
        stage.desk.start()
        return stage

    def enroll(self, name: str) -> str:
        """The token of who is called so."""
        if name not in self.tokens:
            self.tokens[name] = self.desk.enroll(ANYBODY, name).result().token
        return self.tokens[name]

    def make(self, group: str = GROUP, **values: object) -> Group:
        """A group."""
        return self.desk.create_group(ANYBODY, Group(name=group, **values)).result()  # type: ignore[arg-type]

    def join(self, name: str, group: str = GROUP, **values: object) -> Joined:
        """Become a member."""
        return self.desk.join(ANYBODY, Join(group=group, token=self.enroll(name), **values)).result()  # type: ignore[arg-type]

    def send(self, name: str, text: str = "", group: str = GROUP, **values: object) -> Sent:
        """Send as a member."""
        wanted = Send(group=group, token=self.tokens[name], **values)  # type: ignore[arg-type]
        return self.desk.send(ANYBODY, wanted, text.encode()).result()

    def leave(self, name: str, group: str = GROUP) -> Sent:
        """Leave."""
        return self.desk.leave(ANYBODY, Leave(group=group, token=self.tokens[name])).result()

    def read(self, name: str, after: int = 0, group: str = GROUP, wait_ms: int = 0) -> list[Message]:
        """What a member may read."""
        wanted = Read(group=group, token=self.tokens[name], after_seq=after, wait_ms=wait_ms)
        found = self.desk.read(ANYBODY, wanted).result()
        return [message for batch in found.batches for message in batch.messages(group)]

    def head(self, name: str, group: str = GROUP) -> int:
        """The newest message."""
        return self.read(name, group=group)[-1].seq


def again(stage: Stage, site: Site, options: HubOptions | None = None) -> Stage:
    """The same people at a hub that was started anew."""
    stage.desk.stop()
    later = Stage.on(site.restart(options))
    later.tokens = stage.tokens
    return later


def stamp_of(message: Message) -> Stamp:
    """Who sent it, and which of theirs it is."""
    return decode_stamp(message.headers[STAMP_HEADER])


def after_of(message: Message) -> tuple[Stamp, ...]:
    """What it depends on."""
    return decode_stamps(message.headers[AFTER_HEADER])


def kind_of(message: Message) -> str:
    """What kind of record it is."""
    return message.headers[KIND_HEADER]


class Native:
    """A member that keeps its own clock."""

    def __init__(self, stage: Stage, name: str, group: str = GROUP) -> None:
        self._stage = stage
        self._group = group
        self.name = name
        self.joined = stage.join(name, group, kind=NATIVE)
        self.member = Member(self.joined.member, self.joined.clock)
        self.member.frontier.update(dict(decode_stamps(self.joined.frontier)))
        self.seq = self.joined.seq
        self.send("{}", JOINED)

    def send(self, text: str, kind: str = MESSAGE) -> Sent:
        """The next message of this member."""
        message = self.member.broadcast()
        return self.send_control(message, text, kind)

    def send_control(self, message: CausalMessage, text: str = "", kind: str = MESSAGE) -> Sent:
        """A message with the control information that the test wants."""
        control = encode_control(message.stamp, message.after)
        return self._stage.send(self.name, text, self._group, control=control, kind=kind)

    def leave(self) -> Sent:
        """Announce it, and go."""
        self._stage.leave(self.name, self._group)
        return self.send("{}", LEFT)

    def read(self) -> list[Delivery]:
        """What it is shown now."""
        found = self._stage.read(self.name, self.seq, self._group)
        shown: list[Delivery] = []
        for message in found:
            if stamp_of(message).member != self.member.me:
                shown += self.member.receive(CausalMessage(stamp_of(message), after_of(message), message.body))
            self.seq = message.seq
        return shown
