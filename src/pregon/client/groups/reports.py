"""What a member was shown, and when: gathered, and told to the hub now and then, so that it can be drawn.

Pure. Promises:
- Reports never hold up messages: at most `GATHERED_MAX` rows wait, and more are dropped and counted.
"""

from __future__ import annotations

from pregon.causal.message import Delivery
from pregon.limits import GROUP_REPORT_ROWS_MAX
from pregon.model.group import DeliveryRow

REPORT_EVERY_MS = 500.0
LAST_REPORT_MS = 500.0
"""How long the last report of a member that is being closed may take."""
GATHERED_MAX = 10 * GROUP_REPORT_ROWS_MAX


class Reports:
    """Those of one member; `is_wanted` unless the group is not traced."""

    def __init__(self, *, is_wanted: bool) -> None:
        self.is_wanted = is_wanted
        self.dropped = 0
        self._rows: list[DeliveryRow] = []
        self._told_ms = float("-inf")

    def __len__(self) -> int:
        """How many wait."""
        return len(self._rows)

    def add(self, delivery: Delivery, shown_us: int) -> None:
        """One was shown."""
        if not self.is_wanted:
            return
        if len(self._rows) >= GATHERED_MAX:
            self.dropped += 1
            return
        waited_for = "" if delivery.waited_for is None else str(delivery.waited_for)
        message = delivery.message
        self._rows.append(DeliveryRow(str(message.stamp), message.body.received_us, shown_us, waited_for))

    def due(self, now_ms: float, *, is_last: bool = False) -> list[DeliveryRow]:
        """The rows of the next report; none if it is not time for one."""
        is_time = is_last or len(self._rows) >= GROUP_REPORT_ROWS_MAX or now_ms - self._told_ms >= REPORT_EVERY_MS
        if not self._rows or not is_time:
            return []
        self._told_ms = now_ms
        rows, self._rows = self._rows[:GROUP_REPORT_ROWS_MAX], self._rows[GROUP_REPORT_ROWS_MAX:]
        return rows

    def failed(self, rows: list[DeliveryRow]) -> None:
        """The hub did not take these: once more, if there is room."""
        room = max(0, GATHERED_MAX - len(self._rows))
        self.dropped += max(0, len(rows) - room)
        self._rows = rows[:room] + self._rows

    def turn_off(self) -> None:
        """The hub keeps none."""
        self.is_wanted = False
        self._rows.clear()
