"""One room and its member: what is heard there is shown, what is said there is sent, and how far it has come is told.

Promises:
- What is said depends on what was shown when it was said, also if the hub was away then.
- A line is sent until the hub has it on disk, or refuses it for good.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from pregon.chat.asking import has_shown_past
from pregon.chat.conversation import Conversation
from pregon.chat.input_line import Say
from pregon.chat.people import Unsent
from pregon.chat.room import Line, Room
from pregon.client.groups.aio_group import AsyncGroup
from pregon.client.groups.events import GroupMessage, MessagesMissed
from pregon.client.groups.sending import OwnMessage
from pregon.errors import PregonError, Unavailable

_AGAIN_S = 0.5


class RoomMember:
    """The member of a room; `changed` is called when a line was said, or came further."""

    def __init__(self, conversation: Conversation, room: Room, group: AsyncGroup, changed: Callable[[], None]) -> None:
        self.room = room
        self.group = group
        self._conversation = conversation
        self._changed = changed
        self._unsent: deque[tuple[OwnMessage, Line]] = deque()
        self._has_unsent = asyncio.Event()
        room.me = group.number
        room.concurrent_with = group.concurrent
        conversation.members_are(room, group.members)

    @property
    def unsent(self) -> list[Unsent]:
        """What the hub has not acknowledged."""
        return [
            Unsent(self.room.name, own.stamp.member, own.stamp.number, line.text, str(line.answers or ""))
            for own, line in self._unsent
        ]

    @property
    def has_shown_past(self) -> bool:
        """Whether what was said before is on the screen."""
        return has_shown_past(self.group)

    def say(self, said: Say) -> None:
        """Say something; raises QueueFull, and why the room is over."""
        own = self.group.say(said.text, answers=said.answers)
        line = self._conversation.spoke(self.room, said, own.stamp, own.published_us)
        self._unsent.append((own, line))
        self._has_unsent.set()
        self._changed()

    async def hear(self) -> None:
        """Show what is said and done here; raises why it is over."""
        async for event in self.group:
            self._conversation.heard(self.room, event)
            if not isinstance(event, GroupMessage | MessagesMissed):
                self._conversation.members_are(self.room, self.group.members)

    async def see_to_it(self) -> None:
        """Tell how far what was said has come, again and again."""
        while True:
            await self._has_unsent.wait()
            try:
                await self.group.flush()
            except Unavailable:
                await asyncio.sleep(_AGAIN_S)
            except PregonError:
                pass  # Each line says itself why it was refused.
            self._settle()

    def _settle(self) -> None:
        before = len(self._unsent)
        while self._unsent and self._unsent[0][0].is_done:
            own, line = self._unsent.popleft()
            if own.error is None:
                self._conversation.stored(self.room, line)
            else:
                self._conversation.refused(self.room, line, str(own.error))
        if not self._unsent:
            self._has_unsent.clear()
        if len(self._unsent) != before:
            self._changed()

    async def look_who_is_here(self) -> None:
        """Ask the hub who of the members is here."""
        self._conversation.members_are(self.room, await self.group.presence())
