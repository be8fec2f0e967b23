"""The plain clients of a room: who of them is in, and what becomes of what they push.

A plain client is one of the two or three dozen lines with which people learn ZeroMQ. It pushes `[nick, text]`: the
text `HI` comes in, `BYE` goes out, anything else is said; and it subscribes to `[nick, text]`, where `server` tells who
connected and disconnected.

    absent -- HI, or a text --> entering -- the hub took it --> in -- BYE, or long silence --> leaving --> absent
                                   |
                                   +-- the hub refused it --> absent, and everybody is told why

Pure: frames and the time go in, what to do comes out; `plain_door` is the loop around it.

Promises:
- At most `visitors_max` nicks are there at once, and `TEXTS_WAITING_MAX` texts of one wait for the hub.
- What one nick pushes is said in the order in which it came.
- What is no such message is dropped and counted; nothing is raised.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from pregon.chat.looks import clean
from pregon.errors import BadName
from pregon.model.group import check_nick, fold_nick

HI, BYE, SERVER = "HI", "BYE", "server"
TEXT_BYTES_MAX = 16 * 1024
"""A text that is pushed."""
TEXTS_WAITING_MAX = 100
VISITORS_MAX = 200
SILENCE_MS = 30 * 60 * 1_000.0
"""Who pushes nothing for so long is taken to be gone: nothing else tells."""
_NICK_BYTES_MAX = 200
_TELL_AGAIN_MS = 10_000.0
_TOLD_MAX = 20
"""Mistakes that are told within that time."""


class Standing(Enum):
    """How far a nick is in."""

    ENTERING = "entering"
    IN = "in"
    LEAVING = "leaving"


@dataclass(slots=True)
class Visitor:
    """A nick that is there, or on its way."""

    nick: str
    heard_ms: float
    standing: Standing = Standing.ENTERING
    texts: deque[str] = field(default_factory=deque)
    """What it pushed and the hub does not have yet."""
    is_wanted: bool = True
    """Whether it is to be there: it may have said BYE while it was entering, or HI while it was leaving."""


@dataclass(frozen=True, slots=True)
class Enter:
    """Take this nick in."""

    nick: str


@dataclass(frozen=True, slots=True)
class Part:
    """Let this nick go."""

    nick: str


@dataclass(frozen=True, slots=True)
class Speak:
    """This nick has texts to be said."""

    nick: str


@dataclass(frozen=True, slots=True)
class Tell:
    """Tell everybody, as the server."""

    text: str


Deed = Enter | Part | Speak | Tell


class Visitors:
    """All of them."""

    def __init__(self, visitors_max: int = VISITORS_MAX, silence_ms: float = SILENCE_MS) -> None:
        self._visitors_max = visitors_max
        self._silence_ms = silence_ms
        self._visitors: dict[str, Visitor] = {}
        self._told_ms: dict[str, float] = {}
        self.counts: Counter[str] = Counter()
        """What was taken and what was dropped, and why."""

    def __len__(self) -> int:
        return len(self._visitors)

    @property
    def nicks(self) -> list[str]:
        """Those that are there, or on their way."""
        return [one.nick for one in self._visitors.values()]

    def find(self, nick: str) -> Visitor | None:
        """The visitor of that nick."""
        return self._visitors.get(fold_nick(nick))

    def took(self, frames: Sequence[bytes], now_ms: float) -> list[Deed]:
        """A message was pushed."""
        read = _read(frames)
        if read is None:
            self.counts["malformed"] += 1
            return []
        nick, text = read
        try:
            nick = check_nick(nick)
        except BadName:
            self.counts["bad_nick"] += 1
            return self._tell_once(
                f"bad {fold_nick(nick)}", f"{clean(nick)!r} cannot be a nick: choose another one", now_ms
            )
        visitor = self.find(nick)
        if visitor is not None:
            visitor.heard_ms = now_ms
        if text == HI:
            return self._greeted(nick, visitor, now_ms)
        if text == BYE:
            return self._parted(visitor)
        return self._said(nick, visitor, clean(text), now_ms)

    def _greeted(self, nick: str, visitor: Visitor | None, now_ms: float) -> list[Deed]:
        if visitor is None:
            return self._come(nick, now_ms)
        if visitor.is_wanted:
            self.counts["repeated_hi"] += 1
            return self._tell_once(f"twice {fold_nick(nick)}", f"{visitor.nick} is connected already", now_ms)
        visitor.is_wanted = True
        return []

    def _parted(self, visitor: Visitor | None) -> list[Deed]:
        if visitor is None or not visitor.is_wanted:
            self.counts["bye_of_nobody"] += 1
            return []
        visitor.is_wanted = False
        return self._let_go(visitor)

    def _said(self, nick: str, visitor: Visitor | None, text: str, now_ms: float) -> list[Deed]:
        if not text:
            self.counts["empty"] += 1
            return []
        deeds: list[Deed] = []
        if visitor is None:
            # Its HI was pushed before this door was opened, or it was silent for long.
            deeds = self._come(nick, now_ms)
            visitor = self.find(nick)
            if visitor is None:
                return deeds
        visitor.is_wanted = True
        if len(visitor.texts) >= TEXTS_WAITING_MAX:
            self.counts["too_many"] += 1
            return self._tell_once(f"fast {fold_nick(nick)}", f"{visitor.nick} is too fast: texts are lost", now_ms)
        visitor.texts.append(text)
        self.counts["taken"] += 1
        return [*deeds, Speak(visitor.nick)] if visitor.standing is Standing.IN else deeds

    def _come(self, nick: str, now_ms: float) -> list[Deed]:
        if len(self._visitors) >= self._visitors_max:
            self.counts["full"] += 1
            return self._tell_once("full", f"there is no room for {nick}: {self._visitors_max} are connected", now_ms)
        self._visitors[fold_nick(nick)] = Visitor(nick, now_ms)
        return [Enter(nick)]

    def _let_go(self, visitor: Visitor) -> list[Deed]:
        """It goes when it has said everything."""
        if visitor.standing is Standing.IN and not visitor.texts:
            visitor.standing = Standing.LEAVING
            return [Part(visitor.nick)]
        return []

    # What the hub has answered.

    def entered(self, nick: str) -> list[Deed]:
        """It is in."""
        visitor = self._visitors[fold_nick(nick)]
        visitor.standing = Standing.IN
        if visitor.texts:
            return [Speak(visitor.nick)]
        return [] if visitor.is_wanted else self._let_go(visitor)

    def refused(self, nick: str, why: str, now_ms: float) -> list[Deed]:
        """The hub does not take it in."""
        self._visitors.pop(fold_nick(nick), None)
        self.counts["refused"] += 1
        return self._tell_once(f"refused {fold_nick(nick)}", clean(why), now_ms)

    def said(self, nick: str) -> list[Deed]:
        """Its oldest text is said, or was refused for good; who speaks for it goes on with the next."""
        visitor = self._visitors[fold_nick(nick)]
        visitor.texts.popleft()
        return [] if visitor.is_wanted else self._let_go(visitor)

    def gone(self, nick: str, now_ms: float) -> list[Deed]:
        """It is out; it comes in again if it has said HI, or anything, meanwhile."""
        visitor = self._visitors.pop(fold_nick(nick))
        if not visitor.is_wanted:
            return []
        deeds = self._come(visitor.nick, now_ms)
        again = self.find(nick)
        if again is not None:
            again.texts = visitor.texts
        return deeds

    def tick(self, now_ms: float) -> list[Deed]:
        """Time goes by: those who are silent go."""
        deeds: list[Deed] = []
        for visitor in list(self._visitors.values()):
            if visitor.is_wanted and now_ms - visitor.heard_ms >= self._silence_ms:
                self.counts["silent"] += 1
                visitor.is_wanted = False
                deeds += self._let_go(visitor)
        return deeds

    def _tell_once(self, what: str, text: str, now_ms: float) -> list[Deed]:
        """The same is not told again and again, nor too much: whoever pushes could make everybody's screen run."""
        self._told_ms = {one: at_ms for one, at_ms in self._told_ms.items() if now_ms - at_ms < _TELL_AGAIN_MS}
        if what in self._told_ms or len(self._told_ms) >= _TOLD_MAX:
            self.counts["not_told"] += 1
            return []
        self._told_ms[what] = now_ms
        return [Tell(text)]


def _read(frames: Sequence[bytes]) -> tuple[str, str] | None:
    """The nick and the text of a message; None if it is none."""
    if len(frames) != 2 or not 1 <= len(frames[0]) <= _NICK_BYTES_MAX or len(frames[1]) > TEXT_BYTES_MAX:
        return None
    try:
        return frames[0].decode(), frames[1].decode()
    except UnicodeDecodeError:
        return None
