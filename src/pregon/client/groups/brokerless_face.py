"""What a member of a group without a hub can be asked without waiting: the same in `PeerGroup` and `AsyncPeerGroup`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pregon.causal.peer import Peer
from pregon.causal.peer_outputs import PeerCounts
from pregon.causal.stamps import Stamp
from pregon.client.groups.brokerless_loop import PeerLoop
from pregon.client.groups.brokerless_mesh import Mesh
from pregon.client.groups.brokerless_parcel import encode_parcel
from pregon.client.groups.brokerless_state import (
    PeerGroupOptions,
    PeerGroupState,
    decode_state,
    encode_state,
    new_number,
)
from pregon.client.groups.events import GroupEvent, GroupMember
from pregon.client.groups.sending import Words
from pregon.clock import monotonic_ms, wall_us
from pregon.errors import AnswerTimeout, BadRequest
from pregon.model.names import check_name


def open_loop(group: str, name: str, listen: str, state: bytes | None, options: PeerGroupOptions) -> PeerLoop:
    """The loop of a new member, or of one that comes back, bound and not begun; raises what is wrong with either."""
    check_name("group", group)
    kept = decode_state(state, group) if state is not None else None
    if not name and kept is None:
        raise BadRequest("a member needs a name: PeerGroup(group, name=…)")
    mesh = Mesh(group, listen, publish=options.publish, advertise=options.advertise, queue_max=options.queue_max)
    try:
        settings = msgspec.structs.replace(options.peer, address=mesh.address, shows_later=True)
        now_ms = monotonic_ms()
        if kept is not None:
            peer = Peer.resume(kept.peer, now_ms, settings)
        else:
            peer = Peer(options.number if options.number is not None else new_number(), name, now_ms, settings)
    except BaseException:  # Whatever it was, it goes on to the caller, who has no mesh to close.
        mesh.close()
        raise
    return PeerLoop(peer, mesh, kept.pending if kept is not None else (), options.events_max, settings.tick_ms)


class PeerFace:
    """Asks the peer, under its lock."""

    SLOWED_S = 0.05
    """How long a message waits that would pass the window."""

    def __init__(self, group: str, loop: PeerLoop, options: PeerGroupOptions) -> None:
        self._group = group
        self._loop = loop
        self._options = options
        self._is_closed = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.group}: {self.name}, member {self.number}>"

    @property
    def group(self) -> str:
        """The name of the group."""
        return self._group

    @property
    def name(self) -> str:
        """The member's own name."""
        return self._loop.peer.name

    @property
    def number(self) -> int:
        """The member's own number, which nobody else in the group ever has."""
        return self._loop.peer.me

    @property
    def address(self) -> str:
        """Where others find this member: what they name in `peers`."""
        return self._loop.address

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """Who is in the group, by number; who is only missed is in it, and not here."""
        with self._loop.lock:
            views = sorted(self._loop.peer.members.items())
            return tuple(GroupMember(number, view.name, view.is_here) for number, view in views if not view.has_left)

    @property
    def held(self) -> int:
        """How many messages have come and are held back, because one that they depend on has not."""
        with self._loop.lock:
            return len(self._loop.peer.member.held)

    @property
    def counts(self) -> PeerCounts:
        """What it has seen that should not be, and what it did about losses."""
        with self._loop.lock:
            return msgspec.structs.replace(self._loop.peer.counts)

    def concurrent(self, event: GroupEvent | Stamp) -> list[Stamp]:
        """The messages, of those that this member remembers, that are concurrent with one."""
        return self._loop.order.concurrent_with(event if isinstance(event, Stamp) else event.stamp)

    def state(self) -> bytes:
        """What to keep in order to come back as the same member: `PeerGroup(group, state=…, peers=…)`."""
        with self._loop.lock:
            peer = self._loop.peer.state()
            return encode_state(PeerGroupState(group=self.group, peer=peer, pending=self._loop.pending))

    @property
    def _is_slowed(self) -> bool:
        return self._loop.unheard > self._options.window and self._loop.failure is None

    @property
    def _leave_s(self) -> float:
        return 2 * self._options.peer.leave_ms / 1_000

    def _founds(self, peers: Sequence[str], state: bytes | None) -> bool:
        if self._options.founds is None or state is not None:
            return not peers and state is None
        return self._options.founds

    def _nobody_answers(self, peers: Sequence[str]) -> AnswerTimeout:
        named = ", ".join(peers) or "the members that it knew"
        return AnswerTimeout(f"not in {self.group} after {self._options.timeout_s} s: nobody answers for {named}")

    def _say(self, words: Words) -> Stamp:
        """Send a message; under the lock."""
        self._require_open()
        stamp, outputs = self._loop.peer.broadcast(encode_parcel(words, wall_us()), monotonic_ms())
        self._loop.unheard += 1
        self._loop.act(outputs)
        return stamp

    def _require_open(self) -> None:
        """Raises why it is over."""
        if self._loop.failure is not None:
            raise self._loop.failure

    def _is_over(self) -> bool:
        """Whether nothing more will be shown because it was closed; raises why, if it is over for another reason."""
        if not self._is_closed:
            self._require_open()
        return self._is_closed

    def _begin_to_leave(self) -> None:
        """Say that it leaves; under the lock."""
        if self._loop.failure is None:
            self._loop.act(self._loop.peer.leave(monotonic_ms()))
