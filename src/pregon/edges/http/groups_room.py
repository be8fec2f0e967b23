"""A room on a socket: how far its messages have been told, what was seen of them, and what is yet to be reported.

Pure: who tells, and when, is `groups_socket`'s. The deliveries of a traced group are kept together and reported at
once, a few hundred at a time, because each report is a message of the hub's own.
"""

from __future__ import annotations

from pregon.edges.http.groups_socket_protocol import Join, Private
from pregon.limits import GROUP_REPORT_ROWS_MAX
from pregon.model.group import DeliveryRow
from pregon.wire.groups import Joined

_REPORT_ROWS = GROUP_REPORT_ROWS_MAX // 2


class Room:
    """One group that the socket follows."""

    def __init__(self, joined: Joined, said: Join | Private) -> None:
        self.group = joined.group
        self.member = joined.member
        self.told_seq = _begin(joined, said)
        """Everything up to here has been told, or was not wanted."""
        self._is_traced = joined.traced
        # What it had been shown before was reported then, and history that a newcomer reads is no delivery.
        self._reported_seq = joined.seen_seq if joined.is_back else joined.seq
        self._rows: list[DeliveryRow] = []
        self._seen_seq = 0
        self._seen_said_seq = 0

    def told(self, seq: int, stamp: str, member: int, now_us: int) -> None:
        """A message has been told."""
        self.told_seq = seq
        if self._is_traced and member != self.member and seq > self._reported_seq:
            self._reported_seq = seq
            self._rows.append(DeliveryRow(stamp, now_us, now_us))

    @property
    def has_report(self) -> bool:
        """Whether there is so much to report that it should be done now."""
        return len(self._rows) >= _REPORT_ROWS

    def take_report(self) -> list[DeliveryRow]:
        """What is to be reported, once."""
        rows, self._rows = self._rows, []
        return rows

    def seen(self, seq: int) -> None:
        """The member has shown everything up to a number."""
        self._seen_seq = max(self._seen_seq, seq)

    def take_seen(self) -> int | None:
        """What the hub has not been told yet of what was seen; None if there is nothing."""
        if self._seen_seq <= self._seen_said_seq:
            return None
        self._seen_said_seq = self._seen_seq
        return self._seen_seq


def _begin(joined: Joined, said: Join | Private) -> int:
    """After which number to tell."""
    oldest = joined.first_seq - 1
    if said.after is not None:
        return max(said.after, oldest)
    if said.last is not None:
        return max(joined.seq - said.last, oldest)
    return max(joined.seen_seq, oldest) if joined.is_back else joined.seq
