"""What a topic forgets: by age, by size, when everyone has acknowledged, and never what somebody needs."""

from typing import Any

import pytest
from sqlalchemy import func, select

from pregon.errors import BadRequest
from pregon.hub.hub import Hub
from pregon.model.catalog import Retention, Topic
from pregon.store.schema import batch as batch_table

from .site import Clock, Site
from .verbs import (
    TOPIC,
    ack,
    batch_of,
    count_batches,
    pending,
    ranges,
    read,
    say,
    say_batch,
    subscribe,
    tail_of,
)

HOUR_MS = 3_600_000


def make_topic(hub: Hub, **retention: Any) -> None:
    """A topic with retention."""
    hub.create(Topic(name=TOPIC, retention=Retention(**retention))).result()


def kept(hub: Hub) -> list[int]:
    """The numbers that the log has."""
    return [message.seq for message in read(hub)]


def test_a_topic_without_retention_keeps_everything(clock: Clock, site: Site) -> None:
    hub = site.restart()
    say(hub, "a")
    subscribe(hub)
    ack(hub, 1)
    clock.move_ms(1_000 * HOUR_MS)

    hub.maintenance.run_once()

    assert kept(hub) == [1]


def test_retention_by_age_forgets_what_is_older(clock: Clock, site: Site) -> None:
    hub = site.restart()
    make_topic(hub, age_ms=HOUR_MS)
    for _ in range(4):
        say(hub, "x")
        clock.move_ms(HOUR_MS // 2)

    hub.maintenance.run_once()

    assert kept(hub) == [3, 4]
    assert (tail_of(hub), ranges(hub, "removed")) == (3, [(1, 2)])


def test_retention_by_size_forgets_the_oldest_while_the_topic_is_too_large(hub: Hub) -> None:
    make_topic(hub, bytes_max=35_000)
    for _ in range(10):
        say(hub, "x" * 10_000)

    hub.maintenance.run_once()

    assert kept(hub) == [8, 9, 10]
    shown = hub.show("topic", (TOPIC,)).result()
    assert isinstance(shown, Topic)
    assert shown.bytes <= 35_000


def test_the_size_of_a_topic_is_that_of_its_batches(hub: Hub) -> None:
    make_topic(hub, bytes_max=20_000)
    for number in range(10):
        say_batch(hub, *["x" * 500] * number, "x")
    for _ in range(70):
        say_batch(hub, "x")
    hub.maintenance.run_once()

    shown = hub.show("topic", (TOPIC,)).result()

    assert isinstance(shown, Topic)
    assert shown.bytes == hub.read(lambda c: c.execute(select(func.sum(batch_table.c.bytes))).scalar_one()).result()


def test_what_everyone_has_acknowledged_is_forgotten(hub: Hub) -> None:
    make_topic(hub, when_acknowledged=True)
    subscribe(hub, "one")
    subscribe(hub, "another")
    for word in "abcde":
        say(hub, word)
    ack(hub, 4, "one")
    ack(hub, 2, "another")

    hub.maintenance.run_once()

    assert kept(hub) == [3, 4, 5]


def test_a_batch_goes_only_when_all_of_it_may_go(hub: Hub) -> None:
    make_topic(hub, when_acknowledged=True)
    subscribe(hub)
    say_batch(hub, "1", "2")
    say_batch(hub, "3", "4")
    ack(hub, 3)

    hub.maintenance.run_once()

    assert kept(hub) == [3, 4]


def test_a_topic_without_subscriptions_has_been_acknowledged_by_nobody(hub: Hub) -> None:
    make_topic(hub, when_acknowledged=True)
    say(hub, "a", "b")

    hub.maintenance.run_once()

    assert kept(hub) == [1, 2]


@pytest.mark.parametrize("retention", [{"age_ms": 1}, {"bytes_max": 1}, {"when_acknowledged": True}])
def test_what_a_subscription_needs_is_never_removed(clock: Clock, site: Site, retention: dict[str, Any]) -> None:
    hub = site.restart()
    make_topic(hub, **retention)
    subscribe(hub, "slow")
    subscribe(hub, "quick")
    for word in "abcd":
        say(hub, word)
    ack(hub, 1, "slow")
    ack(hub, 4, "quick")
    clock.move_ms(HOUR_MS)

    hub.maintenance.run_once()

    assert kept(hub) == pending(hub, "slow") == [2, 3, 4]


def test_what_was_replayed_is_needed_again(clock: Clock, site: Site) -> None:
    hub = site.restart()
    make_topic(hub, age_ms=1)
    subscribe(hub)
    for word in "abc":
        say(hub, word)
    ack(hub, 3)
    hub.replay(TOPIC, "bank", from_seq=2).result()
    clock.move_ms(HOUR_MS)

    hub.maintenance.run_once()

    assert kept(hub) == pending(hub) == [2, 3]


def test_a_deleted_subscription_needs_nothing(hub: Hub) -> None:
    make_topic(hub, when_acknowledged=True)
    subscribe(hub, "slow")
    subscribe(hub, "quick")
    say(hub, "a")
    ack(hub, 1, "quick")
    hub.delete("subscription", (TOPIC, "slow")).result()

    hub.maintenance.run_once()

    assert kept(hub) == []


def test_numbers_go_on_when_everything_was_forgotten(site: Site) -> None:
    make_topic(site.hub, when_acknowledged=True)
    subscribe(site.hub)
    say(site.hub, "a", "b")
    ack(site.hub, 2)
    site.hub.maintenance.run_once()

    numbers = say(site.restart(), "c")

    assert numbers == [3]
    assert kept(site.hub) == pending(site.hub) == [3]
    assert pending(site.hub, "newcomer") == [3]


def test_a_long_log_is_forgotten_in_one_round(clock: Clock, site: Site) -> None:
    hub = site.restart()
    make_topic(hub, age_ms=1)
    tickets = [hub.publish_batch(TOPIC, "p", batch) for batch in [batch_of("x")] * 450]
    for ticket in tickets:
        ticket.result()
    clock.move_ms(HOUR_MS)

    hub.maintenance.run_once()

    assert count_batches(hub) == 0
    assert [last for _, last in ranges(hub, "removed")] == [200, 400, 450]


@pytest.mark.parametrize("wrong", [{"age_ms": 0}, {"age_ms": -1}, {"bytes_max": 0}])
def test_retention_that_makes_no_sense_is_refused(hub: Hub, wrong: dict[str, int]) -> None:
    with pytest.raises(BadRequest):
        make_topic(hub, **wrong)

    assert hub.list("topic").result() == []
