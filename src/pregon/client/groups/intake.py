"""What a member reads, path by path, until it is shown: ordered, held back, waiting.

A path is the log of the group in one hub. A group on several hubs has several, and a reply may come by one of them
before its cause by another: it is held back by its own control information. Reading stops while enough waits to be
shown, so that a member that does not look loses nothing and takes no more room.

Pure: answers and the time go in, what to ask next and what to show come out.

Promises:
- Every message of every log after the member's beginning is shown once, after all that it depends on.
- `resume_seq` of a path is never beyond a message that was not shown: who begins again there misses nothing.
- What depends on something that no log has (a lie) is given up once every other log was read to its end after it came:
  it holds up neither the others nor the reading.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from pregon.causal.history import History
from pregon.causal.member import Member, MemberState
from pregon.causal.message import CausalMessage, Delivery
from pregon.causal.stamps import Stamp, decode_stamps
from pregon.client.calls import Pulled
from pregon.client.groups.calls import READ_MESSAGES_MAX
from pregon.client.groups.events import MessagesMissed
from pregon.client.groups.past import Past
from pregon.client.groups.records import read_records
from pregon.limits import GROUP_HELD_OF_MEMBER_MAX, MIB
from pregon.wire.groups import Joined

WAITING_MAX = 1_000
"""Messages that wait to be shown; with more, nothing is read."""
WAITING_BYTES_MAX = 8 * MIB
"""Their bodies together."""
HELD_MAX = GROUP_HELD_OF_MEMBER_MAX - READ_MESSAGES_MAX
"""Messages of one path that are held back; with more, that path is not read, so that no sender passes its limit."""


@dataclass(slots=True)
class Path:
    """The log of one hub, and how far it was read."""

    token: str
    member: int
    """As whom one is a member there."""
    read_seq: int
    """Up to where it was read."""
    past_seq: int = 0
    """Up to here it is from before this member joined."""
    highest: int = 0
    """A member of this hub up to this number of whom nothing is known is long gone."""
    stride: int = 1
    offset: int = 0
    """The members of this hub are 1 + offset, 1 + offset + stride …"""
    asked: int = 0
    """The read that is under way, by its tick; 0 if there is none."""
    whole: int = 0
    """The last read that came to the end of the log: what was stored before it was asked has come."""
    held: int = 0
    unseen: OrderedDict[int, None] = field(default_factory=OrderedDict)
    """Messages that were read and not yet shown."""
    anchor_seq: int | None = None
    """Where to begin again while what was missed is being made up for."""
    is_lost: bool = False
    """Whether the log has lost messages that were not read: the hub must say where it stands now."""

    @property
    def resume_seq(self) -> int:
        """Up to where everything was shown."""
        if self.anchor_seq is not None:
            return self.anchor_seq
        return next(iter(self.unseen)) - 1 if self.unseen else max(self.read_seq, self.past_seq)

    def owns(self, member: int) -> bool:
        """Whether that member's messages are in this log."""
        return (member - 1) % self.stride == self.offset


def find_owner(paths: Sequence[Path], member: int) -> int | None:
    """The path by which the messages of a member come; the first, if there are several to the same hub."""
    return next((index for index, path in enumerate(paths) if path.owns(member)), None)


class PastDelivery(msgspec.Struct, frozen=True, gc=False):
    """A message from before the member joined: it is outside the member's clock."""

    message: CausalMessage


class Beginning(msgspec.Struct, frozen=True, gc=False):
    """From here on a path goes on from another place of its log."""

    path: int
    clock: dict[int, int]
    frontier: tuple[Stamp, ...]


Shown = Delivery | PastDelivery | MessagesMissed | Beginning


