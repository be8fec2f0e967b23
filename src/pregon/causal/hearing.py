"""What a member of a group without a hub does with each frame that it hears.

Promises:
- Nothing that is heard raises: what cannot be read, is not from who it says it is, or is another group's, is counted
  and dropped.
- What one frame makes it do or keep is bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pregon.causal.message import CausalMessage
from pregon.causal.peer_bytes import decode_frame, decode_introduction, encode_frame, encode_repair
from pregon.causal.peer_frames import (
    HERE,
    IS_LEAVING,
    JOINED,
    AskFrame,
    JoinFrame,
    LeavingFrame,
    LostFrame,
    MessageFrame,
    NeverFrame,
    RefusedFrame,
    ReportFrame,
    Sealed,
    StartFrame,
)
from pregon.causal.peer_outputs import Output, Refused, Send
from pregon.causal.repair import Answers
from pregon.causal.stamps import Stamp
from pregon.causal.standing import Phase, Standing
from pregon.errors import BadRequest, NotFound, PregonError, error_from_code
from pregon.limits import GROUP_MEMBERS_MAX


class Hearing:
    """The ears of one member."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self.answers = Answers(standing.options)
        self._early: list[CausalMessage] = []
        """Messages that came while this member was joining."""
        self._take: dict[type[Any], Callable[[Any, float], list[Output]]] = {
            JoinFrame: self._take_join,
            StartFrame: self._take_start,
            RefusedFrame: self._take_refused,
            ReportFrame: self._take_report,
            AskFrame: self._take_ask,
            LostFrame: self._take_lost,
            NeverFrame: self._take_never,
            LeavingFrame: self._take_leaving,
        }

    def hear(self, data: bytes, now_ms: float, source: int | None) -> list[Output]:
        """A frame has come, on the connection of a member if that is known."""
        standing = self._standing
        try:
            frame = decode_frame(data)
        except BadRequest:
            standing.counts.malformed += 1
            return []
        if isinstance(frame, MessageFrame):
            sender = source if frame.is_repair else frame.message.stamp.member
        else:
            sender = frame.sender
        if source is not None and sender != source:
            standing.counts.forged += 1
            return []
        if sender == standing.me:
            return []
        if sender is not None:
            standing.roster.heard(sender, now_ms)
        if isinstance(frame, MessageFrame):
            return self._take_message(frame, now_ms)
        return self._take[type(frame)](frame, now_ms)

    def take_early(self, now_ms: float) -> list[Output]:
        """What came while this member was joining, now that it is in."""
        early, self._early = self._early, []
        outputs: list[Output] = []
        for message in early:
            outputs.extend(self._take_message(MessageFrame(message, False), now_ms))
        return outputs

    def _take_message(self, frame: MessageFrame, now_ms: float) -> list[Output]:
        standing, message = self._standing, frame.message
        if standing.phase is Phase.JOINING:
            if len(self._early) < standing.options.early_max:
                self._early.append(message)
            return []
        if standing.phase in (Phase.OUT, Phase.DONE) or not self._is_ours(message):
            return []
        if not frame.is_repair:
            standing.repairs.note_sent(*message.stamp)
        return standing.show(standing.member.receive(message), now_ms)

    def _is_ours(self, message: CausalMessage) -> bool:
        """Whether a message belongs here: not another group's, not under a name that is taken."""
        standing, stamp = self._standing, message.stamp
        sealed: Sealed = message.body
        if sealed.kind == JOINED and decode_introduction(sealed.body).group != standing.group:
            standing.counts.foreign += 1
            return False
        if stamp.number <= standing.member.clock.get(stamp.member, 0):
            known = standing.retained.find(stamp)
            standing.counts.conflicts += known is not None and known != sealed.frame
            return True
        if stamp.member == standing.me and standing.phase is not Phase.RETURNING:
            # Somebody speaks as this member, and says what it never said.
            standing.counts.conflicts += 1
            return False
        return stamp.number > 1 or len(standing.roster.views) < GROUP_MEMBERS_MAX

    def _take_join(self, frame: JoinFrame, now_ms: float) -> list[Output]:
        standing = self._standing
        if standing.phase is not Phase.IN:
            return []
        error = standing.roster.refusal(frame, standing.group)
        if error is not None:
            return [self._refuse(frame.sender, error)]
        if not frame.group:
            if frame.sender not in standing.roster.joining:
                standing.reports.drop(frame.sender)
            standing.roster.expect(frame, now_ms)
        elif not self._take_return(frame):
            return []
        clock = standing.whole_clock(now_ms)
        cards = tuple(standing.roster.cards())
        start = StartFrame(standing.me, standing.group, frame.sender, clock, cards)
        return [Send(frame.sender, encode_frame(start))]

    def _take_return(self, frame: JoinFrame) -> bool:
        """A member comes back with what it remembers: from now on the rest is kept for it."""
        standing = self._standing
        view = standing.roster.views.get(frame.sender)
        if view is None:
            # Its first message has not come here yet: others will answer it.
            return False
        view.address = frame.address
        standing.reports.replace(frame.sender, frame.clock)
        return True

    def _take_start(self, frame: StartFrame, now_ms: float) -> list[Output]:
        standing = self._standing
        entry = standing.entry
        if entry is None or frame.to != standing.me:
            return []
        if entry.group not in (0, frame.group):
            standing.counts.foreign += 1
            return []
        if entry.answer(frame, now_ms):
            entry.next_ms = now_ms
        if standing.phase is Phase.RETURNING:
            standing.reports.replace(frame.sender, frame.clock)
            standing.repairs.note(frame.clock)
        return []

    def _take_refused(self, frame: RefusedFrame, now_ms: float) -> list[Output]:
        standing = self._standing
        if frame.to != standing.me or standing.phase in (Phase.OUT, Phase.DONE):
            return []
        if standing.phase is not Phase.JOINING:
            # Who is in, or comes back, is put out only by one that it knows, and only because it is forgotten there: an
            # answer to a request to join may come late, when the request has been granted.
            if frame.code != NotFound.code or frame.sender not in standing.roster.views:
                return []
            if standing.phase is Phase.LEAVING:
                standing.phase = Phase.DONE
                return []
        standing.phase, standing.entry = Phase.OUT, None
        return [Refused(error_from_code(frame.code, frame.reason))]

    def _take_report(self, frame: ReportFrame, now_ms: float) -> list[Output]:
        standing, sender = self._standing, frame.sender
        if standing.phase in (Phase.OUT, Phase.JOINING, Phase.DONE):
            return []
        if frame.group != standing.group:
            standing.counts.foreign += 1
            return []
        if sender in standing.roster.tombstones:
            return [self._refuse(sender, NotFound(f"member {sender} is forgotten here: join as another member"))]
        own = frame.clock.get(sender, 0)
        standing.repairs.note_sent(sender, own)
        if sender in standing.roster.views or sender in standing.roster.joining:
            standing.reports.take(frame)
            standing.repairs.note(frame.clock)
        elif own:
            standing.reports.take_stranger(frame, now_ms)
            standing.repairs.note({sender: own})
        return []

    def _take_ask(self, frame: AskFrame, now_ms: float) -> list[Output]:
        standing, member = self._standing, frame.member
        if standing.phase in (Phase.OUT, Phase.JOINING, Phase.DONE) or frame.sender in standing.roster.tombstones:
            return []
        buried = standing.roster.tombstones.get(member)
        known = buried.number if buried is not None else standing.member.clock.get(member, 0)
        last = min(frame.last, known, frame.first + standing.options.answer_messages_max - 1)
        first, outputs = self._forgotten(frame, last)
        for number in range(first, last + 1):
            raw = standing.retained.find(Stamp(member, number))
            if raw is None or not self.answers.may_repeat(frame.sender, len(raw)):
                break
            standing.counts.repaired += 1
            outputs.append(Send(frame.sender, encode_repair(raw)))
        if member == standing.me and frame.last > known:
            outputs.append(Send(frame.sender, encode_frame(NeverFrame(standing.me, known))))
        return outputs

    def _forgotten(self, frame: AskFrame, last: int) -> tuple[int, list[Output]]:
        """The first of the messages asked for that is still here, and what is said about those before it."""
        standing, first = self._standing, frame.first
        while first <= last and standing.retained.find(Stamp(frame.member, first)) is None:
            first += 1
        if first == frame.first:
            return first, []
        card = standing.roster.find_card(frame.member)
        lost = LostFrame(standing.me, frame.member, frame.first, first - 1, () if card is None else (card,))
        return first, [Send(frame.sender, encode_frame(lost))]

    def _take_lost(self, frame: LostFrame, now_ms: float) -> list[Output]:
        standing = self._standing
        roster = standing.roster
        is_known = frame.sender in roster.views or frame.sender in roster.joining or frame.sender == frame.member
        card = next((card for card in frame.cards if card.member == frame.member and is_known), None)
        standing.repairs.note_lost(frame, card)
        return []

    def _take_never(self, frame: NeverFrame, now_ms: float) -> list[Output]:
        self._standing.repairs.note_end(frame.sender, frame.last, now_ms)
        return []

    def _take_leaving(self, frame: LeavingFrame, now_ms: float) -> list[Output]:
        view = self._standing.roster.views.get(frame.sender)
        if view is not None and view.state == HERE:
            view.state = IS_LEAVING
        return []

    def _refuse(self, to: int, error: PregonError) -> Send:
        return Send(to, encode_frame(RefusedFrame(self._standing.me, to, error.code, str(error))))
