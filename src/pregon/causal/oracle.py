"""Who may judge an order: happened-before by its definition, from what each process did.

Told each send and each delivery of every process, in the order in which that process made them, it knows the causal
past of every message by the three rules of Lamport's definition alone: what a process did before, what a delivery
brings from its send, and what follows from these. It never looks at control information to decide; the dependencies
that a message names are only compared with those that it ought to name.

It says when
    unsent          a message is delivered that nobody sent
    altered         one is delivered with another content than it was sent with
    repeated        one is delivered twice at a process, or sent twice
    out_of_order    one is delivered before something from its causal past
    not_fifo        one is delivered before, or without, an earlier one of its sender
    inexact         one names others than its immediate predecessors (the transitive reduction of the order)
    incomplete      one was not delivered at a process that should have it
    held            a process still holds something back at the end

Written apart from `member`, and sharing nothing with it but the names of messages: one is the other's proof.
The past of a message is a set of bits, one for each message that was sent: meant for tests, not for servers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from pregon.causal.stamps import Stamp

VIOLATIONS_MAX = 100
"""Violations that are kept; the rest is only counted."""


class Violation(msgspec.Struct, frozen=True):
    """Something that must not happen, and did."""

    kind: str
    process: int
    stamp: Stamp
    detail: str
    cause: Stamp | None = None
    """What should have been before, where that is what is wrong."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.stamp} at {self.process}: {self.detail}"


class _Process(msgspec.Struct):
    """What one process did so far."""

    past: int = 0
    """All that happened before whatever it does next, as bits of messages."""
    has: int = 0
    """What it sent, was shown, or need not be shown."""
    last: dict[int, int] = {}
    """Of each sender, the number of its last message here."""
    forgotten: int = 0
    """Messages of members that it forgot."""
    missed: int = 0
    """Messages that it was told are lost for it."""


