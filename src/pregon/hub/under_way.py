"""Deliveries that subscribers answered and that are not written yet: a pull does not give those again.

Written by the pusher's thread, read by those who pull. Promise: what was noted before a pull began to read is not in
its answer, whether it is written meanwhile or not.
"""

from __future__ import annotations

from collections.abc import Iterable

from pregon.hub.deliver import PushedFrom


class DeliveriesUnderWay:
    """The numbers, by subscription and epoch."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], dict[PushedFrom, set[int]]] = {}

    def note(self, of: PushedFrom, seq: int) -> None:
        """A message was delivered."""
        self._numbers.setdefault((of.topic, of.subscriber), {}).setdefault(of, set()).add(seq)

    def written(self, of: PushedFrom, seqs: Iterable[int]) -> None:
        """These are written, or there is nowhere to write them."""
        names = (of.topic, of.subscriber)
        mine = self._numbers.get(names, {})
        left = mine.get(of, set()).difference(seqs)
        # Others read these while they change: they are replaced, never emptied.
        rest = {one: numbers for one, numbers in mine.items() if one != of}
        if left:
            rest[of] = left
        if rest:
            self._numbers[names] = rest
        else:
            self._numbers.pop(names, None)

    def numbers_of(self, topic: str, subscriber: str) -> dict[PushedFrom, frozenset[int]]:
        """The numbers of a subscription, by what it was when they were read; usually none."""
        mine = self._numbers.get((topic, subscriber))
        return {of: frozenset(numbers) for of, numbers in mine.copy().items()} if mine else {}
