"""One transaction of the committer, as the operations in it see it.

An operation writes through `connection`. What must happen once for all of them (the single publications to
one topic become one batch) registers itself with `finish_with`; traces are left in `traces` and written
together; what others must hear after the commit is left in `accepted` and `moved`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlalchemy import Connection

from pregon.model.batch import StoredBatch
from pregon.model.trace import Trace
from pregon.store.ticket import Ticket
from pregon.store.traces import write_traces


@dataclass(frozen=True, slots=True)
class Accepted:
    """Messages that the transaction added to a topic."""

    topic: str
    batch: StoredBatch


@dataclass(slots=True)
class Transaction:
    """What operations share while they are carried out together."""

    connection: Connection
    now_us: int
    accepted: list[Accepted] = field(default_factory=list)
    moved: set[str] = field(default_factory=set)
    """Topics of which something became pending without a publication: unparked, replayed."""
    touched: set[tuple[str, str]] = field(default_factory=set)
    """Subscriptions, by topic and subscriber, that were settled, parked, replayed."""
    resumed: set[tuple[str, str]] = field(default_factory=set)
    """Those that were paused and are no more: what waits in them is pushed at once."""
    is_catalogue_changed: bool = False
    gathered: dict[Hashable, Any] = field(default_factory=dict)
    """What is gathered (by topic, by producer session) until it is written at once."""
    traces: list[Trace] = field(default_factory=list)
    results: list[tuple[Ticket[Any], Any]] = field(default_factory=list)
    """Answers to give once the transaction is on disk."""
    after_commit: list[Callable[[], None]] = field(default_factory=list)
    """What to do once it is on disk, before any answer is given: memories of the catalogue to renew."""
    _finishers: list[Callable[[Transaction], None]] = field(default_factory=list)

    def finish_with(self, finisher: Callable[[Transaction], None]) -> None:
        """Call this before the commit, after every operation, and perhaps before: it may be called again."""
        self._finishers.append(finisher)

    def settle(self) -> None:
        """Write what is gathered so far: what comes next may change what it was allowed by."""
        for finisher in self._finishers:
            finisher(self)

    def finish(self) -> None:
        """Run the finishers, in the order in which they came, and write the traces."""
        self.settle()
        write_traces(self.connection, self.traces)


class Operation(Protocol):
    """Something to carry out in a transaction.

    `apply` leaves its answer in `transaction.results`, now or in a finisher. It may raise one of our errors,
    but only before it has written anything.
    """

    ticket: Ticket[Any]
    size_bytes: int
    is_durable: bool

    def apply(self, transaction: Transaction) -> None:
        """Carry it out."""
        ...
