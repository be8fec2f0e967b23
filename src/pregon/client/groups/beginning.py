"""Where a member of a group on several hubs begins: in each log, so that nothing before it follows from what is after.

Hubs are asked one after the other where their logs stand. What one of them has at its moment may follow from what
another one stored after its own: beginning there, the member would be shown a consequence of something before the
thing itself. So all are asked twice, and then how far they have come. Of a message that stands before a second answer
and follows from one behind another second answer, all that is between was stored after the first answers: that part of
the logs is read, and each beginning is moved on until nothing before one follows from anything behind another.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pregon.causal.message import CausalMessage
from pregon.causal.stamps import decode_stamps
from pregon.wire.groups import Joined


@dataclass(slots=True)
class Start:
    """One log: where the hub said that it stands, and the records from the first answer on, by their numbers."""

    joined: Joined
    """The second answer."""
    seq: int
    """Where the member begins: behind this one."""
    records: dict[int, CausalMessage] = field(default_factory=dict)

    def counted(self) -> list[CausalMessage]:
        """The records from the second answer on to the beginning."""
        return [self.records[seq] for seq in sorted(self.records) if self.joined.seq < seq <= self.seq]


def find_beginning(starts: Sequence[Start], path_of: Callable[[int], int | None]) -> None:
    """Move the beginnings on until nothing before one of them follows from what is behind another."""
    places = [{message.stamp: seq for seq, message in start.records.items()} for start in starts]
    has_moved = True
    while has_moved:
        has_moved = False
        for start in starts:
            for seq, message in start.records.items():
                if seq > start.seq:
                    continue
                for needed in message.after:
                    owner = path_of(needed.member)
                    place = 0 if owner is None else places[owner].get(needed, 0)
                    if owner is not None and place > starts[owner].seq:
                        starts[owner].seq = place
                        has_moved = True


def clock_of(starts: Sequence[Start]) -> dict[int, int]:
    """Of each member, how many messages are before the beginning; who is in several logs counts in the first."""
    clock = {member: number for start in reversed(starts) for member, number in start.joined.clock.items()}
    for start in starts:
        for message in start.counted():
            clock[message.stamp.member] = message.stamp.number
    return clock


def frontier_of(starts: Sequence[Start], me: int) -> dict[int, int]:
    """What the first message of a member that begins there depends on."""
    frontier = {
        stamp.member: stamp.number for start in reversed(starts) for stamp in decode_stamps(start.joined.frontier)
    }
    for start in starts:
        for message in start.counted():
            frontier[message.stamp.member] = message.stamp.number
            for before in message.after:
                if frontier.get(before.member) == before.number:
                    del frontier[before.member]
    frontier.pop(me, None)
    return frontier
