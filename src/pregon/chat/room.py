"""One room as somebody sees it: its lines in causal order, threads, who is in it, and what was not read yet.

Lines of members' doings are told from messages by their kind, never by their text: nobody can type one.

Pure. Promises:
- Lines are in the order in which they were shown, which is a causal order; in threads too a line is below what it
  answers.
- At most `LINES_MAX` lines are kept; the oldest go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from pregon.causal.stamps import Stamp
from pregon.chat.looks import clean
from pregon.client.groups.events import (
    Event,
    GroupMember,
    GroupMessage,
    MemberGone,
    MemberJoined,
    MemberLeft,
    MemberRenamed,
    MessagesMissed,
)

LINES_MAX = 2_000
"""Lines of one room that are kept on the screen; the hub has the others."""
_LINES_DROPPED = 200
"""They go together, so that a screen need not move everything for each new line."""


class Kind(Enum):
    """What a line is. The values of members' doings are texts of `words`."""

    MESSAGE = "message"
    JOINED = "joined"
    LEFT = "left"
    GONE = "gone"
    RENAMED = "renamed"
    MISSED = "missed"


class Stage(Enum):
    """How far an own message has come."""

    WAITING = "waiting"
    STORED = "stored"
    REFUSED = "refused"


@dataclass(slots=True)
class Line:
    """Something that was shown in a room."""

    kind: Kind
    name: str = ""
    stamp: Stamp | None = None
    text: str = ""
    answers: Stamp | None = None
    at_us: int = 0
    seq: int = 0
    """Its number in the hub's log; 0 of an own one."""
    old: str = ""
    first: int = 0
    last: int = 0
    is_mine: bool = False
    is_history: bool = False
    stage: Stage = Stage.STORED

    @property
    def is_message(self) -> bool:
        """Whether somebody said it."""
        return self.kind is Kind.MESSAGE


@dataclass(frozen=True, slots=True)
class Placed:
    """A line on the screen: how deep in its thread, and what to quote above it because that is not right above."""

    line: Line
    depth: int = 0
    quoted: Line | None = None


_KINDS: tuple[tuple[type, Kind], ...] = (
    (GroupMessage, Kind.MESSAGE),
    (MemberJoined, Kind.JOINED),
    (MemberLeft, Kind.LEFT),
    (MemberGone, Kind.GONE),
    (MemberRenamed, Kind.RENAMED),
)


def line_of(event: Event, me: int) -> Line | None:
    """An event as a line; None for one of a kind that is not known here."""
    if isinstance(event, MessagesMissed):
        return Line(Kind.MISSED, first=event.first, last=event.last)
    kind = next((kind for type_, kind in _KINDS if isinstance(event, type_)), None)
    if kind is None:
        return None
    return Line(
        kind,
        clean(event.name),
        event.stamp,
        clean(event.text) if isinstance(event, GroupMessage) else "",
        event.answers if isinstance(event, GroupMessage) else None,
        event.at_us,
        event.seq,
        clean(event.old) if isinstance(event, MemberRenamed) else "",
        is_mine=event.member == me,
        is_history=event.is_history,
    )


