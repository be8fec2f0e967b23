"""What a message depends on, for members whose dependencies the hub works out.

Such a member sees the log in order, up to some number. Its next message depends on what is *maximal* there: on the
messages up to that number that no other message up to it depends on. The window has the newest records of a group's
log with what each depended on, from which that is found for any number in it.

Promises:
- `frontier_at(head)` is exact however old its messages are: they are kept with the group.
- A number older than the window is refused, never guessed.
- What a message depends on names each member once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import msgspec

from pregon.causal.stamps import Stamp
from pregon.errors import BadRequest
from pregon.limits import GROUP_SEEN_BEHIND_MAX

_NAMED_MAX = 400_000
"""Dependencies that the records of a window name together: in a large group where all speak at once it is shorter."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """A message in the log."""

    seq: int
    stamp: Stamp
    after: tuple[Stamp, ...]


class Window:
    """The newest records of one group."""

    def __init__(
        self,
        frontier: Iterable[tuple[Stamp, int]] = (),
        records_max: int = GROUP_SEEN_BEHIND_MAX,
        head_seq: int = 0,
    ) -> None:
        self._records: deque[Record] = deque()
        self._records_max = records_max
        self._named = 0
        self.last_seq = head_seq
        """The newest message of the log, whether or not it is kept."""
        self.frontier: dict[Stamp, int] = dict(frontier)
        """The maximal messages of the whole log, with their numbers in it."""
        self._seqs: dict[Stamp, int] = {}
        self._covered_at: dict[Stamp, int] = {}
        """Of each message that another one depends on: the first of those."""

    def add(self, record: Record) -> None:
        """One more at the head of the log."""
        self._remember(record)
        for stamp in _covered_by(record):
            self.frontier.pop(stamp, None)
        self.frontier[record.stamp] = record.seq

    def load(self, record: Record) -> None:
        """One of those that were there when the frontier was read, in their order."""
        self._remember(record)

    def _remember(self, record: Record) -> None:
        self._records.append(record)
        self._named += len(record.after)
        self.last_seq = max(self.last_seq, record.seq)
        self._seqs[record.stamp] = record.seq
        for stamp in _covered_by(record):
            self._covered_at.setdefault(stamp, record.seq)
        while len(self._records) > self._records_max or (self._named > _NAMED_MAX and len(self._records) > 1):
            self._forget(self._records.popleft())

    def _forget(self, oldest: Record) -> None:
        self._named -= len(oldest.after)
        del self._seqs[oldest.stamp]
        for stamp in _covered_by(oldest):
            if self._covered_at.get(stamp) == oldest.seq:
                del self._covered_at[stamp]

    def find_seq(self, stamp: Stamp) -> int | None:
        """The number in the log of a message, if it is not too old."""
        return self._seqs.get(stamp)

    def find_record(self, seq: int) -> Record | None:
        """The message with a number of the log, if it is not too old."""
        return next((record for record in self._records if record.seq == seq), None)

    @property
    def first_seq(self) -> int:
        """The oldest record that is here; the next one to come when there is none."""
        return self._records[0].seq if self._records else self.last_seq + 1

    def frontier_at(self, seq: int) -> dict[Stamp, int]:
        """The maximal messages of the log up to a number, with their numbers in it (0: older than the window).

        Raises BadRequest for a number that is too old to know.
        """
        if seq >= self.last_seq:
            return dict(self.frontier)
        if seq < self.first_seq - 1:
            raise BadRequest(
                f"you have seen the group up to {seq}, which is too long ago to know what that comes to: read what is "
                f"new first, and say so; what is needed begins with {self.first_seq}"
            )
        found = {stamp: at for stamp, at in self.frontier.items() if at <= seq}
        for record in reversed(self._records):
            if record.seq <= seq:
                break
            for stamp in _covered_by(record):
                at = self._seqs.get(stamp, 0)
                if at <= seq and self._covered_at.get(stamp, 0) > seq:
                    found[stamp] = at
        return found

    def after(self, member: int, seq: int, sent_at: int) -> tuple[Stamp, ...]:
        """What a member's next message depends on that has seen the log up to `seq`, and up to `sent_at` at its last.

        What it had seen then is implied by its own last message.
        """
        if seq <= sent_at:
            return ()
        # Where a message older than the window stands is not known: if it may be newer, it is named.
        known_at = max(sent_at, 0) if sent_at >= self.first_seq - 1 else -1
        found = self.frontier_at(seq)
        named: dict[int, int] = {}
        for (other, number), at in found.items():
            # Of a member, the last: one from before the window that somebody named late is implied by it.
            if other != member and at > (sent_at if at else known_at) and number > named.get(other, 0):
                named[other] = number
        return tuple(Stamp(other, named[other]) for other in sorted(named))


def _covered_by(record: Record) -> list[Stamp]:
    """The messages that this one depends on immediately, its sender's last among them."""
    member, number = record.stamp
    return [*record.after, Stamp(member, number - 1)] if number > 1 else list(record.after)
