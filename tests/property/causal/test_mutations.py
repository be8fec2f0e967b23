"""The oracle and the simulator together notice every way in which a member was broken on purpose."""

from __future__ import annotations

from typing import Any

import pytest

from pregon.causal.member import Member

from .member_group import MemberGroup
from .mutations import MUTATIONS

SEEDS = range(5)
"""How many runs each mutation has to hide in."""
COUNT, MESSAGES = 5, 300


@pytest.mark.parametrize("seed", SEEDS)
def test_a_member_that_is_whole_gives_no_alarm(seed: int) -> None:
    group = MemberGroup(seed, COUNT, MESSAGES)

    oracle = group.run()

    assert oracle.violations == []
    assert oracle.deliveries == len(oracle) * (COUNT - 1)
    # It was no walk in the park.
    assert group.held_most > 5 and group.network.lost > 50 and group.network.cut > 10 and group.restarts


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_a_member_that_is_broken_is_found_out(mutation: Any) -> None:
    alarms = [set(MemberGroup(seed, COUNT, MESSAGES, mutation).run().counts) for seed in SEEDS]

    assert mutation.shown_by <= set.union(*alarms)


def test_a_mutation_of_one_member_among_whole_ones_is_found_out() -> None:
    def make(me: int) -> Member:
        return MUTATIONS[0](me) if me == 1 else Member(me)

    assert any(MemberGroup(seed, COUNT, MESSAGES, make).run().counts["inexact"] for seed in SEEDS)
