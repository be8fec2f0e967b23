"""Who is a member of a group without a hub, as one of them sees it.

A member is here, is about to leave, has left, or is gone (not heard of); one who has left or is gone is forgotten when
everybody has all that it sent, and leaves a tombstone, so that its number is not taken by another. Who asks to join is
kept apart until its first message has been delivered. When all this happens is decided in `peer`.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pregon.causal.peer_frames import HAS_LEFT, HERE, IS_GONE, IS_LEAVING, Card, Introduction, JoinFrame
from pregon.causal.peer_outputs import PeerOptions
from pregon.causal.stamps import Stamp
from pregon.errors import AlreadyExists, LimitReached, NotFound, PregonError
from pregon.limits import GROUP_MEMBERS_MAX

LATELY_BURIED_MAX = GROUP_MEMBERS_MAX // 2


class PeerView(msgspec.Struct):
    """One member, as it is seen from here."""

    member: int
    name: str
    address: str
    state: int
    event: Stamp | None
    """The message that brought it into its state."""
    heard_ms: float
    ended_ms: float = 0.0
    """When it was seen to have left or to be gone."""

    @property
    def is_here(self) -> bool:
        """Whether it is in the group now."""
        return self.state in (HERE, IS_LEAVING)

    @property
    def has_left(self) -> bool:
        """Whether it is no member any more, by its own word."""
        return self.state == HAS_LEFT


class Joiner(msgspec.Struct):
    """One who asks to join."""

    name: str
    address: str
    since_ms: float
    heard_ms: float


class Tombstone(msgspec.Struct, frozen=True):
    """A member that is forgotten."""

    number: int
    """Of its last message."""
    since_ms: float


class Roster:
    """All of them."""

    def __init__(self, options: PeerOptions) -> None:
        self._options = options
        self.views: dict[int, PeerView] = {}
        self.joining: dict[int, Joiner] = {}
        self.tombstones: dict[int, Tombstone] = {}
        """The oldest one first."""

    def load(self, cards: Iterable[Card], now_ms: float) -> None:
        """Take over what others know of the members."""
        for card in cards:
            self.joining.pop(card.member, None)
            view = PeerView(card.member, card.name, card.address, card.state, card.event, now_ms)
            if not view.is_here:
                view.ended_ms = now_ms
            self.views[card.member] = view

    def cards(self) -> list[Card]:
        """What is known of the members, to be told to another."""
        return [Card(v.member, v.state, v.event, v.name, v.address) for v in self.views.values()]

    def find_card(self, member: int) -> Card | None:
        """What is known of one member."""
        v = self.views.get(member)
        if v is not None:
            return Card(v.member, v.state, v.event, v.name, v.address)
        joiner = self.joining.get(member)
        return None if joiner is None else Card(member, HERE, Stamp(member, 1), joiner.name, joiner.address)

    def here(self) -> list[int]:
        """Who is in the group now, from low to high."""
        return sorted(member for member, view in self.views.items() if view.is_here)

    def waited_for(self, now_ms: float) -> list[int]:
        """Whose word is needed before a message is said to be everybody's: also those who may come in, or come back."""
        counted = [view.member for view in self.views.values() if view.is_here or self._may_return(view, now_ms)]
        return [*counted, *self.joining]

    def refusal(self, frame: JoinFrame, group: int) -> PregonError | None:
        """Why one who asks may not join; None if it may."""
        number = frame.sender
        view = self.views.get(number)
        if frame.group:
            if number in self.tombstones:
                return NotFound(f"member {number} is forgotten in this group: join as another member")
            if frame.group != group:
                return NotFound("this is not the group that you were in: join it as another member")
            if view is not None and view.state == HAS_LEFT:
                return NotFound(f"member {number} has left this group: join as another member")
            return None
        if view is not None or number in self.tombstones:
            return AlreadyExists(f"member {number} is or was in this group: join as another member")
        if number not in self.joining and len(self.joining) >= self._options.joining_max:
            return LimitReached(f"{len(self.joining)} members are joining already: ask again in a moment")
        if len(self.views) >= GROUP_MEMBERS_MAX:
            return LimitReached(f"the group has {len(self.views)} members, and may not have more")
        return None

    def expect(self, frame: JoinFrame, now_ms: float) -> None:
        """Somebody asks to join: from now on what it may need is kept for it."""
        since_ms = self.joining[frame.sender].since_ms if frame.sender in self.joining else now_ms
        self.joining[frame.sender] = Joiner(frame.name, frame.address, since_ms, now_ms)

    def enter(self, stamp: Stamp, introduction: Introduction, now_ms: float) -> None:
        """A member is in, or is back."""
        member = stamp.member
        self.joining.pop(member, None)
        self.views[member] = PeerView(member, introduction.name, introduction.address, HERE, stamp, now_ms)

    def end(self, member: int, state: int, event: Stamp, now_ms: float) -> bool:
        """A member has left or is gone; whether this is news."""
        view = self.views.get(member)
        if view is None or not (view.is_here or (view.state == IS_GONE and state == HAS_LEFT)):
            return False
        view.state, view.event, view.ended_ms = state, event, now_ms
        return True

    def heard(self, member: int, now_ms: float) -> None:
        """A sign of life."""
        found = self.views.get(member) or self.joining.get(member)
        if found is not None:
            found.heard_ms = now_ms

    def slept(self, ms: float) -> None:
        """This process stood still for a while: that nobody was heard meanwhile says nothing about the others."""
        for view in self.views.values():
            view.heard_ms += ms
        for joiner in self.joining.values():
            joiner.heard_ms += ms
            joiner.since_ms += ms

    def expire_joining(self, now_ms: float) -> list[int]:
        """Drop those who asked to join and were not heard of again, or take too long."""
        late_ms = now_ms - self._options.dead_ms
        late = [
            member
            for member, joiner in self.joining.items()
            if joiner.heard_ms < late_ms or joiner.since_ms < late_ms - self._options.dead_ms
        ]
        for member in late:
            del self.joining[member]
        return late

    def may_forget(self, view: PeerView, now_ms: float) -> bool:
        """Whether a member need not be remembered for its own sake."""
        return view.state == HAS_LEFT or (view.state == IS_GONE and not self._may_return(view, now_ms))

    def bury(self, member: int, number: int, now_ms: float) -> None:
        """Forget a member; the oldest tombstone may have to go for its own."""
        self.views.pop(member, None)
        self.joining.pop(member, None)
        self.tombstones[member] = Tombstone(number, now_ms)
        if len(self.tombstones) > self._options.tombstones_max:
            del self.tombstones[next(iter(self.tombstones))]

    def lately_buried(self, now_ms: float) -> dict[int, int]:
        """The last number of those who were forgotten a short while ago: others may wait to hear that all had it."""
        since_ms = now_ms - self._options.forget_ms
        found: dict[int, int] = {}
        for member, tombstone in reversed(self.tombstones.items()):
            if tombstone.since_ms < since_ms or len(found) == LATELY_BURIED_MAX:
                break
            found[member] = tombstone.number
        return found

    def _may_return(self, view: PeerView, now_ms: float) -> bool:
        # Who is heard may only lack the message that says it is gone, and cannot answer it yet.
        return view.state == IS_GONE and now_ms - max(view.ended_ms, view.heard_ms) < self._options.forget_ms
