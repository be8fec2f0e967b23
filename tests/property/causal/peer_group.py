"""Peers on a bad network who join, leave, die and come back, several at once, while all of them talk.

The oracle is told what each peer sends and what its member delivers; besides, at the end:
- who is in agrees on who is in, holds nothing back, and keeps nothing to be repeated;
- whatever one of them was shown, or sent, the others were shown too, if they were in before it was sent;
- nobody was told that a message is lost which another one of them has, if its sender knew of both.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pregon.causal.history import Relation
from pregon.causal.member import Member
from pregon.causal.oracle import Oracle
from pregon.causal.peer import Peer
from pregon.causal.peer_frames import Sealed
from pregon.causal.peer_outputs import Missed, Output, PeerOptions, PeerState, Refused, Send, Shown
from pregon.causal.stamps import Stamp

from .simulator import Network, Simulator, Weather, pick

OPTIONS = PeerOptions(forget_ms=20_000)
STORMY = Weather(delay_ms_max=150.0, loss=0.05, copies=0.05, partition_every_ms=15_000.0, partition_ms_max=9_000.0)
MEMBERS_MAX = 8
QUIET_MS = 4 * OPTIONS.forget_ms


class Process(msgspec.Struct):
    """One peer, and what it wrote down."""

    peer: Any
    saved: PeerState | None = None
    saved_past: Any = None
    saved_shown: set[Stamp] = msgspec.field(default_factory=set)
    saved_waiting: list[Any] = msgspec.field(default_factory=list)
    waiting: list[Any] = msgspec.field(default_factory=list)
    """What its application is shown later."""
    shown: set[Stamp] = msgspec.field(default_factory=set)
    missed: set[Stamp] = msgspec.field(default_factory=set)
    is_up: bool = True
    is_amnesiac: bool = False
    """It has lost what it wrote down and wants in under its old number, which it must not get."""
    down_ms: float = 0.0


class PeerGroup:
    """One run."""

    def __init__(self, seed: int, messages: int, weather: Weather = STORMY, pause_ms: float = 60.0) -> None:
        # With every other seed the applications are slow, and are shown things when others have come already.
        self.is_late = seed % 2 == 1
        self._options = msgspec.structs.replace(OPTIONS, shows_later=self.is_late)
        self.simulator = Simulator(seed)
        self.network = Network(self.simulator, weather, self._take)
        self.oracle = Oracle()
        self.processes: dict[int, Process] = {}
        self.failures: list[str] = []
        self.audience: dict[Stamp, frozenset[int]] = {}
        """Whom the sender of a message knew as members when it sent it, those who were gone for a while too."""
        self._messages = messages
        self._pause_ms = pause_ms
        self._said = 0
        self._numbers = 0
        self.counts = dict.fromkeys(("joins", "leaves", "crashes", "returns", "amnesiacs", "missed", "refused"), 0)

    def run(self) -> list[str]:
        """Everything that is wrong, in words."""
        self._open()
        self.simulator.after(1_000.0, self._say)
        self.simulator.after(2_000.0, self._change)
        self.simulator.run(lambda: self._said >= self._messages, 10_000.0 + 20 * self._messages * self._pause_ms)
        self.network.calm_down()
        for me, process in self.processes.items():
            if not process.is_up and self.simulator.now_ms - process.down_ms < OPTIONS.forget_ms / 2:
                self._return(me)
        self.simulator.run(self._is_quiet, self.simulator.now_ms + QUIET_MS)
        self._judge()
        return self.failures

    # What happens.

    def _open(self) -> None:
        first = self._start()
        self._do(first, self.processes[first].peer.found(0.0))
        for _ in range(3):
            self._join()

    def _say(self) -> None:
        if self._said >= self._messages:
            return
        chance = self.simulator.chance
        inside = [me for me, process in self.processes.items() if process.is_up and process.peer.is_in]
        if inside:
            me = pick(chance, inside)
            for _ in range(chance.choice((1, 1, 1, 3))):
                self._said += 1
                _, outputs = self.processes[me].peer.broadcast(b"%d" % self._said, self.simulator.now_ms)
                self._do(me, outputs)
        self.simulator.after(2 * chance.random() * self._pause_ms, self._say)

    def _change(self) -> None:
        if self._said >= self._messages:
            return
        chance, now_ms = self.simulator.chance, self.simulator.now_ms
        up = [me for me, process in self.processes.items() if process.is_up and not process.peer.is_done]
        down = [me for me, process in self.processes.items() if not process.is_up and process.saved]
        away = [me for me in down if now_ms - self.processes[me].down_ms < OPTIONS.forget_ms / 2]
        what = chance.choice(("join", "leave", "crash", "crash", "return", "return", "forget"))
        for _ in range(chance.choice((1, 1, 2, 3))):
            inside = [me for me in up if self.processes[me].is_up and self.processes[me].peer.is_in]
            if what == "join" and len(up) < MEMBERS_MAX:
                up.append(self._join())
            elif what == "leave" and len(inside) > 3:
                self.counts["leaves"] += 1
                leaver = pick(chance, inside)
                self._do(leaver, self.processes[leaver].peer.leave(now_ms))
            elif what == "crash" and len(inside) > 3:
                self._crash(pick(chance, inside))
            elif what == "return" and away:
                back = pick(chance, away)
                away.remove(back)
                self._return(back)
            elif what == "forget" and away:
                back = pick(chance, away)
                away.remove(back)
                self._return_without_state(back)
        self.simulator.after(500.0 + 6_000.0 * chance.random(), self._change)

    def _start(self) -> int:
        self._numbers += 1
        me = self._numbers
        self._run(me, Peer(me, f"peer {me}", self.simulator.now_ms, self._options))
        return me

    def _run(self, me: int, peer: Peer) -> None:
        process = self.processes.setdefault(me, Process(peer))
        process.peer, process.is_up = peer, True
        _watch(self, me, voice_of(peer))
        self.simulator.after(OPTIONS.tick_ms * self.simulator.chance.random(), lambda: self._tick(me, peer))

    def _join(self) -> int:
        self.counts["joins"] += 1
        me = self._start()
        self._do(me, self.processes[me].peer.join(self.simulator.now_ms))
        return me

    def _crash(self, me: int) -> None:
        self.counts["crashes"] += 1
        process = self.processes[me]
        process.is_up, process.down_ms = False, self.simulator.now_ms

    def _return(self, me: int) -> None:
        process = self.processes[me]
        if process.saved is None:
            return
        self.counts["returns"] += 1
        self.oracle.came_back(me, process.saved_past)
        process.shown = set(process.saved_shown)
        process.waiting = list(process.saved_waiting)
        peer = Peer.resume(process.saved, self.simulator.now_ms, self._options)
        self._run(me, peer)
        self._do(me, peer.join(self.simulator.now_ms))

    def _return_without_state(self, me: int) -> None:
        knows = [me in process.peer.members for process in self._inside().values()]
        if all(knows):
            self.counts["amnesiacs"] += 1
            process, now_ms = self.processes[me], self.simulator.now_ms
            process.saved, process.is_amnesiac = None, True
            process.waiting.clear()
            self._run(me, Peer(me, f"peer {me}", now_ms, self._options))
            self._do(me, process.peer.join(now_ms))

    def _tick(self, me: int, peer: Peer) -> None:
        process = self.processes[me]
        if not process.is_up or process.peer is not peer or peer.is_done:
            return
        self._do(me, peer.tick(self.simulator.now_ms))
        if self.simulator.chance.random() < 0.3:
            self._show(me, self.simulator.chance.randint(0, len(process.waiting)))
        self.simulator.after(OPTIONS.tick_ms, lambda: self._tick(me, peer))

    def _take(self, source: int, to: int, frame: bytes) -> None:
        process = self.processes[to]
        if process.is_up:
            self._do(to, process.peer.receive(frame, self.simulator.now_ms, source))

    def _do(self, me: int, outputs: list[Output]) -> None:
        process = self.processes[me]
        if self.is_late:
            process.waiting += [output for output in outputs if isinstance(output, Shown)]
        # What others are told must not be forgotten here: it is written down before it is said.
        if any(isinstance(output, Send) and output.to is None for output in outputs):
            self._save(me)
        for output in outputs:
            if isinstance(output, Send):
                for to in (output.to,) if output.to is not None else tuple(self.processes):
                    if to != me and to in self.processes:
                        self.network.send(me, to, output.frame)
            elif isinstance(output, Missed):
                self.counts["missed"] += output.last - output.first + 1
                process.missed.update(Stamp(output.member, n) for n in range(output.first, output.last + 1))
            elif isinstance(output, Refused):
                self.counts["refused"] += 1
                process.is_up = False
                if process.is_amnesiac:
                    continue
                self.failures.append(f"{me} was refused: {output.error}")

    def _show(self, me: int, count: int) -> None:
        """The application of a peer is shown some of what waits."""
        process = self.processes[me]
        for output in process.waiting[:count]:
            process.peer.shown(output)
        del process.waiting[:count]

    def _save(self, me: int) -> None:
        process = self.processes[me]
        if process.is_up and process.peer.is_in:
            process.saved = process.peer.state()
            process.saved_past = self.oracle.save(me)
            process.saved_shown = set(process.shown)
            process.saved_waiting = list(process.waiting)

    # How it ends.

    def _inside(self) -> dict[int, Process]:
        return {me: process for me, process in self.processes.items() if process.is_up and process.peer.is_in}

    def _is_quiet(self) -> bool:
        running = [process for process in self.processes.values() if process.is_up and not process.peer.is_done]
        inside = self._inside()
        return len(running) == len(inside) and all(
            not process.peer.member.held
            and not process.waiting
            and not process.peer.retained_count
            and {me for me, view in process.peer.members.items() if view.is_here} == set(inside)
            for process in inside.values()
        )

    def _judge(self) -> None:
        inside = self._inside()
        for violation in self.oracle.violations:
            # A peer is told what is lost together with what follows from it, and the oracle only hears of the latter.
            if violation.cause is None or violation.cause not in self.processes[violation.process].missed:
                self.failures.append(str(violation))
        for me, process in self.processes.items():
            if process.is_up and not process.peer.is_done and not process.peer.is_in:
                self.failures.append(f"{me} never came in")
        had = set().union(*(process.shown for process in inside.values()))
        for me, process in inside.items():
            peer = process.peer
            here = sorted(other for other, view in peer.members.items() if view.is_here)
            if here != sorted(inside):
                self.failures.append(f"{me} thinks that {here} are in, and {sorted(inside)} are")
            self._show(me, len(process.waiting))
            for member in (peer.member, voice_of(peer)):
                if member.held:
                    self.failures.append(f"{me} holds back {len(member.held)}: {member.gaps()}")
            if peer.retained_count:
                self.failures.append(f"{me} keeps {peer.retained_count} messages that everybody has")
            lacks = [stamp for stamp in self.oracle.lacks(me) if stamp in had or stamp.member in inside]
            if lacks:
                self.failures.append(f"{me} was not shown {len(lacks)} messages: {', '.join(map(str, lacks[:5]))} …")
            lost = [str(stamp) for stamp in sorted(process.missed & had) if me in self.audience[stamp]]
            if lost:
                self.failures.append(f"{me} was told that {len(lost)} messages are lost: {', '.join(lost[:5])} …")
            self._judge_relations(me, voice_of(peer))

    def _judge_relations(self, me: int, member: Member) -> None:
        """A member says of pairs of messages what the oracle says, or that it does not know any more."""
        chance = self.simulator.chance
        known = sorted(stamp for stamp in self.processes[me].shown if stamp in member.history)[-300:]
        for _ in range(100 if known else 0):
            one, other = chance.choice(known), chance.choice(known)
            said = member.history.relation(one, other)
            true = Relation.BEFORE if self.oracle.is_before(one, other) else Relation.CONCURRENT
            true = Relation.AFTER if self.oracle.is_before(other, one) else true
            if said not in (true, Relation.FORGOTTEN, Relation.SAME):
                self.failures.append(f"{me} says that {one} is {said.value} {other}, and it is {true.value}")


def voice_of(peer: Peer) -> Member:
    """What a peer's application was shown: the same as what was delivered, unless it shows later."""
    return peer._standing.voice


