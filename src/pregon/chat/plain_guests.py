"""Plain clients' nicks as members of a room: each is enrolled, joins, speaks and leaves at the hub.

A nick is a member whose dependencies the hub works out: what it says depends on what had gone out to plain clients.

Promises:
- What the hub has taken is said once, also if the hub dies meanwhile; nobody is refused because the hub is away.
- A nick that left is free at the hub, and so are those of a process that was killed, once `clean_up` has run.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pregon.chat.asking import enroll, join_hosted, leave_hosted, new_secret, send_hosted, touch_hosted
from pregon.chat.looks import clean
from pregon.chat.people import People, Person
from pregon.chat.plain_visitors import SERVER, Deed, Enter, Part, Speak, Tell, Visitors
from pregon.client import AsyncClient
from pregon.client.calls import TEXT_CONTENT_TYPE
from pregon.clock import monotonic_ms
from pregon.errors import AlreadyExists, NotAMember, PregonError, Unauthorized, Unavailable
from pregon.model.ids import new_id
from pregon.wire.groups import Send

_AGAIN_S = 0.3


async def patiently(act: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Do something as soon as the hub is there; raises what it has against it."""
    while True:
        try:
            return await act()
        except Unavailable:
            await asyncio.sleep(_AGAIN_S)


@dataclass(slots=True)
class _Guest:
    """A nick that is a member."""

    person: Person
    is_speaking: bool = False


class Guests:
    """All of them. `publish` sends a nick and a text out to plain clients."""

    def __init__(
        self,
        client: AsyncClient,
        people: People,
        room: str,
        visitors: Visitors,
        publish: Callable[[str, str], Awaitable[None]],
    ) -> None:
        self._client = client
        self._people = people
        self._room = room
        self._visitors = visitors
        self._publish = publish
        self._guests: dict[str, _Guest] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.seen_seq = 0
        """Up to where the room went out to plain clients."""

    async def do(self, deeds: Iterable[Deed]) -> None:
        """Do what was decided, without waiting for the hub."""
        for deed in deeds:
            match deed:
                case Tell(text=text):
                    await self._publish(SERVER, text)
                case Enter(nick=nick):
                    self._spawn(self._enter(nick))
                case Speak(nick=nick):
                    self._speak_up(nick)
                case Part(nick=nick):
                    self._spawn(self._part(nick))

    def _spawn(self, act: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(act)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def touch(self) -> None:
        """All who are there are said to be here."""
        for guest in list(self._guests.values()):
            with contextlib.suppress(PregonError):
                await touch_hosted(self._client, guest.person.token, self._room, self.seen_seq)

    async def clean_up(self) -> None:
        """Nicks of a door that was killed are let go; raises Unavailable."""
        while (person := self._people.find()) is not None:
            try:
                await self.retire(person)
            finally:
                person.release()

    async def retire(self, person: Person) -> None:
        """Let a nick go; raises Unavailable."""
        with contextlib.suppress(Unauthorized):
            await self._client.retire(person.token)
        person.forget()

    async def close(self) -> None:
        """Let all go; raises Unavailable."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for guest in self._guests.values():
            await self._leave(guest.person)

    # One nick.

    async def _enter(self, nick: str) -> None:
        person, secret = None, new_secret()
        while True:
            try:
                if person is None:
                    participant = await enroll(self._client, nick, secret)
                    person = self._people.add(participant.name, participant.token)
                await join_hosted(self._client, person.token, self._room)
                break
            except Unavailable:
                await asyncio.sleep(_AGAIN_S)
            except PregonError as error:
                await self._refuse(nick, person, error)
                return
        self._guests[nick] = _Guest(person)
        await self.do(self._visitors.entered(nick))

    async def _refuse(self, nick: str, person: Person | None, error: PregonError) -> None:
        if person is not None:
            await patiently(partial(self.retire, person))
        taken = f"somebody is called {nick} already: choose another nick"
        why = taken if isinstance(error, AlreadyExists) else str(error)
        await self.do(self._visitors.refused(nick, why, monotonic_ms()))

    def _speak_up(self, nick: str) -> None:
        guest = self._guests.get(nick)
        if guest is not None and not guest.is_speaking:
            guest.is_speaking = True
            self._spawn(self._speak(nick, guest))

    async def _speak(self, nick: str, guest: _Guest) -> None:
        """Say what it has to say, one text after another."""
        while (visitor := self._visitors.find(nick)) is not None and visitor.texts:
            try:
                await patiently(partial(self._send, self._request(guest), visitor.texts[0].encode()))
            except PregonError as error:
                await self._publish(SERVER, clean(f"{nick} could not say it: {error}"))
                if isinstance(error, NotAMember | Unauthorized):
                    await self._put_out(nick, guest)
                    return
            await self.do(self._visitors.said(nick))
        guest.is_speaking = False

    def _request(self, guest: _Guest) -> Send:
        """A message of its own, which is recognised when it is sent again."""
        return Send(
            group=self._room,
            token=guest.person.token,
            seen_seq=self.seen_seq,
            id=new_id(),
            content_type=TEXT_CONTENT_TYPE,
        )

    async def _send(self, wanted: Send, body: bytes) -> None:
        await send_hosted(self._client, wanted, body)

    async def _put_out(self, nick: str, guest: _Guest) -> None:
        """Somebody took it off the roll."""
        self._guests.pop(nick, None)
        await patiently(partial(self.retire, guest.person))
        await self.do(self._visitors.refused(nick, f"{nick} is out", monotonic_ms()))

    async def _part(self, nick: str) -> None:
        guest = self._guests.pop(nick)
        await patiently(partial(self._leave, guest.person))
        await self.do(self._visitors.gone(nick, monotonic_ms()))

    async def _leave(self, person: Person) -> None:
        with contextlib.suppress(NotAMember, Unauthorized):
            await leave_hosted(self._client, person.token, self._room)
        await self.retire(person)
