"""What can be asked about groups, with asyncio: `AsyncClient` has it from here. Every verb is as in `GroupVerbs`."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

from pregon.client.calls import Call
from pregon.client.groups import calls
from pregon.client.groups.aio_group import AsyncGroup
from pregon.client.groups.conversation import Conversation
from pregon.client.groups.events import GroupMember
from pregon.client.groups.joining import Flow, Question, conversing, drive_async, joining, wish_for
from pregon.client.groups.lines import AsyncLine
from pregon.model.group import Participant
from pregon.wire.groups import Memberships

T = TypeVar("T")


class AsyncGroupVerbs(ABC):
    """Joins groups, and asks about them."""

    hub: str
    default_producer: str
    _groups: weakref.WeakSet[AsyncGroup]

    @abstractmethod
    async def _run(self, call: Call[T]) -> T:
        """Ask the hub."""

    @abstractmethod
    def _sibling(self, hub: str = "") -> AsyncLine:
        """Another client, to this hub or another one, that presents itself in the same way."""

    async def enroll(self, name: str) -> Participant:
        """Take part in groups under a name that nobody else has; the token in the answer is shown only now."""
        return await self._run(calls.enroll(name))

    async def rename(self, token: str, name: str) -> Participant:
        """Take part under another name, in all groups."""
        return await self._run(calls.rename(token, name))

    async def retire(self, token: str) -> bool:
        """Take part no more: leave all groups, and let the name go."""
        return await self._run(calls.retire(token))

    async def join(
        self,
        group: str,
        *,
        name: str = "",
        token: str = "",
        state: bytes = b"",
        history: bool = False,
        paths: Sequence[str] = (),
    ) -> AsyncGroup:
        """Become a member of a group, which is made if there is none; returns when it is in."""
        wish = wish_for(self.default_producer, group, name, token, state, history=history, paths=paths)
        return await self._enter(joining(wish), wish.paths)

    async def private(self, participant: str | Participant | AsyncGroup, other: str) -> AsyncGroup:
        """The conversation of two: of a participant, by its token or as a member, and another, by its name."""
        token = participant if isinstance(participant, str) else participant.token
        return await self._enter(conversing(token, other), ())

    async def _enter(self, flow: Flow[Conversation], paths: Sequence[str]) -> AsyncGroup:
        hubs = ("", *paths)
        lines: dict[int, AsyncLine] = {}

        async def ask(question: Question) -> Any:
            if question.path == 0:
                return await self._run(question.call)
            if question.path not in lines:
                lines[question.path] = self._sibling(hubs[question.path])
            return await lines[question.path]._run(question.call)

        try:
            conversation = await drive_async(flow, ask)
        finally:
            for line in lines.values():
                await line.close()
        group = AsyncGroup(conversation, lambda path: self._sibling(hubs[path]))
        try:
            await group.flush()
        except BaseException:  # Whatever keeps it from being in, being cancelled too, its tasks end.
            await group.close()
            raise
        self._groups.add(group)
        return group

    async def groups(self, token: str = "", *, after: str = "", max: int = 100) -> list[dict[str, Any]]:
        """A page of the groups of the hub, by name; with a token, that participant's private ones among them."""
        return await self._run(calls.list_groups(token, after, max))

    async def memberships(self, token: str, *, version: int = 0, wait_ms: int = 0) -> Memberships:
        """The groups of a participant; waits up to `wait_ms` for them to change from what they were at a `version`."""
        return await self._run(calls.mine(token, version, wait_ms))

    async def group_members(self, group: str, token: str = "") -> list[GroupMember]:
        """Who is in a group, and who of them is here."""
        return await self._run(calls.list_members(group, token))

    async def _close_groups(self) -> None:
        for group in list(self._groups):
            await group.close()
