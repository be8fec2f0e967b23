"""All that somebody who chats has before them: rooms, which of them is shown, notices, and how the hub is doing.

Pure: events and the meanings of lines go in; what changed is told to an audience, which draws it.

Promises:
- A line of a room that is not shown counts as unread there, once, and until the room is shown.
- A notice is the chat's own: it is never in a room, where others speak.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from pregon.causal.stamps import Stamp
from pregon.chat.input_line import Concurrent, Mistake, Say
from pregon.chat.room import Kind, Line, Room, Stage, line_of
from pregon.chat.words import say
from pregon.client.groups.events import Event, GroupMember


class Audience(Protocol):
    """Who shows the chat to somebody."""

    def show_line(self, room: Room, line: Line) -> None:
        """A room has one more line."""

    def show_stage(self, room: Room, line: Line) -> None:
        """An own line has come further, or was refused."""

    def show_rooms(self) -> None:
        """Rooms, unread counts, or which room is shown have changed."""

    def show_members(self, room: Room) -> None:
        """Who is in a room, or here, has changed."""

    def show_marks(self, room: Room) -> None:
        """Other messages are marked, or lines stand otherwise."""

    def show_notice(self, text: str) -> None:
        """Something to know."""

    def show_status(self) -> None:
        """The connection, or the own name, has changed."""


class Conversation:
    """The chat of one person."""

    def __init__(self, language: str, audience: Audience) -> None:
        self.language = language
        self.audience = audience
        self.name = ""
        self.is_connected = False
        self.in_threads = False
        self.rooms: dict[str, Room] = {}
        self.shown: Room | None = None

    def say(self, text: str, /, **values: Any) -> str:
        """A text of the table in the person's language."""
        return say(self.language, text, **values)

    def notice(self, text: str, /, **values: Any) -> None:
        """Tell the person something."""
        self.audience.show_notice(self.say(text, **values))

    # The connection.

    def connected(self, name: str) -> None:
        """The hub answers, and knows the person by this name."""
        was_before, old = self.is_connected, self.name
        self.is_connected, self.name = True, name
        if not was_before or old != name:
            self.audience.show_status()

    def disconnected(self) -> None:
        """The hub does not answer."""
        if self.is_connected:
            self.is_connected = False
            self.audience.show_status()
            self.notice("reconnecting")

    # Rooms.

    def open_room(self, name: str, with_: str = "", *, is_shown: bool = True) -> Room:
        """The person is in a room."""
        room = self.rooms.get(name)
        if room is None:
            room = self.rooms[name] = Room(name, with_)
        room.with_ = with_ or room.with_
        if is_shown or self.shown is None:
            self.show_room(room)
        else:
            self.audience.show_rooms()
        return room

    def close_room(self, name: str) -> None:
        """The person is in it no more."""
        room = self.rooms.pop(name, None)
        if room is not None and room is self.shown:
            self.shown = None
            if self.rooms:
                self.show_room(next(iter(self.rooms.values())))
                return
        self.audience.show_rooms()

    def show_room(self, room: Room) -> None:
        """Show this one."""
        self.shown = room
        room.see()
        self.audience.show_rooms()

    def find_room(self, title: str) -> Room | None:
        """A room by its name, or a conversation by whom it is with."""
        wanted = title.casefold()
        return next((one for one in self.rooms.values() if wanted in (one.title.casefold(), one.name)), None)

    def step(self, places: int) -> None:
        """Show the room so many places further."""
        rooms = list(self.rooms.values())
        if rooms:
            at = rooms.index(self.shown) if self.shown in rooms else 0
            self.show_room(rooms[(at + places) % len(rooms)])

    # What is said and done there.

    def heard(self, room: Room, event: Event) -> None:
        """Something of the group was shown to its member."""
        line = line_of(event, room.me)
        if line is None or not room.add(line):
            return
        if line.kind is Kind.RENAMED and line.old == room.with_:
            room.with_ = line.name
            self.audience.show_rooms()
        if room.marked is not None:
            # What came now may be concurrent too.
            room.mark_concurrent(room.marked)
        self.audience.show_line(room, line)
        if room is self.shown:
            room.seen_seq = max(room.seen_seq, line.seq)
        elif room.is_news(line):
            room.unread += 1
            self.audience.show_rooms()

    def spoke(self, room: Room, said: Say, stamp: Stamp, at_us: int) -> Line:
        """The person said something, which is on its way."""
        line = Line(Kind.MESSAGE, self.name, stamp, said.text, said.answers, at_us, is_mine=True, stage=Stage.WAITING)
        room.add(line)
        self.audience.show_line(room, line)
        return line

    def stored(self, room: Room, line: Line) -> None:
        """The hub has it on disk."""
        if line.stage is Stage.WAITING:
            line.stage = Stage.STORED
            self.audience.show_stage(room, line)

    def refused(self, room: Room, line: Line, reason: str) -> None:
        """The hub will never take it."""
        room.take_back(line)
        self.audience.show_stage(room, line)
        self.notice("not_sent", reason=reason)

    def members_are(self, room: Room, members: Iterable[GroupMember]) -> None:
        """Who is in a room, and who of them is here."""
        found = tuple(members)
        if found != room.members:
            room.members = found
            self.audience.show_members(room)

    # What concerns only the screen.

    def check(self, said: Say) -> Mistake | None:
        """What is wrong with something to say, if anything is."""
        if self.shown is None:
            return Mistake("no_room")
        if said.answers is not None and self.shown.find_message(said.answers) is None:
            return Mistake("message_unknown", {"stamp": said.answers})
        return None

    def mark(self, wanted: Concurrent) -> None:
        """Mark what is concurrent with a message."""
        room = self.shown
        if room is None:
            self.notice("no_room")
            return
        stamp = wanted.stamp
        if stamp is None and room.marked is not None:
            room.mark_concurrent(None)
            self.audience.show_marks(room)
            self.notice("concurrent_off")
            return
        line = room.newest_message() if stamp is None else room.find_message(stamp)
        if line is None or line.stamp is None:
            self.notice("message_unknown", stamp=stamp or "")
            return
        found = room.mark_concurrent(line.stamp)
        self.audience.show_marks(room)
        if found:
            self.notice("concurrent_are", stamp=line.stamp, stamps=", ".join(map(str, found)))
        else:
            self.notice("concurrent_none", stamp=line.stamp)

    def turn_threads(self) -> None:
        """Gather answers under what they answer, or no longer."""
        self.in_threads = not self.in_threads
        if self.shown is not None:
            self.audience.show_marks(self.shown)
        self.notice("threads_on" if self.in_threads else "threads_off")

    def tell_members(self) -> None:
        """Say who is in the room that is shown."""
        if self.shown is None:
            self.notice("no_room")
            return
        away = self.say("is_away")
        names = [one.name if one.is_here else f"{one.name} ({away})" for one in self.shown.members]
        self.notice("members_are", room=self.shown.title, members=", ".join(names))
