"""The chat as lines: for pipes, for programs and for screen readers.

    plaza  3:4  ana: hola               a message: its room, its name, who said it
    plaza  5:2  luis (answers ana 3:4): buenas
    plaza  --  eva is in                what happened to a member, told by the hub
    @luis  2:3  luis: psst              a private conversation
    !! the hub does not answer …        the chat itself speaks

An own line appears when the hub has it on disk. No text of anybody can look like the other kinds of lines: those have
no name of a message after their room.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TextIO

from pregon.chat.conversation import Conversation
from pregon.chat.people import People
from pregon.chat.room import Kind, Line, Room, Stage
from pregon.chat.talk import Talk, Wanted
from pregon.chat.typing_lines import typed_lines
from pregon.chat.words import say
from pregon.errors import HubUnreachable

FINISH_S = 10.0
"""How long the last lines may take after the end of the input."""


class PlainAudience:
    """Writes lines."""

    def __init__(self, language: str, out: TextIO) -> None:
        self._language = language
        self._out = out

    def show_line(self, room: Room, line: Line) -> None:
        """A room has one more line."""
        if line.stage is Stage.STORED:
            self._write(describe(self._language, room, line))

    def show_stage(self, room: Room, line: Line) -> None:
        """An own line is stored; why one was refused is told by a notice."""
        if line.stage is Stage.STORED:
            self._write(describe(self._language, room, line))

    def show_rooms(self) -> None:
        """Each line says its room."""

    def show_members(self, room: Room) -> None:
        """They are told on request."""

    def show_marks(self, room: Room) -> None:
        """What is concurrent is told by a notice."""

    def show_status(self) -> None:
        """Told by a notice."""

    def show_notice(self, text: str) -> None:
        """Something to know."""
        self._write(f"!! {text}")

    def _write(self, line: str) -> None:
        self._out.write(line + "\n")
        self._out.flush()


def describe(language: str, room: Room, line: Line) -> str:
    """A line of a room as one line of text."""
    if not line.is_message:
        return f"{room.title}  --  {describe_event(language, line)}"
    answered = room.find_message(line.answers) if line.answers is not None else None
    about = ""
    if line.answers is not None:
        name = answered.name if answered is not None else "…"
        about = f" ({say(language, 'answers', name=name, stamp=line.answers)})"
    return f"{room.title}  {line.stamp}  {line.name}{about}: {line.text}"


def describe_event(language: str, line: Line) -> str:
    """What happened, by the kind of the event alone."""
    assert line.kind is not Kind.MESSAGE, "a message speaks for itself"
    return say(language, line.kind.value, name=line.name, old=line.old, first=line.first, last=line.last)


async def chat_in_lines(language: str, people: People, wanted: Wanted) -> None:
    """Chat over standard input and output until the input ends, or somebody quits; raises what the hub has against it.

    Who chats like that is perhaps a program: that nothing could be said is an error, HubUnreachable.
    """
    conversation = Conversation(language, PlainAudience(language, sys.stdout))
    talk = Talk(conversation, people, wanted)

    async def listen() -> None:
        async for line in typed_lines():
            await talk.put(line)
        await talk.finish(FINISH_S)

    listening = asyncio.create_task(listen())
    try:
        await talk.run()
        if talk.unsent:
            conversation.notice("unsent", count=talk.unsent)
        if talk.unsaid:
            raise HubUnreachable(conversation.say("unsaid", hub=people.hub, count=talk.unsaid))
    finally:
        listening.cancel()
