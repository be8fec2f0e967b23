"""A member of a group without a hub: joins, leaves, deaths, returns and losses, around the causal order of `member`.

Members tell each other everything themselves; nobody is special. `membership` knows who is in, `entry` how one gets in,
`stability` what everybody has, `repair` how what was lost is asked for again, `peer_frames` what is said. Whoever moves
the bytes calls `receive` for each frame that comes and `tick` every now and then, and does what they return.

JOINED, LEFT, GONE and BACK are messages like any other, so that everybody sees the members change in an order that
agrees with what they say. GONE is one member's opinion: who hears that of itself says BACK.

Promises:
- What the application is shown is in causal order, each message once; what it will never be shown, it is told (Missed).
- A message reaches every member that was in when it was sent and stays in, or is away for less than `forget_ms`, unless
  so much was sent meanwhile that nobody retains it.
- Everything is bounded; what everybody has is forgotten.
- No frame, whatever its bytes, makes `receive` raise.
- Same calls, same answers: no clock and no randomness are read here.
"""

from __future__ import annotations

from collections.abc import Mapping

from pregon.causal.entry import Entry
from pregon.causal.hearing import Hearing
from pregon.causal.history import History
from pregon.causal.member import Member
from pregon.causal.membership import PeerView
from pregon.causal.peer_bytes import decode_frame, encode_frame
from pregon.causal.peer_frames import (
    ADDRESS_BYTES_MAX,
    BACK,
    JOINED,
    LEFT,
    ORDINARY,
    JoinFrame,
    LeavingFrame,
    MessageFrame,
)
from pregon.causal.peer_outputs import Inside, Output, PeerCounts, PeerOptions, PeerState, Send, Shown
from pregon.causal.stamps import Stamp
from pregon.causal.standing import Phase, Standing
from pregon.causal.upkeep import Upkeep
from pregon.errors import BadName, BadRequest, TooLarge
from pregon.limits import BODY_BYTES_MAX, GROUP_NUMBER_MAX, NICK_CHARACTERS_MAX

_ENTERING = (Phase.JOINING, Phase.RETURNING)
_TALKING = (Phase.RETURNING, Phase.IN, Phase.LEAVING)


