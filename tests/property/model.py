"""The hub as a person would tell it: a list of messages, and for each subscription a state for each message.

No cursors over batches, no ranges, no rows for exceptions: every verb loops over messages and changes their
states one by one. What the hub must refuse raises the same error.

Promises:
- A message of a subscription is in exactly one state, so the accounting is a count.
- Nothing here reads a clock or does I/O: times are given.
"""

from dataclasses import dataclass, field
from enum import Enum

from pregon.errors import AckBeyondHead, BadRequest, BatchOutOfOrder, NotPending, SessionUnknown


class State(Enum):
    """Where a message is, for one subscription."""

    PENDING = "pending"
    ACKNOWLEDGED = "acknowledged"
    PARKED = "parked"
    EXPIRED = "expired"
    FILTERED = "filtered"


@dataclass(frozen=True)
class Said:
    """An accepted message."""

    seq: int
    body: bytes
    producer: str
    accepted_us: int


@dataclass
class Log:
    """A topic: everything that was ever accepted, and what is remembered to recognise repetitions."""

    messages: list[Said] = field(default_factory=list)
    tail: int = 1
    _ids: dict[tuple[str, str], int] = field(default_factory=dict)
    _sessions: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    @property
    def head(self) -> int:
        """The number of the newest message."""
        return len(self.messages)

    def kept(self) -> list[Said]:
        """What has not been removed."""
        return self.messages[self.tail - 1 :]

    def say(self, body: bytes, producer: str, now_us: int, id: str | None = None) -> tuple[int, bool]:
        """Publish one message; its number, and whether it was there already."""
        if id is not None and (producer, id) in self._ids:
            return self._ids[producer, id], True
        self.messages.append(Said(self.head + 1, body, producer, now_us))
        if id is not None:
            self._ids[producer, id] = self.head
        return self.head, False

    def say_batch(
        self, bodies: list[bytes], producer: str, now_us: int, session: str = "", number: int = 0
    ) -> tuple[int, bool]:
        """Publish a batch; the number of its first message, and whether it was there already."""
        if session:
            known = self._sessions.get(session, [])
            if 0 < number <= len(known):
                return known[number - 1][0], True
            if number != len(known) + 1:
                raise BatchOutOfOrder if known else SessionUnknown
            self._sessions[session] = [*known, (self.head + 1, len(bodies))]
        first = self.head + 1
        for body in bodies:
            self.say(body, producer, now_us)
        return first, False

    def batches_of(self, session: str) -> int:
        """How many batches of a session there are."""
        return len(self._sessions.get(session, []))

    def first_since(self, at_us: int) -> int:
        """The first number still kept that was accepted at a time or later; the next one if there is none."""
        return next((said.seq for said in self.kept() if said.accepted_us >= at_us), self.head + 1)


