"""What is remembered of failed pushes, what the pusher is told of others, and who is disabled because it is gone."""

from __future__ import annotations

from typing import Any

import pytest

from pregon.hub.deliver import Disable
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.hub.settle import Ack, Cancel, Park, Replay, Unpark
from pregon.model.catalog import PUSH, Subscriber
from pregon.store.transaction import Transaction

from .pushes import NAMES, deliver, delivery, fail, failure, state
from .site import Site, one_commit
from .verbs import SUBSCRIBER, account, ack, drain, fill, park, pending, ranges, replay, say, subscribe, traces, unpark

URL = "http://127.0.0.1:9/novedades"


@pytest.fixture
def nine(hub: Hub) -> Hub:
    """Messages 1 to 9, all pending."""
    fill(hub, 9)
    subscribe(hub)
    return hub


# Failed.


def test_a_failure_is_traced_with_its_reason_and_everything_stays_pullable(nine: Hub) -> None:
    fail(nine, 1)

    (failed,) = traces(nine, kind="failed")
    assert (failed.first_seq, failed.last_seq, failed.attempt, failed.latency_ms) == (1, 1, 1, 7)
    assert failed.detail == "HTTP 503; next try in 4 s"
    assert pending(nine) == list(range(1, 10))


def test_what_waits_because_of_a_failure_is_deferred_once(nine: Hub) -> None:
    fail(nine, 1)
    fail(nine, 1, attempt=2)
    say(nine, "ten", "eleven")
    fail(nine, 1, attempt=3)
    fail(nine, 1, attempt=4)

    assert ranges(nine, "deferred") == [(1, 9), (10, 11)]
    assert len(traces(nine, kind="failed")) == 4


def test_what_waits_in_the_next_outage_is_deferred_again(nine: Hub) -> None:
    fail(nine, 1)
    deliver(nine, 1, 2, attempt=2)

    fail(nine, 3)

    assert ranges(nine, "deferred") == [(1, 9), (3, 9)]


def test_what_is_parked_done_or_acknowledged_is_not_deferred(nine: Hub) -> None:
    ack(nine, 2)
    park(nine, 4)
    deliver(nine, 6, 7)

    fail(nine, 3)

    assert ranges(nine, "deferred") == [(3, 3), (5, 5), (8, 9)]


def test_an_unparked_message_that_fails_is_deferred_too(nine: Hub) -> None:
    park(nine, 1)
    ack(nine, 9)
    unpark(nine, 1)

    fail(nine, 1)

    assert ranges(nine, "deferred") == [(1, 1)]


def test_the_state_says_since_when_how_often_and_why(nine: Hub) -> None:
    fail(nine, 1)
    since_us = state(nine).failing_since_us

    fail(nine, 1, attempt=2, reason="no answer in 10000 ms")

    found = state(nine)
    assert (found.attempts, found.next_try_us, found.last_failure) == (2, 123_000_000, "no answer in 10000 ms")
    assert found.failing_since_us == since_us > 0


def test_a_delivery_ends_the_failure(nine: Hub) -> None:
    fail(nine, 1)

    deliver(nine, 1, attempt=2)

    found = state(nine)
    assert (found.attempts, found.next_try_us, found.failing_since_us) == (0, 0, 0)
    assert found.last_failure == "HTTP 503"


def settle_by_ack(hub: Hub) -> None:
    ack(hub, 9)


def settle_by_park(hub: Hub) -> None:
    park(hub, *range(1, 10))


def settle_by_cancel(hub: Hub) -> None:
    hub.cancel(*NAMES, list(range(1, 10))).result()


@pytest.mark.parametrize("settle", [settle_by_ack, settle_by_park, settle_by_cancel])
def test_the_failure_is_over_when_its_message_is_settled_by_somebody_else(nine: Hub, settle: Any) -> None:
    fail(nine, 1, attempt=5, refusals=5)

    settle(nine)

    assert (state(nine).attempts, state(nine).next_try_us) == (0, 0)


def test_a_parked_poison_leaves_no_attempts_to_the_next_message(nine: Hub) -> None:
    fail(nine, 1, attempt=3, refusals=3)

    park(nine, 1, reason="refused 3 times")

    assert state(nine).attempts == 0


def test_a_failure_from_before_a_replay_is_traced_and_changes_nothing(nine: Hub) -> None:
    deliver(nine, 1, 2)
    replay(nine, from_seq=1)

    fail(nine, 3, attempt=4)

    assert state(nine).attempts == 0
    assert ranges(nine, "failed") == [(3, 3)]
    assert ranges(nine, "deferred") == []


def test_a_failure_of_a_message_that_was_acknowledged_meanwhile_does_not_count_for_the_next(nine: Hub) -> None:
    ack(nine, 1)

    fail(nine, 1, attempt=3, refusals=3)

    assert state(nine).attempts == 0


def test_what_is_remembered_of_a_failure_survives_a_restart(site: Site) -> None:
    fill(site.hub, 3)
    subscribe(site.hub)
    fail(site.hub, 1, attempt=4, refusals=2)

    hub = site.restart()

    found = state(hub)
    assert (found.attempts, found.next_try_us, found.last_failure) == (4, 123_000_000, "HTTP 503")


