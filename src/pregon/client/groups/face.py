"""What a member of a group can be asked without waiting: the same in `Group` and `AsyncGroup`."""

from __future__ import annotations

from pregon.causal.stamps import Stamp
from pregon.client.groups.conversation import Conversation
from pregon.client.groups.events import GroupEvent, GroupMember
from pregon.errors import QueueFull


class MemberFace:
    """Asks the conversation, under its lock."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.group}: {self.name}, member {self.number}>"

    @property
    def group(self) -> str:
        """The name of the group."""
        return self._conversation.group

    @property
    def name(self) -> str:
        """The member's own name, as it was last shown."""
        return self._conversation.name

    @property
    def number(self) -> int:
        """The member's own number, which nobody else in the group ever has."""
        return self._conversation.me

    @property
    def token(self) -> str:
        """What the member shows the hub, a secret: with it the same participant joins other groups, or comes back."""
        return self._conversation.paths[0].token

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """Who is in the group, as far as this member was shown."""
        with self._conversation.lock:
            return self._conversation.view.members

    @property
    def unsent(self) -> int:
        """How many messages were sent that are not known to be on the hub's disk."""
        with self._conversation.lock:
            return len(self._conversation.sending)

    @property
    def held(self) -> int:
        """How many messages have come and are held back, because one that they depend on has not."""
        with self._conversation.lock:
            return self._conversation.intake.held

    def _may_go_on(self) -> bool:
        """Whether there is room for one more message, or there never will be."""
        return not self._conversation.sending.is_full or self._conversation.failure is not None

    def _require_room(self, has_room: bool) -> None:
        """Raises QueueFull if there was no room in time, and why the group has ended if it has."""
        if not has_room:
            raise QueueFull(f"{self.unsent} messages to {self.group} wait for the hub, which takes none: send later")
        self._conversation.require_open()

    def concurrent(self, event: GroupEvent | Stamp) -> list[Stamp]:
        """The messages, of those that this member remembers, that are concurrent with one."""
        return self._conversation.concurrent(event if isinstance(event, Stamp) else event.stamp)

    def state(self) -> bytes:
        """What to keep in order to come back as the same member: `client.join(group, state=…)`. It has the token."""
        with self._conversation.lock:
            return self._conversation.state()
