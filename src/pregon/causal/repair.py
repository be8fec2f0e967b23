"""Losses: what is missing is asked for again, of who sent it first and then of whoever has it.

What is missing is learnt in two ways: a message that came depends on it, or somebody's report says that it exists. It
is waited for a moment, because it may only be late; then asked for, each time longer apart, of another one each time.
The sender's own word that it never sent such a thing keeps a lie from being chased; when all who had it say that they
no longer do, it is given up.

Promises:
- What is asked for, and what is repeated for others, is bounded in each tick: who asks for much is served slowly.
- Same calls, same answers: no clock and no randomness are read here.
"""

from __future__ import annotations

from collections.abc import Callable, Container

import msgspec

from pregon.causal.member import Gap, Member
from pregon.causal.peer_frames import CLOCK_MEMBERS_MAX, Card, LostFrame
from pregon.causal.peer_outputs import PeerOptions
from pregon.causal.stamps import Stamp

_RANGES_MAX = 8
_BACKOFF_MAX = 4
_TRIES_WITH_HOPE = 6

Holders = Callable[[int, int], list[int]]


class Ask(msgspec.Struct, frozen=True):
    """Ask somebody for messages first..last of a member."""

    of: int
    member: int
    first: int
    last: int


class GiveUp(msgspec.Struct, frozen=True):
    """Messages first..last of a member are lost for good."""

    member: int
    first: int
    last: int
    card: Card | None
    """Who that member is, if somebody said so."""
    is_unknown: bool = False
    """Nobody is left who was ever shown them."""


class _Chase(msgspec.Struct):
    """What is done about the missing messages of one member."""

    first: int
    next_ms: float
    alone_ms: float | None = None
    """Since when nobody has it who could be asked."""
    lost_ms: float | None = None
    """Since when all who had it have said that they no longer do."""
    tries: int = 0
    lost: dict[int, int] = msgspec.field(default_factory=dict)
    """Who has said to have forgotten them, and up to which."""
    card: Card | None = None


