"""The way into a group without a hub (Fig. 3a): the answers of its members, until there are enough to begin.

Each member that is asked answers with its clock and with whom it knows. The new one begins at the union of what they
had: whatever one of them had been shown, it had been shown all that it follows from, so that nothing that the newcomer
is shown follows from something that it is shown later. Every message that it still needs was unknown to each member
when it answered: whoever delivers one knows of the newcomer and keeps it for it, and none is forgotten before the
newcomer has it, also if its sender dies.

A member may have answered before it sent what another one has already seen. It is then asked again, and its second
answer must confirm it; who claims more of another one's messages than that one itself is not believed.

Promises:
- Nobody in the group waits for this.
- A lie about the messages of one who answers is not believed; about one who is silent, it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from pregon.causal.peer_frames import HERE, IS_LEAVING, Card, StartFrame
from pregon.causal.peer_outputs import PeerOptions


class Entry:
    """The answers so far."""

    def __init__(self, me: int, group: int, known: Iterable[int], options: PeerOptions) -> None:
        self._me = me
        self._known = set(known) - {me}
        """Who is waited for besides those of whom the answers tell."""
        self._options = options
        self._firsts: dict[int, StartFrame] = {}
        self._own: dict[int, int] = {}
        """Of each who answered, the number of its last message in its newest answer."""
        self._claims: dict[int, int] = {}
        """Of each member, how far the others had seen its messages in their first answers."""
        self._cards: dict[int, tuple[Card, StartFrame]] = {}
        self._since_ms = 0.0
        self.is_gone = False
        """Whether somebody takes this member for gone."""
        self.group = group
        """0 until the first answer: the newcomer takes the group of who answers first."""
        self.next_ms = 0.0
        """When the request is due again."""

    def answer(self, frame: StartFrame, now_ms: float) -> bool:
        """A member has answered; whether it told of somebody who was not known."""
        if self.group not in (0, frame.group):
            return False
        sender = frame.sender
        self._own[sender] = max(self._own.get(sender, 0), frame.clock.get(sender, 0))
        if sender in self._firsts:
            return False
        if not self._firsts:
            self.group, self._since_ms = frame.group, now_ms
        self._firsts[sender] = frame
        for member, number in frame.clock.items():
            if member != sender and number > self._claims.get(member, 0):
                self._claims[member] = number
        known = len(self._cards)
        self._take_cards(frame)
        return len(self._cards) > known

    def is_complete(self, now_ms: float) -> bool:
        """Whether all have answered who will."""
        if not self._firsts:
            return False
        return now_ms - self._since_ms >= self._options.start_ms or not self.unanswered()

    def unanswered(self) -> set[int]:
        """Who must be asked, or asked again."""
        here = {member for member, (card, _) in self._cards.items() if card.state in (HERE, IS_LEAVING)}
        own, claims = self._own, self._claims
        return {member for member in here | self._known if member not in own or own[member] < claims.get(member, 0)}

    def claimed(self, member: int) -> int:
        """How far anybody but the member itself has seen its messages."""
        return self._claims.get(member, 0)

    def clock(self) -> dict[int, int]:
        """Where the newcomer begins: at all that anybody had who answered, when it did so first.

        Whatever one of them had then, it had all that this follows from. A second answer's number would break that.
        """
        found: dict[int, int] = {}
        for frame in self._trusted():
            for member, number in frame.clock.items():
                found[member] = max(number, found.get(member, 0))
        found.pop(self._me, None)
        return found

    def after(self) -> dict[int, int]:
        """What the newcomer's first message depends on: of each member that answered, what another one has seen too."""
        trusted = self._trusted()
        clock = {member: number for member, number in self.clock().items() if member in self._own}
        if len(trusted) == 1:
            return clock
        found = {
            member: min(number, max(f.clock.get(member, 0) for f in trusted if f.sender != member))
            for member, number in clock.items()
        }
        return {member: number for member, number in found.items() if number}

    def _trusted(self) -> list[StartFrame]:
        """The first answers, without those that claim more of another one's messages than that one itself does."""
        own = self._own
        firsts = list(self._firsts.values())
        honest = [f for f in firsts if all(n <= own[m] for m, n in f.clock.items() if m in own and m != f.sender)]
        return honest or firsts

    def rows(self) -> dict[int, dict[int, int]]:
        """What each member that answered had then."""
        return {member: frame.clock for member, frame in self._firsts.items()}

    def cards(self) -> list[Card]:
        """The members, as those who answered know them."""
        return [card for card, _ in self._cards.values()]

    def buried(self) -> dict[int, int]:
        """Those in the clocks of whom nobody tells any more: they are forgotten."""
        return {member: number for member, number in self.clock().items() if member not in self._cards}

    def _take_cards(self, frame: StartFrame) -> None:
        for card in frame.cards:
            if card.member == self._me:
                self.is_gone |= card.state not in (HERE, IS_LEAVING)
                continue
            other = self._cards.get(card.member)
            if other is None or _is_later(card, frame, *other):
                self._cards[card.member] = (card, frame)


def _is_later(card: Card, frame: StartFrame, other: Card, other_frame: StartFrame) -> bool:
    """Whether who told of the first knew already what the other one told."""
    if card.event == other.event:
        return False
    if card.event is None or other_frame.clock.get(card.event.member, 0) >= card.event.number:
        return False
    if other.event is None or frame.clock.get(other.event.member, 0) >= other.event.number:
        return True
    # Neither knew: one who is only thought to be gone will say so itself.
    return card.state not in (HERE, IS_LEAVING)
