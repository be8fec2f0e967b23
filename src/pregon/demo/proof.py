"""Does it add up? What was published beside what each body has and what the hub says, and every difference in words.

Pure: facts in, sentences out. Promise: no sentences means that every number that was published reached each body that
wants it, with the same content, in order, exactly once after repeated ids were dropped, and that the hub's accounting
says the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_SHOWN_MAX = 8


class Said(NamedTuple):
    """A sentence in both languages."""

    english: str
    spanish: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one body has, and what the hub says of its subscription."""

    name: str
    expected: Sequence[int]
    """The numbers that it should have."""
    seqs: Sequence[int]
    """Those that it has, in the order in which they came, without repetitions."""
    cis: Mapping[int, str]
    """Whom each of them tells of."""
    account: Mapping[str, int]
    repeated: int = 0
    forged: int = 0
    """Requests whose signature was wrong."""
    pulled: frozenset[int] = frozenset()
    """What it pulled and acknowledged while it was down."""
    pushed: frozenset[int] = field(default_factory=frozenset)
    """What came by push since then, where that is known."""


def find_doubts(published: Sequence[int], cis: Mapping[int, str], bodies: Sequence[Evidence]) -> list[Said]:
    """What does not add up."""
    doubts = []
    if list(published) != list(range(1, len(published) + 1)):
        doubts.append(
            Said(
                "the numbers of what DGREC published are not 1, 2, 3 … without gaps",
                "los números de lo que publicó la DGREC no son 1, 2, 3 … sin huecos",
            )
        )
    for body in bodies:
        doubts += _doubts_of_receipts(body, cis)
        doubts += _doubts_of_account(body, len(published))
    return doubts


def _doubts_of_receipts(body: Evidence, cis: Mapping[int, str]) -> list[Said]:
    name, doubts = body.name, []
    lost = sorted(set(body.expected) - set(body.seqs))
    strange = sorted(set(body.seqs) - set(body.expected))
    again = sorted(body.pulled & body.pushed)
    if lost:
        doubts.append(Said(f"{name} never got {_listed(lost)}", f"{name} nunca recibió {_listed(lost)}"))
    if strange:
        doubts.append(Said(f"{name} got {_listed(strange)} in vain", f"{name} recibió {_listed(strange)} sin deber"))
    if len(set(body.seqs)) != len(body.seqs):
        doubts.append(Said(f"{name} got a number under two ids", f"{name} recibió un número con dos ids"))
    if list(body.seqs) != sorted(body.seqs):
        doubts.append(Said(f"{name} got them out of order", f"{name} las recibió desordenadas"))
    other = [seq for seq in body.seqs if seq in cis and body.cis.get(seq) != cis[seq]]
    if other:
        doubts.append(Said(f"{name} got others in {_listed(other)}", f"{name} recibió a otros en {_listed(other)}"))
    if again:
        doubts.append(
            Said(
                f"{name} was pushed {_listed(again)}, which it had pulled and acknowledged",
                f"a {name} se le envió {_listed(again)}, que ya había retirado y confirmado",
            )
        )
    if body.forged:
        doubts.append(
            Said(f"{name} refused {body.forged} signatures", f"{name} rechazó {body.forged} firmas"),
        )
    return doubts


def _doubts_of_account(body: Evidence, published: int) -> list[Said]:
    account = body.account
    wanted = {
        "accepted": published,
        "acknowledged": len(body.expected),
        "pending": 0,
        "parked": 0,
        "expired": 0,
        "filtered": published - len(body.expected),
    }
    return [
        Said(
            f"the hub counts {account.get(term)} {term} for {body.name}, not {value}",
            f"el pregón cuenta {account.get(term)} {term} para {body.name}, no {value}",
        )
        for term, value in wanted.items()
        if account.get(term) != value
    ]


def _listed(seqs: Sequence[int]) -> str:
    shown = ", ".join(str(seq) for seq in seqs[:_SHOWN_MAX])
    return shown if len(seqs) <= _SHOWN_MAX else f"{shown} … ({len(seqs)})"
