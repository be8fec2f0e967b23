"""What keeps us from saying that a schema still accepts what another one did."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Doubt:
    """One place where the new schema is narrower, or may be. No doubt is a proof that it is not."""

    place: str
    what: str
    is_certain: bool
    """Whether there is something there that the old schema accepts and the new one does not."""

    def __str__(self) -> str:
        return f"{self.place or '/'}: {self.what}"


def weaken(doubts: Iterable[Doubt]) -> list[Doubt]:
    """The same, where something else that was not looked into may rule out what they speak of."""
    return [Doubt(doubt.place, doubt.what, False) for doubt in doubts]
