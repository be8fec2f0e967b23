"""A subscriber changes while pushes are on their way: nothing is lost, and nothing that was answered comes again."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from pregon.hub.hub import Hub
from pregon.model.catalog import PUSH

from ..hub_process import wait_until
from .receiver import Answer, Station
from .subscriber_hub import (
    BPS,
    BUSY,
    FINE,
    GONE,
    NO,
    TOPIC,
    ask,
    change,
    pull,
    register,
    say,
    seqs_of,
    settled,
    shown,
)

_NEWS_S = 0.1
"""How long the pusher may take to hear of something on a busy machine."""


@pytest.fixture
def other() -> Iterator[Station]:
    """Another one, to which it moves."""
    with Station() as one:
        yield one


# Between push and pull.


def test_a_push_that_is_on_its_way_when_the_mode_changes_still_counts(hub: Hub, station: Station) -> None:
    register(hub, station)
    station.hold()
    say(hub, 10)
    station.wait_for(1)

    change(hub, mode="pull")
    time.sleep(0.2)
    station.let_go()
    wait_until(lambda: hub.account(TOPIC, BPS).result().acknowledged == 1, "the answer is written")
    time.sleep(0.2)

    assert station.sent() == [1]
    assert pull(hub) == list(range(2, 11))


def test_back_in_push_it_goes_on_where_the_pulls_ended(hub: Hub, station: Station) -> None:
    register(hub, station)
    say(hub, 10)
    station.wait_for_taken(10)
    change(hub, mode="pull")
    say(hub, 10)
    hub.ack(TOPIC, BPS, 14).result()

    change(hub, mode=PUSH)

    settled(hub)
    assert station.sent() == [*range(1, 11), *range(15, 21)]


@pytest.mark.parametrize("parallel", [1, 6])
def test_switching_again_and_again_loses_nothing_and_repeats_nothing_answered(
    hub: Hub, station: Station, parallel: int
) -> None:
    chance = random.Random(parallel)
    station.answer = lambda arrival: Answer(wait_s=0.002 * (arrival.seq % 4))
    register(hub, station, parallel=parallel)
    acknowledged_s: dict[int, float] = {}
    stopping = threading.Event()

    def publish() -> None:
        while not stopping.wait(0.01):
            say(hub, 4, keys="abcdefghi")

    publisher = threading.Thread(target=publish)
    publisher.start()
    for _ in range(25):
        time.sleep(chance.random() * 0.06)
        change(hub, mode="pull")
        pulled = ask(hub, messages_max=7)
        seqs = seqs_of(pulled)
        if seqs:
            hub.ack(TOPIC, BPS, seqs[-1], pulled.epoch).result()
            acknowledged_s.update(dict.fromkeys(seqs, time.monotonic()))
        change(hub, mode=PUSH)
    stopping.set()
    publisher.join()

    head = settled(hub).head_seq
    assert max(Counter(station.taken()).values()) == 1
    assert set(station.taken()) | set(acknowledged_s) == set(range(1, head + 1))
    # What was on its way while it was pulled comes both ways; what was acknowledged before it set out does not.
    assert [one.seq for one in station.arrivals if one.at_s > acknowledged_s.get(one.seq, one.at_s) + _NEWS_S] == []


def test_what_was_delivered_ahead_is_neither_pulled_nor_pushed_again(hub: Hub, station: Station) -> None:
    register(hub, station, parallel=4)
    station.answer = lambda arrival: Answer(wait_s=1.0) if arrival.seq == 1 else FINE
    say(hub, 12, keys="abcdef")
    wait_until(lambda: hub.account(TOPIC, BPS).result().acknowledged >= 10, "the others are delivered")

    change(hub, mode="pull")
    pulled = pull(hub)
    change(hub, mode=PUSH)

    assert pulled == [1, 7]
    settled(hub)
    assert Counter(station.taken()) == Counter(range(1, 13))


def test_disabled_and_enabled_nothing_is_lost(hub: Hub, station: Station) -> None:
    register(hub, station)
    say(hub, 5)
    station.wait_for_taken(5)

    change(hub, enabled=False)
    say(hub, 5)
    time.sleep(0.2)
    before = station.sent()
    change(hub, enabled=True)

    settled(hub)
    assert before == [1, 2, 3, 4, 5]
    assert station.sent() == list(range(1, 11))


# Another endpoint.


def test_another_endpoint_of_one_that_fails_is_tried_at_once(hub: Hub, station: Station, other: Station) -> None:
    station.answer = lambda _: BUSY
    register(hub, station, delay_ms_first=600_000, delay_ms_max=600_000)
    say(hub, 5)
    wait_until(lambda: hub.push_state(TOPIC, BPS).result().attempts == 1, "it failed")

    change(hub, endpoint=other.url())

    other.wait_for_taken(5, deadline_s=5)
    assert other.sent() == [1, 2, 3, 4, 5]


def test_another_endpoint_of_one_that_refuses_is_tried_at_once(hub: Hub, station: Station, other: Station) -> None:
    station.answer = lambda _: NO
    register(hub, station, delay_ms_first=600_000, delay_ms_max=600_000)
    say(hub, 5)
    wait_until(lambda: hub.push_state(TOPIC, BPS).result().attempts == 1, "it was refused")

    change(hub, endpoint=other.url())

    other.wait_for_taken(5, deadline_s=5)
    assert other.sent() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("answer", [BUSY, NO, Answer(is_cut=True), Answer(429, {"Retry-After": "600"})], ids=str)
def test_what_the_old_endpoint_still_answers_does_not_hold_the_new_one_up(
    hub: Hub, station: Station, other: Station, answer: Answer
) -> None:
    register(hub, station, delay_ms_first=600_000, delay_ms_max=600_000)
    station.hold()
    say(hub, 5)
    station.wait_for(1)

    change(hub, endpoint=other.url())
    time.sleep(0.1)
    station.answer = lambda _: answer
    station.let_go()

    other.wait_for_taken(5, deadline_s=5)


def test_the_old_endpoint_that_is_gone_does_not_disable_the_new_one(hub: Hub, station: Station, other: Station) -> None:
    register(hub, station)
    station.hold()
    say(hub, 5)
    station.wait_for(1)

    change(hub, endpoint=other.url())
    time.sleep(0.1)
    station.answer = lambda _: GONE
    station.let_go()

    other.wait_for_taken(5)
    assert shown(hub).enabled


def test_what_the_old_endpoint_took_is_not_given_to_the_new_one(hub: Hub, station: Station, other: Station) -> None:
    register(hub, station, parallel=4)
    station.hold()
    say(hub, 20, keys="abcdefgh")
    station.wait_for(4)

    change(hub, endpoint=other.url())
    time.sleep(0.1)
    station.let_go()

    settled(hub)
    assert Counter(station.taken()) + Counter(other.taken()) == Counter(range(1, 21))


def test_another_format_and_another_pace_take_effect_while_pushing(hub: Hub, station: Station) -> None:
    station.answer = lambda _: Answer(wait_s=0.002)
    register(hub, station)
    say(hub, 300)
    station.wait_for(20)

    change(hub, format="cloudevents")

    settled(hub)
    formats = ["ce-id" in one.headers for one in station.arrivals]
    assert formats == sorted(formats)
    assert (formats[0], formats[-1]) == (False, True)
    assert len(formats) == 300
