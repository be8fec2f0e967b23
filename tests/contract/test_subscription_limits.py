"""A subscription's own limits let go of the oldest pending messages: they are counted and traced as expired."""

import pytest

from pregon.errors import BadRequest
from pregon.hub.hub import Hub
from pregon.model.catalog import Retention, Subscription, Topic

from .site import Clock, Site
from .verbs import TOPIC, ack, fill, park, pending, pull, ranges, say, say_batch, subscribe, tail_of, tally, unpark

HOUR_MS = 3_600_000


def test_pending_messages_past_the_most_allowed_expire_the_oldest_first(hub: Hub) -> None:
    subscribe(hub, pending_max=3)
    fill(hub, 10)

    hub.maintenance.run_once()

    assert pending(hub) == [8, 9, 10]
    assert tally(hub) == {"acknowledged": 0, "pending": 3, "parked": 0, "expired": 7}
    assert ranges(hub, "expired", subscriber="bank") == [(1, 7)]


def test_as_many_as_allowed_stay(hub: Hub) -> None:
    subscribe(hub, pending_max=3)
    fill(hub, 5)
    ack(hub, 2)

    hub.maintenance.run_once()

    assert pending(hub) == [3, 4, 5]
    assert ranges(hub, "expired") == []


def test_messages_pending_for_too_long_expire(clock: Clock, site: Site) -> None:
    hub = site.restart()
    subscribe(hub, pending_age_ms=HOUR_MS)
    for _ in range(4):
        say(hub, "x")
        clock.move_ms(HOUR_MS // 2)

    hub.maintenance.run_once()

    assert pending(hub) == [3, 4]
    assert ranges(hub, "expired") == [(1, 2)]


def test_everything_expires_when_all_of_it_is_too_old(clock: Clock, site: Site) -> None:
    hub = site.restart()
    subscribe(hub, pending_age_ms=1)
    fill(hub, 4)
    clock.move_ms(HOUR_MS)

    hub.maintenance.run_once()

    assert pending(hub) == []
    assert say(hub, "5") == pending(hub) == [5]


def test_of_both_limits_the_stricter_counts(clock: Clock, site: Site) -> None:
    hub = site.restart()
    subscribe(hub, "few", pending_max=1, pending_age_ms=HOUR_MS)
    subscribe(hub, "young", pending_max=3, pending_age_ms=1)
    fill(hub, 4)
    clock.move_ms(100)

    hub.maintenance.run_once()

    assert pending(hub, "few") == [4]
    assert pending(hub, "young") == []


def test_what_is_parked_does_not_expire(hub: Hub) -> None:
    subscribe(hub, pending_max=2)
    fill(hub, 8)
    park(hub, 2, 3)

    hub.maintenance.run_once()

    assert tally(hub) == {"acknowledged": 0, "pending": 2, "parked": 2, "expired": 4}
    assert ranges(hub, "expired") == [(1, 1), (4, 6)]


def test_what_is_parked_takes_no_place_of_what_is_pending(hub: Hub) -> None:
    subscribe(hub, pending_max=3)
    fill(hub, 10)
    ack(hub, 4)
    park(hub, 8, 9, 10)

    hub.maintenance.run_once()

    assert pending(hub) == [5, 6, 7]
    assert tally(hub) == {"acknowledged": 4, "pending": 3, "parked": 3, "expired": 0}


def test_what_is_unparked_does_not_expire(hub: Hub) -> None:
    subscribe(hub, pending_max=2)
    fill(hub, 8)
    park(hub, 2)
    hub.maintenance.run_once()

    unpark(hub, 2)
    hub.maintenance.run_once()

    assert pending(hub) == [2]
    assert tally(hub) == {"acknowledged": 0, "pending": 3, "parked": 0, "expired": 5}


def test_limits_of_one_subscription_take_nothing_from_another(hub: Hub) -> None:
    subscribe(hub, "limited", pending_max=1)
    subscribe(hub, "patient")
    fill(hub, 4)

    hub.maintenance.run_once()

    assert pending(hub, "patient") == [1, 2, 3, 4]


def test_what_has_expired_is_needed_no_more(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC, retention=Retention(when_acknowledged=True))).result()
    subscribe(hub, pending_max=1)
    for word in "abcd":
        say(hub, word)

    hub.maintenance.run_once()

    assert tail_of(hub) == 4
    assert pending(hub) == [4]


def test_expiring_again_goes_on_where_it_ended(hub: Hub) -> None:
    subscribe(hub, pending_max=2)
    fill(hub, 4)
    hub.maintenance.run_once()
    say_batch(hub, "5", "6", "7")

    hub.maintenance.run_once()

    assert ranges(hub, "expired") == [(1, 2), (3, 5)]
    assert tally(hub) == {"acknowledged": 0, "pending": 2, "parked": 0, "expired": 5}


def test_limits_can_be_changed_and_lifted(hub: Hub) -> None:
    subscribe(hub)
    fill(hub, 6)
    hub.update("subscription", (TOPIC, "bank"), {"pending_max": 4}).result()
    hub.maintenance.run_once()
    limited = pending(hub)

    hub.update("subscription", (TOPIC, "bank"), {"pending_max": None}).result()
    say(hub, "7")
    hub.maintenance.run_once()

    assert limited == [3, 4, 5, 6]
    assert pending(hub) == [3, 4, 5, 6, 7]


def test_an_acknowledgement_of_what_has_expired_has_no_effect(hub: Hub) -> None:
    subscribe(hub, pending_max=2)
    fill(hub, 6)
    pull(hub)
    hub.maintenance.run_once()

    cursor = ack(hub, 3)

    assert cursor == 4
    assert tally(hub) == {"acknowledged": 0, "pending": 2, "parked": 0, "expired": 4}


@pytest.mark.parametrize("wrong", [{"pending_max": 0}, {"pending_age_ms": 0}, {"pending_max": -1}])
def test_limits_that_make_no_sense_are_refused(hub: Hub, wrong: dict[str, int]) -> None:
    with pytest.raises(BadRequest):
        hub.create(Subscription(topic=TOPIC, subscriber="bank", **wrong))  # type: ignore[arg-type]

    assert hub.list("subscription").result() == []
