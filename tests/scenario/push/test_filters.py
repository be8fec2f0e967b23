"""Filters that change while pushes are on their way: what is not wanted is not pushed, what is wanted is, once."""

from __future__ import annotations

import random
import time
from collections import Counter

import pytest

from pregon.hub.hub import Hub
from pregon.model.message import Outgoing

from ..hub_process import wait_until
from .receiver import Answer, Station
from .subscriber_hub import (
    BPS,
    TOPIC,
    change,
    register,
    settled,
)


def say_each(hub: Hub, letters: str) -> None:
    """Publish a message for each letter, which its header r has."""
    for letter in letters:
        hub.publish(TOPIC, "dgrec", Outgoing(b"x", headers={"r": letter})).result()


def want(hub: Hub, letter: str) -> None:
    """Give the subscription another filter."""
    filter = f'{{"header":"r","equals":"{letter}"}}' if letter else ""
    hub.update("subscription", (TOPIC, BPS), {"filter": filter}).result()


def test_another_filter_while_pushing_counts_for_what_was_not_pushed_yet(hub: Hub, station: Station) -> None:
    register(hub, station)
    station.hold()
    say_each(hub, "ab" * 20)
    station.wait_for(1)

    want(hub, "b")
    time.sleep(0.3)
    station.let_go()

    found = settled(hub)
    assert station.sent() == [1, *range(2, 41, 2)]
    # The first was on its way; whether it counts as delivered or as not wanted any more depends on which came first.
    assert found.filtered in (19, 20)


def test_without_its_filter_what_it_did_not_want_is_pushed(hub: Hub, station: Station) -> None:
    register(hub, station)
    want(hub, "a")
    change(hub, enabled=False)
    say_each(hub, "abb")
    wait_until(lambda: hub.account(TOPIC, BPS).result().filtered == 2, "the filter has looked")
    hub.park(TOPIC, BPS, [1]).result()
    change(hub, enabled=True)
    time.sleep(0.1)

    want(hub, "")

    station.wait_for_taken(2, deadline_s=5)
    assert station.sent() == [2, 3]


@pytest.mark.parametrize("parallel", [1, 4])
def test_filters_that_change_again_and_again_lose_nothing(hub: Hub, station: Station, parallel: int) -> None:
    chance = random.Random(7)
    station.answer = lambda _: Answer(wait_s=0.001)
    register(hub, station, parallel=parallel)

    for _ in range(12):
        want(hub, chance.choice(["a", "b", "", "c"]))
        say_each(hub, "abca")
        time.sleep(chance.random() * 0.05)
    want(hub, "")
    say_each(hub, "abc")

    found = settled(hub)
    taken = station.taken()
    assert max(Counter(taken).values()) == 1
    assert found.acknowledged + found.filtered == found.head_seq
    # One that was on its way when the filter changed may have arrived, and not be wanted any more.
    assert found.acknowledged <= len(taken) <= found.acknowledged + 12 * parallel
    assert taken[-3:] == list(range(found.head_seq - 2, found.head_seq + 1)) or parallel > 1