class Repairs:
    """What one member lacks, and how it comes by it."""

    def __init__(self, member: Member, holders: Holders, options: PeerOptions) -> None:
        self._member = member
        self._holders = holders
        self._options = options
        self._claims: dict[int, int] = {}
        """How far each member's messages go, by what reports say."""
        self._ends: dict[int, tuple[int, float]] = {}
        """How far they go by its own word, and until when that is believed."""
        self._chases: dict[int, _Chase] = {}

    def __len__(self) -> int:
        return len(self._chases)

    def note(self, row: dict[int, int]) -> None:
        """Somebody has these."""
        clock, claims, settled = self._member.clock, self._claims, self._member.settled
        for sender, number in row.items():
            known = max(clock.get(sender, 0), claims.get(sender, 0))
            if number > known and sender not in settled and (sender in claims or len(claims) < CLOCK_MEMBERS_MAX):
                claims[sender] = number

    def note_end(self, sender: int, last: int, now_ms: float) -> None:
        """A sender says itself that there is nothing after a number."""
        if sender in self._claims:
            # It was asked after somebody claimed that there is more: whatever is claimed beyond this is not so.
            self._claims[sender] = min(self._claims[sender], last)
        self._ends[sender] = (last, now_ms + self._options.ask_ms * 2**_BACKOFF_MAX)

    def note_sent(self, sender: int, number: int) -> None:
        """A sender says itself, or has shown, that there is this number."""
        if sender in self._ends and self._ends[sender][0] < number:
            del self._ends[sender]

    def note_lost(self, frame: LostFrame, card: Card | None) -> None:
        """Somebody no longer has what it was asked for."""
        chase = self._chases.get(frame.member)
        if chase is not None and frame.first <= chase.first <= frame.last:
            chase.lost[frame.sender] = frame.last
            chase.card = card or chase.card
            # The next one is asked at once: this was an answer, not a silence.
            chase.next_ms = 0.0

    def wants(self, member: int) -> bool:
        """Whether something of a member is missing."""
        return member in self._chases

    def lacks(self, member: int) -> bool:
        """Whether there is more of a member than was delivered here, as far as anything tells."""
        known = self._member.clock.get(member, 0)
        return self._claims.get(member, 0) > known or any(gap.member == member for gap in self._member.gaps())

    def forget(self, member: int) -> None:
        """Nothing more is wanted of a member."""
        self._claims.pop(member, None)
        self._ends.pop(member, None)
        self._chases.pop(member, None)
        for chase in self._chases.values():
            chase.lost.pop(member, None)

    def plan(self, now_ms: float, here: Container[int], able: Container[int]) -> list[Ask | GiveUp]:
        """What to do about what is missing now. Who is `here` was heard of lately; who is `able` may yet come back."""
        wanted = self._wanted(now_ms)
        for sender in [sender for sender in self._chases if sender not in wanted]:
            del self._chases[sender]
        due: list[tuple[float, int]] = []
        for sender in wanted:
            first = self._member.clock.get(sender, 0) + 1
            chase = self._chases.get(sender)
            if chase is None:
                self._chases[sender] = _Chase(first, now_ms + self._options.ask_ms)
            elif chase.first != first:
                # Some of it came: go on soon, and begin again with the one who sent it.
                next_ms = min(chase.next_ms, now_ms + self._options.ask_ms)
                self._chases[sender] = _Chase(first, next_ms, chase.alone_ms)
            elif chase.next_ms <= now_ms:
                due.append((chase.next_ms, sender))
        plan: list[Ask | GiveUp] = []
        for _, sender in sorted(due)[: self._options.asks_max]:
            plan.extend(self._chase(sender, wanted[sender], now_ms, here, able))
        return plan

    def _wanted(self, now_ms: float) -> dict[int, int]:
        """Up to which number something of a member is missing."""
        clock, settled = self._member.clock, self._member.settled
        self._claims = {s: n for s, n in self._claims.items() if n > clock.get(s, 0) and s not in settled}
        wanted = dict(self._claims)
        for gap in self._member.gaps():
            wanted[gap.member] = max(wanted.get(gap.member, 0), gap.last)
            if self._is_hopeless(gap):
                self._doubt(gap.wanted_by)
        for sender, (last, until_ms) in list(self._ends.items()):
            if until_ms <= now_ms:
                del self._ends[sender]
            elif sender in wanted:
                wanted[sender] = min(wanted[sender], last)
                if wanted[sender] <= clock.get(sender, 0):
                    del wanted[sender]
        return wanted

    def _is_hopeless(self, gap: Gap) -> bool:
        """Whether nobody has what is missing, as it seems: its sender denies it, or no one who can be asked has it."""
        if gap.member in self._ends:
            return gap.last > self._ends[gap.member][0]
        chase = self._chases.get(gap.member)
        return chase is not None and chase.alone_ms is not None and chase.tries > _TRIES_WITH_HOPE

    def _doubt(self, held: Stamp) -> None:
        """Hold a message back no longer that waits for what does not exist, if others have delivered it: its sender may
        have told each member another thing, and their copy can be delivered here too."""
        if any(holder != held.member for holder in self._holders(*held)):
            self._member.give_up(held)

    def _chase(
        self, sender: int, last: int, now_ms: float, here: Container[int], able: Container[int]
    ) -> list[Ask | GiveUp]:
        chase = self._chases[sender]
        ranges = self._ranges(sender, chase.first, last)
        if not ranges:
            # All of it is held back here already, and waits for something else.
            return []
        holders = [one for one in self._holders(sender, chase.first) if one in able]
        may_have = [one for one in holders if one != self._member.me and chase.lost.get(one, 0) < chase.first]
        is_sender_asked = sender in able and sender != self._member.me and chase.lost.get(sender, 0) < chase.first
        self._note_hope(chase, bool(holders), bool(may_have) or is_sender_asked, now_ms)
        if self._is_given_up(chase, sender, now_ms):
            known = [chase.lost[one] for one in holders if one in chase.lost]
            is_unknown = chase.lost_ms is None
            return [GiveUp(sender, chase.first, min([*known, ranges[0][1]]), chase.card, is_unknown)]
        if is_sender_asked and sender not in may_have:
            may_have.insert(0, sender)
        of = self._choose(sender, may_have, chase.tries, here)
        chase.tries += 1
        # A lost question or answer is more likely than a busy member: only the fourth silence makes the waits longer.
        chase.next_ms = now_ms + self._options.ask_ms * 2 ** min(max(chase.tries - 2, 1), _BACKOFF_MAX)
        return [] if of is None else [Ask(of, sender, first, end) for first, end in ranges]

    def _note_hope(self, chase: _Chase, was_had: bool, may_be_had: bool, now_ms: float) -> None:
        """Remember since when there is none: because nobody has it, or because all who had it have forgotten it."""
        if may_be_had:
            chase.alone_ms = chase.lost_ms = None
        elif was_had:
            chase.lost_ms = now_ms if chase.lost_ms is None else chase.lost_ms
        else:
            chase.alone_ms = now_ms if chase.alone_ms is None else chase.alone_ms

    def _is_given_up(self, chase: _Chase, sender: int, now_ms: float) -> bool:
        """Whether it was waited long enough for somebody else to say that it has it."""
        options = self._options
        if chase.lost_ms is not None:
            patience_ms = 2 * options.beat_ms if sender in chase.lost else options.dead_ms
            return now_ms - chase.lost_ms >= patience_ms
        # One who was known has had the time to come back; of one who was not, somebody may yet tell.
        patience_ms = options.dead_ms if sender in self._member.clock else options.forget_ms
        return chase.alone_ms is not None and now_ms - chase.alone_ms >= patience_ms

    @staticmethod
    def _choose(sender: int, may_have: list[int], tries: int, here: Container[int]) -> int | None:
        """Whom to ask: every other time who sent it, the others in turn; who is not here only if nobody else is."""
        at_hand = [one for one in may_have if one in here] or may_have
        others = [one for one in at_hand if one != sender]
        if sender in at_hand and (tries % 2 == 0 or not others):
            return sender
        return others[tries // 2 % len(others)] if others else None

    def _ranges(self, sender: int, first: int, last: int) -> list[tuple[int, int]]:
        """What is missing of first..last and is not held back already, a bounded part of it."""
        left = self._options.ask_messages_max
        ranges: list[tuple[int, int]] = []
        at = first
        for held in [*self._member.held.of_member(sender), last + 1]:
            end = min(held - 1, last, at + left - 1)
            if at <= end:
                ranges.append((at, end))
                left -= end - at + 1
            at = max(at, held + 1)
            if left <= 0 or at > last or len(ranges) == _RANGES_MAX:
                break
        return ranges


class Answers:
    """How much is repeated for others in one tick."""

    def __init__(self, options: PeerOptions) -> None:
        self._options = options
        self._messages: dict[int, int] = {}
        self._bytes = 0

    def refill(self) -> None:
        """A tick has passed."""
        self._messages.clear()
        self._bytes = 0

    def may_repeat(self, asker: int, size: int) -> bool:
        """Whether one more message may be repeated for one who asks; it is counted."""
        count = self._messages.get(asker, 0)
        if count >= self._options.answer_messages_max or self._bytes + size > self._options.answer_bytes_max:
            return False
        self._messages[asker] = count + 1
        self._bytes += size
        return True
