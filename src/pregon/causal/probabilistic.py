"""Causal order with control information of constant size, most of the time: the (R,K) clocks of Mostéfaoui and Weiss.

"Probabilistic Causal Message Ordering" (PaCT 2017). All members share R entries; each has K of them, chosen by its
number, and a broadcast adds one to these. A message carries the R entries of its sender, and is delivered when the
receiver has as much in every entry, one less in those of the sender. R = members and K = 1 would be a vector clock.

What it gives up, and the immediate dependency relation does not:
- A message can be delivered too early: entries are shared, and concurrent messages of others that add to the same ones
  look like the missing cause. The more messages are under way at once, the more often; nobody notices when it happens.
- The sender's own order can break in the same way: a message may be delivered before the one that its sender sent
  before, and a later gap is not seen.
- Comparing two messages can say "before" of concurrent ones, and after an early delivery "concurrent" of ordered ones.
- A copy cannot be told from a new message, so that whatever carries them must bring each exactly once.
- What is missing is not known by name: nobody can be asked for it.

    byte 0          kind of message
    varint          sender
    R times         varint  entry

It is here to be compared with; the groups of the product do not use it.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec

from pregon.causal.encoding import KIND_MAX, append_varint, read_varint
from pregon.causal.history import Relation
from pregon.causal.vector import Waiting, read_numbers
from pregon.errors import BadRequest
from pregon.limits import GROUP_HELD_MAX, GROUP_MEMBERS_MAX, GROUP_NUMBER_MAX

ENTRIES = 100
ENTRIES_OF_MEMBER = 4
"""The fewest errors are made with K = R ln 2 / X, if X messages are under way at once: 4 is for some 17."""
ENTRIES_MAX = 1_024


class Shape(msgspec.Struct, frozen=True):
    """R and K, the same for all members of a group."""

    entries: int = ENTRIES
    of_member: int = ENTRIES_OF_MEMBER

    def __post_init__(self) -> None:
        if not 1 <= self.of_member <= self.entries <= ENTRIES_MAX:
            raise BadRequest(f"a member has 1 entry at least and all of them at most; there are at most {ENTRIES_MAX}")


class ProbabilisticMessage(msgspec.Struct, frozen=True, gc=False):
    """A message: who sent it, the entries of its sender when it did, and what it says."""

    sender: int
    entries: tuple[int, ...]
    body: Any = None


@lru_cache(maxsize=GROUP_MEMBERS_MAX)
def choose_entries(member: int, shape: Shape) -> tuple[int, ...]:
    """The entries of a member, from low to high: the same wherever it is asked, and spread evenly over all members."""
    pool = list(range(shape.entries))
    chosen = []
    for draw in range(shape.of_member):
        digest = blake2b(b"%d %d" % (member, draw), digest_size=8).digest()
        chosen.append(pool.pop(int.from_bytes(digest) % len(pool)))
    return tuple(sorted(chosen))


class ProbabilisticMember:
    """One member, by (R,K) clocks. Each message must be given to `receive` once, and never one's own."""

    def __init__(self, me: int, shape: Shape = Shape(), held_max: int = GROUP_HELD_MAX) -> None:
        self.me = me
        self.shape = shape
        self.entries = [0] * shape.entries
        self.waiting: Waiting[ProbabilisticMessage, tuple[int, int]] = Waiting(self._find_missing, held_max)
        self._ready: list[ProbabilisticMessage] = []

    def broadcast(self, body: Any = None) -> ProbabilisticMessage:
        """The next message of this member; here it counts as delivered. Ask `release` what may follow."""
        self._count(self.me)
        return ProbabilisticMessage(self.me, tuple(self.entries), body)

    def receive(self, message: ProbabilisticMessage) -> list[ProbabilisticMessage]:
        """What may be delivered now, in order, as far as the entries can tell."""
        if len(message.entries) != len(self.entries):
            raise BadRequest(f"this group has {len(self.entries)} entries, and the message has {len(message.entries)}")
        if self.waiting.is_ready(message):
            self._ready.append(message)
        return self.release()

    def release(self) -> list[ProbabilisticMessage]:
        """What waits for nothing more, in order: a broadcast of one's own adds to entries that others waited for."""
        done: list[ProbabilisticMessage] = []
        while self._ready:
            message = self._ready.pop()
            done.append(message)
            self._count(message.sender)
        return done

    def _count(self, sender: int) -> None:
        for entry in choose_entries(sender, self.shape):
            self.entries[entry] += 1
            self._ready.extend(self.waiting.take((entry, self.entries[entry])))

    def _find_missing(self, message: ProbabilisticMessage) -> tuple[int, int] | None:
        """An entry that is too low for this message, and what it must reach."""
        own = choose_entries(message.sender, self.shape)
        for entry, (needed, seen) in enumerate(zip(message.entries, self.entries, strict=True)):
            if needed > seen and needed - (entry in own) > seen:
                return entry, needed - (entry in own)
        return None


def relation(one: ProbabilisticMessage, other: ProbabilisticMessage) -> Relation:
    """How `one` seems to stand to `other`: "before" and "after" of concurrent ones are possible."""
    if one.sender == other.sender and one.entries == other.entries:
        return Relation.SAME
    if all(mine <= theirs for mine, theirs in zip(one.entries, other.entries, strict=True)):
        return Relation.BEFORE
    if all(mine >= theirs for mine, theirs in zip(one.entries, other.entries, strict=True)):
        return Relation.AFTER
    return Relation.CONCURRENT


def encode_entries(message: ProbabilisticMessage, kind: int = 0) -> bytes:
    """The control information of a message."""
    out = bytearray((kind,))
    append_varint(out, message.sender)
    for entry in message.entries:
        append_varint(out, entry)
    return bytes(out)


def decode_entries(data: bytes, shape: Shape = Shape(), at: int = 0) -> tuple[int, int, tuple[int, ...], int]:
    """Kind, sender and entries of a message, and where its control information ends; raises BadRequest."""
    if at >= len(data) or data[at] > KIND_MAX:
        raise BadRequest(f"the entries of a message come after its kind, from 0 to {KIND_MAX}")
    kind = data[at]
    sender, at = read_varint(data, at + 1)
    if not 1 <= sender <= GROUP_NUMBER_MAX:
        raise BadRequest(f"members are numbers from 1 to {GROUP_NUMBER_MAX}")
    entries, at = read_numbers(data, at, shape.entries)
    return kind, sender, entries, at
