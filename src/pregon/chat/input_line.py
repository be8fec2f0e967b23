"""What a line that somebody types means: something to say, a command, or a mistake that is explained.

    hola a todos            said in the room that is shown
    /answer 3:4 a las ocho  a command
    //etc/hosts             said, with one / less

Pure. Promises: whatever is typed, the answer is one of these; nothing is raised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pregon.causal.stamps import Stamp, decode_stamp
from pregon.chat.looks import clean
from pregon.errors import BadName, BadRequest
from pregon.limits import NAME_CHARACTERS_MAX, NICK_CHARACTERS_MAX
from pregon.model.group import check_nick
from pregon.model.names import check_name

TEXT_CHARACTERS_MAX = 4_000
"""Length of a line; what is longer is a document, and belongs elsewhere."""


@dataclass(frozen=True)
class Say:
    """Something to say in the room that is shown, perhaps in answer to a message there."""

    text: str
    answers: Stamp | None = None


@dataclass(frozen=True)
class Whisper:
    """Something to say to one person; nothing only opens the conversation."""

    nick: str
    text: str = ""


@dataclass(frozen=True)
class Join:
    """Go into a room."""

    room: str


@dataclass(frozen=True)
class Leave:
    """Leave a room; none is the one that is shown."""

    room: str = ""


@dataclass(frozen=True)
class Show:
    """Show another room."""

    room: str


@dataclass(frozen=True)
class Rename:
    """Be called otherwise."""

    nick: str


@dataclass(frozen=True)
class Concurrent:
    """Mark what is concurrent with a message; none is the newest one, or stops marking."""

    stamp: Stamp | None = None


@dataclass(frozen=True)
class Plain:
    """A command without more to it."""

    name: str


@dataclass(frozen=True)
class Mistake:
    """What is wrong with the line: a text of `words`, and what to fill in."""

    text: str
    values: dict[str, Any] = field(default_factory=dict)


Meaning = Say | Whisper | Join | Leave | Show | Rename | Concurrent | Plain | Mistake

WHO, ROOMS, THREADS, HELP, QUIT = "who", "rooms", "threads", "help", "quit"
_USES = {
    "join": "/join ROOM",
    "leave": "/leave [ROOM]",
    "room": "/room ROOM",
    "msg": "/msg NICK TEXT",
    "nick": "/nick NEW",
    "answer": "/answer 3:4 TEXT",
    "concurrent": "/concurrent [3:4]",
}
COMMANDS = (*_USES, WHO, ROOMS, THREADS, HELP, QUIT)


def read_line(line: str) -> Meaning | None:
    """What a line means; None if there is nothing on it."""
    if len(line) > TEXT_CHARACTERS_MAX:
        return Mistake("too_long", {"most": f"{TEXT_CHARACTERS_MAX:,}", "count": f"{len(line):,}"})
    text = clean(line)
    if not text:
        return None
    if text.startswith("//"):
        return Say(text[1:])
    if not text.startswith("/"):
        return Say(text)
    command, _, rest = text[1:].partition(" ")
    return _read_command(command.casefold(), rest.strip())


def _read_command(command: str, rest: str) -> Meaning:
    if command in _READERS:
        return _READERS[command](rest)
    if command in COMMANDS:
        return Plain(command)
    return Mistake("command_unknown", {"command": command[:40]})


def _use(command: str) -> Mistake:
    return Mistake("command_use", {"use": _USES[command]})


def read_room(name: str) -> str | Mistake:
    """The name of a room; people may write it with a # before it."""
    room = name.removeprefix("#")
    try:
        return check_name("room", room)
    except BadName:
        return Mistake("room_bad", {"room": repr(room[:60]), "most": NAME_CHARACTERS_MAX})


def read_nick(name: str) -> str | Mistake:
    """The name of a person; people may write it with an @ before it."""
    nick = clean(name).removeprefix("@")
    try:
        return check_nick(nick)
    except BadName:
        return Mistake("nick_bad", {"nick": repr(nick[:NICK_CHARACTERS_MAX]), "most": NICK_CHARACTERS_MAX})


def _join(rest: str) -> Meaning:
    if not rest:
        return _use("join")
    room = read_room(rest)
    return room if isinstance(room, Mistake) else Join(room)


def _leave(rest: str) -> Meaning:
    return Leave(rest.removeprefix("#"))


def _show(rest: str) -> Meaning:
    return Show(rest.removeprefix("#")) if rest else _use("room")


def _whisper(rest: str) -> Meaning:
    """Names may have spaces: one with them is written between quotation marks."""
    if rest.startswith('"'):
        name, _, text = rest[1:].partition('"')
    else:
        name, _, text = rest.partition(" ")
    if not name:
        return _use("msg")
    nick = read_nick(name)
    return nick if isinstance(nick, Mistake) else Whisper(nick, text.strip())


def _rename(rest: str) -> Meaning:
    if not rest:
        return _use("nick")
    nick = read_nick(rest)
    return nick if isinstance(nick, Mistake) else Rename(nick)


def _answer(rest: str) -> Meaning:
    name, _, text = rest.partition(" ")
    if not text.strip():
        return _use("answer")
    stamp = _stamp(name)
    return stamp if isinstance(stamp, Mistake) else Say(text.strip(), stamp)


def _concurrent(rest: str) -> Meaning:
    if not rest:
        return Concurrent()
    stamp = _stamp(rest)
    return stamp if isinstance(stamp, Mistake) else Concurrent(stamp)


def _stamp(text: str) -> Stamp | Mistake:
    try:
        return decode_stamp(text)
    except BadRequest:
        return Mistake("stamp_bad", {"stamp": repr(text[:40])})


_READERS: dict[str, Callable[[str], Meaning]] = {
    "join": _join,
    "leave": _leave,
    "room": _show,
    "msg": _whisper,
    "nick": _rename,
    "answer": _answer,
    "concurrent": _concurrent,
}
