"""What a push achieved is settled exactly, message by message: the cursor, what is ahead of it, the traces."""

from __future__ import annotations

import pytest

from pregon.errors import NotFound
from pregon.hub.deliver import Delivered, Delivery
from pregon.hub.hub import Hub
from pregon.model.catalog import Topic

from .pushes import NAMES, deliver, delivery, failure, pushed_from, state
from .site import Site
from .verbs import (
    TOPIC,
    account,
    ack,
    drain,
    fill,
    park,
    pending,
    ranges,
    replay,
    say,
    subscribe,
    tally,
    traces,
    unpark,
)


@pytest.fixture
def nine(hub: Hub) -> Hub:
    """Messages 1 to 9, all pending."""
    fill(hub, 9)
    subscribe(hub)
    return hub


def test_what_is_delivered_in_a_row_moves_the_cursor(nine: Hub) -> None:
    cursor = deliver(nine, 1, 2, 3)

    assert cursor == 3
    assert tally(nine) == {"acknowledged": 3, "pending": 6, "parked": 0, "expired": 0}
    assert pending(nine) == [4, 5, 6, 7, 8, 9]


def test_what_is_delivered_ahead_of_the_cursor_is_settled_and_not_given_to_who_pulls(nine: Hub) -> None:
    cursor = deliver(nine, 3, 5, 6)

    assert cursor == 0
    assert tally(nine) == {"acknowledged": 3, "pending": 6, "parked": 0, "expired": 0}
    assert pending(nine) == [1, 2, 4, 7, 8, 9]


def test_the_cursor_passes_what_was_delivered_ahead_of_it(nine: Hub) -> None:
    deliver(nine, 3, 5, 6)

    cursors = [deliver(nine, 2), deliver(nine, 1), deliver(nine, 4)]

    assert cursors == [0, 3, 6]
    assert tally(nine) == {"acknowledged": 6, "pending": 3, "parked": 0, "expired": 0}
    assert nine.list_parked(*NAMES).result() == []


def test_what_was_delivered_ahead_is_still_settled_after_a_restart(site: Site) -> None:
    fill(site.hub, 5)
    subscribe(site.hub)
    deliver(site.hub, 2, 4)

    hub = site.restart()

    assert drain(hub) == [1, 3, 5]


def test_the_same_delivery_twice_settles_once(nine: Hub) -> None:
    deliver(nine, 1, 3)

    deliver(nine, 1, 3)

    assert tally(nine) == {"acknowledged": 2, "pending": 7, "parked": 0, "expired": 0}
    assert pending(nine) == [2, 4, 5, 6, 7, 8, 9]


def test_an_acknowledgement_by_pull_passes_what_was_delivered_ahead(nine: Hub) -> None:
    deliver(nine, 3, 6)

    ack(nine, 4)

    assert tally(nine) == {"acknowledged": 5, "pending": 4, "parked": 0, "expired": 0}
    assert pending(nine) == [5, 7, 8, 9]
    assert ranges(nine, "acknowledged") == [(1, 2), (4, 4)]


def test_a_delivery_of_what_was_acknowledged_by_pull_changes_nothing_but_is_traced(nine: Hub) -> None:
    ack(nine, 5)

    cursor = deliver(nine, 4, 5)

    assert cursor == 5
    assert tally(nine) == {"acknowledged": 5, "pending": 4, "parked": 0, "expired": 0}
    assert ranges(nine, "delivered") == [(4, 5)]


def test_a_delivery_from_before_a_replay_settles_nothing_but_is_traced(nine: Hub) -> None:
    deliver(nine, 1, 2, 3)
    replay(nine, from_seq=1)

    deliver(nine, 4, 5)

    assert pending(nine) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert ranges(nine, "delivered") == [(1, 3), (4, 5)]


def test_a_replay_makes_what_was_delivered_ahead_pending_again(nine: Hub) -> None:
    deliver(nine, 1, 2, 5, 7)

    replay(nine, from_seq=2)

    assert tally(nine) == {"acknowledged": 1, "pending": 8, "parked": 0, "expired": 0}
    assert pending(nine) == [2, 3, 4, 5, 6, 7, 8, 9]


def test_a_delivery_of_the_new_epoch_counts(nine: Hub) -> None:
    deliver(nine, 1, 2, 3)
    replay(nine, from_seq=2)

    cursor = deliver(nine, 2, 4, epoch=1)

    assert cursor == 2
    assert pending(nine) == [3, 5, 6, 7, 8, 9]


