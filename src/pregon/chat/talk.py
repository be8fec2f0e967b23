"""The loop of the chat: lines that somebody types go in, and the hub is spoken with until they quit.

Who shows it hands lines over with `put` and is told what changed through the conversation's audience. Commands are
carried out one after another, in the order in which they were typed.

Promises:
- While the hub is away nothing is lost: what was said goes out when it is back, what was missed is then heard.
- Conversations that others open appear by themselves.
- Who quits, or is killed, with lines that were not sent, finds them sent the next time; none is sent twice.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pregon.chat.asking import ask_memberships
from pregon.chat.commands import Commands
from pregon.chat.conversation import Conversation
from pregon.chat.entering import Entering
from pregon.chat.halls import Halls
from pregon.chat.input_line import Join, read_line
from pregon.chat.people import People, Person
from pregon.client import AsyncClient
from pregon.clock import monotonic_ms
from pregon.errors import PregonError, Rejected, Unavailable

LINES_WAITING_MAX = 1_000
"""Lines that were typed and not yet carried out."""
PULSE_S = 1.0
"""How often the hub is asked whether it is there."""
_PULSE_TIMEOUT_MS = 2_500.0
_MEMBERSHIPS_WAIT_MS = 20_000
_PRESENCE_S = 5.0
_AGAIN_S = 0.5
_PAST_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """How somebody wants to chat."""

    open_client: Callable[[float | None], AsyncClient]
    """Opens a connection to the hub, with a time limit of its own if one is given."""
    nick: str = ""
    rooms: Sequence[str] = ()
    is_fresh: bool = False


class Talk:
    """One chat, from the way in until the end."""

    def __init__(self, conversation: Conversation, people: People, wanted: Wanted) -> None:
        self.conversation = conversation
        self._people = people
        self._wanted = wanted
        self._lines: asyncio.Queue[str] = asyncio.Queue(LINES_WAITING_MAX)
        self._over = asyncio.Event()
        self._is_in = asyncio.Event()
        self._halls: Halls | None = None
        self.is_asking_nick = False

    @property
    def unsent(self) -> int:
        """How many lines the hub has not acknowledged."""
        return 0 if self._halls is None else len(self._halls.unsent)

    @property
    def unsaid(self) -> int:
        """How many lines nothing was done with, because the hub was never there."""
        return 0 if self._is_in.is_set() else self._lines.qsize()

    async def put(self, line: str) -> None:
        """Somebody typed a line; waits while too many are not carried out yet."""
        await self._lines.put(line)

    def quit(self) -> None:
        """It is enough."""
        self._over.set()

    async def finish(self, timeout_s: float) -> None:
        """Nothing more is typed: end when everything was carried out and sent, or the time is over."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._is_in.wait()
                await self._lines.join()
                while self.unsent:
                    await asyncio.sleep(0.02)
        self.quit()

    async def run(self) -> None:
        """Chat until somebody quits; raises what the hub has against it."""
        client = self._wanted.open_client(None)
        over = asyncio.ensure_future(self._over.wait())
        chat = asyncio.ensure_future(self._chat(client))
        try:
            await asyncio.wait({over, chat}, return_when=asyncio.FIRST_COMPLETED)
            if chat.done():
                chat.result()
        finally:
            for task in (over, chat):
                task.cancel()
            await asyncio.gather(over, chat, return_exceptions=True)
            if self._halls is not None:
                self._halls.keep()
                await self._halls.close()
                self._halls.person.release()
            await client.close()

    async def _chat(self, client: AsyncClient) -> None:
        entering = Entering(self.conversation, client, self._people, self._ask_nick)
        entered = await entering.enter(self._wanted.nick, is_fresh=self._wanted.is_fresh)
        person = entered.person
        halls = self._halls = Halls(self.conversation, client, person)
        commands = Commands(self.conversation, client, halls, self.quit)
        self.conversation.connected(entered.memberships.name or person.name)
        self.conversation.notice("connected", name=self.conversation.name)
        for name in self._wanted.rooms:
            await self._patiently(partial(self._join, commands, name))
        await self._patiently(partial(halls.open_all, entered.memberships.groups))
        self._show_first()
        halls.send_what_was_left()
        # What is typed now depends on what is shown: first things first.
        await halls.wait_for_past(_PAST_S)
        if self.conversation.shown is None:
            self.conversation.notice("no_room")
        self._is_in.set()
        loops = (self._obey(commands), self._watch_memberships(client, person), self._feel_pulse())
        await _together(*loops, self._watch_presence(halls))

    async def _join(self, commands: Commands, name: str) -> None:
        """Go into a room that was named; one that is closed to the person is no reason not to chat elsewhere."""
        try:
            await commands.do(Join(name))
        except Rejected as error:
            self.conversation.notice("refused", reason=str(error))

    def _show_first(self) -> None:
        """Of the rooms that were named, the first is shown."""
        room = self.conversation.find_room(self._wanted.rooms[0]) if self._wanted.rooms else None
        if room is not None:
            self.conversation.show_room(room)

    async def _patiently(self, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do something when the hub is there."""
        while True:
            try:
                return await act()
            except Unavailable:
                self.conversation.disconnected()
                await asyncio.sleep(_AGAIN_S)

    async def _ask_nick(self) -> str:
        self.is_asking_nick = True
        self.conversation.audience.show_status()
        line = await self._lines.get()
        self._lines.task_done()
        self.is_asking_nick = False
        self.conversation.audience.show_status()
        if line.strip() == "/quit":
            self.quit()
            await asyncio.Future()
        return line

    async def _obey(self, commands: Commands) -> None:
        while True:
            line = await self._lines.get()
            try:
                meaning = read_line(line)
                if meaning is not None:
                    await commands.do(meaning)
            except PregonError as error:
                self.conversation.notice("refused", reason=str(error))
            finally:
                self._lines.task_done()

    async def _watch_memberships(self, client: AsyncClient, person: Person) -> None:
        """Rooms that the person is in appear, whoever brought that about."""
        assert self._halls is not None, "there are halls before anything is watched"
        version = 0
        while True:
            trusted = self._halls.begin_look()
            try:
                mine = await ask_memberships(client, person.token, version, _MEMBERSHIPS_WAIT_MS)
                await self._halls.open_new(mine.groups, trusted)
            except Unavailable:
                await asyncio.sleep(_AGAIN_S)
                continue
            version = mine.version
            self._halls.called(mine.name)

    async def _feel_pulse(self) -> None:
        """Notice at once that the hub is away, and that it is back."""
        while True:
            client = self._wanted.open_client(_PULSE_TIMEOUT_MS)
            try:
                await self._feel_pulse_of(client)
            finally:
                # What it has not sent to a hub that is away would pile up in it.
                await client.close()

    async def _feel_pulse_of(self, client: AsyncClient) -> None:
        """Until the hub does not answer."""
        while True:
            began_ms = monotonic_ms()
            try:
                await client.ping()
            except Unavailable:
                self.conversation.disconnected()
            else:
                if not self.conversation.is_connected:
                    self.conversation.connected(self.conversation.name)
                    self.conversation.notice("back")
            await asyncio.sleep(max(0.0, PULSE_S - (monotonic_ms() - began_ms) / 1_000))
            if not self.conversation.is_connected:
                return

    async def _watch_presence(self, halls: Halls) -> None:
        while True:
            member = halls.of(self.conversation.shown)
            if member is not None and self.conversation.is_connected:
                with contextlib.suppress(PregonError):
                    await member.look_who_is_here()
            await asyncio.sleep(_PRESENCE_S)


async def _together(*loops: Coroutine[Any, Any, None]) -> None:
    """Run loops until one of them fails, end the others, and raise why."""
    tasks = [asyncio.create_task(loop) for loop in loops]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
