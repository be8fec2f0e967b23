"""What can be asked about groups, blocking: `Client` has it from here."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

from pregon.client.calls import Call
from pregon.client.groups import calls
from pregon.client.groups.conversation import Conversation
from pregon.client.groups.events import GroupMember
from pregon.client.groups.group import Group
from pregon.client.groups.joining import Flow, Question, conversing, drive, joining, wish_for
from pregon.client.groups.lines import Line
from pregon.model.group import Participant
from pregon.wire.groups import Memberships

T = TypeVar("T")


class GroupVerbs(ABC):
    """Joins groups, and asks about them."""

    hub: str
    default_producer: str
    _groups: weakref.WeakSet[Group]

    @abstractmethod
    def _run(self, call: Call[T]) -> T:
        """Ask the hub."""

    @abstractmethod
    def _sibling(self, hub: str = "") -> Line:
        """Another client, to this hub or another one, that presents itself in the same way."""

    def enroll(self, name: str) -> Participant:
        """Take part in groups under a name that nobody else has; the token in the answer is shown only now."""
        return self._run(calls.enroll(name))

    def rename(self, token: str, name: str) -> Participant:
        """Take part under another name, in all groups."""
        return self._run(calls.rename(token, name))

    def retire(self, token: str) -> bool:
        """Take part no more: leave all groups, and let the name go."""
        return self._run(calls.retire(token))

    def join(
        self,
        group: str,
        *,
        name: str = "",
        token: str = "",
        state: bytes = b"",
        history: bool = False,
        paths: Sequence[str] = (),
    ) -> Group:
        """Become a member of a group, which is made if there is none; returns when it is in.

        With a `name` it is enrolled under it, with a `token` it is that participant; with a `state` it comes back as
        the member that it was. `history` shows first what was said before. `paths` are other hubs of the group.
        """
        wish = wish_for(self.default_producer, group, name, token, state, history=history, paths=paths)
        return self._enter(joining(wish), wish.paths)

    def private(self, participant: str | Participant | Group, other: str) -> Group:
        """The conversation of two: of a participant, by its token or as a member, and another, by its name."""
        token = participant if isinstance(participant, str) else participant.token
        return self._enter(conversing(token, other), ())

    def _enter(self, flow: Flow[Conversation], paths: Sequence[str]) -> Group:
        hubs = ("", *paths)
        lines: dict[int, Line] = {}

        def ask(question: Question) -> Any:
            if question.path == 0:
                return self._run(question.call)
            if question.path not in lines:
                lines[question.path] = self._sibling(hubs[question.path])
            return lines[question.path]._run(question.call)

        try:
            conversation = drive(flow, ask)
        finally:
            for line in lines.values():
                line.close()
        group = Group(conversation, lambda path: self._sibling(hubs[path]))
        try:
            group.flush()
        except BaseException:  # Whatever keeps it from being in, Ctrl-C too, its threads end.
            group.close()
            raise
        self._groups.add(group)
        return group

    def groups(self, token: str = "", *, after: str = "", max: int = 100) -> list[dict[str, Any]]:
        """A page of the groups of the hub, by name; with a token, that participant's private ones among them."""
        return self._run(calls.list_groups(token, after, max))

    def memberships(self, token: str, *, version: int = 0, wait_ms: int = 0) -> Memberships:
        """The groups of a participant; waits up to `wait_ms` for them to change from what they were at a `version`."""
        return self._run(calls.mine(token, version, wait_ms))

    def group_members(self, group: str, token: str = "") -> list[GroupMember]:
        """Who is in a group, and who of them is here."""
        return self._run(calls.list_members(group, token))

    def _close_groups(self) -> None:
        for group in list(self._groups):
            group.close()
