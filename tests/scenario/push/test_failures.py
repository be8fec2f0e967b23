"""Failed pushes are repeated until they succeed, in order, with waits that grow, and can be pulled meanwhile."""

from __future__ import annotations

import time
from itertools import pairwise

from pregon.hub.hub import Hub

from ..hub_process import wait_until
from .receiver import Answer, Station
from .subscriber_hub import (
    BPS,
    BUSY,
    FINE,
    TOPIC,
    account,
    pull,
    ranges,
    register,
    say,
    settled,
    traces,
)

# Failures.


def test_a_push_that_failed_can_be_pulled_at_once_on_the_same_cursor(hub: Hub, station: Station) -> None:
    station.answer = lambda _: BUSY
    register(hub, station, delay_ms_first=60_000, delay_ms_max=60_000)
    say(hub, 5)
    station.wait_for(1)

    pulled = pull(hub, messages_max=3)

    assert pulled == [1, 2, 3]
    assert account(hub).pending == 5


def test_what_was_acknowledged_by_pull_is_not_pushed_after(hub: Hub, station: Station) -> None:
    station.answer = lambda _: BUSY
    register(hub, station)
    say(hub, 6)
    station.wait_for(1)
    pulled = pull(hub, messages_max=4)
    hub.ack(TOPIC, BPS, pulled[-1]).result()
    station.wait_for(len(station.arrivals) + 2)

    station.answer = lambda _: FINE

    settled(hub)
    assert station.taken() == [5, 6]
    assert ranges(hub, "acknowledged") == [(1, 4)]


def test_an_acknowledgement_by_pull_in_the_middle_of_a_chunk_is_respected(hub: Hub, station: Station) -> None:
    register(hub, station)
    station.hold()
    say(hub, 100)
    station.wait_for(1)

    hub.ack(TOPIC, BPS, 60).result()
    time.sleep(0.1)
    station.let_go()

    settled(hub)
    assert station.sent() == [1, *range(61, 101)]


def test_when_the_endpoint_recovers_the_backlog_flows_in_order_by_itself(hub: Hub, station: Station) -> None:
    register(hub, station)
    say(hub, 10)
    station.wait_for_taken(10)
    station.fall()
    say(hub, 300)
    wait_until(lambda: hub.push_state(TOPIC, BPS).result().attempts >= 2, "it failed twice")

    station.rise()

    settled(hub)
    assert station.taken() == list(range(1, 311))
    assert hub.push_state(TOPIC, BPS).result().failing_since_us == 0


def test_an_outage_never_parks_anything(hub: Hub, station: Station) -> None:
    answers = iter([Answer(408), Answer(425), Answer(429), Answer(502), BUSY, Answer(504), Answer(is_cut=True)] * 3)
    station.answer = lambda _: next(answers, FINE)
    register(hub, station, attempts_max=2, on_poison="park", delay_ms_first=10, delay_ms_max=10)

    say(hub, 5)

    assert settled(hub).parked == 0
    assert station.taken() == [1, 2, 3, 4, 5]
    # A connection that was kept and is cut is tried once more in the same attempt.
    assert 18 <= max(one.attempt for one in station.arrivals) <= 22


def test_backoff_grows_and_has_jitter(hub: Hub, station: Station) -> None:
    station.answer = lambda _: BUSY
    register(hub, station, delay_ms_first=40, delay_ms_max=640)

    say(hub, 1)
    station.wait_for(6)

    times = [one.at_s for one in station.arrivals]
    gaps = [after - before for before, after in pairwise(times)]
    assert all(gap >= 0.02 * 2**n - 0.005 for n, gap in enumerate(gaps[:5]))
    whole = [0.04 * 2**n for n in range(5)]
    assert any(abs(gap - all_of_it) > 0.002 for gap, all_of_it in zip(gaps, whole, strict=False))


def test_retry_after_is_respected(hub: Hub, station: Station) -> None:
    answers = iter([Answer(429, {"Retry-After": "1"}), Answer(422, {"Retry-After": "1"})])
    station.answer = lambda _: next(answers, FINE)
    register(hub, station, delay_ms_first=10, delay_ms_max=20)

    say(hub, 1)
    settled(hub)

    first, second, third = (one.at_s for one in station.arrivals)
    assert second - first >= 0.99
    assert third - second >= 0.99


def test_a_failing_endpoint_is_tried_by_one_of_twenty_topics_at_a_time(hub: Hub, station: Station) -> None:
    topics = [f"topic-{number}" for number in range(20)]
    station.fall()
    register(hub, station, *topics, delay_ms_first=20, delay_ms_max=40)
    for topic in topics:
        say(hub, 5, topic=topic)
    wait_until(lambda: len(traces(hub, "failed", "")) >= 3, "it failed")
    station.answer = lambda _: Answer(503, wait_s=0.05)

    station.rise()
    station.wait_for(8)

    assert station.at_once_max == 1
    station.answer = lambda _: FINE
    for topic in topics:
        settled(hub, topic)
        assert station.taken(topic=topic) == [1, 2, 3, 4, 5]


def test_a_failing_endpoint_with_a_rate_is_tried_one_at_a_time_too(hub: Hub, station: Station) -> None:
    topics = [f"topic-{number}" for number in range(20)]
    station.fall()
    register(hub, station, *topics, delay_ms_first=20, delay_ms_max=40, rate_per_s=50)
    for topic in topics:
        say(hub, 1, topic=topic)
    wait_until(lambda: len(traces(hub, "failed", "")) >= 3, "it failed")
    time.sleep(1)
    station.answer = lambda _: Answer(503, wait_s=0.15)

    station.rise()
    station.wait_for(6)

    assert station.at_once_max == 1


def test_the_rate_does_not_make_the_probes_of_many_topics_rare(hub: Hub, station: Station) -> None:
    topics = [f"topic-{number}" for number in range(30)]
    station.answer = lambda _: BUSY
    register(hub, station, *topics, delay_ms_first=50, delay_ms_max=100, rate_per_s=10)
    for topic in topics:
        say(hub, 1, topic=topic)
    station.wait_for(3)

    before = len(station.arrivals)
    time.sleep(3)

    assert len(station.arrivals) - before >= 10


def test_an_endpoint_that_fails_for_one_topic_does_not_stop_other_subscribers(hub: Hub, station: Station) -> None:
    with Station() as other:
        station.answer = lambda _: Answer(wait_s=5)
        register(hub, station, time_limit_ms=10_000)
        register(hub, other, name="imm")

        say(hub, 200)

        assert settled(hub, name="imm").acknowledged == 200
        assert account(hub).pending == 200


def test_a_push_cut_without_an_answer_is_repeated_with_the_same_id(hub: Hub, station: Station) -> None:
    answers = iter([Answer(is_cut=True)])
    station.answer = lambda _: next(answers, FINE)
    register(hub, station)

    say(hub, 3)

    settled(hub)
    assert station.taken() == [1, 2, 3]
    assert len({one.headers["webhook-id"] for one in station.arrivals}) == 3
    assert station.arrivals[0].headers["webhook-id"] == station.arrivals[1].headers["webhook-id"]
