"""The seeded simulator: a short storm in every run of the tests; `make storm` has the long one."""

from __future__ import annotations

import pytest

from .member_group import MemberGroup
from .peer_group import PeerGroup
from .simulator import CALM, Network, Simulator, Weather
from .storm import run_storm


def test_the_same_seed_is_the_same_history() -> None:
    first, second, other = (MemberGroup(seed, 5, 200) for seed in (1, 1, 2))
    for group in (first, second, other):
        group.run()

    assert first.oracle.stamps() == second.oracle.stamps() != other.oracle.stamps()
    assert first.simulator.now_ms == second.simulator.now_ms


def test_a_calm_network_brings_everything_once_and_a_bad_one_does_not() -> None:
    came: dict[str, int] = {}
    for name, weather in (("calm", CALM), ("bad", Weather(loss=0.5, copies=0.0, partition_every_ms=0.0))):
        simulator = Simulator(1)
        taken: list[int] = []
        network = Network(simulator, weather, lambda source, to, thing, taken=taken: taken.append(thing))
        for number in range(1_000):
            network.send(1, 2, number)
        simulator.run(lambda: False, 10_000.0)
        came[name] = len(taken)
        assert taken != sorted(taken)

    assert came["calm"] == 1_000
    assert 400 < came["bad"] < 600


def test_a_partition_cuts_and_heals() -> None:
    group = MemberGroup(3, 6, 400, weather=Weather(loss=0.0, copies=0.0))

    oracle = group.run()

    assert oracle.violations == []
    assert group.network.cut > 50


@pytest.mark.parametrize("count", [2, 3, 12])
def test_groups_of_any_size_weather_a_storm(count: int) -> None:
    group = MemberGroup(count, count, 300, weather=Weather(delay_ms_max=2_000.0, loss=0.3, copies=0.3))

    assert group.run().violations == []


@pytest.mark.parametrize("seed", range(6))
def test_peers_join_leave_die_and_come_back_and_nothing_is_lost(seed: int) -> None:
    group = PeerGroup(seed, 500)

    assert group.run() == []
    assert group.oracle.deliveries > 800


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(1988634469, id="what was said follows from what was shown later"),
        pytest.param(2100711671, id="who comes back answers that it is gone before that is shown"),
    ],
)
def test_storms_that_once_found_something_find_nothing(seed: int) -> None:
    assert PeerGroup(seed, 1_000).run() == []


def test_a_short_storm_passes() -> None:
    said: list[str] = []

    storm = run_storm(10_000, seed=1, say=said.append)

    assert storm.failures == []
    assert storm.deliveries >= 10_000
    assert all(total["lost"] and total["cut"] for total in storm.totals.values())
    assert storm.totals["peers"]["crashes"] and storm.totals["members"]["restarts"]
    assert [line.split(":")[0] for line in said[-2:]] == ["members", "peers"]
