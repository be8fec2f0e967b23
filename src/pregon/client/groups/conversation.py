"""One member of a group: what it sends, what it reads, what it is shown, and what it keeps to come back.

Pure: answers and the time go in, calls and events come out; `group` and `aio_group` are the loops around it.

What a message depends on is what its sender had been *shown* when it was sent: not what had come and still waited.
So there are two states of the causal order: that of `Intake`, which knows what may be shown next, and that of the
member itself, which moves when something is shown, or sent.

Promises:
- What `Intake` and `Sending` promise: everything is shown once and in causal order, everything is stored once.
- `state` is of what was shown: who comes back with it is shown what comes after.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from pregon.causal.history import History
from pregon.causal.member import Member, MemberState
from pregon.causal.message import CausalMessage, Delivery
from pregon.causal.stamps import Stamp
from pregon.client.calls import Call, Pulled
from pregon.client.groups import calls
from pregon.client.groups.events import (
    Event,
    GroupEvent,
    GroupMember,
    GuardedOrder,
    MemberGone,
    MemberLeft,
    MemberRenamed,
    MessagesMissed,
)
from pregon.client.groups.intake import Beginning, Intake, PastDelivery, Path
from pregon.client.groups.reports import Reports
from pregon.client.groups.sending import OwnMessage, Sending, Words
from pregon.client.groups.state import GroupState, PathState, UnsentState, encode_state
from pregon.client.groups.view import View
from pregon.errors import HubStopping, NotAMember, PregonError
from pregon.model.group import DeliveryRow
from pregon.wire.groups import Joined

READ_WAIT_MS = 10_000
"""How long a read waits at the hub for something new."""
FORGET_AFTER = 10_000
"""A member that left so many messages ago is forgotten, as the hub does."""


class Conversation:
    """A member of one group."""

    def __init__(
        self,
        group: str,
        name: str,
        state: MemberState,
        paths: Sequence[Path],
        members: Sequence[GroupMember],
        *,
        is_traced: bool = True,
    ) -> None:
        self.group = group
        self.name = name
        self.lock = threading.RLock()
        """Under which all of this is used; asking an event how it stands to another takes it too."""
        self._member = Member.restore(state, history=History())
        self.order = GuardedOrder(self._member.history, self.lock)
        self.intake = Intake(state, paths)
        self.sending = Sending(group, paths[0].token, self._member)
        self.reports = Reports(is_wanted=is_traced)
        self.view = View(self.order, members)
        self._past_view = View(self.order)
        self.failure: PregonError | None = None
        """Why it is over."""
        self.is_leaving = False
        """Whether it asked the hubs to go: that they then say it is no member is what it asked for."""
        self._left: deque[tuple[int, int]] = deque()
        """Members that left, and how many messages had been shown then."""
        self._shown = 0

    @property
    def me(self) -> int:
        """The number of this member."""
        return self._member.me

    @property
    def paths(self) -> Sequence[Path]:
        """Its paths."""
        return self.intake.paths

    def fail(self, error: PregonError) -> None:
        """It is over; the first reason counts."""
        if self.is_leaving and isinstance(error, NotAMember):
            return
        self.failure = self.failure or error

    def require_open(self) -> None:
        """Raises why it is over, or why an earlier message that nobody waited for was refused."""
        if self.failure is not None:
            raise self.failure
        self.sending.raise_untold()

    # Sending.

    def make(self, words: Words, now_us: int) -> OwnMessage:
        """The next message; raises QueueFull."""
        own = self.sending.make(words, now_us)
        self.intake.sent(own.stamp.number)
        return own

    def refused(self, own: OwnMessage, error: PregonError) -> None:
        """The hub will never take it."""
        if isinstance(error, NotAMember):
            self.fail(error)
        number = self.sending.refused(own, error)
        if number is not None:
            self.intake.unsent(number)

    # Reading.

    def next_call(self, path: int) -> Call[Any] | None:
        """What to ask a hub next; None while something is asked there, or there is no room for more."""
        if self.failure is not None or not self.intake.may_ask(path):
            return None
        after_seq = self.intake.asked(path)
        at = self.paths[path]
        if at.is_lost:
            number = self._member.clock.get(self.me, 0) if at.member == self.me else 0
            return calls.join(self.group, at.token, at.member, number)
        return calls.read(self.group, at.token, after_seq, READ_WAIT_MS)

    def took(self, path: int, answer: Pulled | Joined, now_us: int) -> None:
        """What was asked was answered."""
        if isinstance(answer, Joined):
            self.intake.took_snapshot(path, answer)
        else:
            self.intake.took(path, answer, now_us)

    # Showing.

    def next_event(self, now_us: int) -> Event | None:
        """The next event, from now on shown; None if there is none yet."""
        while (shown := self.intake.take()) is not None:
            event = self._show(shown, now_us)
            if event is not None:
                return event
        return None

    def _show(self, shown: Delivery | PastDelivery | MessagesMissed | Beginning, now_us: int) -> Event | None:
        if isinstance(shown, Delivery):
            return self._show_delivery(shown, now_us)
        if isinstance(shown, PastDelivery):
            self._member.history.add(shown.message)
            return self._past_view.show(shown.message, is_history=True)
        if isinstance(shown, Beginning):
            for member, number in shown.clock.items():
                if member != self.me:
                    self._member.advance(member, number)
            self._member.frontier.update((one.member, one.number) for one in shown.frontier if one.member != self.me)
            return None
        return shown

    def _show_delivery(self, delivery: Delivery, now_us: int) -> GroupEvent | None:
        message = delivery.message
        if not self._member.receive(message) and not self._settle(message):
            return None
        self.reports.add(delivery, now_us)
        self._shown += 1
        event = self.view.show(message, delivery.waited_for)
        if isinstance(event, MemberLeft | MemberGone):
            self._left.append((self._shown, event.member))
            if event.member == self.me:
                self.fail(NotAMember(f"you are no longer member {self.me} of {self.group}: join again"))
        elif isinstance(event, MemberRenamed) and event.member == self.me:
            self.name = event.name
        self._forget_old_members()
        return event

    def _settle(self, message: CausalMessage) -> bool:
        """Whether it was held back for members who are long gone, and is shown now; if not, it is known already."""
        held = self._member.held
        if message.stamp not in held:
            return False
        for member, _ in message.after:
            if self.intake.is_settled(member):
                self._member.forget(member)
        assert message.stamp not in held, f"{message.stamp} was to be shown before its causes"
        return True

    def _forget_old_members(self) -> None:
        while self._left and self._shown - self._left[0][0] >= FORGET_AFTER:
            _, member = self._left.popleft()
            if member != self.me:
                self.intake.forget(member)
                self._member.forget(member)

    def concurrent(self, stamp: Stamp) -> list[Stamp]:
        """The remembered messages that are concurrent with one."""
        return self.order.concurrent_with(stamp)

    # Reports, and coming back.

    def next_report(self, now_ms: float, *, is_last: bool = False) -> tuple[list[DeliveryRow], Call[int]] | None:
        """What to tell the hub of what was shown, if it is time."""
        rows = self.reports.due(now_ms, is_last=is_last)
        return (rows, calls.report(self.group, self.paths[0].token, rows)) if rows else None

    def close(self) -> None:
        """Nothing more is wanted."""
        self.fail(HubStopping(f"the member has left {self.group}, or was closed: join again"))

    def state(self) -> bytes:
        """What to keep in order to come back as the same member."""
        return encode_state(
            GroupState(
                group=self.group,
                name=self.name,
                paths=[PathState(one.token, one.member, one.resume_seq, one.stride, one.offset) for one in self.paths],
                member=self._member.state(),
                members=[(member.number, member.name) for member in self.view.members],
                unsent=[UnsentState.of(own) for own in self.sending.unstored],
            )
        )
