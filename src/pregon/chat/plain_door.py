"""The door of a room for plain clients: PULL for what they push, PUB for what is said.

Each nick is a participant of the hub, and a member of the room whose dependencies the hub works out: what it says
depends on what went out at this door before. One more member, the door itself, hears the room for all of them.

Promises:
- What the hub has taken is said once, also if the hub dies meanwhile; nobody is refused because the hub is away.
- What went by before a client subscribed is not sent again: history is for members.
- When the door closes, or was killed and is opened again, its nicks are free.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import zmq
import zmq.asyncio

from pregon.chat.asking import join_hosted, leave_hosted, send_hosted, touch_hosted
from pregon.chat.looks import clean
from pregon.chat.people import People, Person
from pregon.chat.plain_visitors import (
    SERVER,
    SILENCE_MS,
    TEXT_BYTES_MAX,
    VISITORS_MAX,
    Deed,
    Enter,
    Part,
    Speak,
    Tell,
    Visitors,
)
from pregon.client import AsyncClient
from pregon.client.calls import TEXT_CONTENT_TYPE
from pregon.client.groups.aio_group import AsyncGroup
from pregon.client.groups.events import (
    GroupEvent,
    GroupMessage,
    MemberGone,
    MemberJoined,
    MemberLeft,
    MemberRenamed,
)
from pregon.clock import monotonic_ms
from pregon.errors import (
    AddressInUse,
    AlreadyExists,
    NotAMember,
    PregonError,
    SettingsInvalid,
    Unauthorized,
    Unavailable,
)
from pregon.model.ids import new_id
from pregon.wire.groups import Send

_log = logging.getLogger("pregon.chat")
_AGAIN_S = 0.3
_TICK_S = 1.0
_TOUCH_MS = 10_000.0
_NAMES_MAX = 50
_BACKLOG = 10_000
_CLOSING_S = 10.0


@dataclass(frozen=True, kw_only=True)
class DoorOptions:
    """Which room, and where."""

    room: str
    pull: str = "tcp://127.0.0.1:9999"
    pub: str = "tcp://127.0.0.1:9998"
    nick: str = "plain-door"
    """The name of the door itself among the members."""
    visitors_max: int = VISITORS_MAX
    silence_ms: float = SILENCE_MS


@dataclass(slots=True)
class _Inside:
    """A nick that is a member."""

    person: Person
    is_speaking: bool = False


def publication_of(event: GroupEvent, door: str = "") -> tuple[str, str] | None:
    """What a plain client is shown of an event, in the words of the documents; None for nothing, as of the door."""
    name = clean(event.name)
    if event.is_history or name == door:
        return None
    match event:
        case GroupMessage():
            return name, clean(event.text)
        case MemberJoined():
            return SERVER, f"{name} connected"
        case MemberLeft() | MemberGone():
            return SERVER, f"{name} disconnected"
        case MemberRenamed():
            return SERVER, f"{clean(event.old)} is {name} now"
        case _:
            return None


class PlainDoor:
    """The door. Use it with `async with`, and `run` it."""

    def __init__(self, client: AsyncClient, people: People, options: DoorOptions) -> None:
        self.options = options
        self.visitors = Visitors(options.visitors_max, options.silence_ms)
        self.pull_address = self.pub_address = ""
        self._client = client
        self._people = people
        self._inside: dict[str, _Inside] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._context = zmq.asyncio.Context()
        self._own: Person | None = None
        self._group: AsyncGroup | None = None
        self._seq = 0
        """Up to where the room went out at this door."""

    async def __aenter__(self) -> PlainDoor:
        self._pull = self._bind(zmq.PULL, self.options.pull)
        self._pub = self._bind(zmq.PUB, self.options.pub)
        self.pull_address = self._pull.getsockopt_string(zmq.LAST_ENDPOINT)
        self.pub_address = self._pub.getsockopt_string(zmq.LAST_ENDPOINT)
        try:
            await self._patiently(self._clean_up)
            await self._patiently(self._come_in)
        except BaseException:
            await self._close_sockets()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._group is not None:
            await self._group.close()
        try:
            async with asyncio.timeout(_CLOSING_S):
                for inside in self._inside.values():
                    await self._leave(inside.person)
                if self._own is not None:
                    await self._retire(self._own)
        except (TimeoutError, PregonError) as error:
            _log.warning("nicks stay until the door is opened again", extra={"reason": str(error)})
        await self._close_sockets()

    def _bind(self, kind: int, address: str) -> zmq.asyncio.Socket:
        socket = self._context.socket(kind)
        socket.setsockopt(zmq.LINGER, 500)
        socket.setsockopt(zmq.MAXMSGSIZE, 4 * TEXT_BYTES_MAX)
        socket.setsockopt(zmq.RCVHWM if kind == zmq.PULL else zmq.SNDHWM, _BACKLOG)
        try:
            socket.bind(address)
        except zmq.ZMQError as error:
            socket.close(linger=0)
            self._context.destroy(linger=0)
            if error.errno == zmq.EADDRINUSE:
                raise AddressInUse(f"{address} is taken: choose another address with --pull or --pub") from error
            raise SettingsInvalid(f"{address[:200]!r} is no address to listen on: use tcp://HOST:PORT") from error
        return socket

    async def _close_sockets(self) -> None:
        self._pull.close()
        self._pub.close()
        self._context.term()

    # Coming in and cleaning up.

    async def _patiently(self, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            try:
                return await act()
            except Unavailable:
                await asyncio.sleep(_AGAIN_S)

    async def _clean_up(self) -> None:
        """Nicks of a door that was killed are let go."""
        while (person := self._people.find()) is not None:
            try:
                await self._retire(person)
            finally:
                person.release()

    async def _retire(self, person: Person) -> None:
        try:
            await self._client.retire(person.token)
        except Unauthorized:
            pass  # The hub does not know it any more.
        person.forget()

    async def _leave(self, person: Person) -> None:
        with contextlib.suppress(NotAMember, Unauthorized):
            await leave_hosted(self._client, person.token, self.options.room)
        await self._retire(person)

    async def _come_in(self) -> None:
        """The door's own member hears the room."""
        if self._own is None:
            participant = await self._enroll_door()
            self._own = self._people.add(participant.name, participant.token)
        self._group = await self._client.join(self.options.room, token=self._own.token)

    async def _enroll_door(self) -> Participant:
        """A hub may have several doors, each under a name of its own."""
        for number in range(1, _NAMES_MAX):
            name = self.options.nick if number == 1 else f"{self.options.nick}-{number}"
            with contextlib.suppress(AlreadyExists):
                return await self._client.enroll(name)
        raise LimitReached(f"the hub has {_NAMES_MAX} doors called {self.options.nick}: give this one another --nick")

    # Running.

    async def run(self) -> None:
        """Let people in and out, until it is cancelled; raises why the room is over."""
        loops = [asyncio.create_task(one) for one in (self._hear(), self._take(), self._watch())]
        try:
            done, _ = await asyncio.wait(loops, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in loops:
                task.cancel()
            await asyncio.gather(*loops, return_exceptions=True)

    async def _hear(self) -> None:
        assert self._group is not None, "the door is in the room before it runs"
        async for event in self._group:
            if isinstance(event, GroupEvent):
                said = publication_of(event, self._group.name)
                if said is not None:
                    await self._publish(*said)
                self._seq = max(self._seq, event.seq)

    async def _publish(self, nick: str, text: str) -> None:
        await self._pub.send_multipart([nick.encode(), text.encode()])

    async def _take(self) -> None:
        while True:
            frames = await self._pull.recv_multipart()
            await self._do(self.visitors.took(frames, monotonic_ms()))

    async def _watch(self) -> None:
        """Time goes by: who is silent goes, and who is not is said to be here."""
        touched_ms = monotonic_ms()
        while True:
            await asyncio.sleep(_TICK_S)
            now_ms = monotonic_ms()
            await self._do(self.visitors.tick(now_ms))
            if now_ms - touched_ms >= _TOUCH_MS:
                touched_ms = now_ms
                for inside in list(self._inside.values()):
                    with contextlib.suppress(PregonError):
                        await touch_hosted(self._client, inside.person.token, self.options.room, self._seq)

    async def _do(self, deeds: Iterable[Deed]) -> None:
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

    # One nick.

    async def _enter(self, nick: str) -> None:
        person: Person | None = None
        while True:
            try:
                if person is None:
                    participant = await self._client.enroll(nick)
                    person = self._people.add(participant.name, participant.token)
                await join_hosted(self._client, person.token, self.options.room)
            except Unavailable:
                await asyncio.sleep(_AGAIN_S)
            except PregonError as error:
                await self._refuse(nick, person, error)
                return
            else:
                break
        self._inside[nick] = _Inside(person)
        await self._do(self.visitors.entered(nick))

    async def _refuse(self, nick: str, person: Person | None, error: PregonError) -> None:
        if person is not None:
            await self._patiently(partial(self._retire, person))
        taken = f"somebody is called {nick} already: choose another nick"
        why = taken if isinstance(error, AlreadyExists) else str(error)
        await self._do(self.visitors.refused(nick, why, monotonic_ms()))

    def _speak_up(self, nick: str) -> None:
        inside = self._inside.get(nick)
        if inside is not None and not inside.is_speaking:
            inside.is_speaking = True
            self._spawn(self._speak(nick, inside))

    async def _speak(self, nick: str, inside: _Inside) -> None:
        """Say what it has to say, one text after another."""
        while (visitor := self.visitors.find(nick)) is not None and visitor.texts:
            wanted = Send(
                group=self.options.room,
                token=inside.person.token,
                seen_seq=self._seq,
                id=new_id(),
                content_type=TEXT_CONTENT_TYPE,
            )
            body = visitor.texts[0].encode()
            try:
                await self._patiently(partial(self._send, wanted, body))
            except PregonError as error:
                await self._publish(SERVER, clean(f"{nick} could not say it: {error}"))
                if isinstance(error, NotAMember | Unauthorized):
                    await self._put_out(nick, inside)
                    return
            await self._do(self.visitors.said(nick))
        inside.is_speaking = False

    async def _send(self, wanted: Send, body: bytes) -> None:
        await send_hosted(self._client, wanted, body)

    async def _put_out(self, nick: str, inside: _Inside) -> None:
        """Somebody took it off the roll."""
        self._inside.pop(nick, None)
        inside.person.forget()
        await self._do(self.visitors.refused(nick, f"{nick} is out", monotonic_ms()))

    async def _part(self, nick: str) -> None:
        inside = self._inside.pop(nick)
        await self._patiently(partial(self._leave, inside.person))
        await self._do(self.visitors.gone(nick, monotonic_ms()))
