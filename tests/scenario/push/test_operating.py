"""Operators delete, replay, park and cancel while pushes are on their way: nothing is lost, and all adds up."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from pregon.errors import NotFound, PregonError
from pregon.hub.hub import Hub
from pregon.model.catalog import PUSH, Subscription

from ..hub_process import wait_until
from .receiver import Answer, Station
from .subscriber_hub import (
    BPS,
    BUSY,
    FINE,
    NO,
    TOPIC,
    ask,
    change,
    ranges,
    register,
    say,
    seqs_of,
    settled,
)

# Deleting.


def test_a_topic_deleted_while_pushing_ends_its_pushes_and_no_others(hub: Hub, station: Station) -> None:
    station.answer = lambda _: Answer(wait_s=0.002)
    register(hub, station, TOPIC, "nacidos")
    say(hub, 300)
    say(hub, 100, topic="nacidos")
    station.wait_for(20)

    hub.delete("topic", (TOPIC,)).result()

    settled(hub, "nacidos")
    time.sleep(0.1)
    before = len(station.sent(TOPIC))
    time.sleep(0.2)
    assert len(station.sent(TOPIC)) == before < 300
    assert station.sent("nacidos") == list(range(1, 101))


@pytest.mark.parametrize("kind", ["subscription", "subscriber"])
def test_deleting_it_while_pushing_ends_the_pushes(hub: Hub, station: Station, kind: str) -> None:
    station.answer = lambda _: Answer(wait_s=0.002)
    register(hub, station)
    say(hub, 300)
    station.wait_for(20)

    hub.delete(kind, (TOPIC, BPS) if kind == "subscription" else (BPS,)).result()

    time.sleep(0.2)
    before = len(station.arrivals)
    time.sleep(0.2)
    assert len(station.arrivals) == before < 300
    with pytest.raises(NotFound):
        hub.account(TOPIC, BPS).result()


def make_again(hub: Hub) -> None:
    """Delete the topic and make another of the same name, with the same subscriber."""
    tickets: list[Any] = [hub.delete("topic", (TOPIC,)), hub.create(Subscription(topic=TOPIC, subscriber=BPS))]
    for ticket in tickets:
        ticket.result()


def test_a_topic_made_again_is_pushed_from_its_first_message(hub: Hub, station: Station) -> None:
    register(hub, station)
    say(hub, 30)
    settled(hub)

    for _ in range(5):
        station.arrivals.clear()
        make_again(hub)
        say(hub, 7)

        settled(hub)
        assert station.sent() == [1, 2, 3, 4, 5, 6, 7]


def test_the_answer_to_a_push_of_the_old_topic_settles_nothing_of_the_new(hub: Hub, station: Station) -> None:
    register(hub, station)
    station.hold()
    say(hub, 3)
    station.wait_for(1)

    make_again(hub)
    say(hub, 3)
    station.let_go()

    settled(hub)
    sent = station.sent()
    # What was in hand of the old topic may still go out before its end is noticed; all of the new one follows it.
    assert sent[0] == 1 and sent[-3:] == [1, 2, 3] and 4 <= len(sent) <= 6


def test_a_refusal_of_the_old_topic_is_none_of_the_new(hub: Hub, station: Station) -> None:
    register(hub, station, attempts_max=1, on_poison="park")
    station.hold()
    say(hub, 3)
    station.wait_for(1)
    answers = iter([NO])
    station.answer = lambda _: next(answers, FINE)

    make_again(hub)
    say(hub, 3)
    station.let_go()

    assert settled(hub).parked == 0
    assert station.taken() == [1, 2, 3]


def test_a_subscription_made_again_gets_everything_again(hub: Hub, station: Station) -> None:
    register(hub, station)
    say(hub, 5)
    settled(hub)

    tickets: list[Any] = [
        hub.delete("subscription", (TOPIC, BPS)),
        hub.create(Subscription(topic=TOPIC, subscriber=BPS)),
    ]
    for ticket in tickets:
        ticket.result()

    settled(hub)
    assert station.sent() == [1, 2, 3, 4, 5] * 2


def test_a_subscriber_made_again_is_pushed_to(hub: Hub, station: Station) -> None:
    register(hub, station)
    say(hub, 5)
    settled(hub)

    hub.delete("subscriber", (BPS,)).result()
    register(hub, station)

    settled(hub)
    assert station.sent() == [1, 2, 3, 4, 5] * 2


# Replays, parking and cancelling.


@pytest.mark.parametrize("parallel", [1, 5])
def test_a_replay_while_pushing_pushes_everything_again_in_order(hub: Hub, station: Station, parallel: int) -> None:
    station.answer = lambda _: Answer(wait_s=0.002)
    register(hub, station, parallel=parallel)
    say(hub, 120, keys="abc" if parallel > 1 else "")
    station.wait_for_taken(40)
    wait_until(lambda: hub.account(TOPIC, BPS).result().acknowledged >= 30, "some of it is written")

    # Before, because the first of them may be pushed again before the answer is read.
    replayed_s = time.monotonic()
    hub.replay(TOPIC, BPS, from_seq=11).result()

    settled(hub)
    again = [one.seq for one in station.arrivals if one.at_s > replayed_s and one.is_taken]
    assert set(again) >= set(range(11, 121))
    for key in range(3 if parallel > 1 else 1):
        step = 3 if parallel > 1 else 1
        mine = [seq for seq in again if (seq - 1) % step == key]
        begin = mine.index(min(seq for seq in mine if seq >= 11))
        # What was on its way at the time of the replay may come before it.
        assert mine[begin:] == sorted(mine[begin:])


def test_what_is_parked_or_cancelled_in_the_middle_of_a_chunk_is_not_pushed(hub: Hub, station: Station) -> None:
    register(hub, station)
    station.hold()
    say(hub, 50)
    station.wait_for(1)

    hub.park(TOPIC, BPS, list(range(10, 20))).result()
    hub.cancel(TOPIC, BPS, list(range(30, 35))).result()
    time.sleep(0.1)
    station.let_go()

    found = settled(hub)
    assert (found.parked, found.expired) == (10, 5)
    assert station.sent() == [*range(1, 10), *range(20, 30), *range(35, 51)]


def test_what_was_parked_while_it_was_on_its_way_and_taken_is_not_pushed_again(hub: Hub, station: Station) -> None:
    register(hub, station)
    station.hold()
    say(hub, 5)
    station.wait_for(1)

    hub.park(TOPIC, BPS, [1]).result()
    station.let_go()
    settled(hub)
    hub.unpark(TOPIC, BPS).result()

    settled(hub)
    time.sleep(0.1)
    assert station.sent() == [1, 2, 3, 4, 5]


def test_cancelling_the_message_that_fails_lets_the_next_go_at_once(hub: Hub, station: Station) -> None:
    station.answer = lambda arrival: NO if arrival.seq == 1 else FINE
    register(hub, station, delay_ms_first=600_000, delay_ms_max=600_000)
    say(hub, 3)
    wait_until(lambda: hub.push_state(TOPIC, BPS).result().attempts == 1, "it was refused")

    hub.cancel(TOPIC, BPS, [1]).result()

    station.wait_for_taken(2, deadline_s=5)
    assert station.sent() == [1, 2, 3]
    assert settled(hub).expired == 1
    assert hub.push_state(TOPIC, BPS).result().failing_since_us == 0


# Everything at once.


def test_whatever_operators_do_the_accounting_adds_up_and_nothing_is_missing(hub: Hub, station: Station) -> None:
    chance = random.Random(3)
    station.answer = lambda arrival: chance.choice([FINE, FINE, FINE, FINE, BUSY, NO, Answer(is_cut=True)])
    register(hub, station, parallel=4, attempts_max=3, on_poison="park", delay_ms_first=10, delay_ms_max=20)
    acknowledged: set[int] = set()

    def operate() -> None:
        head = hub.account(TOPIC, BPS).result().head_seq
        some = sorted(chance.sample(range(1, head + 1), min(3, head)))
        verb = chance.choice(["park", "unpark", "cancel", "ack", "replay", "off", "on", "pull"])
        if verb == "park":
            hub.park(TOPIC, BPS, some).result()
        elif verb == "unpark":
            hub.unpark(TOPIC, BPS).result()
        elif verb == "cancel":
            hub.cancel(TOPIC, BPS, some[:1]).result()
        elif verb == "ack":
            pulled = ask(hub, messages_max=3)
            seqs = seqs_of(pulled)
            if seqs:
                hub.ack(TOPIC, BPS, seqs[-1], pulled.epoch).result()
                acknowledged.update(seqs)
        elif verb == "replay":
            hub.replay(TOPIC, BPS, from_seq=max(1, head - 10)).result()
        elif verb == "pull":
            change(hub, mode=chance.choice(["pull", PUSH]))
        else:
            change(hub, enabled=verb == "on")

    for _ in range(80):
        say(hub, 3, keys="abcdefg")
        try:
            operate()
        except PregonError:
            pass  # What is not pending any more cannot be parked: the pusher was quicker.
        time.sleep(0.005)
    station.answer = lambda _: FINE
    change(hub, mode=PUSH, enabled=True)
    hub.unpark(TOPIC, BPS).result()

    found = settled(hub)
    cancelled = {seq for first, last in ranges(hub, "cancelled") for seq in range(first, last + 1)}
    assert found.parked == 0
    assert set(station.taken()) | acknowledged | cancelled == set(range(1, found.head_seq + 1))
