"""The rooms that a person is in, each with its member: opened, left, closed, and what was not sent there.

Promises:
- Who comes back is the same member of its rooms as before.
- A room that was just left does not come back by an answer that is older than the leaving.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable

from pregon.causal.stamps import Stamp, decode_stamp
from pregon.chat.asking import ask_memberships, join_hosted
from pregon.chat.conversation import Conversation
from pregon.chat.input_line import Say
from pregon.chat.member import RoomMember
from pregon.chat.people import Person, Unsent
from pregon.chat.room import Room
from pregon.client import AsyncClient
from pregon.errors import BadRequest, PregonError, Unavailable
from pregon.model.group import Membership


class Halls:
    """All the rooms of one person."""

    def __init__(self, conversation: Conversation, client: AsyncClient, person: Person) -> None:
        self._conversation = conversation
        self._client = client
        self.person = person
        self._members: dict[str, RoomMember] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._sent_before: dict[str, tuple[int, int]] = {}
        """Of each room: as which member one came back, and how many of its messages the hub had then."""
        self._left: set[str] = set()
        self._left_over = person.unsent
        """Of the last time, until it is sent."""
        self._opening = asyncio.Lock()
        """One after another: who joins twice at once would be two members."""

    @property
    def unsent(self) -> list[Unsent]:
        """What the hub has not acknowledged."""
        return [*self._left_over, *(one for member in self._members.values() for one in member.unsent)]

    def of(self, room: Room | None) -> RoomMember | None:
        """The member of a room."""
        return None if room is None else self._members.get(room.name)

    def keep(self) -> None:
        """Write down what was not sent, so that a crash does not lose it."""
        with contextlib.suppress(OSError):
            seen = {member.room.name: member.room.seen_seq for member in self._members.values()}
            self.person.keep(self._conversation.name, self.unsent, seen)

    def called(self, name: str) -> None:
        """The hub knows the person by this name."""
        if name and name != self._conversation.name:
            self._conversation.connected(name)
            self.keep()

    # Opening.

    async def memberships(self) -> list[Membership]:
        """Where the hub says that one is a member."""
        return (await ask_memberships(self._client, self.person.token)).groups

    async def open(self, name: str, with_: str = "", *, is_back: bool, is_shown: bool) -> bool:
        """Be in a room; whether one was not before. Raises what the hub has against it."""
        async with self._opening:
            if name not in self._members:
                await self._open(name, with_, is_back=is_back, is_shown=is_shown)
                return True
            if is_shown:
                self._conversation.show_room(self._members[name].room)
            return False

    async def _open(self, name: str, with_: str, *, is_back: bool, is_shown: bool) -> None:
        token = self.person.token
        if is_back:
            # A group that lives in several hubs cannot do that: there one comes back as another member.
            with contextlib.suppress(BadRequest):
                joined = await join_hosted(self._client, token, name)
                self._sent_before[name] = (joined.member, joined.number)
        group = await self._client.join(name, token=token, history=True)
        self._left.discard(name)
        room = self._conversation.open_room(name, with_, is_shown=is_shown)
        # What somebody said to open a private conversation is news, though it is from before one came.
        room.read_seq = room.seen_seq = self.person.seen.get(name, 0)
        if not with_ and name not in self.person.seen:
            room.read_seq = None
        member = self._members[name] = RoomMember(self._conversation, room, group, self.keep)
        self._tasks[name] = asyncio.create_task(self._attend(member))

    async def open_all(self, memberships: Iterable[Membership], *, is_told: bool = False) -> None:
        """Be in all the rooms of which one is a member, and tell of conversations if so wanted; raises Unavailable."""
        for one in memberships:
            with_ = ", ".join(one.others)
            try:
                is_new = await self.open(one.group, with_, is_back=True, is_shown=False)
            except Unavailable:
                raise
            except PregonError as error:
                self._conversation.notice("room_over", room=one.group, reason=str(error))
            else:
                if is_new and is_told and one.is_private:
                    self._conversation.notice("private_open", name=with_)

    def begin_look(self) -> frozenset[str]:
        """The hub is about to be asked for memberships: the rooms whose leaving its answer will know of."""
        return frozenset(self._left)

    async def open_new(self, memberships: Iterable[Membership], trusted: frozenset[str]) -> None:
        """The hub says where one is a member."""
        self._left -= trusted
        await self.open_all([one for one in memberships if one.group not in self._left], is_told=True)

    async def _attend(self, member: RoomMember) -> None:
        """What goes on in a room, until it is over."""
        sending = asyncio.create_task(member.see_to_it())
        try:
            await member.hear()
        except PregonError as error:
            self._conversation.notice("room_over", room=member.room.title, reason=str(error))
            self._forget(member)
            await member.group.close()
        finally:
            sending.cancel()

    # Leaving.

    async def leave(self, room: Room) -> None:
        """Leave a room; raises what keeps one in."""
        member = self._members[room.name]
        self._left.add(room.name)
        try:
            await member.group.leave()
        except Unavailable:
            self._left.discard(room.name)
            raise
        self._forget(member)

    def _forget(self, member: RoomMember) -> None:
        self._members.pop(member.room.name, None)
        self._tasks.pop(member.room.name, None)
        self._conversation.close_room(member.room.name)

    async def wait_for_past(self, timeout_s: float) -> None:
        """Wait until what was said before is on the screen, but not for ever."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not all(member.has_shown_past for member in self._members.values()):
                    await asyncio.sleep(0.01)

    def send_what_was_left(self) -> None:
        """Send the lines of the last time that the hub has not."""
        count = 0
        while self._left_over:
            one = self._left_over.pop(0)
            member = self._members.get(one.room)
            came_back_as, number = self._sent_before.get(one.room, (0, 0))
            if one.member == came_back_as and one.number <= number:
                continue  # The hub had it, and only its answer was lost.
            if member is None:
                reason = self._conversation.say("room_unknown", room=one.room)
                self._conversation.notice("not_sent", reason=f"{reason}: {one.text}")
            else:
                member.say(Say(one.text, _stamp_of(one.answers)))
                count += 1
        if count:
            self._conversation.notice("sent_now", count=count)
        self.keep()

    async def close(self) -> None:
        """Give the connections back; one stays a member everywhere."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        for member in self._members.values():
            await member.group.close()


def _stamp_of(text: str) -> Stamp | None:
    try:
        return decode_stamp(text)
    except BadRequest:
        return None
