"""How somebody comes into the chat: as who they were the last time, or under a name that is free.

Promises:
- What is kept of a person is thrown away only when the hub has said that it does not know it, and has taken another.
- A name that cannot be had is explained, and another one asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pregon.chat.asking import ask_memberships, enroll, new_secret
from pregon.chat.conversation import Conversation
from pregon.chat.input_line import Mistake, read_nick
from pregon.chat.people import People, Person
from pregon.client import AsyncClient
from pregon.errors import AlreadyExists, BadName, Unauthorized, Unavailable
from pregon.limits import NICK_CHARACTERS_MAX
from pregon.model.group import fold_nick
from pregon.wire.groups import Memberships

AskNick = Callable[[], Awaitable[str]]
_AGAIN_S = 0.5


@dataclass(frozen=True)
class Entered:
    """Who one is now, and where one is a member already."""

    person: Person
    memberships: Memberships


class Entering:
    """The way in."""

    def __init__(self, conversation: Conversation, client: AsyncClient, people: People, ask_nick: AskNick) -> None:
        self._conversation = conversation
        self._client = client
        self._people = people
        self._ask_nick = ask_nick
        self._has_told = False

    async def enter(self, nick: str, *, is_fresh: bool) -> Entered:
        """Be somebody; waits for the hub, and for a name. Raises what the hub has against it."""
        person = self._people.find(nick)
        if person is not None and is_fresh:
            await self._retire(person)
            person = None
        if person is None:
            return await self._enroll(nick)
        try:
            return Entered(person, await self._memberships(person))
        except Unauthorized:
            # Or the hub wants a key that was not shown: then it does not take another name either.
            entered = await self._enroll(nick or person.name, instead_of=person)
            self._conversation.notice("unknown_here")
            person.forget()
            return entered

    async def _memberships(self, person: Person) -> Memberships:
        while True:
            try:
                return await ask_memberships(self._client, person.token)
            except Unavailable:
                await self._wait_for_hub()

    async def _wait_for_hub(self) -> None:
        if not self._has_told:
            self._has_told = True
            self._conversation.notice("connecting", hub=self._client.hub)
        await asyncio.sleep(_AGAIN_S)

    async def _retire(self, person: Person) -> None:
        """Let a name go, and all that was kept with it."""
        while True:
            try:
                await self._client.retire(person.token)
                break
            except Unauthorized:
                break
            except Unavailable:
                await self._wait_for_hub()
        person.forget()

    async def _enroll(self, nick: str, instead_of: Person | None = None) -> Entered:
        if not nick:
            self._conversation.notice("ask_nick")
        while True:
            name = read_nick(nick or await self._ask_nick())
            nick = ""
            if isinstance(name, Mistake):
                self._conversation.notice(name.text, **name.values)
                continue
            is_own = instead_of is not None and fold_nick(instead_of.name) == fold_nick(name)
            person = await self._try(name, is_own=is_own)
            if person is not None:
                return Entered(person, await self._memberships(person))

    async def _try(self, name: str, *, is_own: bool) -> Person | None:
        """The person of that name, if it can be had; `is_own` is who this process was until now."""
        if not is_own and self._people.is_busy(name):
            self._conversation.notice("busy_person", name=name)
            return None
        secret = new_secret()
        while True:
            try:
                participant = await enroll(self._client, name, secret)
            except AlreadyExists:
                known = self._people.find(name)
                if known is None:
                    self._conversation.notice("nick_taken", nick=name)
                return known
            except BadName:
                self._conversation.notice("nick_bad", nick=repr(name), most=NICK_CHARACTERS_MAX)
                return None
            except Unavailable:
                await self._wait_for_hub()
            else:
                return self._people.add(participant.name, participant.token)
