"""Traffic of a group without a network: who sends when, and when each of the others has it; always the same of a seed.

Messages are sent at random times by members chosen at random, and travel for a random time to each of the others, so
that `under_way` of them are sent and not yet everywhere, on average: that is the degree of concurrency. Some overtake
others; putting them in order is what is measured.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

_SHORTEST, _LONGEST = 0.5, 1.5
"""How long a message travels, as a part of the mean."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """How many members, how many messages altogether, how many of them under way at once."""

    members: int
    messages: int
    under_way: float
    seed: int = 1


class Step(NamedTuple):
    """A member sends a message, or has one of another's; messages are numbered from 0."""

    at: float
    message: int
    member: int
    is_send: bool


def senders_of(traffic: Traffic) -> list[int]:
    """Who sends each message; members are 1, 2, 3 …"""
    chance = random.Random(f"senders {traffic.seed} {traffic.members}")
    return [chance.randint(1, traffic.members) for _ in range(traffic.messages)]


def steps_of(traffic: Traffic, receivers: list[int]) -> Iterator[Step]:
    """All that happens at these members, and every send, in the order of time."""
    chance = random.Random(f"steps {traffic.seed} {traffic.members} {traffic.under_way}")
    at, steps = 0.0, []
    for message, sender in enumerate(senders_of(traffic)):
        at += chance.expovariate(1.0)
        steps.append(Step(at, message, sender, True))
        for member in receivers:
            if member != sender:
                takes = chance.uniform(_SHORTEST, _LONGEST) * traffic.under_way
                steps.append(Step(at + takes, message, member, False))
    yield from sorted(steps)