# What the pusher is told.


class Follower:
    """Remembers which subscriptions each transaction touched."""

    def __init__(self) -> None:
        self.touched: list[set[tuple[str, str]]] = []

    def committed(self, transaction: Transaction) -> None:
        """Remember it."""
        self.touched.append(set(transaction.touched))


def acting(name: str) -> Any:
    """An operation that somebody other than the pusher asks for."""
    return {
        "ack": lambda: Ack(*NAMES, 4, None, is_durable=True),
        "park": lambda: Park(*NAMES, [5], ""),
        "cancel": lambda: Cancel(*NAMES, [5], ""),
        "unpark": lambda: Unpark(*NAMES, []),
        "replay": lambda: Replay(*NAMES, from_seq=1),
    }[name]()


@pytest.mark.parametrize("verb", ["ack", "park", "cancel", "unpark", "replay"])
@pytest.mark.parametrize("own", ["delivered", "failed"])
@pytest.mark.parametrize("is_first", [True, False], ids=["before", "after"])
def test_the_pusher_is_told_of_what_others_did_also_in_a_transaction_of_its_own(
    nine: Hub, verb: str, own: str, is_first: bool
) -> None:
    park(nine, 3)
    deliver(nine, 1)
    follower = Follower()
    nine.follow(follower)
    mine = delivery(nine, 2) if own == "delivered" else failure(nine, 2)
    operations = [acting(verb), mine] if is_first else [mine, acting(verb)]

    with one_commit(nine):
        tickets = [nine.submit(operation) for operation in operations]
    for ticket in tickets:
        ticket.result()

    assert NAMES in set().union(*follower.touched)


def test_the_pusher_is_not_told_of_what_it_did_itself(nine: Hub) -> None:
    follower = Follower()
    nine.follow(follower)

    deliver(nine, 1)
    fail(nine, 2)

    assert set().union(*follower.touched) == set()


def test_the_pusher_is_told_of_what_expired(nine: Hub) -> None:
    nine.update("subscription", NAMES, {"pending_max": 2}).result()
    follower = Follower()
    nine.follow(follower)

    nine.maintenance.run_once()

    assert account(nine).expired == 7
    assert NAMES in set().union(*follower.touched)


def test_the_pusher_is_told_of_another_filter(nine: Hub) -> None:
    follower = Follower()
    nine.follow(follower)

    nine.update("subscription", NAMES, {"filter": '{"header":"r","equals":"a"}'}).result()

    assert NAMES in set().union(*follower.touched)


# Gone.


@pytest.fixture
def pushing(site: Site) -> Hub:
    """A hub that has a subscriber to push to."""
    hub = site.restart(HubOptions(push_allow="127.0.0.1"))
    hub.create(Subscriber(name=SUBSCRIBER, mode=PUSH, endpoint=URL)).result()
    fill(hub, 3)
    subscribe(hub)
    return hub


def shown(hub: Hub) -> Subscriber:
    """The subscriber's entry."""
    found = hub.show("subscriber", (SUBSCRIBER,)).result()
    assert isinstance(found, Subscriber)
    return found


def test_who_is_gone_is_disabled_with_the_reason_and_everything_can_be_pulled(pushing: Hub) -> None:
    is_new = pushing.submit(Disable(SUBSCRIBER, URL, "HTTP 410 Gone")).result()

    assert is_new
    assert not shown(pushing).enabled
    assert shown(pushing).disabled_reason == "HTTP 410 Gone"
    assert drain(pushing) == [1, 2, 3]


def test_it_is_disabled_once(pushing: Hub) -> None:
    pushing.submit(Disable(SUBSCRIBER, URL, "HTTP 410 Gone")).result()

    is_new = pushing.submit(Disable(SUBSCRIBER, URL, "another reason")).result()

    assert not is_new
    assert shown(pushing).disabled_reason == "HTTP 410 Gone"


def test_who_was_given_another_endpoint_meanwhile_is_not_disabled(pushing: Hub) -> None:
    pushing.update("subscriber", (SUBSCRIBER,), {"endpoint": "http://127.0.0.1:9/other"}).result()

    is_new = pushing.submit(Disable(SUBSCRIBER, URL, "HTTP 410 Gone")).result()

    assert not is_new
    assert shown(pushing).enabled


def test_enabling_it_again_forgets_why_it_was_disabled(pushing: Hub) -> None:
    pushing.submit(Disable(SUBSCRIBER, URL, "HTTP 410 Gone")).result()

    pushing.update("subscriber", (SUBSCRIBER,), {"enabled": True}).result()

    assert shown(pushing).enabled
    assert shown(pushing).disabled_reason == ""


def test_another_change_of_a_disabled_subscriber_keeps_the_reason(pushing: Hub) -> None:
    pushing.submit(Disable(SUBSCRIBER, URL, "HTTP 410 Gone")).result()

    pushing.update("subscriber", (SUBSCRIBER,), {"description": "moved"}).result()

    assert not shown(pushing).enabled
    assert shown(pushing).disabled_reason == "HTTP 410 Gone"


def test_who_is_not_there_is_not_disabled(pushing: Hub) -> None:
    assert not pushing.submit(Disable("nobody", URL, "HTTP 410 Gone")).result()
