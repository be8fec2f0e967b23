"""What everybody has: messages are kept to be repeated until all members have reported them, and then no more.

    report      of each member, how far it has been shown the messages of each other one
    stable      how far everybody has
    retained    the messages that are not stable yet, ready to be repeated for who lacks them

Promises:
- What is retained is bounded in messages and in bytes; the oldest ones go first, also if somebody may lack them.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable

from pregon.causal.peer_frames import ReportFrame
from pregon.causal.stamps import Stamp
from pregon.limits import GROUP_NUMBER_MAX

EVERYTHING = GROUP_NUMBER_MAX + 1
_STRANGERS_MAX = 64


class Retained:
    """Messages that somebody may lack."""

    def __init__(self, messages_max: int, bytes_max: int) -> None:
        self._messages_max = messages_max
        self._bytes_max = bytes_max
        self._frames: OrderedDict[Stamp, bytes] = OrderedDict()
        self._numbers: dict[int, deque[int]] = {}
        """Of each sender, from low to high: they are added in the order of their delivery."""
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, stamp: Stamp, frame: bytes) -> None:
        """It was delivered, or sent, now."""
        if stamp in self._frames:
            return
        self._frames[stamp] = frame
        self._numbers.setdefault(stamp.member, deque()).append(stamp.number)
        self.bytes += len(frame)
        while len(self._frames) > self._messages_max or (self.bytes > self._bytes_max and len(self._frames) > 1):
            oldest = next(iter(self._frames))
            self.drop_up_to(oldest.member, oldest.number)

    def find(self, stamp: Stamp) -> bytes | None:
        """The frame of a message."""
        return self._frames.get(stamp)

    def senders(self) -> list[int]:
        """Whose messages are retained."""
        return list(self._numbers)

    def frames(self) -> list[bytes]:
        """All of them, in the order of their delivery."""
        return list(self._frames.values())

    def drop_up_to(self, member: int, number: int) -> None:
        """Everybody has the messages of a member up to a number."""
        numbers = self._numbers.get(member)
        while numbers and numbers[0] <= number:
            self.bytes -= len(self._frames.pop(Stamp(member, numbers.popleft())))
        if numbers is not None and not numbers:
            del self._numbers[member]


class Reports:
    """What each member has, by its own word."""

    def __init__(self) -> None:
        self._rows: dict[int, dict[int, int]] = {}
        self._strangers: OrderedDict[int, tuple[dict[int, int], float]] = OrderedDict()
        """Of those who are not known as members yet, what they have, and when they were heard: what their first message
        follows from may be theirs alone to give."""

    def take(self, frame: ReportFrame) -> None:
        """A report of a member has come."""
        self._strangers.pop(frame.sender, None)
        row = self._rows.get(frame.sender)
        if frame.is_full or row is None:
            self._rows[frame.sender] = dict(frame.clock)
        else:
            row.update(frame.clock)

    def replace(self, member: int, clock: dict[int, int]) -> None:
        """A member begins with this clock."""
        self._rows[member] = dict(clock)

    def take_stranger(self, frame: ReportFrame, now_ms: float) -> None:
        """A report has come of one who is not known as a member."""
        known = {} if frame.is_full else self._strangers.get(frame.sender, ({}, 0.0))[0]
        self._strangers[frame.sender] = ({**known, **frame.clock}, now_ms)
        self._strangers.move_to_end(frame.sender)
        if len(self._strangers) > _STRANGERS_MAX:
            self._strangers.popitem(last=False)

    def drop(self, member: int) -> None:
        """It is forgotten, or did not come in."""
        self._rows.pop(member, None)
        self._strangers.pop(member, None)

    def has(self, member: int, sender: int) -> int:
        """How far a member has the messages of a sender."""
        row = self._rows.get(member)
        if row is None:
            row = self._strangers.get(member, ({}, 0.0))[0]
        return row.get(sender, 0)

    def holders(self, sender: int, number: int) -> list[int]:
        """Who says to have a message, from low to high; its sender first."""
        found = sorted(member for member, row in self._rows.items() if row.get(sender, 0) >= number)
        if sender in found:
            found.remove(sender)
            found.insert(0, sender)
        strangers = [member for member, (row, _) in self._strangers.items() if row.get(sender, 0) >= number]
        if sender in strangers:
            found.insert(0, sender)
        return [*found, *(member for member in strangers if member not in found)]

    def strangers(self, since_ms: float) -> list[int]:
        """Those who are not known as members yet and were heard of since then."""
        return [member for member, (_, heard_ms) in self._strangers.items() if heard_ms >= since_ms]

    def stable(self, sender: int, members: Iterable[int]) -> int:
        """How far all these members have the messages of a sender."""
        return min((self.has(member, sender) for member in members), default=EVERYTHING)

    def is_agreed(self, sender: int, number: int, members: Iterable[int], *, or_unknown: bool) -> bool:
        """Whether all these members have the messages of a sender up to exactly this number."""
        return all(
            (has := self.has(member, sender)) == number or (or_unknown and has == 0)
            for member in members
            if member != sender
        )
