"""Push: messages arrive at the subscriber's web service in order, once each, however many there are and how large."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

import pytest

from pregon.hub.hub import Hub
from pregon.model.catalog import PUSH, RAW, PushOptions, Subscriber, Subscription
from pregon.model.message import Outgoing

from ..hub_process import wait_until
from .receiver import Answer, Arrival, Station
from .subscriber_hub import (
    BPS,
    BUSY,
    FINE,
    NO,
    QUICK,
    TOPIC,
    account,
    change,
    register,
    say,
    settled,
)

# Order.


def test_messages_arrive_in_order_once_each_and_are_settled(hub: Hub, station: Station) -> None:
    register(hub, station)

    say(hub, 700)

    settled(hub)
    assert station.sent() == list(range(1, 701))
    assert account(hub).acknowledged == 700


def test_what_was_published_before_there_was_an_endpoint_arrives_too(hub: Hub, station: Station) -> None:
    hub.create(Subscription(topic=TOPIC, subscriber=BPS)).result()
    say(hub, 50)

    change(hub, mode=PUSH, endpoint=station.url(), format=RAW)

    station.wait_for_taken(50)
    assert station.sent() == list(range(1, 51))


def test_one_at_a_time_unless_it_wants_more(hub: Hub, station: Station) -> None:
    station.answer = lambda _: Answer(wait_s=0.002)
    register(hub, station)

    say(hub, 100)

    settled(hub)
    assert station.at_once_max == 1


def test_parallel_pushes_keep_the_order_within_a_key(hub: Hub, station: Station) -> None:
    station.answer = lambda arrival: Answer(wait_s=0.001 * (arrival.seq % 7))
    register(hub, station, parallel=8)

    say(hub, 600, keys="abcdefghijk")

    settled(hub)
    assert 1 < station.at_once_max <= 8
    assert sorted(station.sent()) == list(range(1, 601))
    for key in range(11):
        mine = [one for one in station.arrivals if (one.seq - 1) % 11 == key]
        assert [one.seq for one in mine] == sorted(one.seq for one in mine)
        # The next of a key sets out when the one before it was answered.
        assert all(before.answered_s <= after.at_s for before, after in pairwise(mine))


def test_parallel_pushes_that_fail_at_random_keep_the_order_within_a_key(hub: Hub, station: Station) -> None:
    def answer(arrival: Arrival) -> Answer:
        return (FINE, BUSY, FINE, NO)[hash((arrival.seq, arrival.attempt)) % 4]

    station.answer = answer
    register(hub, station, parallel=6, delay_ms_first=10, delay_ms_max=15)

    say(hub, 150, keys="abcdefg")

    settled(hub)
    assert Counter(station.taken()) == Counter(range(1, 151))
    for key in range(7):
        taken = [seq for seq in station.taken() if (seq - 1) % 7 == key]
        assert taken == sorted(taken)


def test_messages_without_a_key_stay_in_order_also_in_parallel(hub: Hub, station: Station) -> None:
    register(hub, station, parallel=8)

    say(hub, 100)

    settled(hub)
    assert station.sent() == list(range(1, 101))


# Pace, size, number.


def test_the_rate_is_kept_over_all_topics(hub: Hub, station: Station) -> None:
    register(hub, station, "a", "b", "c", rate_per_s=40)

    for topic in "abc":
        say(hub, 20, topic=topic)
    for topic in "abc":
        settled(hub, topic)

    times = sorted(one.at_s for one in station.arrivals)
    assert len(times) == 60
    assert times[-1] - times[0] >= 59 / 40 - 0.1
    assert all(sum(begin <= one < begin + 1 for one in times) <= 46 for begin in times)


def test_a_rate_that_is_taken_away_holds_nobody_any_more(hub: Hub, station: Station) -> None:
    topics = [f"topic-{number}" for number in range(30)]
    register(hub, station, *topics, rate_per_s=1)
    for topic in topics:
        say(hub, 1, topic=topic)
    station.wait_for(2)

    change(hub, push={"delay_ms_first": 20, "delay_ms_max": 100})

    station.wait_for_taken(30, deadline_s=8)


@pytest.mark.parametrize("format", ["raw", "cloudevents", "soap"])
def test_large_bodies_arrive_whole(hub: Hub, station: Station, format: str) -> None:
    body = bytes(range(32, 127)) * 11_036
    register(hub, station)
    change(hub, format=format)

    for _ in range(5):
        hub.publish(TOPIC, "dgrec", Outgoing(body[: 1024 * 1024], content_type="text/plain")).result()

    assert settled(hub).acknowledged == 5
    assert len(station.arrivals) == 5
    if format != "soap":
        assert all(one.body == body[: 1024 * 1024] for one in station.arrivals)


def test_connections_are_used_again(hub: Hub, station: Station) -> None:
    register(hub, station)

    say(hub, 200)
    settled(hub)
    say(hub, 200)
    settled(hub)

    assert station.connections <= 2


def test_a_thousand_subscriptions_of_one_topic_all_get_everything_in_order(hub: Hub, station: Station) -> None:
    names = [f"bps-{number}" for number in range(1_000)]
    tickets: list[Any] = []
    for name in names:
        url = station.url(f"/{name}")
        entry = Subscriber(name=name, mode=PUSH, endpoint=url, format=RAW, push=PushOptions(**QUICK))
        tickets.append(hub.create(entry))
        tickets.append(hub.create(Subscription(topic=TOPIC, subscriber=name)))
    for ticket in tickets:
        ticket.result()

    say(hub, 5)

    wait_until(lambda: len(station.arrivals) >= 5_000, "all of it came", 60)
    got: dict[str, list[int]] = defaultdict(list)
    for one in station.arrivals:
        got[one.path].append(one.seq)
    assert len(got) == 1_000
    assert all(seqs == [1, 2, 3, 4, 5] for seqs in got.values())
    for name in names[::100]:
        settled(hub, name=name)


def test_a_subscription_made_in_the_middle_of_publications_misses_nothing(hub: Hub, station: Station) -> None:
    topics = [f"topic-{number}" for number in range(150)]
    register(hub, station, "first")

    for topic in topics:
        hub.create(Subscription(topic=topic, subscriber=BPS)).result()
        say(hub, 1, topic=topic)

    wait_until(lambda: len(station.taken()) >= 150, "the message of each topic came", 5)
