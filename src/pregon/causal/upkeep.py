"""What a member of a group without a hub does as time goes by: says what it has, asks for what it lacks, misses who is
silent, and forgets what everybody has."""

from __future__ import annotations

from pregon.causal.peer_bytes import encode_frame, encode_gone
from pregon.causal.peer_frames import GONE, IS_GONE, AskFrame, ReportFrame
from pregon.causal.peer_outputs import Gone, Output, Send
from pregon.causal.repair import GiveUp
from pregon.causal.standing import Phase, Standing

_RANKS_MAX = 10
_OLD = 2


class Upkeep:
    """The habits of one member."""

    def __init__(self, standing: Standing, now_ms: float) -> None:
        self._standing = standing
        self._ticked_ms = now_ms
        self._reported: dict[int, int] = {}
        self._reported_ms = now_ms
        self._told_all_ms = now_ms - standing.options.beat_ms

    def notice_sleep(self, now_ms: float) -> None:
        """See whether this process stood still, so that nobody is missed for it."""
        slept_ms = now_ms - self._ticked_ms
        self._ticked_ms = now_ms
        if slept_ms >= self._standing.options.dead_ms // 2:
            self._standing.roster.slept(slept_ms)

    def tick(self, now_ms: float) -> list[Output]:
        """All that is due."""
        standing = self._standing
        for member in standing.roster.expire_joining(now_ms):
            standing.reports.drop(member)
        outputs = self._suspect(now_ms) if standing.phase is Phase.IN else []
        outputs.extend(self._ask(now_ms))
        outputs.extend(self._forget(now_ms))
        outputs.extend(self.report(now_ms))
        return outputs

    def report(self, now_ms: float) -> list[Output]:
        """Say what was delivered here, if it is time: all of it now and then, what is new in between."""
        standing, options = self._standing, self._standing.options
        if now_ms - self._told_all_ms >= options.beat_ms:
            clock = standing.whole_clock(now_ms)
            self._reported = dict(clock)
            self._reported_ms = self._told_all_ms = now_ms
            return [Send(None, encode_frame(ReportFrame(standing.me, standing.group, True, clock)))]
        if now_ms - self._reported_ms < options.report_ms:
            return []
        clock = standing.whole_clock(now_ms)
        changed = {sender: number for sender, number in clock.items() if self._reported.get(sender) != number}
        if not changed:
            return []
        self._reported.update(changed)
        self._reported_ms = now_ms
        return [Send(None, encode_frame(ReportFrame(standing.me, standing.group, False, changed)))]

    def report_all(self, now_ms: float) -> list[Output]:
        """Say everything now."""
        self._told_all_ms = now_ms - self._standing.options.beat_ms
        return self.report(now_ms)

    def _suspect(self, now_ms: float) -> list[Output]:
        """Say who has not been heard of for too long; not all at once, because one such message is enough."""
        standing, options = self._standing, self._standing.options
        here = standing.roster.here()
        late_ms = now_ms - options.dead_ms
        outputs: list[Output] = []
        for member in here:
            view = standing.roster.views[member]
            if member == standing.me or view.heard_ms > late_ms:
                continue
            rank = min(sum(other < standing.me and other != member for other in here), _RANKS_MAX)
            if view.heard_ms > late_ms - 2 * options.report_ms * rank:
                continue
            message, sent = standing.send(GONE, encode_gone(member, standing.member.clock.get(member, 0)))
            standing.roster.end(member, IS_GONE, message.stamp, now_ms)
            outputs.extend([*sent, Gone(member, view.name, message)])
        return outputs

    def _ask(self, now_ms: float) -> list[Output]:
        standing = self._standing
        outputs: list[Output] = []
        lately_ms = now_ms - 2 * standing.options.beat_ms
        views = standing.roster.views.values()
        here = {view.member for view in views if view.is_here and view.heard_ms > lately_ms} - {standing.me}
        strangers = standing.reports.strangers(now_ms - standing.options.dead_ms)
        for step in standing.repairs.plan(now_ms, here, {*standing.roster.waited_for(now_ms), *strangers}):
            if isinstance(step, GiveUp):
                outputs.extend(standing.give_up(step, now_ms))
            else:
                standing.counts.asked += 1
                frame = AskFrame(standing.me, step.member, step.first, step.last)
                outputs.append(Send(step.of, encode_frame(frame)))
        return outputs

    def _forget(self, now_ms: float) -> list[Output]:
        """Drop what everybody has, and who has left or is gone when everybody has all that it sent."""
        standing, clock = self._standing, self._standing.member.clock
        others = [member for member in standing.roster.waited_for(now_ms) if member != standing.me]
        # Who is heard and not known yet may have come in on the other side of a cut, with those who are gone here.
        strangers = standing.reports.strangers(now_ms - standing.options.dead_ms)
        for sender in standing.retained.senders():
            stable = standing.reports.stable(sender, [*others, *strangers])
            standing.retained.drop_up_to(sender, min(stable, clock.get(sender, 0)))
        outputs: list[Output] = []
        old_ms = now_ms - _OLD * standing.options.forget_ms
        for view in list(standing.roster.views.values()):
            if view.member == standing.me or not standing.roster.may_forget(view, now_ms):
                continue
            number, is_old = clock.get(view.member, 0), view.ended_ms < old_ms
            is_more_known = any(standing.reports.has(stranger, view.member) > number for stranger in strangers)
            if standing.repairs.wants(view.member) or (is_more_known and not is_old):
                continue
            if standing.reports.is_agreed(view.member, number, others, or_unknown=is_old):
                outputs.extend(standing.bury(view.member, now_ms))
        return outputs
