"""The model of a subscription that is pushed too, perhaps with a filter: see `model`."""

from __future__ import annotations

from pregon.errors import NotPending

from .model import Follower, Log, State

EXAMINED_AT_ONCE = 4
"""How many messages a filter looks at in one go."""


class Pushed(Follower):
    """A subscription that is pushed too, perhaps with a filter."""

    def __init__(self, log: Log, start: str) -> None:
        super().__init__(log, start)
        self.wants = ""
        """The letter that its filter wants; none: everything."""
        self.examined = self.cursor

    def visible(self) -> list[int]:
        """Pending messages in their place that the filter has looked at, if there is one."""
        return [seq for seq in self.waiting() if not self.wants or seq <= self.examined]

    def give(self, messages_max: int) -> list[int]:
        """What a pull gives."""
        returned = self.returned()[:messages_max]
        self._handed_out.update(returned)
        return returned or self.visible()[:messages_max]

    def deliver(self, seqs: set[int], epoch: int) -> None:
        """These were pushed and answered: the subscriber has what was not settled otherwise."""
        for seq in seqs if epoch == self.epoch else ():
            if self.state(seq) in (State.PENDING, State.PARKED):
                self._states[seq] = State.ACKNOWLEDGED
                self._forget(seq)

    def cancel(self, seqs: set[int]) -> int:
        """Give messages up; how many. Those that were settled ahead of the cursor are left as they are."""
        for seq in seqs:
            state = self.state(seq)
            is_settled = state in (State.ACKNOWLEDGED, State.EXPIRED)
            if state in (None, State.FILTERED) or (is_settled and seq <= self.cursor):
                raise NotPending
        fresh = [seq for seq in seqs if self.state(seq) in (State.PENDING, State.PARKED)]
        for seq in fresh:
            self._states[seq] = State.EXPIRED
            self._forget(seq)
        return len(fresh)

    def look(self, letters: list[str]) -> None:
        """The filter looks at the next few."""
        if not self.wants:
            return
        for seq in range(self.examined + 1, min(self.examined + EXAMINED_AT_ONCE, len(letters)) + 1):
            if seq in self.waiting() and letters[seq - 1] != self.wants:
                self._states[seq] = State.FILTERED
            self.examined = seq

    def want(self, letter: str) -> None:
        """Another filter: what the old one said of what is after the cursor counts no more."""
        if letter == self.wants:
            return
        self.wants = letter
        self._look_anew()

    def _look_anew(self) -> None:
        for seq, state in list(self._states.items()):
            if state is State.FILTERED and seq > self.cursor:
                self._states[seq] = State.PENDING
        self.examined = self.cursor

    def replay(self, from_seq: int) -> int:
        """Move the cursor back: what is after it is looked at anew."""
        epoch, cursor = self.epoch, super().replay(from_seq)
        if self.epoch != epoch:
            self._look_anew()
        return cursor

    def stand_at(self, cursor: int) -> None:
        """The hub's cursor: it may pass what is settled, and nothing that waits."""
        assert cursor >= self.cursor
        assert not [seq for seq in self.waiting() if seq <= cursor]
        self.cursor = cursor
        self.examined = max(self.examined, cursor)