class Follower:
    """A subscription."""

    def __init__(self, log: Log, start: str) -> None:
        self._log = log
        if start == "earliest":
            first = log.tail
        elif start == "latest":
            first = log.head + 1
        else:
            first = max(log.tail, min(int(start), log.head + 1))
        self.first = first
        self.cursor = first - 1
        self.epoch = 0
        self.pending_max: int | None = None
        self.pending_age_ms: int | None = None
        self._states: dict[int, State] = {}
        self._returned: set[int] = set()
        self._handed_out: set[int] = set()

    def state(self, seq: int) -> State | None:
        """Where a message is; None if it is not of this subscription, or not yet published."""
        if not self.first <= seq <= self._log.head:
            return None
        return self._states.get(seq, State.PENDING)

    def _all(self, state: State) -> list[int]:
        return [seq for seq in range(self.first, self._log.head + 1) if self.state(seq) is state]

    def returned(self) -> list[int]:
        """Unparked messages, which wait apart from the others."""
        return sorted(self._returned)

    def waiting(self) -> list[int]:
        """Pending messages that wait in their place, after the cursor."""
        return [seq for seq in self._all(State.PENDING) if seq not in self._returned]

    def count(self) -> dict[str, int]:
        """The accounting."""
        return {
            "accepted": self._log.head - self.first + 1,
            **{state.value: len(self._all(state)) for state in State},
            "first_seq": self.first,
            "acked_seq": self.cursor,
            "head_seq": self._log.head,
        }

    def pull(self, messages_max: int, after: int | None = None, epoch: int | None = None) -> list[int]:
        """What a pull gives: unparked ones first and alone; when it reads ahead, nothing that was given before."""
        is_ahead = after is not None and epoch in (None, self.epoch)
        returned = [seq for seq in self.returned() if not (is_ahead and seq in self._handed_out)][:messages_max]
        self._handed_out.update(returned)
        received = after if is_ahead and after is not None and not self._came_alone(after) else 0
        return returned or [seq for seq in self.waiting() if seq > received][:messages_max]

    def _came_alone(self, seq: int) -> bool:
        """Whether a message was given apart from the others, so that having it says nothing of those before it."""
        return seq in self._returned or (seq > self.cursor and self.state(seq) is State.ACKNOWLEDGED)

    def ack(self, seq: int, epoch: int | None) -> int:
        """Acknowledge up to a number, or the unparked messages up to one of them; the cursor after it."""
        if seq < 0:
            raise BadRequest
        if seq > self._log.head:
            raise AckBeyondHead
        if epoch is not None and epoch != self.epoch:
            return self.cursor
        if seq in self._returned & self._handed_out:
            for one in self._returned & self._handed_out:
                if one <= seq:
                    self._states[one] = State.ACKNOWLEDGED
                    self._forget(one)
        elif seq > self.cursor:
            self._settle(seq, State.ACKNOWLEDGED)
        return self.cursor

    def _settle(self, last: int, state: State) -> None:
        """Move the cursor over what waits in its place."""
        for seq in self.waiting():
            if seq <= last:
                self._states[seq] = state
        self.cursor = last

    def _forget(self, seq: int) -> None:
        self._returned.discard(seq)
        self._handed_out.discard(seq)

    def park(self, seqs: set[int]) -> int:
        """Set messages aside; how many."""
        if any(self.state(seq) not in (State.PENDING, State.PARKED) for seq in seqs):
            raise NotPending
        fresh = [seq for seq in seqs if self.state(seq) is State.PENDING]
        for seq in fresh:
            self._states[seq] = State.PARKED
            self._forget(seq)
        return len(fresh)

    def unpark(self, seqs: set[int]) -> int:
        """Deliver parked messages again, all if none is named; how many."""
        for seq in seqs:
            if self.state(seq) is None or (seq <= self.cursor and self.state(seq) not in (State.PENDING, State.PARKED)):
                raise NotPending
        wanted = [seq for seq in self._all(State.PARKED) if not seqs or seq in seqs]
        for seq in wanted:
            self._states[seq] = State.PENDING
            self._returned.add(seq)
        return len(wanted)

    def replay(self, from_seq: int) -> int:
        """Move the cursor back; where it stands then."""
        start = max(from_seq, self._log.tail)
        if start > self.cursor:
            if from_seq > self.cursor + 1:
                raise BadRequest
            return self.cursor
        self.first = min(self.first, start)
        for seq in range(start, self._log.head + 1):
            if self.state(seq) is not State.PARKED:
                self._states[seq] = State.PENDING
                self._forget(seq)
        self.cursor = start - 1
        self.epoch += 1
        return self.cursor

    def expire(self, now_us: int) -> None:
        """Let go of the oldest pending messages that its limits do not allow."""
        target = self.cursor
        if self.pending_max is not None:
            target = max([target, *self.waiting()[: -self.pending_max]])
        if self.pending_age_ms is not None:
            young = self._log.first_since(now_us - self.pending_age_ms * 1_000)
            target = max(target, young - 1)
        self._settle(target, State.EXPIRED)