class Intake:
    """All the paths of one member."""

    def __init__(self, state: MemberState, paths: Sequence[Path], waiting_max: int = WAITING_MAX) -> None:
        # What was shown is remembered by who shows it.
        self._order = Member.restore(state, history=History(0))
        self.paths = paths
        self.refused = 0
        """Messages that were given up because what they depend on does not exist, and records that are none."""
        self._waiting_max = waiting_max
        self._waiting: deque[Shown] = deque()
        self._waiting_bytes = 0
        self._held: dict[Stamp, CausalMessage] = {}
        self._past: Past | None = None
        self._later: list[CausalMessage] = []
        """What came after the past while that was not over."""
        self._beginnings: list[Beginning] = []
        self._tick = 0
        if any(path.read_seq < path.past_seq for path in paths):
            self._begin_past()

    def __len__(self) -> int:
        """How many wait to be shown."""
        return len(self._waiting)

    @property
    def held(self) -> int:
        """How many are held back."""
        return len(self._held)

    @property
    def has_room(self) -> bool:
        """Whether more may wait to be shown."""
        return len(self._waiting) < self._waiting_max and self._waiting_bytes < WAITING_BYTES_MAX

    def may_ask(self, index: int) -> bool:
        """Whether there is room for more of a path, and nothing is asked there yet."""
        path = self.paths[index]
        behind = 0 if self._past is None else self._past.waiting(index) + len(self._later)
        return self.has_room and not path.asked and path.held < HELD_MAX and behind < self._waiting_max

    def asked(self, index: int) -> int:
        """A path is being read: after which number."""
        self._tick += 1
        self.paths[index].asked = self._tick
        return self.paths[index].read_seq

    def failed(self, index: int) -> None:
        """What was asked there was not answered."""
        self.paths[index].asked = 0

    def took(self, index: int, pulled: Pulled, now_us: int) -> None:
        """The answer to what was asked of a path."""
        path = self.paths[index]
        asked, path.asked = path.asked, 0
        if pulled.tail_seq > path.read_seq + 1 and path.read_seq < path.past_seq:
            # What is no longer kept of the past was never promised.
            path.read_seq = min(pulled.tail_seq - 1, path.past_seq)
        if pulled.tail_seq > path.read_seq + 1:
            self._lost(path, pulled.tail_seq - 1)
            return
        count = 0
        for arrived in read_records(pulled, index, now_us, self._tick):
            count += 1
            seq = arrived.body.message.seq
            if seq > path.read_seq:
                path.read_seq = seq
                self._arrived(path, arrived)
        self.refused += len(pulled) - count
        path.read_seq = max(path.read_seq, pulled.last_seq or 0)
        if path.read_seq >= pulled.head_seq:
            path.whole = asked
        self._look_at_past()
        self._give_up_lies()

    def took_snapshot(self, index: int, joined: Joined) -> None:
        """The hub says where its log stands, after some of it was lost: what is left up to there is shown as past."""
        path = self.paths[index]
        path.asked, path.is_lost, path.past_seq, path.highest = 0, False, joined.seq, joined.highest
        self._beginnings.append(Beginning(index, dict(joined.clock), decode_stamps(joined.frontier)))
        self._begin_past()
        self._look_at_past()

    def _lost(self, path: Path, last_seq: int) -> None:
        path.anchor_seq, path.is_lost = path.resume_seq, True
        self._waiting.append(MessagesMissed(0, path.read_seq + 1, last_seq))
        path.read_seq = last_seq

    def sent(self, number: int) -> None:
        """The member has sent a message, which counts as delivered to itself."""
        self._make_ready(self._order.advance(self._order.me, number))

    def unsent(self, number: int) -> None:
        """A message of the member, and those after it, will never be stored."""
        self._order.clock[self._order.me] = number - 1

    def is_settled(self, member: int) -> bool:
        """Whether nobody need wait for messages of that member."""
        return member in self._order.settled

    def forget(self, member: int) -> None:
        """A member left long ago."""
        self._make_ready(self._order.forget(member))

    def take(self) -> Shown | None:
        """The next thing to show, from now on shown."""
        if not self._waiting:
            return None
        shown = self._waiting.popleft()
        if isinstance(shown, Delivery | PastDelivery):
            arrival = shown.message.body
            self._waiting_bytes -= len(arrival.message.body)
            self.paths[arrival.path].unseen.pop(arrival.message.seq, None)
        elif isinstance(shown, Beginning):
            self.paths[shown.path].anchor_seq = None
        return shown

    def _arrived(self, path: Path, arrived: CausalMessage) -> None:
        seq = arrived.body.message.seq
        if seq <= path.past_seq:
            # Among what was lost on the way may be the member's own, which it knows.
            is_own = path.anchor_seq is not None and arrived.stamp.member == self._order.me
            if self._past is not None and not is_own:
                self._past.add(arrived.body.path, arrived)
            return
        path.unseen[seq] = None
        if self._past is not None:
            self._later.append(arrived)
        else:
            self._put_in_order(path, arrived)

    def _put_in_order(self, path: Path, arrived: CausalMessage) -> None:
        stamp = arrived.stamp
        delivered = self._order.receive(arrived)
        self._make_ready(delivered)
        if delivered:
            return
        if stamp in self._order.held and stamp not in self._held:
            self._held[stamp] = arrived
            path.held += 1
            self._settle_long_gone(arrived)
        else:
            # It came by another path already, or is our own.
            path.unseen.pop(arrived.body.message.seq, None)

    def _make_ready(self, deliveries: Sequence[Delivery]) -> None:
        for delivery in deliveries:
            arrived = self._held.pop(delivery.message.stamp, None)
            if arrived is not None:
                self.paths[arrived.body.path].held -= 1
            self._waiting.append(delivery)
            self._waiting_bytes += len(delivery.message.body.message.body)

    def _settle_long_gone(self, arrived: CausalMessage) -> None:
        """What depends on a member of whom the hub itself knows nothing any more need not wait."""
        for member, _ in arrived.after:
            if member in self._order.clock or member in self._order.settled:
                continue
            owner = self._find_path_of(member)
            if owner is not None and member <= self.paths[owner].highest:
                self.forget(member)

    def _find_path_of(self, member: int) -> int | None:
        return find_owner(self.paths, member)

    def _begin_past(self) -> None:
        if self._past is None:
            self._past = Past(len(self.paths), self._find_path_of)

    def _look_at_past(self) -> None:
        """Show what can be shown of the past; when it is over, what came after it is put in order."""
        past = self._past
        if past is None:
            return
        for index, path in enumerate(self.paths):
            past.mark(index, is_whole=path.read_seq >= path.past_seq and not path.is_lost)
        while (message := past.take()) is not None:
            self._waiting.append(PastDelivery(message))
            self._waiting_bytes += len(message.body.message.body)
        if not past.is_over:
            return
        self._past = None
        for beginning in self._beginnings:
            self._waiting.append(beginning)
            for member, number in beginning.clock.items():
                self._make_ready(self._order.advance(member, number))
        self._beginnings.clear()
        later, self._later = self._later, []
        for arrived in later:
            self._put_in_order(self.paths[arrived.body.path], arrived)

    def _give_up_lies(self) -> None:
        """What is still missing after every other log was read to its end is nowhere."""
        for stamp, arrived in list(self._held.items()):
            arrival = arrived.body
            others = (path for index, path in enumerate(self.paths) if index != arrival.path)
            if all(path.whole > arrival.tick for path in others):
                self._order.give_up(stamp)
                del self._held[stamp]
                path = self.paths[arrival.path]
                path.held -= 1
                path.unseen.pop(arrival.message.seq, None)
                self.refused += 1
