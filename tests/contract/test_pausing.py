"""Subscriptions that are paused: not pushed, pulled as ever, accounted for as ever, and told of."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection

from pregon.errors import AlreadyExists, BadRequest, Changed
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.hub.registry import fingerprint
from pregon.model.catalog import PUSH, Subscriber, Subscription
from pregon.store.backlogs import Backlog, read_backlogs
from pregon.store.pushing import list_pushed, list_pushed_subscribers
from pregon.store.transaction import Transaction

from .pushes import NAMES, deliver, fail, state
from .site import Site
from .verbs import SUBSCRIBER, TOPIC, ack, fill, park, pull, say, subscribe

PUSHED = Subscriber(name=SUBSCRIBER, mode=PUSH, endpoint="http://127.0.0.1:9/")


@pytest.fixture
def pushing(site: Site) -> Hub:
    """A hub with three messages for a subscriber to which they are pushed."""
    hub = site.restart(HubOptions(push_allow="127.0.0.1"))
    hub.create(PUSHED).result()
    fill(hub, 3)
    subscribe(hub)
    return hub


def set_paused(hub: Hub, paused: bool, topic: str = TOPIC) -> Subscription:
    """Pause or resume; the entry."""
    changed = hub.update("subscription", (topic, SUBSCRIBER), {"paused": paused}).result()
    assert isinstance(changed, Subscription)
    return changed


def pushed(hub: Hub) -> list[str]:
    """The topics in which something is pushed."""
    return sorted(one.topic for one in hub.read(list_pushed).result())


def backlog(hub: Hub) -> Backlog:
    """What waits for the subscription."""

    def look(connection: Connection) -> list[Backlog]:
        return read_backlogs(connection)

    (found,) = hub.read(look).result()
    return found


def numbers(hub: Hub, **options: Any) -> list[int]:
    """What a pull gives."""
    batches = pull(hub, **options).batches
    return [seq for batch in batches for seq in range(batch.base_seq, batch.last_seq + 1)]


class Follower:
    """Who hears of what is committed."""

    def __init__(self) -> None:
        self.resumed: list[set[tuple[str, str]]] = []

    def committed(self, transaction: Transaction) -> None:
        """Note what was resumed."""
        if transaction.is_catalogue_changed:
            self.resumed.append(set(transaction.resumed))


def test_a_paused_subscription_is_not_pushed_and_the_others_of_its_subscriber_are(pushing: Hub) -> None:
    subscribe(pushing, topic="deaths")

    set_paused(pushing, True)
    while_paused = pushed(pushing)
    set_paused(pushing, False)

    assert while_paused == ["deaths"]
    assert pushed(pushing) == [TOPIC, "deaths"]
    assert [one.name for one in pushing.read(list_pushed_subscribers).result()] == [SUBSCRIBER]


def test_what_waits_in_it_is_pulled_parked_acknowledged_and_accounted_for(pushing: Hub) -> None:
    set_paused(pushing, True)
    say(pushing, "four", "five")

    pulled = numbers(pushing)
    ack(pushing, 2)
    park(pushing, 4)

    assert pulled == [1, 2, 3, 4, 5]
    assert numbers(pushing) == [3, 5]
    found = pushing.account(*NAMES).result()
    assert (found.accepted, found.acknowledged, found.pending, found.parked) == (5, 2, 2, 1)


def test_what_was_on_its_way_when_it_was_paused_still_counts(pushing: Hub) -> None:
    set_paused(pushing, True)

    deliver(pushing, 1)
    fail(pushing, 2)

    assert numbers(pushing) == [2, 3]
    assert state(pushing).attempts == 1


def test_its_push_state_says_so_and_it_does_not_fail(pushing: Hub) -> None:
    fail(pushing, 1, attempt=3)
    failing = (backlog(pushing).is_failing, state(pushing).paused)

    set_paused(pushing, True)

    assert failing == (True, False)
    assert (state(pushing).paused, state(pushing).attempts) == (True, 3)
    assert (backlog(pushing).paused, backlog(pushing).is_failing, backlog(pushing).pending) == (True, False, 3)


def test_resumed_it_begins_anew(pushing: Hub) -> None:
    fail(pushing, 1, attempt=3, refusals=2)
    set_paused(pushing, True)

    set_paused(pushing, False)

    found = state(pushing)
    assert (found.paused, found.attempts, found.next_try_us, found.failing_since_us) == (False, 0, 0, 0)
    assert not backlog(pushing).is_failing


def test_only_a_resumption_is_told_as_one(pushing: Hub) -> None:
    follower = Follower()
    pushing.follow(follower)

    set_paused(pushing, False)
    set_paused(pushing, True)
    set_paused(pushing, True)
    set_paused(pushing, False)
    pushing.update("subscription", NAMES, {"pending_max": 9}).result()

    assert follower.resumed == [set(), set(), set(), {NAMES}, set()]


def test_another_change_leaves_a_failure_and_the_pause_as_they_were(pushing: Hub) -> None:
    fail(pushing, 1, attempt=3)
    set_paused(pushing, True)

    changed = pushing.update("subscription", NAMES, {"pending_max": 9, "filter": ""}).result()

    assert isinstance(changed, Subscription)
    assert (changed.paused, changed.pending_max, state(pushing).attempts) == (True, 9, 3)


def test_it_is_so_after_a_restart(site: Site, pushing: Hub) -> None:
    set_paused(pushing, True)

    again = site.restart(HubOptions(push_allow="127.0.0.1"))

    assert pushed(again) == []
    assert state(again).paused


def test_it_can_be_so_from_the_beginning_and_is_part_of_what_people_set(hub: Hub) -> None:
    wanted = Subscription(topic=TOPIC, subscriber=SUBSCRIBER, paused=True)

    made = hub.create(wanted).result()
    again = hub.create(wanted).result()

    assert isinstance(made, Subscription)
    assert (made.paused, again) == (True, made)
    with pytest.raises(AlreadyExists):
        hub.create(Subscription(topic=TOPIC, subscriber=SUBSCRIBER)).result()
    seen = fingerprint(msgspec.structs.replace(made, paused=False))
    with pytest.raises(Changed):
        hub.update("subscription", NAMES, {"pending_max": 1}, seen).result()


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_it_is_true_or_false(pushing: Hub, value: object) -> None:
    with pytest.raises(BadRequest):
        pushing.update("subscription", NAMES, {"paused": value}).result()

    assert pushed(pushing) == [TOPIC]