class Peer:
    """One member."""

    def __init__(self, me: int, name: str, now_ms: float, options: PeerOptions | None = None) -> None:
        options = options if options is not None else PeerOptions()
        _check_identity(me, name, options.address)
        member = Member(me, history=History(options.history_max))
        voice = Member(me, history=History(options.history_max)) if options.shows_later else member
        self._begin(Standing(member, voice, name, 0, options), now_ms)

    @classmethod
    def resume(cls, state: PeerState, now_ms: float, options: PeerOptions | None = None) -> Peer:
        """The peer that had this state; `join` brings it back. Raises BadRequest for a state that is none."""
        options = options if options is not None else PeerOptions()
        _check_identity(state.member.me, state.name, options.address)
        peer = cls.__new__(cls)
        member = Member.restore(state.member, history=History(options.history_max))
        voice = member
        if options.shows_later:
            voice = Member.restore(state.voice or state.member, history=History(options.history_max))
        standing = Standing(member, voice, state.name, state.group, options)
        for number, last in state.tombstones.items():
            member.forget(number)
            # Nobody waits any more to hear of these, and newcomers should not.
            standing.roster.bury(number, last, now_ms - options.forget_ms)
        standing.roster.load(state.cards, now_ms)
        for frame in state.frames:
            kept = decode_frame(frame)
            if isinstance(kept, MessageFrame):
                standing.retained.add(kept.message.stamp, frame)
        peer._begin(standing, now_ms)
        return peer

    def _begin(self, standing: Standing, now_ms: float) -> None:
        self._standing = standing
        self._hearing = Hearing(standing)
        self._upkeep = Upkeep(standing, now_ms)
        self._left_ms = 0.0

    @property
    def me(self) -> int:
        """The number of this member."""
        return self._standing.me

    @property
    def name(self) -> str:
        """Its name."""
        return self._standing.name

    @property
    def member(self) -> Member:
        """Its causal order."""
        return self._standing.member

    @property
    def members(self) -> Mapping[int, PeerView]:
        """Everybody that is in the group or was and is not forgotten, this one too."""
        return self._standing.roster.views

    @property
    def history(self) -> History:
        """How the messages that were shown, and its own, stand to each other."""
        return self._standing.voice.history

    @property
    def counts(self) -> PeerCounts:
        """What it has seen that should not be, and what it did about losses."""
        return self._standing.counts

    @property
    def is_in(self) -> bool:
        """Whether it is a member and may speak."""
        return self._standing.phase is Phase.IN

    @property
    def is_done(self) -> bool:
        """Whether it has left, and the others have its last messages or have had the time."""
        return self._standing.phase is Phase.DONE

    @property
    def retained_count(self) -> int:
        """Messages that somebody may lack."""
        return len(self._standing.retained)

    @property
    def unheard_count(self) -> int:
        """Its own last messages that some member who is here has not reported yet."""
        here = [member for member in self._standing.roster.here() if member != self.me]
        sent = self.member.clock.get(self.me, 0)
        return max(0, sent - self._standing.reports.stable(self.me, here))

    @property
    def addresses(self) -> dict[int, str]:
        """Where everybody is found that this one may have to talk to."""
        roster, entry = self._standing.roster, self._standing.entry
        found = {member: joiner.address for member, joiner in roster.joining.items()}
        found.update({card.member: card.address for card in (entry.cards() if entry is not None else ())})
        found.update({member: view.address for member, view in roster.views.items()})
        return {member: address for member, address in found.items() if address and member != self.me}

    def found(self, now_ms: float) -> list[Output]:
        """Be the first member of a new group; raises BadRequest."""
        self._require(Phase.OUT, "found a group")
        standing = self._standing
        standing.group, standing.phase = self.me, Phase.IN
        return [*standing.come_in(JOINED, now_ms), Inside()]

    def join(self, now_ms: float) -> list[Output]:
        """Ask whoever is there to be let in, until it is; raises BadRequest."""
        self._require(Phase.OUT, "join")
        standing = self._standing
        known = [member for member in standing.roster.here() if member != self.me]
        standing.entry = Entry(self.me, standing.group, known, standing.options)
        standing.phase = Phase.RETURNING if standing.group else Phase.JOINING
        if standing.group and not known:
            # It was alone: nobody can know more than it does itself.
            return self._enter(now_ms)
        return self._ask_to_join(now_ms)

    def broadcast(self, body: bytes, now_ms: float) -> tuple[Stamp, list[Output]]:
        """Say something to everybody; raises BadRequest while it is not in, TooLarge."""
        self._require(Phase.IN, "send")
        if len(body) > BODY_BYTES_MAX:
            raise TooLarge(f"a message has at most {BODY_BYTES_MAX} bytes; this one has {len(body)}")
        message, outputs = self._standing.send(ORDINARY, body)
        return message.stamp, outputs

    def shown(self, output: Shown) -> None:
        """The application has been shown this; only for options with `shows_later`."""
        self._standing.shown(output)

    def receive(self, frame: bytes, now_ms: float, source: int | None = None) -> list[Output]:
        """A frame has come; `source` is the member on whose connection it came, if that is known."""
        outputs = self._hearing.hear(frame, now_ms, source)
        if self._standing.phase in _ENTERING:
            outputs.extend(self._try_to_enter(now_ms))
        return outputs

    def tick(self, now_ms: float) -> list[Output]:
        """Time has passed."""
        self._hearing.answers.refill()
        self._upkeep.notice_sleep(now_ms)
        outputs: list[Output] = []
        if self._standing.phase in _ENTERING:
            outputs.extend(self._try_to_enter(now_ms))
        if self._standing.phase in _TALKING:
            outputs.extend(self._upkeep.tick(now_ms))
        if self._standing.phase is Phase.LEAVING and self._may_go(now_ms):
            self._standing.phase = Phase.DONE
        return outputs

    def leave(self, now_ms: float) -> list[Output]:
        """Leave the group; `tick` on until `is_done`, so that the others get its last messages."""
        standing = self._standing
        if standing.phase is not Phase.IN:
            standing.phase, standing.entry = Phase.DONE, None
            return []
        announced = Send(None, encode_frame(LeavingFrame(self.me)))
        _, outputs = standing.send(LEFT, b"")
        standing.phase, self._left_ms = Phase.LEAVING, now_ms
        return [announced, *outputs, *self._upkeep.report_all(now_ms)]

    def state(self) -> PeerState:
        """What to keep in order to come back as the same member; raises BadRequest for one who never was in.

        What it says must be kept before what the same call returned is sent: the others forget what a member has
        reported, so who comes back with an older state may be told that it missed something.
        """
        standing = self._standing
        if standing.group == 0 or standing.phase in (Phase.JOINING, Phase.LEAVING, Phase.DONE):
            raise BadRequest("this peer is not a member, so it has nothing to come back with: join first")
        return PeerState(
            name=standing.name,
            group=standing.group,
            member=standing.member.state(),
            voice=None if standing.voice is standing.member else standing.voice.state(),
            cards=standing.roster.cards(),
            tombstones={member: stone.number for member, stone in standing.roster.tombstones.items()},
            frames=standing.retained.frames(),
        )

    def _require(self, phase: Phase, verb: str) -> None:
        if self._standing.phase is not phase:
            raise BadRequest(f"a peer that is {self._standing.phase.value} cannot {verb}: it must be {phase.value}")

    def _ask_to_join(self, now_ms: float) -> list[Output]:
        standing, entry = self._standing, self._standing.entry
        if entry is None or now_ms < entry.next_ms:
            return []
        entry.next_ms = now_ms + standing.options.join_ms
        clock = standing.whole_clock(now_ms) if standing.group else {}
        frame = JoinFrame(self.me, standing.group, standing.name, standing.options.address, clock)
        return [Send(None, encode_frame(frame))]

    def _try_to_enter(self, now_ms: float) -> list[Output]:
        standing, entry = self._standing, self._standing.entry
        assert entry is not None
        is_caught_up = standing.phase is Phase.JOINING or self.member.clock.get(self.me, 0) >= entry.claimed(self.me)
        if entry.is_complete(now_ms) and is_caught_up:
            return self._enter(now_ms)
        return self._ask_to_join(now_ms)

    def _enter(self, now_ms: float) -> list[Output]:
        standing, entry = self._standing, self._standing.entry
        assert entry is not None
        is_new = standing.phase is Phase.JOINING
        if is_new:
            self._begin_where_they_are(entry, now_ms)
        standing.phase, standing.entry = Phase.IN, None
        outputs: list[Output] = []
        if is_new or standing.must_say_back or entry.is_gone:
            outputs.extend(standing.come_in(JOINED if is_new else BACK, now_ms))
        outputs.append(Inside())
        outputs.extend(self._upkeep.report_all(now_ms))
        outputs.extend(self._hearing.take_early(now_ms))
        return outputs

    def _begin_where_they_are(self, entry: Entry, now_ms: float) -> None:
        standing, member = self._standing, self.member
        standing.group = entry.group
        member.clock.update(entry.clock())
        standing.voice.clock.update(entry.clock())
        standing.voice.frontier.update(entry.after())
        standing.roster.load(entry.cards(), now_ms)
        for number, row in entry.rows().items():
            standing.reports.replace(number, row)
        for number in entry.buried():
            standing.bury(number, now_ms)
            standing.voice.forget(number)

    def _may_go(self, now_ms: float) -> bool:
        standing = self._standing
        others = [member for member in standing.roster.here() if member != self.me]
        is_told = standing.reports.stable(self.me, others) >= self.member.clock[self.me]
        return is_told or now_ms - self._left_ms >= standing.options.leave_ms


def _check_identity(me: int, name: str, address: str) -> None:
    """Raises BadRequest, BadName."""
    if not 1 <= me <= GROUP_NUMBER_MAX:
        raise BadRequest(f"{me} is no number of a member: they go from 1 to {GROUP_NUMBER_MAX}")
    if not 1 <= len(name) <= NICK_CHARACTERS_MAX or not name.isprintable() or name != name.strip():
        raise BadName(f"{name[:60]!r} is no name of a member: 1 to {NICK_CHARACTERS_MAX} printable characters")
    if len(address.encode()) > ADDRESS_BYTES_MAX:
        raise BadRequest(f"the address of a member has at most {ADDRESS_BYTES_MAX} bytes")