class Oracle:
    """The judge of one group."""

    def __init__(self) -> None:
        self._index: dict[Stamp, int] = {}
        self._stamps: list[Stamp] = []
        self._past: list[int] = []
        self._bodies: list[Any] = []
        self._named: list[set[Stamp]] = []
        """What each message says that it follows from, if that is judged."""
        self._processes: dict[int, _Process] = {}
        self._forgotten: set[int] = set()
        self.violations: list[Violation] = []
        self.counts: Counter[str] = Counter()
        self.deliveries = 0

    def __len__(self) -> int:
        return len(self._stamps)

    # What happens.

    def joined(self, process: int, clock: Mapping[int, int], told: Iterable[Stamp] = ()) -> None:
        """A process begins, and what these numbers say was before its time: it need not be shown that.

        What it does follows from the messages that it was told of by those who let it in. Nobody tells it of members
        that are forgotten already: those were before its time too.
        """
        begun = self._of(process)
        for sender, number in {**dict.fromkeys(self._forgotten, len(self._stamps)), **clock}.items():
            self._excuse(begun, sender, number)
        self.told(process, told)

    def told(self, process: int, stamps: Iterable[Stamp]) -> None:
        """What a process does from now on follows from these messages, though it was not shown them."""
        here = self._of(process)
        for stamp in stamps:
            index = self._index[stamp]
            here.past |= 1 << index | self._past[index]

    def sent(self, process: int, stamp: Stamp, body: Any = None, after: Iterable[Stamp] | None = None) -> None:
        """A process sent a message, which names these as its predecessors, if that is to be judged."""
        sender = self._of(process)
        if stamp in self._index:
            self._report("repeated", process, stamp, "it was sent before")
            return
        if stamp.number != sender.last.get(stamp.member, 0) + 1:
            self._report("not_fifo", process, stamp, f"it was sent after number {sender.last.get(stamp.member, 0)}")
        bit = 1 << len(self._stamps)
        self._index[stamp] = len(self._stamps)
        self._stamps.append(stamp)
        self._past.append(sender.past)
        self._bodies.append(body)
        self._named.append(set(after or ()))
        if after is not None:
            self._judge_named(process, stamp, self._named[-1])
        sender.past |= bit
        sender.has |= bit
        sender.last[stamp.member] = stamp.number

    def delivered(self, process: int, stamp: Stamp, body: Any = None) -> None:
        """A process was shown a message."""
        self.deliveries += 1
        here = self._of(process)
        index = self._index.get(stamp)
        if index is None:
            self._report("unsent", process, stamp, "nobody sent it")
            return
        bit = 1 << index
        if here.has & bit:
            self._report("repeated", process, stamp, "it was delivered here before, or was before its time")
            return
        if body != self._bodies[index]:
            self._report("altered", process, stamp, f"it says {body!r:.60}, and {self._bodies[index]!r:.60} was sent")
        early = self._past[index] & ~here.has
        if early and here.missed:
            early &= self._reach([index], here.missed, here.has)
        if early:
            cause = self._name(early)
            self._report("out_of_order", process, stamp, f"before {cause}, from which it follows", cause)
        if stamp.number != here.last.get(stamp.member, 0) + 1:
            self._report("not_fifo", process, stamp, f"after number {here.last.get(stamp.member, 0)} of its sender")
        here.has |= bit
        here.past |= bit | self._past[index]
        here.last[stamp.member] = max(stamp.number, here.last.get(stamp.member, 0))

    def missed(self, process: int, member: int, last: int) -> None:
        """A process was told that messages of a member up to a number are lost for it for good.

        What follows from these need not wait any more for what only these followed from: nobody can tell it that.
        """
        here = self._of(process)
        for index in self._excuse(here, member, last):
            here.missed |= 1 << index

    def forgot(self, process: int, member: int) -> None:
        """A process forgot a member, and names none of its messages from now on, but what they followed from."""
        self._forgotten.add(member)
        here = self._of(process)
        for stamp, index in self._index.items():
            if stamp.member == member:
                here.forgotten |= 1 << index

    def save(self, process: int) -> Any:
        """What a process wrote down, to come back with it."""
        here = self._of(process)
        return msgspec.structs.replace(here, last=dict(here.last))

    def came_back(self, process: int, saved: Any) -> None:
        """A process goes on from what it wrote down: what it did since then was not shown to anybody who remembers."""
        self._processes[process] = msgspec.structs.replace(saved, last=dict(saved.last))

    # What may be asked.

    def is_before(self, one: Stamp, other: Stamp) -> bool:
        """Whether one happened before the other."""
        return bool(self._past[self._index[other]] >> self._index[one] & 1)

    def predecessors(self, stamp: Stamp) -> set[Stamp]:
        """The immediate predecessors of a message."""
        return self._maxima(self._past[self._index[stamp]])

    def stamps(self) -> list[Stamp]:
        """All the messages, in an order that keeps happened-before."""
        return list(self._stamps)

    def lacks(self, process: int, senders: Collection[int] | None = None) -> list[Stamp]:
        """Messages that a process was not shown, of some senders or of all."""
        rest = ((1 << len(self._stamps)) - 1) & ~self._of(process).has
        found = []
        while rest:
            low = rest & -rest
            stamp = self._stamps[low.bit_length() - 1]
            if senders is None or stamp.member in senders:
                found.append(stamp)
            rest ^= low
        return found

    def finish(self, held: Mapping[int, int], senders: Collection[int] | None = None) -> list[Violation]:
        """At the end: these processes have all that was sent, by some senders or by all, and hold nothing back."""
        for process, count in held.items():
            for stamp in self.lacks(process, senders):
                self._report("incomplete", process, stamp, "it was not delivered here")
            if count:
                self._report("held", process, Stamp(0, 0), f"{count} messages are held back at the end")
        return self.violations

    # How it is known.

    def _of(self, process: int) -> _Process:
        found = self._processes.get(process)
        if found is None:
            found = self._processes[process] = _Process(last={})
        return found

    def _excuse(self, here: _Process, sender: int, number: int) -> list[int]:
        excused = []
        for one in range(here.last.get(sender, 0) + 1, number + 1):
            index = self._index.get(Stamp(sender, one))
            if index is None:
                # Numbers have no gaps: it was excused from what was never sent, which is only right if it never is.
                break
            here.has |= 1 << index
            excused.append(index)
        here.last[sender] = max(number, here.last.get(sender, 0))
        return excused

    def _maxima(self, past: int) -> set[Stamp]:
        """Those from which no other of them follows: messages are numbered as they are sent, so the last one is one."""
        found = set()
        while past:
            index = past.bit_length() - 1
            found.add(self._stamps[index])
            past &= ~(self._past[index] | 1 << index)
        return found

    def _reach(self, indices: Iterable[int], avoided: int, known: int = 0) -> int:
        """What these follow from by ways that avoid some messages, and that need not go on where they are known."""
        reached = 0
        ahead = list(indices)
        while ahead:
            index = ahead.pop()
            for stamp in self._maxima(self._past[index]) | (self._named[index] & self._index.keys()):
                cause = self._index[stamp]
                if not (avoided | reached) >> cause & 1:
                    reached |= 1 << cause
                    if not known >> cause & 1:
                        ahead.append(cause)
        return reached

    def _judge_named(self, process: int, stamp: Stamp, named: set[Stamp]) -> None:
        past = self._past[self._index[stamp]]
        maxima = self._maxima(past & ~self._of(process).forgotten)
        others = self._forgotten | {stamp.member}
        expected = {one for one in maxima if one.member not in others}
        # Who still knows a member that others have forgotten may name its messages in vain.
        named = {one for one in named if one.member not in self._forgotten}
        if self._forgotten and named > expected:
            # So may one who forgot it name what only its messages showed to be covered.
            forgotten = sum(1 << index for one, index in self._index.items() if one.member in self._forgotten)
            reached = self._reach([self._index[one] for one in maxima], forgotten)
            named -= {one for one in named - expected if not reached >> self._index[one] & 1 and self._has(past, one)}
        if named != expected:
            detail = f"it names {_list(named)}, and follows at once from {_list(expected)}"
            self._report("inexact", process, stamp, detail)

    def _has(self, bits: int, stamp: Stamp) -> bool:
        return bool(bits >> self._index[stamp] & 1) if stamp in self._index else False

    def _name(self, bits: int) -> Stamp:
        return self._stamps[(bits & -bits).bit_length() - 1]

    def _report(self, kind: str, process: int, stamp: Stamp, detail: str, cause: Stamp | None = None) -> None:
        self.counts[kind] += 1
        if len(self.violations) < VIOLATIONS_MAX:
            self.violations.append(Violation(kind, process, stamp, detail, cause))


def _list(stamps: Iterable[Stamp]) -> str:
    return ", ".join(map(str, sorted(stamps))) or "nothing"
