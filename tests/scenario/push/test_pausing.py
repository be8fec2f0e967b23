"""A subscription is paused and resumed while pushes go well, fail, or are on their way: in order, nothing is lost."""

from __future__ import annotations

import random
import time
from collections import Counter

import pytest

from pregon.hub.hub import Hub
from pregon.testing import run_hub

from ..hub_process import wait_until
from .receiver import Answer, Station
from .subscriber_hub import BPS, BUSY, FINE, NO, TOPIC, account, ask, pull, register, say, seqs_of, settled

LONG = {"delay_ms_first": 600_000, "delay_ms_max": 600_000}
"""Options of pushes that are not tried again while the test runs, unless somebody asks for it."""
QUIET_S = 0.2
"""How long to see that nothing comes."""


def set_paused(hub: Hub, paused: bool, topic: str = TOPIC) -> None:
    """Pause or resume."""
    hub.update("subscription", (topic, BPS), {"paused": paused}).result()


def wait_for_failure(hub: Hub) -> None:
    """Wait until a push has failed."""
    wait_until(lambda: hub.push_state(TOPIC, BPS).result().attempts >= 1, "a push failed")


def test_paused_everything_waits_and_resumed_it_is_pushed_in_order(hub: Hub, station: Station) -> None:
    register(hub, station)
    say(hub, 5)
    station.wait_for_taken(5)

    set_paused(hub, True)
    say(hub, 5)
    time.sleep(QUIET_S)
    before, waiting = station.sent(), account(hub).pending
    set_paused(hub, False)

    settled(hub)
    assert (before, waiting) == ([1, 2, 3, 4, 5], 5)
    assert station.sent() == list(range(1, 11))


@pytest.mark.parametrize("answer", [BUSY, NO, Answer(is_cut=True)], ids=["busy", "refused", "cut"])
def test_paused_while_it_fails_it_is_pulled_and_resumed_the_rest_is_delivered_in_order(
    hub: Hub, station: Station, answer: Answer
) -> None:
    station.answer = lambda _: answer
    register(hub, station)
    say(hub, 9)
    wait_for_failure(hub)

    set_paused(hub, True)
    wait_until(lambda: not any(one.status == 0 and not answer.is_cut for one in station.arrivals), "all are answered")
    time.sleep(QUIET_S)
    tries = len(station.arrivals)
    time.sleep(QUIET_S)
    pulled = ask(hub)
    hub.ack(TOPIC, BPS, 4, pulled.epoch).result()
    quiet = len(station.arrivals)
    station.answer = lambda _: FINE
    set_paused(hub, False)

    settled(hub)
    assert quiet == tries
    assert seqs_of(pulled) == list(range(1, 10))
    assert station.taken() == [5, 6, 7, 8, 9]


@pytest.mark.parametrize("answer", [BUSY, NO, Answer(429, {"Retry-After": "600"})], ids=["busy", "refused", "wait"])
def test_resumed_it_is_tried_at_once_however_long_it_was_to_wait(hub: Hub, station: Station, answer: Answer) -> None:
    station.answer = lambda _: answer
    register(hub, station, **LONG)
    say(hub, 5)
    wait_for_failure(hub)
    set_paused(hub, True)
    time.sleep(QUIET_S)

    station.answer = lambda _: FINE
    set_paused(hub, False)

    station.wait_for_taken(5, deadline_s=5)
    settled(hub)
    assert station.taken() == [1, 2, 3, 4, 5]


def test_paused_and_resumed_in_one_breath_it_is_tried_at_once(hub: Hub, station: Station) -> None:
    station.answer = lambda _: BUSY
    register(hub, station, **LONG)
    say(hub, 3)
    wait_for_failure(hub)
    station.answer = lambda _: FINE

    tickets = [hub.update("subscription", (TOPIC, BPS), {"paused": paused}) for paused in (True, False)]
    for ticket in tickets:
        ticket.result()

    station.wait_for_taken(3, deadline_s=5)


def test_resumed_and_paused_in_one_breath_it_stays_paused(hub: Hub, station: Station) -> None:
    register(hub, station)
    set_paused(hub, True)
    say(hub, 3)

    tickets = [hub.update("subscription", (TOPIC, BPS), {"paused": paused}) for paused in (False, True)]
    for ticket in tickets:
        ticket.result()
    time.sleep(QUIET_S)
    sent = len(station.arrivals)
    time.sleep(QUIET_S)

    # The pusher may have heard of the resumption by itself; of the pause it has heard since.
    assert len(station.arrivals) == sent
    assert account(hub).pending == 3 - len(station.taken())
    say(hub, 3)
    time.sleep(QUIET_S)
    assert len(station.arrivals) == sent


def test_a_push_that_is_on_its_way_when_it_is_paused_still_counts(hub: Hub, station: Station) -> None:
    register(hub, station)
    station.hold()
    say(hub, 10)
    station.wait_for(1)

    set_paused(hub, True)
    time.sleep(QUIET_S)
    station.let_go()
    wait_until(lambda: account(hub).acknowledged == 1, "the answer is written")
    time.sleep(QUIET_S)

    assert station.sent() == [1]
    assert pull(hub) == list(range(2, 11))


def test_the_other_subscriptions_of_the_same_subscriber_go_on(hub: Hub, station: Station) -> None:
    register(hub, station, TOPIC, "nacimientos")
    set_paused(hub, True)

    say(hub, 5)
    say(hub, 5, topic="nacimientos")
    station.wait_for_taken(5, topic="nacimientos")

    assert station.sent(TOPIC) == []
    assert account(hub).pending == 5
    assert settled(hub, "nacimientos").acknowledged == 5


def test_paused_before_the_hub_stopped_it_is_paused_when_it_is_back(
    tmp_path_factory: pytest.TempPathFactory, station: Station
) -> None:
    data = tmp_path_factory.mktemp("hub")
    options = {"push_allow": "127.0.0.1", "feed": "", "ingest": "", "http": ""}
    with run_hub(data, **options) as running:
        register(running.server.hub, station)
        set_paused(running.server.hub, True)
        say(running.server.hub, 5)

    with run_hub(data, **options) as running:
        hub = running.server.hub
        time.sleep(QUIET_S)
        before = station.sent()
        set_paused(hub, False)
        settled(hub)

    assert before == []
    assert station.sent() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("parallel", [1, 6])
def test_pausing_again_and_again_loses_nothing_and_repeats_nothing_answered(
    hub: Hub, station: Station, parallel: int
) -> None:
    chance = random.Random(parallel)
    station.answer = lambda arrival: Answer(wait_s=0.002 * (arrival.seq % 4))
    register(hub, station, parallel=parallel)

    for _ in range(25):
        say(hub, 5, keys="abcdefghi")
        set_paused(hub, True)
        time.sleep(chance.random() * 0.02)
        set_paused(hub, False)
        time.sleep(chance.random() * 0.02)

    assert settled(hub).head_seq == 125
    assert Counter(station.taken()) == Counter(range(1, 126))
    if parallel == 1:
        assert station.taken() == list(range(1, 126))
