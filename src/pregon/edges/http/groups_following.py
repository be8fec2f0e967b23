"""The rooms that one socket follows: each is read from the log, from where the client left it, and waits for news.

Promises:
- Of each room messages are told in the order of its log, which is causal, each once.
- Who reads slowly holds up nobody: while its socket is full nothing more is read for it, and only one of its rooms
  has messages in hand.
- A room of which one is a member no more is closed, and the client is told why.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable

from pregon import limits
from pregon.clock import wall_us
from pregon.edges.http.exchange import ClientGone
from pregon.edges.http.groups_forms import message_of
from pregon.edges.http.groups_line import Line
from pregon.edges.http.groups_room import Room
from pregon.edges.http.groups_socket_protocol import LeftTold, MessageTold
from pregon.errors import BadRequest, HubBusy, LimitReached, PregonError
from pregon.hub.options import LogRead
from pregon.model.group import topic_of
from pregon.store.ticket import Ticket
from pregon.wire import groups as wire

_MESSAGES_AT_ONCE = 100
_BYTES_AT_ONCE = 256 * limits.KIB
_BUSY_S = 1.0


class Following:
    """The rooms of a socket."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._rooms: dict[str, Room] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._turn = asyncio.Lock()
        """Held by the room that has messages in hand."""
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Fails when a room cannot go on, and so the socket cannot."""

    def find(self, group: str) -> Room | None:
        """A room that is followed."""
        return self._rooms.get(group)

    def require(self, group: str) -> Room:
        """A room that is followed; raises BadRequest."""
        room = self._rooms.get(group)
        if room is None:
            raise BadRequest(f"this socket does not follow {group}: join it first")
        return room

    def require_place(self, group: str) -> None:
        """Raises BadRequest for a room that is followed already, LimitReached when there may be no more."""
        if group in self._rooms:
            raise BadRequest(f"this socket follows {group} already")
        if len(self._rooms) >= limits.GROUPS_OF_PARTICIPANT_MAX:
            raise LimitReached(f"one socket follows at most {limits.GROUPS_OF_PARTICIPANT_MAX} rooms: leave some first")

    def open(self, room: Room) -> None:
        """Follow a room from now on."""
        self._rooms[room.group] = room
        self._tasks[room.group] = asyncio.create_task(self._follow(room))

    async def close(self, group: str, why: PregonError | None = None) -> None:
        """Follow it no more: it was left, or the error says why."""
        task, room = self._tasks.pop(group, None), self._rooms.pop(group, None)
        if task is not None and task is not asyncio.current_task():
            task.cancel()
        if why is None:
            await self._line.tell(LeftTold(group=group))
        elif room is not None:
            await self._line.tell(LeftTold(group=group, code=why.code, message=str(why)))

    async def close_all_but(self, groups: Iterable[str]) -> None:
        """Close the rooms that are not among these, if that is still so: the list may be older than the room."""
        for group in self._rooms.keys() - set(groups):
            room = self._rooms.get(group)
            if room is None:
                # It was closed while another was looked at.
                continue
            try:
                await self._line.ask(self._read(room, 1))
            except HubBusy:
                continue
            except PregonError as error:
                await self.close(group, error)

    async def end(self) -> None:
        """Stop all of it."""
        parts = [*self._tasks.values(), self.failed]
        for part in parts:
            part.cancel()
        await asyncio.gather(*parts, return_exceptions=True)

    async def _follow(self, room: Room) -> None:
        """Tell a room's messages, from where it is, for as long as one is a member."""
        hub, topic = self._line.desk.hub, topic_of(room.group)
        try:
            while True:
                version = hub.waiting.version(topic)
                try:
                    if not await self._tell_page(room, topic):
                        await self._line.ask(hub.wait_for_news(topic, version, limits.WAIT_MS_MAX))
                except HubBusy:
                    await asyncio.sleep(_BUSY_S)
        except PregonError as error:
            with contextlib.suppress(ClientGone):
                await self.close(room.group, error)
        except Exception as error:  # The top of a loop: the socket ends with it, and the application logs it once.
            if not self.failed.done():
                self.failed.set_exception(error)

    async def _tell_page(self, room: Room, topic: str) -> bool:
        """Tell what comes next; whether there was something."""
        async with self._turn:
            read: LogRead = await self._line.ask(self._read(room, _MESSAGES_AT_ONCE))
            for batch in read.batches:
                for message in batch.messages(topic):
                    told = message_of(message, MessageTold, group=room.group)
                    await self._line.tell(told)
                    room.told(told.seq, told.stamp, told.member, wall_us())
        if room.has_report:
            await self._report(room)
        return bool(read.batches)

    def _read(self, room: Room, messages_max: int) -> Ticket[LogRead]:
        line = self._line
        wanted = wire.Read(
            group=room.group,
            token=line.token,
            after_seq=room.told_seq,
            max=messages_max,
            bytes_max=_BYTES_AT_ONCE,
        )
        return line.groups.read(line.caller(), wanted)

    async def settle(self) -> None:
        """Tell the hub what was seen and shown in all the rooms since it was last told."""
        line = self._line
        for room in list(self._rooms.values()):
            await self._report(room)
            seen_seq = room.take_seen()
            if seen_seq is not None:
                line.groups.seen(line.caller(), line.token, room.group, seen_seq)

    async def _report(self, room: Room) -> None:
        line, rows = self._line, room.take_report()
        if rows:
            # A diagram that lacks some arrows is no reason to hang up.
            with contextlib.suppress(PregonError):
                report = wire.Report(group=room.group, token=line.token, rows=rows)
                await line.ask(line.groups.report(line.caller(), report))
