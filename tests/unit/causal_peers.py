"""Peers on a network of their own: virtual time, and losses, delays and cuts that a test asks for.

Everything is decided by a seed, so that what fails once fails again.
"""

import heapq
import random
from collections.abc import Callable

from pregon.causal.peer import Peer
from pregon.causal.peer_outputs import Delivered, Gone, Inside, Joined, Left, Missed, Output, PeerOptions, Refused, Send
from pregon.causal.stamps import Stamp

TICK_MS = 100

OPTIONS = PeerOptions(history_max=1_000)


class Network:
    """All peers, what is under way between them, and what each was told."""

    def __init__(self, seed: int = 0, *, loss: float = 0.0, delay_ms: float = 20.0, twice: float = 0.0) -> None:
        self.random = random.Random(seed)
        self.loss, self.delay_ms, self.twice = loss, delay_ms, twice
        self.now_ms = 0.0
        self.peers: dict[int, Peer] = {}
        self.told: dict[int, list[Output]] = {}
        self.sent: list[tuple[int, Send]] = []
        self.is_cut: Callable[[int, int], bool] = lambda one, other: False
        self.drops: Callable[[int, int, bytes], bool] = lambda source, to, frame: False
        self._under_way: list[tuple[float, int, int, int, bytes]] = []
        self._count = 0
        self._ticks_ms: dict[int, float] = {}

    def found(self, me: int, options: PeerOptions = OPTIONS) -> Peer:
        """The first member of a group."""
        peer = self.add(Peer(me, f"peer-{me}", self.now_ms, options))
        self.do(me, peer.found(self.now_ms))
        return peer

    def join(self, me: int, options: PeerOptions = OPTIONS) -> Peer:
        """A peer that begins to join."""
        peer = self.add(Peer(me, f"peer-{me}", self.now_ms, options))
        self.do(me, peer.join(self.now_ms))
        return peer

    def add(self, peer: Peer) -> Peer:
        """Put a peer on the network."""
        self.peers[peer.me] = peer
        self.told.setdefault(peer.me, [])
        self._ticks_ms[peer.me] = self.now_ms + self.random.uniform(0, TICK_MS)
        return peer

    def group(self, *members: int, options: PeerOptions = OPTIONS) -> list[Peer]:
        """Peers that are all in, the first of them the founder."""
        self.found(members[0], options)
        for me in members[1:]:
            self.join(me, options)
            self.until(lambda me=me: self.peers[me].is_in)
        self.run(2_000)
        return [self.peers[me] for me in members]

    def say(self, me: int, body: bytes) -> Stamp:
        """A peer says something to all."""
        stamp, outputs = self.peers[me].broadcast(body, self.now_ms)
        self.do(me, outputs)
        return stamp

    def leave(self, me: int) -> None:
        """A peer leaves."""
        self.do(me, self.peers[me].leave(self.now_ms))

    def crash(self, me: int) -> Peer:
        """A peer is no more, without a word."""
        del self._ticks_ms[me]
        return self.peers.pop(me)

    def do(self, me: int, outputs: list[Output]) -> None:
        """What a peer wants done."""
        for output in outputs:
            if isinstance(output, Send):
                self.sent.append((me, output))
                for to in list(self.peers) if output.to is None else [output.to]:
                    if to != me:
                        self._post(me, to, output.frame)
            else:
                self.told[me].append(output)

    def put(self, source: int, to: int, frame: bytes) -> None:
        """A frame comes to a peer now, as if from another."""
        self.do(to, self.peers[to].receive(frame, self.now_ms, source))

    def run(self, ms: float) -> None:
        """Let time pass."""
        end_ms = self.now_ms + ms
        while True:
            tick_ms, who = min(((at, me) for me, at in self._ticks_ms.items()), default=(end_ms, 0))
            arrival_ms = self._under_way[0][0] if self._under_way else end_ms
            at_ms = min(tick_ms, arrival_ms)
            if at_ms >= end_ms:
                break
            self.now_ms = at_ms
            if arrival_ms <= tick_ms:
                _, _, source, to, frame = heapq.heappop(self._under_way)
                if to in self.peers:
                    self.put(source, to, frame)
            else:
                self._ticks_ms[who] = self.now_ms + TICK_MS
                self.do(who, self.peers[who].tick(self.now_ms))
        self.now_ms = end_ms

    def until(self, is_so: Callable[[], bool], ms: float = 60_000) -> None:
        """Let time pass until something is so."""
        end_ms = self.now_ms + ms
        while not is_so():
            assert self.now_ms < end_ms, "it did not become so"
            self.run(TICK_MS)

    def shown(self, me: int) -> list[bytes]:
        """The bodies that a peer was shown, in order."""
        return [one.delivery.message.body for one in self.told[me] if isinstance(one, Delivered)]

    def stamps(self, me: int) -> list[Stamp]:
        """Their names."""
        return [one.delivery.message.stamp for one in self.told[me] if isinstance(one, Delivered)]

    def events(self, me: int) -> list[tuple[str, int]]:
        """How a peer saw the members change."""
        return [
            (type(one).__name__, one.member) for one in self.told[me] if isinstance(one, Joined | Left | Gone | Missed)
        ]

    def refusals(self, me: int) -> list[str]:
        """Why a peer was refused."""
        return [one.error.code for one in self.told[me] if isinstance(one, Refused)]

    def is_inside(self, me: int) -> bool:
        """Whether a peer was told that it is in."""
        return any(isinstance(one, Inside) for one in self.told[me])

    def _post(self, source: int, to: int, frame: bytes) -> None:
        if self.is_cut(source, to) or self.drops(source, to, frame) or self.random.random() < self.loss:
            return
        for _ in range(2 if self.random.random() < self.twice else 1):
            self._count += 1
            at_ms = self.now_ms + self.random.uniform(0.1, self.delay_ms)
            heapq.heappush(self._under_way, (at_ms, self._count, source, to, frame))
