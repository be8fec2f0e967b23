"""The roll of a group: its members, how far each has come, and whether a message may be stored.

Pure: what is asked here has been read from the store, and what it answers is written by `writing`.

Promises:
- A message is accepted only from its sender, in its turn, after everything of this hub that it depends on.
- A number of a member is given once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pregon.causal.message import check_control
from pregon.causal.stamps import Stamp
from pregon.errors import BadRequest, LimitReached, NotAMember, OutOfTurn
from pregon.groups.window import Window
from pregon.limits import GROUP_MEMBERS_MAX
from pregon.model.group import HOSTED, LEFT, NATIVE, Group, GroupMember

JOINING, IN, OUT = "joining", "in", "out"
MEMBERS_LEFT_BEHIND = 10_000
"""Members that left so many messages ago are forgotten: nobody depends on them any more."""


@dataclass(slots=True)
class Rolled:
    """A member on the roll."""

    member: int
    participant_id: int | None
    name: str
    kind: str
    state: str
    joined_seq: int
    number: int = 0
    sent_seq: int = 0
    """Of a hosted one: what it had seen of the log when it last sent."""
    seen_seq: int = 0
    """What it has seen since, as far as it said so."""
    left_seq: int | None = None
    subscriber: str = ""

    @property
    def is_in(self) -> bool:
        """Whether it has joined and not left."""
        return self.state == IN

    def shown(self, is_here: bool) -> GroupMember:
        """As others see it."""
        return GroupMember(
            member=self.member,
            name=self.name,
            kind=self.kind,
            is_here=is_here,
            number=self.number,
            joined_seq=self.joined_seq,
        )


@dataclass(slots=True)
class Roll:
    """A group, its members, and the newest part of its log."""

    id: int
    topic_id: int
    entry: Group
    head_seq: int
    numbered: int
    """How many numbers were given to members, the hub's own among them."""
    window: Window
    pair: str = ""
    members: dict[int, Rolled] = field(default_factory=dict)
    changed: set[int] = field(default_factory=set)
    """Members whose rows are to be written."""
    _by_participant: dict[int, int] = field(default_factory=dict)

    @property
    def hub_number(self) -> int:
        """The hub's own number as a member."""
        return self.entry.offset + 1

    @property
    def hub(self) -> Rolled:
        """The hub as a member."""
        return self.members[self.hub_number]

    def number_of(self, count: int) -> int:
        """The number of the member that is the so-manieth of this hub."""
        return self.entry.offset + 1 + count * self.entry.stride

    def is_ours(self, member: int) -> bool:
        """Whether this hub gives, or would give, that number."""
        return member > 0 and (member - 1) % self.entry.stride == self.entry.offset

    def put(self, rolled: Rolled) -> None:
        """On the roll as it was read."""
        self.members[rolled.member] = rolled
        if rolled.participant_id is not None and rolled.state != OUT:
            self._by_participant[rolled.participant_id] = rolled.member

    def of_participant(self, participant_id: int) -> Rolled | None:
        """The member that a participant is, or is about to be."""
        member = self._by_participant.get(participant_id)
        return None if member is None else self.members[member]

    def require_member(self, participant_id: int) -> Rolled:
        """The member that a participant is; raises NotAMember."""
        found = self.of_participant(participant_id)
        if found is None:
            raise NotAMember(f"you are not a member of {self.entry.name}: join it first")
        return found

    def enter(self, participant_id: int | None, name: str, kind: str) -> Rolled:
        """Give a new member its number; raises LimitReached. It is in when its `joined` is stored."""
        if kind not in (NATIVE, HOSTED):
            raise BadRequest(f"a member is {NATIVE} or {HOSTED}, not {kind[:40]!r}")
        if kind == HOSTED and participant_id is not None and self.entry.stride > 1:
            raise BadRequest(
                f"{self.entry.name} lives in {self.entry.stride} hubs: only members that keep their own clock can join"
            )
        if sum(one.state != OUT for one in self.members.values()) > GROUP_MEMBERS_MAX:
            raise LimitReached(f"{self.entry.name} has {GROUP_MEMBERS_MAX} members, as many as a group may have")
        self._forget_long_gone()
        member = self.number_of(self.numbered)
        self.numbered += 1
        rolled = Rolled(member, participant_id, name, kind, JOINING, self.head_seq)
        self.put(rolled)
        self.changed.add(member)
        return rolled

    def _forget_long_gone(self) -> None:
        oldest_seq = self.head_seq - MEMBERS_LEFT_BEHIND
        gone = [one.member for one in self.members.values() if one.left_seq is not None and one.left_seq <= oldest_seq]
        for member in gone:
            # One whose row is still to be written is let go the next time.
            if member not in self.changed:
                del self.members[member]

    def check(self, sender: Rolled, stamp: Stamp, after: tuple[Stamp, ...]) -> bool:
        """Whether a message is new; raises BadRequest for what its sender cannot depend on, OutOfTurn for a gap."""
        check_control(stamp, after)
        if stamp.member != sender.member and self._is_out(stamp.member):
            raise NotAMember(f"member {stamp.member} of {self.entry.name} is out: you are member {sender.member} now")
        if stamp.member != sender.member:
            raise BadRequest(f"you are member {sender.member} of {self.entry.name}, and cannot send as {stamp.member}")
        if stamp.number <= sender.number:
            return False
        if stamp.number > sender.number + 1:
            raise OutOfTurn(
                f"message {stamp} came before {sender.member}:{sender.number + 1}: send your messages in their order"
            )
        for needed in after:
            self.require_known(needed)
        return True

    def _is_out(self, member: int) -> bool:
        there = self.members.get(member)
        return there is not None and there.state == OUT

    def require_known(self, needed: Stamp) -> None:
        """Raises BadRequest for a message that is not in the log and should be."""
        if not self.is_ours(needed.member):
            # Its hub knows; whoever reads both puts them in order.
            return
        there = self.members.get(needed.member)
        sent = there.number if there is not None else 0
        # Old members that are out are forgotten with their messages.
        is_forgotten = there is None and needed.member < self.number_of(self.numbered)
        if needed.number > sent and not is_forgotten:
            raise BadRequest(f"a message of {self.entry.name} cannot depend on {needed}: there is no such message here")

    def sent(self, sender: Rolled, stamp: Stamp, kind: str) -> None:
        """A message of this member is being stored, at the head of the log."""
        sender.number = stamp.number
        if kind == LEFT:
            self.strike(sender)
        elif sender.state == JOINING:
            sender.state = IN
        self.changed.add(sender.member)

    def strike(self, rolled: Rolled) -> None:
        """It is a member no more."""
        rolled.state, rolled.left_seq = OUT, self.head_seq
        self._by_participant.pop(rolled.participant_id or 0, None)
        self.changed.add(rolled.member)

    def clock(self) -> dict[int, int]:
        """Of each member, how many messages the log has."""
        return {one.member: one.number for one in self.members.values() if one.number}
