"""A change of the store as an operation of the committer: a function of the transaction, and its answer's ticket."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction

T = TypeVar("T")


class Change(Generic[T]):
    """Carries a function out; it may raise one of our errors, but only before it has written anything."""

    is_durable = True

    def __init__(self, change: Callable[[Transaction], T], size_bytes: int = 300) -> None:
        self._change = change
        self.size_bytes = size_bytes
        self.ticket: Ticket[T] = Ticket()

    def apply(self, transaction: Transaction) -> None:
        """Carry it out."""
        transaction.results.append((self.ticket, self._change(transaction)))
