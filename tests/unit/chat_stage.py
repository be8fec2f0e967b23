"""Somebody who chats, without a hub and without a screen: what they are shown is written down."""

from __future__ import annotations

from typing import Any

from pregon.causal.history import History, Relation
from pregon.causal.message import CausalMessage
from pregon.chat.conversation import Conversation
from pregon.chat.room import Line, Room
from pregon.client.groups.events import GroupEvent, GroupMessage, Stamp

NAMES = {1: "pregon", 2: "ana", 3: "luis", 4: "eva"}
AT_US = 1_794_823_200_000_000


class Order:
    """The causal order of a room, by what each message of it says."""

    def __init__(self) -> None:
        self.history = History()

    def relation(self, one: Stamp, other: Stamp) -> Relation:
        return self.history.relation(one, other)


class Notes:
    """An audience that writes everything down."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, Line]] = []
        self.stages: list[Line] = []
        self.notices: list[str] = []
        self.told: list[str] = []

    def show_line(self, room: Room, line: Line) -> None:
        self.lines.append((room.title, line))

    def show_stage(self, room: Room, line: Line) -> None:
        self.stages.append(line)

    def show_rooms(self) -> None:
        self.told.append("rooms")

    def show_members(self, room: Room) -> None:
        self.told.append("members")

    def show_marks(self, room: Room) -> None:
        self.told.append("marks")

    def show_notice(self, text: str) -> None:
        self.notices.append(text)

    def show_status(self) -> None:
        self.told.append("status")


class Stage:
    """A conversation with one room, plaza, in which the person is member 2, ana."""

    def __init__(self, language: str = "en") -> None:
        self.notes = Notes()
        self.conversation = Conversation(language, self.notes)
        self.conversation.connected("ana")
        self.order = Order()
        self.room = self.open("plaza")

    def open(self, name: str, with_: str = "", *, is_shown: bool = True) -> Room:
        room = self.conversation.open_room(name, with_, is_shown=is_shown)
        room.me = 2
        room.concurrent_with = self.order.history.concurrent_with
        return room

    def hear(self, event: GroupEvent, room: Room | None = None) -> None:
        self.order.history.add(CausalMessage(event.stamp, event.after))
        self.conversation.heard(room or self.room, event)

    def say(self, stamp: str, text: str = "hola", after: str = "", **more: Any) -> None:
        self.hear(self.event(GroupMessage, stamp, after, body=text.encode(), **more))

    def event(self, kind: type[GroupEvent], stamp: str, after: str = "", **more: Any) -> Any:
        """An event of a kind, by who it is of unless something else is said."""
        named = stamp_of(stamp)
        fields = {"member": named.member, "name": NAMES[named.member], "at_us": AT_US, **more}
        return kind(stamp=named, after=tuple(map(stamp_of, after.split())), order=self.order, **fields)


def stamp_of(text: str) -> Stamp:
    member, _, number = text.partition(":")
    return Stamp(int(member), int(number))
