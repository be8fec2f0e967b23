"""A long storm: random groups, one after the other, until so many deliveries were made and judged.

    make storm                                  a million deliveries, by a seed that is printed
    make storm SEED=7 DELIVERIES=50000          the same storm again, or a shorter one

Half of the groups are members alone with the simplest repair, half are peers who join, leave, die and come back. Each
group has a seed of its own, which is printed if anything is wrong with it, and is enough to see it again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from random import Random

from .member_group import MemberGroup
from .peer_group import PeerGroup
from .simulator import Weather

FAILURES_SHOWN_MAX = 5


class Storm:
    """What was done so far, and what was wrong."""

    def __init__(self, seed: int) -> None:
        self._chance = Random(seed)
        self.totals: dict[str, Counter[str]] = {"members": Counter(), "peers": Counter()}
        self.failures: list[str] = []

    @property
    def deliveries(self) -> int:
        """Deliveries that the oracle has judged."""
        return sum(total["deliveries"] for total in self.totals.values())

    def blow(self) -> None:
        """One group of each kind."""
        for blow in (self.blow_on_members, self.blow_on_peers):
            blow(self._chance.getrandbits(32))

    def blow_on_members(self, seed: int) -> None:
        """One group of members."""
        chance = Random(seed)
        weather = Weather(
            delay_ms_max=chance.choice((20.0, 200.0, 2_000.0)),
            loss=chance.choice((0.0, 0.05, 0.3)),
            copies=chance.choice((0.0, 0.1, 0.5)),
            partition_every_ms=chance.choice((0.0, 3_000.0)),
        )
        group = MemberGroup(seed, chance.randint(2, 12), 1_000, weather=weather)
        oracle = group.run()
        total = self._count("members", group)
        total["restarts"] += group.restarts
        total["held at most"] = max(total["held at most"], group.held_most)
        self._note(f"members, seed {seed}", [str(violation) for violation in oracle.violations])

    def blow_on_peers(self, seed: int) -> None:
        """One group of peers."""
        group = PeerGroup(seed, 1_000)
        failures = group.run()
        self._count("peers", group).update(group.counts)
        self._note(f"peers, seed {seed}", failures)

    def _count(self, kind: str, group: MemberGroup | PeerGroup) -> Counter[str]:
        total = self.totals[kind]
        network = group.network
        total.update(groups=1, messages=len(group.oracle), deliveries=group.oracle.deliveries)
        total.update(lost=network.lost, copied=network.copied, cut=network.cut)
        total["virtual seconds"] += int(group.simulator.now_ms / 1_000)
        return total

    def _note(self, what: str, failures: list[str]) -> None:
        self.failures.extend(f"{what}: {failure}" for failure in failures[:FAILURES_SHOWN_MAX])


def run_storm(deliveries: int, seed: int, say: Callable[[str], None]) -> Storm:
    """Blow until there were so many deliveries, or something is wrong, and say how it goes."""
    storm = Storm(seed)
    said_ms = time.monotonic()
    while storm.deliveries < deliveries and not storm.failures:
        storm.blow()
        if time.monotonic() - said_ms > 10:
            said_ms = time.monotonic()
            say(f"{storm.deliveries:,} deliveries …")
    for kind, total in storm.totals.items():
        say(f"{kind}: " + ", ".join(f"{count:,} {name}" for name, count in total.items()))
    return storm


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="storm", description="Members and peers on a bad network, judged by an oracle."
    )
    parser.add_argument("--deliveries", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    begun = time.monotonic()
    storm = run_storm(options.deliveries, options.seed, print)
    print(f"{storm.deliveries:,} deliveries in {time.monotonic() - begun:.0f} s")
    for failure in storm.failures:
        print(f"WRONG: {failure}")
    print("something is wrong" if storm.failures else "nothing is wrong")
    return 1 if storm.failures else 0


if __name__ == "__main__":
    sys.exit(main())
