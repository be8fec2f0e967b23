"""Where one member of a group without a hub stands: all that it knows, and what a delivery changes of it.

JOINED, LEFT, GONE and BACK are delivered in causal order like the application's messages, and change who is in the
group when they are. What is heard and what is said is left to `hearing` and `upkeep`, which both work on this.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import msgspec

from pregon.causal.entry import Entry
from pregon.causal.member import Member
from pregon.causal.membership import Roster
from pregon.causal.message import CausalMessage, Delivery
from pregon.causal.peer_bytes import decode_gone, decode_introduction, encode_introduction, encode_message
from pregon.causal.peer_frames import (
    BACK,
    GONE,
    HAS_LEFT,
    IS_GONE,
    JOINED,
    LEFT,
    ORDINARY,
    Introduction,
    Sealed,
)
from pregon.causal.peer_outputs import (
    Delivered,
    Forgotten,
    Gone,
    Joined,
    Left,
    Missed,
    Output,
    Passed,
    PeerCounts,
    PeerOptions,
    Send,
    Shown,
)
from pregon.causal.repair import GiveUp, Repairs
from pregon.causal.stability import EVERYTHING, Reports, Retained


class Phase(Enum):
    """How far a peer has come."""

    OUT = "out"
    JOINING = "joining"
    RETURNING = "returning"
    IN = "in"
    LEAVING = "leaving"
    DONE = "done"


class Standing:
    """What one member knows."""

    def __init__(self, member: Member, voice: Member, name: str, group: int, options: PeerOptions) -> None:
        self.me = member.me
        self.name = name
        self.group = group
        """The number of the member that founded the group; 0 while it is not known."""
        self.options = options
        self.phase = Phase.OUT
        self.entry: Entry | None = None
        self.must_say_back = False
        """Somebody took this member for gone while it was away."""
        self.member = member
        """What was delivered here."""
        self.voice = voice
        """What was shown to the application, which is what its messages depend on; the same, unless it shows later."""
        self.roster = Roster(options)
        self.retained = Retained(options.retained_max, options.retained_bytes_max)
        self.reports = Reports()
        self.repairs = Repairs(member, self.reports.holders, options)
        self.counts = PeerCounts()

    def is_here(self, member: int) -> bool:
        """Whether somebody else is in the group."""
        view = self.roster.views.get(member)
        return view is not None and view.is_here and member != self.me

    def own_introduction(self) -> Introduction:
        """What this member says of itself when it comes in, or comes back."""
        return Introduction(self.group, self.name, self.options.address)

    def whole_clock(self, now_ms: float) -> dict[int, int]:
        """What was delivered here, also of those who were forgotten lately."""
        return {**self.roster.lately_buried(now_ms), **self.member.clock}

    def send(self, kind: int, body: bytes) -> tuple[CausalMessage, list[Output]]:
        """The next message of this member, for everybody."""
        self.voice.clock[self.me] = self.member.clock.get(self.me, 0)
        message = self.voice.broadcast(body)
        self.member.clock[self.me] = message.stamp.number
        frame = encode_message(message, kind, body)
        self.retained.add(message.stamp, frame)
        return message, [Send(None, frame)]

    def shown(self, output: Shown) -> None:
        """The application has seen this: what it says from now on may follow from it."""
        if self.voice is self.member:
            return
        if isinstance(output, Missed):
            self.voice.advance(output.member, output.last)
        elif isinstance(output, Forgotten):
            self.voice.forget(output.member)
        else:
            message = output.delivery.message if isinstance(output, Delivered) else output.message
            if message is not None:
                self.voice.receive(message)

    def come_in(self, kind: int, now_ms: float) -> list[Output]:
        """Say JOINED or BACK, and be in."""
        introduction = self.own_introduction()
        message, outputs = self.send(kind, encode_introduction(introduction))
        self.roster.enter(message.stamp, introduction, now_ms)
        self.must_say_back = False
        return outputs

    def show(self, deliveries: Iterable[Delivery], now_ms: float) -> list[Output]:
        """What deliveries mean to the application, and to who is in the group."""
        outputs: list[Output] = []
        for delivery in deliveries:
            message = delivery.message
            sealed: Sealed = message.body
            if self.roster.tombstones:
                outputs.extend(self._missed_of_forgotten(message))
            self.retained.add(message.stamp, sealed.frame)
            plain = CausalMessage(message.stamp, message.after, sealed.body)
            if sealed.kind == ORDINARY:
                outputs.append(Delivered(Delivery(plain, delivery.waited_for)))
            else:
                take = self._take_gone if sealed.kind == GONE else self._take_change
                changes = take(sealed.kind, plain, now_ms) if message.stamp.member != self.me else []
                if self.voice is not self.member and not any(isinstance(one, Joined | Left | Gone) for one in changes):
                    outputs.append(Passed(plain))
                outputs.extend(changes)
        if self.phase is Phase.LEAVING:
            # Who has left wants to see no more; it only stays until the others have its last messages.
            return [output for output in outputs if isinstance(output, Send)]
        return outputs

    def _missed_of_forgotten(self, message: CausalMessage) -> list[Output]:
        """What a message shows to be missing of members that are forgotten: somebody held more of theirs back."""
        outputs: list[Output] = []
        for member, number in message.after:
            last = self.roster.tombstones.get(member)
            if last is not None and last.number < number:
                outputs.append(Missed(member, last.number + 1, number))
                self.counts.missed += number - last.number
                self.roster.tombstones[member] = msgspec.structs.replace(last, number=number)
        return outputs

    def give_up(self, lost: GiveUp, now_ms: float) -> list[Output]:
        """Messages are lost for good: go on without them, and say so."""
        member = lost.member
        if lost.is_unknown and self.member.discard(member):
            # Its last messages died with it: if they were shown here, nobody else would ever see them.
            self.repairs.forget(member)
            return []
        card = lost.card or self.roster.find_card(member)
        is_stranger = member != self.me and member not in self.roster.views
        self.counts.missed += lost.last - lost.first + 1
        outputs: list[Output] = [Missed(member, lost.first, lost.last)]
        if is_stranger and card is not None:
            self.roster.load([card], now_ms)
            if self.is_here(member):
                outputs.append(Joined(member, card.name, None))
        outputs.extend(self.show(self.member.advance(member, lost.last), now_ms))
        if is_stranger and card is None and not self.repairs.lacks(member):
            outputs.extend(self.bury(member, now_ms))
        if self.phase is Phase.IN:
            # Among what was lost may have been that this member is taken for gone.
            outputs.extend(self.come_in(BACK, now_ms))
        return outputs

    def bury(self, member: int, now_ms: float) -> list[Output]:
        """Forget a member: everybody has all that it sent."""
        number = self.member.clock.get(member, 0)
        deliveries = self.member.forget(member)
        self.roster.bury(member, number, now_ms)
        self.retained.drop_up_to(member, EVERYTHING)
        self.reports.drop(member)
        self.repairs.forget(member)
        forgotten: list[Output] = [] if self.voice is self.member else [Forgotten(member)]
        return [*self.show(deliveries, now_ms), *forgotten]

    def _take_change(self, kind: int, message: CausalMessage, now_ms: float) -> list[Output]:
        stamp = message.stamp
        view = self.roster.views.get(stamp.member)
        if kind == LEFT:
            is_news = self.roster.end(stamp.member, HAS_LEFT, stamp, now_ms)
            return [Left(stamp.member, view.name, message)] if view is not None and is_news else []
        if kind in (JOINED, BACK) and (view is None or view.state != HAS_LEFT):
            introduction = decode_introduction(message.body)
            self.roster.enter(stamp, introduction, now_ms)
            if view is None or not view.is_here:
                return [Joined(stamp.member, introduction.name, message)]
        return []

    def _take_gone(self, kind: int, message: CausalMessage, now_ms: float) -> list[Output]:
        who, _ = decode_gone(message.body)
        if who == self.me:
            if self.voice is not self.member:
                # Whoever sees the answer has seen this before, also if the application here has not yet.
                self.voice.follow(message.stamp)
            if self.phase is Phase.IN:
                return self.come_in(BACK, now_ms)
            self.must_say_back = True
            return []
        if self.roster.end(who, IS_GONE, message.stamp, now_ms):
            return [Gone(who, self.roster.views[who].name, message)]
        return []
