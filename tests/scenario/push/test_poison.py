"""What a subscriber refuses is parked or blocks its own subscription; who is gone is left alone until enabled."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pregon.hub.hub import Hub
from pregon.testing import run_hub

from ..hub_process import wait_until
from .receiver import Answer, Arrival, Station
from .subscriber_hub import (
    BPS,
    FINE,
    NO,
    TOPIC,
    account,
    change,
    pull,
    register,
    say,
    settled,
    shown,
    traces,
)


def unless(seqs: set[int], otherwise: Answer) -> Callable[[Arrival], Answer]:
    """Answers some numbers otherwise."""
    return lambda arrival: otherwise if arrival.seq in seqs else FINE


def test_a_refused_message_blocks_only_its_own_subscription(hub: Hub, station: Station) -> None:
    station.answer = lambda arrival: NO if arrival.topic == TOPIC and arrival.seq == 2 else FINE
    register(hub, station, TOPIC, "nacidos", attempts_max=2)

    say(hub, 5)
    say(hub, 5, topic="nacidos")
    station.wait_for_taken(5, topic="nacidos")
    wait_until(lambda: hub.push_state(TOPIC, BPS).result().attempts > 3, "it is tried for ever")

    assert station.taken(topic=TOPIC) == [1]
    assert account(hub).pending == 4
    station.answer = lambda _: FINE
    settled(hub)
    assert station.taken(topic=TOPIC) == [1, 2, 3, 4, 5]


def test_a_refused_message_is_parked_after_so_many_refusals_and_the_others_go_on(hub: Hub, station: Station) -> None:
    station.answer = unless({2}, NO)
    register(hub, station, attempts_max=3, on_poison="park")

    say(hub, 5)

    found = settled(hub)
    assert (found.parked, found.acknowledged) == (1, 4)
    assert station.taken() == [1, 3, 4, 5]
    assert station.sent().count(2) == 3
    (parked,) = traces(hub, "parked")
    assert (parked.first_seq, parked.last_seq) == (2, 2)
    assert "refused 3 times" in parked.detail
    assert "422" in parked.detail


def test_an_unparked_message_is_pushed_again(hub: Hub, station: Station) -> None:
    station.answer = unless({2}, NO)
    register(hub, station, attempts_max=2, on_poison="park")
    say(hub, 5)
    settled(hub)
    station.answer = lambda _: FINE

    hub.unpark(TOPIC, BPS).result()

    station.wait_for_taken(5)
    assert settled(hub).acknowledged == 5
    assert station.taken() == [1, 3, 4, 5, 2]


def test_an_unparked_message_that_is_refused_again_is_parked_again(hub: Hub, station: Station) -> None:
    station.answer = unless({2}, NO)
    register(hub, station, attempts_max=2, on_poison="park")
    say(hub, 3)
    settled(hub)

    hub.unpark(TOPIC, BPS).result()
    wait_until(lambda: len(traces(hub, "parked")) == 2, "it is parked again")

    assert station.sent().count(2) == 4
    say(hub, 1)
    settled(hub)
    assert station.taken() == [1, 3, 4]
    assert account(hub).parked == 1


def test_what_was_unparked_and_answered_is_not_pushed_again_when_the_next_is_refused(
    hub: Hub, station: Station
) -> None:
    register(hub, station)
    hub.update("subscriber", (BPS,), {"enabled": False}).result()
    say(hub, 40)
    hub.park(TOPIC, BPS, list(range(1, 41))).result()
    hub.unpark(TOPIC, BPS).result()
    refusals = iter(range(12))
    station.answer = lambda arrival: NO if arrival.seq % 3 == 0 and next(refusals, None) is not None else FINE

    change(hub, enabled=True)

    settled(hub)
    assert station.taken() == list(range(1, 41))


def test_poison_in_parallel_is_parked_and_everything_else_arrives(hub: Hub, station: Station) -> None:
    poison = {5, 6, 17, 40}
    station.answer = unless(poison, NO)
    register(hub, station, attempts_max=2, on_poison="park", parallel=5)

    say(hub, 60, keys="abcdefgh")

    found = settled(hub)
    assert (found.parked, found.acknowledged) == (4, 56)
    assert Counter(station.taken()) == Counter(set(range(1, 61)) - poison)


def test_after_a_restart_the_next_message_has_all_its_attempts(tmp_path: Path, station: Station) -> None:
    settings = {"push_allow": "127.0.0.1", "feed": "", "ingest": "", "http": ""}
    station.answer = unless({1}, NO)
    with run_hub(tmp_path, **settings) as running:
        register(running.server.hub, station, attempts_max=3, on_poison="park")
        say(running.server.hub, 1)
        settled(running.server.hub)
    station.answer = lambda arrival: NO if arrival.attempt < 3 else FINE

    with run_hub(tmp_path, **settings) as running:
        say(running.server.hub, 1)
        found = settled(running.server.hub)

    assert (found.parked, found.acknowledged) == (1, 1)
    assert [one.attempt for one in station.arrivals if one.seq == 2] == [1, 2, 3]


# Gone.


def test_410_disables_and_everything_can_be_pulled_until_it_is_enabled(hub: Hub, station: Station) -> None:
    station.answer = unless({3}, Answer(410))
    register(hub, station)
    say(hub, 6)
    wait_until(lambda: not shown(hub).enabled, "it is disabled")
    pulled = pull(hub)
    hub.ack(TOPIC, BPS, 3).result()
    station.answer = lambda _: FINE

    change(hub, enabled=True)

    assert pulled == [3, 4, 5, 6]
    settled(hub)
    assert station.taken() == [1, 2, 4, 5, 6]
    assert "410" in traces(hub, "failed")[0].detail


def test_410_stops_all_topics_of_the_subscriber(hub: Hub, station: Station) -> None:
    topics = [f"topic-{number}" for number in range(5)]
    register(hub, station, *topics)
    for topic in topics:
        say(hub, 1, topic=topic)
    station.wait_for_taken(5)
    station.answer = lambda _: Answer(410)
    say(hub, 1, topic=topics[0])
    wait_until(lambda: not shown(hub).enabled, "it is disabled")
    time.sleep(0.1)
    before = len(station.arrivals)

    for topic in topics:
        say(hub, 1, topic=topic)
    time.sleep(0.3)

    assert len(station.arrivals) == before
    station.answer = lambda _: FINE
    change(hub, enabled=True)
    for topic in topics:
        settled(hub, topic)