def _watch(group: PeerGroup, me: int, member: Any) -> None:
    """Tell the oracle what a member sends, delivers, passes over and forgets."""
    oracle, process = group.oracle, group.processes[me]
    broadcast, deliver, advance, forget = member.broadcast, member._deliver, member.advance, member.forget

    def watched_broadcast(body: Any = None) -> Any:
        is_first = member.clock.get(me, 0) == 0
        if is_first:
            oracle.joined(me, member.clock)
        # A newcomer is told of messages by others; who answers that it is taken for gone may not have shown that yet.
        named = [Stamp(other, number) for other, number in member.frontier.items()]
        oracle.told(me, [stamp for stamp in named if is_first or stamp.number > member.clock.get(stamp.member, 0)])
        message = broadcast(body)
        # Who is told of messages knows their names, and not what they follow from: it may name too much.
        is_exact = not is_first and not group.is_late
        oracle.sent(me, message.stamp, message.body, message.after if is_exact else None)
        process.shown.add(message.stamp)
        group.audience[message.stamp] = frozenset(process.peer.members)
        return message

    def watched_deliver(ready: Any) -> Any:
        done = deliver(ready)
        for delivery in done:
            body = delivery.message.body
            oracle.delivered(me, delivery.message.stamp, body.body if isinstance(body, Sealed) else body)
            process.shown.add(delivery.message.stamp)
        return done

    def watched_advance(other: int, number: int) -> Any:
        oracle.missed(me, other, number)
        return advance(other, number)

    def watched_forget(other: int) -> Any:
        oracle.forgot(me, other)
        return forget(other)

    member.broadcast, member._deliver = watched_broadcast, watched_deliver
    member.advance, member.forget = watched_advance, watched_forget
