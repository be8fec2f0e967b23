"""The door of a room for plain clients: PULL for what they push, PUB for what is said.

One member, the door itself, hears the room for all of them; each nick is a member of its own (`plain_guests`).

Promises:
- Everything that is said and done in the room while the door is open goes out once, in causal order.
- What went by before a client subscribed is not sent again: history is for members.
- When the door closes, or was killed and is opened again, its nicks are free.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass

import zmq
import zmq.asyncio

from pregon.chat.asking import enroll, new_secret
from pregon.chat.looks import clean
from pregon.chat.people import People, Person
from pregon.chat.plain_guests import Guests, patiently
from pregon.chat.plain_visitors import SERVER, SILENCE_MS, TEXT_BYTES_MAX, VISITORS_MAX, Visitors
from pregon.client import AsyncClient
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
from pregon.errors import AddressInUse, AlreadyExists, LimitReached, PregonError, SettingsInvalid
from pregon.model.group import Participant

_log = logging.getLogger("pregon.chat")
_TICK_S = 1.0
_TOUCH_MS = 10_000.0
_DOORS_MAX = 50
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
        self._guests = Guests(client, people, options.room, self.visitors, self._publish)
        self._context = zmq.asyncio.Context()
        self._secret = new_secret()
        self._own: Person | None = None
        self._group: AsyncGroup | None = None

    async def __aenter__(self) -> PlainDoor:
        self._pull = self._bind(zmq.PULL, self.options.pull)
        self._pub = self._bind(zmq.PUB, self.options.pub)
        self.pull_address = self._pull.getsockopt_string(zmq.LAST_ENDPOINT)
        self.pub_address = self._pub.getsockopt_string(zmq.LAST_ENDPOINT)
        try:
            await patiently(self._guests.clean_up)
            await patiently(self._come_in)
        except BaseException:  # Ctrl-C while the hub is waited for, too.
            self._context.destroy(linger=0)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            async with asyncio.timeout(_CLOSING_S):
                await self._guests.close()
                if self._group is not None:
                    await self._group.close()
                if self._own is not None:
                    await self._guests.retire(self._own)
        except (TimeoutError, PregonError) as error:
            _log.warning("nicks stay until the door is opened again", extra={"reason": str(error)})
        self._pull.close(linger=0)
        self._pub.close()
        self._context.term()

    def _bind(self, kind: int, address: str) -> zmq.asyncio.Socket:
        socket = self._context.socket(kind)
        socket.setsockopt(zmq.LINGER, 500)
        socket.setsockopt(zmq.MAXMSGSIZE, 4 * TEXT_BYTES_MAX)
        socket.setsockopt(zmq.RCVHWM if kind == zmq.PULL else zmq.SNDHWM, _BACKLOG)
        try:
            socket.bind(address)
        except zmq.ZMQError as error:
            self._context.destroy(linger=0)
            if error.errno == zmq.EADDRINUSE:
                raise AddressInUse(f"{address} is taken: choose another address with --pull or --pub") from error
            raise SettingsInvalid(f"{address[:200]!r} is no address to listen on: use tcp://HOST:PORT") from error
        return socket

    async def _come_in(self) -> None:
        """The door's own member hears the room."""
        if self._own is None:
            participant = await self._enroll()
            self._own = self._people.add(participant.name, participant.token)
        self._group = await self._client.join(self.options.room, token=self._own.token)

    async def _enroll(self) -> Participant:
        """A hub may have several doors, each under a name of its own."""
        for number in range(1, _DOORS_MAX + 1):
            name = self.options.nick if number == 1 else f"{self.options.nick}-{number}"
            with contextlib.suppress(AlreadyExists):
                return await enroll(self._client, name, self._secret)
        raise LimitReached(f"the hub has {_DOORS_MAX} doors called {self.options.nick}: close some")

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
                self._guests.seen_seq = max(self._guests.seen_seq, event.seq)

    async def _publish(self, nick: str, text: str) -> None:
        await self._pub.send_multipart([nick.encode(), text.encode()])

    async def _take(self) -> None:
        while True:
            frames = await self._pull.recv_multipart()
            await self._guests.do(self.visitors.took(frames, monotonic_ms()))

    async def _watch(self) -> None:
        """Time goes by: who is silent goes, and who is not is said to be here."""
        touched_ms = monotonic_ms()
        while True:
            await asyncio.sleep(_TICK_S)
            now_ms = monotonic_ms()
            await self._guests.do(self.visitors.tick(now_ms))
            if now_ms - touched_ms >= _TOUCH_MS:
                touched_ms = now_ms
                await self._guests.touch()
