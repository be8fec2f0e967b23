"""What the chat does for each thing that somebody types."""

from __future__ import annotations

from collections.abc import Callable

from pregon.chat.asking import ask_private
from pregon.chat.conversation import Conversation
from pregon.chat.halls import Halls
from pregon.chat.input_line import (
    HELP,
    QUIT,
    ROOMS,
    THREADS,
    WHO,
    Concurrent,
    Join,
    Leave,
    Meaning,
    Mistake,
    Plain,
    Rename,
    Say,
    Show,
    Whisper,
)
from pregon.chat.looks import clean
from pregon.client import AsyncClient
from pregon.errors import AlreadyExists, NotFound

_ROOMS_TOLD_MAX = 100


class Commands:
    """Carries them out, and says in words what does not go. What the hub has against one is raised."""

    def __init__(self, conversation: Conversation, client: AsyncClient, halls: Halls, quit: Callable[[], None]) -> None:
        self._conversation = conversation
        self._client = client
        self._halls = halls
        self._quit = quit

    async def do(self, meaning: Meaning) -> None:
        """Do what was meant."""
        conversation = self._conversation
        match meaning:
            case Say():
                self._say(meaning)
            case Whisper():
                await self._whisper(meaning)
            case Join(room=name):
                await self._join(name)
            case Leave(room=title):
                await self._leave(title)
            case Show(room=title):
                self._show(title)
            case Rename(nick=nick):
                await self._rename(nick)
            case Concurrent():
                conversation.mark(meaning)
            case Plain(name=name):
                await self._plain(name)
            case Mistake():
                conversation.notice(meaning.text, **meaning.values)

    async def _plain(self, name: str) -> None:
        conversation = self._conversation
        if name == WHO:
            member = self._halls.of(conversation.shown)
            if member is not None and conversation.is_connected:
                await member.look_who_is_here()
            conversation.tell_members()
        elif name == ROOMS:
            await self._tell_rooms()
        elif name == THREADS:
            conversation.turn_threads()
        elif name == HELP:
            conversation.notice("help")
        elif name == QUIT:
            self._quit()

    def _say(self, said: Say) -> None:
        mistake = self._conversation.check(said)
        member = self._halls.of(self._conversation.shown)
        if mistake is not None:
            self._conversation.notice(mistake.text, **mistake.values)
        elif member is not None:
            member.say(said)

    async def _whisper(self, wanted: Whisper) -> None:
        room = self._conversation.find_room(f"@{wanted.nick}")
        if room is None:
            try:
                joined = await ask_private(self._client, self._halls.person.token, wanted.nick)
            except NotFound:
                self._conversation.notice("nobody_called", nick=wanted.nick)
                return
            await self._halls.open(joined.group, wanted.nick, is_back=True, is_shown=True)
            self._conversation.notice("private_open", name=wanted.nick)
        else:
            self._conversation.show_room(room)
        if wanted.text:
            self._say(Say(wanted.text))

    async def _join(self, name: str) -> None:
        is_back = name in {one.group for one in await self._halls.memberships()}
        await self._halls.open(name, is_back=is_back, is_shown=True)
        self._conversation.notice("room_open", room=name)

    async def _leave(self, title: str) -> None:
        conversation = self._conversation
        room = conversation.find_room(title) if title else conversation.shown
        if room is None:
            conversation.notice("room_unknown" if title else "no_room", room=clean(title)[:60])
            return
        await self._halls.leave(room)
        conversation.notice("room_left", room=room.title)

    def _show(self, title: str) -> None:
        room = self._conversation.find_room(title)
        if room is None:
            self._conversation.notice("room_unknown", room=clean(title)[:60])
        else:
            self._conversation.show_room(room)

    async def _rename(self, nick: str) -> None:
        try:
            participant = await self._client.rename(self._halls.person.token, nick)
        except AlreadyExists:
            self._conversation.notice("nick_taken", nick=nick)
            return
        self._halls.called(participant.name)
        self._conversation.notice("connected", name=participant.name)

    async def _tell_rooms(self) -> None:
        rows = await self._client.groups(max=_ROOMS_TOLD_MAX)
        names = [f"{row['name']} ({row.get('members', 0)})" for row in rows if not row.get("is_private")]
        if names:
            self._conversation.notice("rooms_are", rooms=", ".join(names))
        else:
            self._conversation.notice("rooms_none")