def test_the_cursor_passes_what_is_parked_and_it_stays_parked(nine: Hub) -> None:
    park(nine, 2, 4)

    cursor = deliver(nine, 1, 3, 5)

    assert cursor == 5
    assert tally(nine) == {"acknowledged": 3, "pending": 4, "parked": 2, "expired": 0}
    assert [row["seq"] for row in nine.list_parked(*NAMES).result()] == [2, 4]


@pytest.mark.parametrize("passed", [True, False], ids=["behind the cursor", "ahead of it"])
def test_an_unparked_message_that_is_delivered_is_settled(nine: Hub, passed: bool) -> None:
    park(nine, 4)
    ack(nine, 6 if passed else 2)
    unpark(nine, 4)

    deliver(nine, 4)

    assert account(nine).parked == 0
    assert 4 not in pending(nine)
    assert drain(nine) == ([7, 8, 9] if passed else [3, 5, 6, 7, 8, 9])
    assert account(nine).acknowledged == 9


def test_a_message_that_was_parked_on_its_way_and_then_delivered_is_not_given_again(nine: Hub) -> None:
    park(nine, 1)

    deliver(nine, 1)
    unpark(nine)

    assert pending(nine) == [2, 3, 4, 5, 6, 7, 8, 9]
    assert tally(nine) == {"acknowledged": 1, "pending": 8, "parked": 0, "expired": 0}


def test_a_message_that_was_cancelled_on_its_way_stays_cancelled(nine: Hub) -> None:
    nine.cancel(*NAMES, [1, 3]).result()

    deliver(nine, 1, 2)

    assert tally(nine) == {"acknowledged": 1, "pending": 6, "parked": 0, "expired": 2}


def test_numbers_that_are_not_there_settle_nothing(nine: Hub) -> None:
    cursor = deliver(nine, 10, 11)

    assert cursor == 0
    assert account(nine).pending == 9
    assert say(nine, "ten") == [10]
    assert account(nine).pending == 10


def test_a_delivery_for_a_subscription_that_is_gone_is_not_found(nine: Hub) -> None:
    nine.delete("subscription", NAMES).result()

    with pytest.raises(NotFound):
        deliver(nine, 1)


def test_deliveries_are_traced_as_ranges_with_the_attempt_and_the_longest_latency(nine: Hub) -> None:
    deliveries = [Delivery(1, 1, 5), Delivery(2, 1, 90), Delivery(3, 2, 7), Delivery(4, 2, 8), Delivery(6, 2, 1)]

    nine.submit(Delivered(pushed_from(nine), deliveries)).result()

    found = [(one.first_seq, one.last_seq, one.attempt, one.latency_ms) for one in traces(nine, kind="delivered")]
    assert found == [(1, 2, 1, 90), (3, 4, 2, 8), (6, 6, 2, 1)]


def test_the_order_in_which_deliveries_come_does_not_matter(nine: Hub) -> None:
    cursor = deliver(nine, 4, 2, 1, 3)

    assert cursor == 4
    assert ranges(nine, "delivered") == [(1, 4)]


def test_a_topic_made_again_is_not_settled_by_a_delivery_of_the_old_one(nine: Hub) -> None:
    late = delivery(nine, 1, 2)
    nine.delete("topic", (TOPIC,)).result()
    nine.create(Topic(name=TOPIC)).result()
    subscribe(nine)
    say(nine, "another one", "and another")

    nine.submit(late).result()

    assert pending(nine) == [1, 2]
    assert ranges(nine, "delivered") == []


def test_a_subscription_made_again_is_not_settled_by_a_delivery_of_the_old_one(nine: Hub) -> None:
    late = delivery(nine, 1, 2)
    nine.delete("subscription", NAMES).result()
    subscribe(nine)

    nine.submit(late).result()

    assert account(nine).pending == 9


def test_a_topic_made_again_does_not_fail_because_the_old_one_did(nine: Hub) -> None:
    late = failure(nine, 1, attempt=7, refusals=7)
    nine.delete("topic", (TOPIC,)).result()
    nine.create(Topic(name=TOPIC)).result()
    subscribe(nine)
    say(nine, "another one")

    nine.submit(late).result()

    assert (state(nine).attempts, state(nine).failing_since_us) == (0, 0)
    assert ranges(nine, "deferred") == []