class Room:
    """A room, or a private conversation (`with_` is the other one)."""

    def __init__(self, name: str, with_: str = "") -> None:
        self.name = name
        self.with_ = with_
        self.me = 0
        """The own number in it."""
        self.unread = 0
        self.seen_seq = 0
        """Up to where the person has seen it, as numbers of the hub's log."""
        self.read_seq: int | None = None
        """Up to where the person had seen it the last time; None if all that was said before counts as seen."""
        self.members: tuple[GroupMember, ...] = ()
        self.marked: Stamp | None = None
        """The message whose concurrent ones are marked."""
        self.concurrent: frozenset[Stamp] = frozenset()
        self.concurrent_with: Callable[[Stamp], Iterable[Stamp]] = lambda _: ()
        """Asks who keeps the causal order of the room."""
        self._lines: list[Line] = []
        self._by_stamp: dict[Stamp, Line] = {}

    @property
    def title(self) -> str:
        """As people see it."""
        return f"@{self.with_}" if self.with_ else self.name

    @property
    def lines(self) -> tuple[Line, ...]:
        """All, in causal order."""
        return tuple(self._lines)

    def add(self, line: Line) -> bool:
        """Show one more; whether it is new."""
        if line.stamp is not None:
            if line.stamp in self._by_stamp:
                return False
            self._by_stamp[line.stamp] = line
        self._lines.append(line)
        if len(self._lines) > LINES_MAX:
            for oldest in self._lines[:_LINES_DROPPED]:
                if oldest.stamp is not None:
                    self._by_stamp.pop(oldest.stamp, None)
            del self._lines[:_LINES_DROPPED]
        return True

    def is_news(self, line: Line) -> bool:
        """Whether a line is something that the person has not seen, and would want to."""
        is_old = line.is_history and (self.read_seq is None or line.seq <= self.read_seq)
        return line.is_message and not line.is_mine and not is_old

    def see(self) -> None:
        """The person has seen all of it."""
        self.unread = 0
        self.seen_seq = max((line.seq for line in self._lines), default=self.seen_seq)

    def take_back(self, line: Line) -> None:
        """It was refused by the hub, and its name may be another's: it stays, marked, without the name."""
        line.stage = Stage.REFUSED
        if line.stamp is not None and self._by_stamp.get(line.stamp) is line:
            del self._by_stamp[line.stamp]
        line.stamp = None

    def find(self, stamp: Stamp) -> Line | None:
        """The line of that name."""
        return self._by_stamp.get(stamp)

    def find_message(self, stamp: Stamp) -> Line | None:
        """The message of that name."""
        line = self._by_stamp.get(stamp)
        return line if line is not None and line.is_message else None

    def newest_message(self) -> Line | None:
        """The last message that has a name."""
        return next((line for line in reversed(self._lines) if line.is_message and line.stamp is not None), None)

    def mark_concurrent(self, stamp: Stamp | None) -> list[Stamp]:
        """Mark what is concurrent with a message; none marks nothing any more. The messages that are marked."""
        self.marked = stamp
        if stamp is None:
            self.concurrent = frozenset()
            return []
        found = [one for one in self.concurrent_with(stamp) if self.find_message(one) is not None]
        self.concurrent = frozenset(found)
        return found

    # How lines stand on the screen.

    def placed(self, *, in_threads: bool) -> list[Placed]:
        """All lines as they stand on the screen."""
        return list(self._in_threads() if in_threads else self._in_order())

    def place(self, line: Line, before: Line | None) -> Placed:
        """A line in causal order, below another one: under what it answers, or under a quotation of it."""
        answered = self.find_message(line.answers) if line.answers is not None else None
        if answered is None:
            return Placed(line)
        is_below = before is answered or (before is not None and before.answers == line.answers)
        return Placed(line, 1, None if is_below else answered)

    def _in_order(self) -> Iterator[Placed]:
        before: Line | None = None
        for line in self._lines:
            yield self.place(line, before)
            # What happens to members may stand between a message and its answer.
            before = line if line.is_message else before

    def _in_threads(self) -> Iterator[Placed]:
        """Answers under what they answer, in their order; the rest in causal order."""
        answers: dict[Stamp, list[Line]] = {}
        roots: list[Line] = []
        for line in self._lines:
            if line.answers is not None and self.find_message(line.answers) is not None:
                answers.setdefault(line.answers, []).append(line)
            else:
                roots.append(line)
        for root in roots:
            ahead = [(root, 0)]
            while ahead:
                line, depth = ahead.pop()
                yield Placed(line, depth)
                below = answers.pop(line.stamp, []) if line.stamp is not None else []
                ahead += [(one, depth + 1) for one in reversed(below)]
