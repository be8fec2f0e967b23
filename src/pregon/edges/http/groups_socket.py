"""The socket of groups: carries out what `groups_socket_protocol` has taken, one frame after the other.

What happens in the rooms is told by `groups_following`, beside it.

Promises:
- What a client says is carried out in the order in which it was said, and each frame is answered.
- Who says no hello for `HELLO_MS_MAX`, or does not read for `STALLED_MS_MAX`, is hung up on.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from pregon import limits
from pregon.clock import monotonic_ms, wall_us
from pregon.edges.http import groups_socket_protocol as p
from pregon.edges.http.exchange import ClientGone, Exchange, Receive, Send
from pregon.edges.http.groups_following import Following
from pregon.edges.http.groups_forms import members_of, memberships_of, split_stamps
from pregon.edges.http.groups_line import Line
from pregon.edges.http.groups_room import Room
from pregon.edges.http.live import accept_socket, key_of_protocols
from pregon.edges.http.routes import Desk
from pregon.errors import AlreadyExists, BadRequest, HubBusy, NotFound, PregonError
from pregon.model.group import Group
from pregon.wire import groups as wire

HELLO_MS_MAX = 10_000
STALLED_MS_MAX = 60_000
_LOOK_EVERY_S = 1.0
_TOUCH_EVERY_LOOKS = 10
_GOING_AWAY = 1001


async def serve_group_socket(desk: Desk, exchange: Exchange, receive: Receive, send: Send) -> None:
    """One participant and all its rooms."""
    presented = exchange.presented or key_of_protocols(exchange)
    desk.gate.identify(presented)
    line = Line(desk, presented, send)
    with desk.stream():
        await accept_socket(exchange, send)
        await GroupSocket(line, receive).serve()


class GroupSocket:
    """An accepted socket."""

    def __init__(self, line: Line, receive: Receive) -> None:
        self._line = line
        self._groups = line.groups
        self._receive = receive
        self._talk = p.SocketTalk()
        self._following = Following(line)
        self._greeted = asyncio.Event()
        self._begun_ms = monotonic_ms()
        self._verbs: dict[type[p.Said], Callable[[Any], Coroutine[Any, Any, None]]] = {
            p.Hello: self._hello,
            p.Join: self._join,
            p.Private: self._talk_with,
            p.Leave: self._leave,
            p.Send: self._say,
            p.Rename: self._rename,
            p.Seen: self._seen,
            p.Members: self._members,
            p.Groups: self._list_groups,
            p.Relation: self._relate,
        }

    async def serve(self) -> None:
        """Until one of both goes; raises the error for which the hub hangs up."""
        work = (self._listen(), self._watch_groups(), self._look_after(), self._until_stopping())
        parts: list[asyncio.Future[None]] = [asyncio.ensure_future(one) for one in work]
        try:
            done, _ = await asyncio.wait({*parts, self._following.failed}, return_when=asyncio.FIRST_COMPLETED)
            for part in done:
                part.result()
            await self._following.settle()
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
            await self._following.end()

    async def _listen(self) -> None:
        while True:
            event = await self._receive()
            if event["type"] == "websocket.disconnect":
                return
            text = event.get("text")
            frame = event.get("bytes") if text is None else text
            try:
                wanted = self._talk.take(frame, monotonic_ms())
                await self._verbs[type(wanted)](wanted)
            except PregonError as error:
                await self._line.tell(p.refusal(frame, error))

    # The verbs.

    async def _hello(self, wanted: p.Hello) -> None:
        line = self._line
        if wanted.token:
            asked = self._groups.mine(line.caller(), wire.Mine(token=wanted.token))
            line.token, told = wanted.token, p.HelloTold(name=(await line.ask(asked)).name)
        else:
            enrolled = await line.ask(self._groups.enroll(line.caller(), wanted.name, wanted.secret))
            line.token, told = enrolled.token, p.HelloTold(name=enrolled.name, token=enrolled.token)
        self._talk.is_greeted = True
        await line.tell(told)
        self._greeted.set()

    async def _join(self, wanted: p.Join) -> None:
        self._following.require_place(wanted.group)
        line, joining = self._line, wire.Join(group=wanted.group, token=self._line.token)
        try:
            joined = await line.ask(self._groups.join(line.caller(), joining))
        except NotFound:
            if not wanted.create:
                raise
            with contextlib.suppress(AlreadyExists):
                await line.ask(self._groups.create_group(line.caller(), Group(name=wanted.group), line.token))
            joined = await line.ask(self._groups.join(line.caller(), joining))
        await self._enter(joined, wanted)

    async def _talk_with(self, wanted: p.Private) -> None:
        line = self._line
        asked = wire.Private(token=line.token, with_=wanted.with_)
        joined: wire.Joined = await line.ask(self._groups.private(line.caller(), asked))
        if self._following.find(joined.group) is not None:
            await self._tell_joined(joined, wanted)
            return
        self._following.require_place(joined.group)
        await self._enter(joined, wanted)

    async def _enter(self, joined: wire.Joined, wanted: p.Join | p.Private) -> None:
        await self._tell_joined(joined, wanted)
        self._following.open(Room(joined, wanted))

    async def _tell_joined(self, joined: wire.Joined, wanted: p.Join | p.Private) -> None:
        line, members = self._line, joined.members
        if not members:
            members = await line.ask(self._groups.list_members(line.caller(), joined.group, line.token))
        told = p.JoinedTold(
            group=joined.group,
            member=joined.member,
            head=joined.seq,
            first=joined.first_seq,
            seen=joined.seen_seq,
            is_back=joined.is_back,
            members=members_of(members),
            with_=wanted.with_ if isinstance(wanted, p.Private) else "",
        )
        await line.tell(told)

    async def _leave(self, wanted: p.Leave) -> None:
        line = self._line
        await line.ask(self._groups.leave(line.caller(), wire.Leave(group=wanted.group, token=line.token)))
        await self._following.close(wanted.group)

    async def _say(self, wanted: p.Send) -> None:
        line, (body, content_type) = self._line, wanted.content()
        room, seen = self._following.find(wanted.group), wanted.seen
        if seen is None and room is not None:
            seen = room.told_seq
        sending = wire.Send(
            group=wanted.group,
            token=line.token,
            seen_seq=seen,
            id=wanted.id,
            answers=wanted.answers or "",
            content_type=content_type,
            published_us=wall_us(),
        )
        line.desk.bridge.burst()
        sent: wire.Sent = await line.ask(self._groups.send(line.caller(), sending, body))
        await line.tell(
            p.AcceptedTold(
                group=wanted.group,
                id=wanted.id,
                seq=sent.seq,
                stamp=sent.stamp,
                after=split_stamps(sent.after),
                duplicate=sent.duplicate,
            )
        )

    async def _rename(self, wanted: p.Rename) -> None:
        line = self._line
        renamed = await line.ask(self._groups.rename(line.caller(), line.token, wanted.name))
        await line.tell(p.RenamedTold(name=renamed.name))

    async def _seen(self, wanted: p.Seen) -> None:
        room = self._following.require(wanted.group)
        if wanted.seq > room.told_seq:
            raise BadRequest(f"you have been told {wanted.group} up to {room.told_seq}, not up to {wanted.seq}")
        room.seen(wanted.seq)

    async def _members(self, wanted: p.Members) -> None:
        line = self._line
        found = await line.ask(self._groups.list_members(line.caller(), wanted.group, line.token))
        await line.tell(p.MembersTold(group=wanted.group, members=members_of(found)))

    async def _list_groups(self, _wanted: p.Groups) -> None:
        await self._line.tell(_groups_told(await self._mine(0, 0)))

    async def _relate(self, wanted: p.Relation) -> None:
        line, group, one, other = self._line, wanted.group, wanted.one, wanted.other
        relation = await line.ask(self._groups.relation(line.caller(), group, one, other, line.token))
        await line.tell(p.RelationTold(group=group, one=one, other=other, relation=relation))

    # What goes on beside.

    async def _watch_groups(self) -> None:
        """Tell of which groups one is a member, now and when that changes."""
        await self._greeted.wait()
        version: int | None = None
        while True:
            try:
                mine = await self._mine(version or 0, 0 if version is None else limits.WAIT_MS_MAX)
            except HubBusy:
                await asyncio.sleep(_LOOK_EVERY_S)
                continue
            if mine.version != version:
                version = mine.version
                await self._line.tell(_groups_told(mine))
                await self._following.close_all_but(one.group for one in mine.groups)

    async def _mine(self, version: int, wait_ms: int) -> wire.Memberships:
        wanted = wire.Mine(token=self._line.token, version=version, wait_ms=wait_ms)
        mine: wire.Memberships = await self._line.ask(self._groups.mine(self._line.caller(), wanted))
        return mine

    async def _look_after(self) -> None:
        """Every second: is the client still there, may it still be, and what is there to say of its rooms?"""
        looks = 0
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            looks += 1
            now_ms = monotonic_ms()
            if not self._greeted.is_set() and now_ms - self._begun_ms > HELLO_MS_MAX:
                raise BadRequest("nobody said hello")
            if self._line.stalled_ms(now_ms) > STALLED_MS_MAX:
                raise ClientGone
            caller = self._line.caller()
            await self._following.settle()
            if looks % _TOUCH_EVERY_LOOKS == 0:
                self._groups.touch(caller, self._line.token)

    async def _until_stopping(self) -> None:
        await self._line.desk.stopping.wait()
        await self._line.hang_up(_GOING_AWAY, "the hub is stopping")


def _groups_told(mine: wire.Memberships) -> p.GroupsTold:
    return p.GroupsTold(name=mine.name, groups=memberships_of(mine.groups), version=mine.version)
