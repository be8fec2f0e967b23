"""Parking sets messages aside, so that the ones after them go on."""

import pytest

from pregon import limits
from pregon.errors import BadRequest, LimitReached, NotFound, NotPending
from pregon.hub.hub import Hub
from pregon.model.catalog import Retention, Topic

from .verbs import (
    TOPIC,
    account,
    ack,
    bodies,
    fill,
    park,
    pending,
    pull,
    seqs,
    subscribe,
    tail_of,
    tally,
    unpark,
)


@pytest.fixture
def topic_of_9(hub: Hub) -> Hub:
    """A hub with messages 1 to 9 in one batch and a subscription that has acknowledged 3."""
    fill(hub, 9)
    subscribe(hub)
    ack(hub, 3)
    return hub


def test_what_is_parked_is_passed_over(topic_of_9: Hub) -> None:
    hub = topic_of_9

    parked = park(hub, 4, 6, 9)

    assert parked == 3
    assert pending(hub) == [5, 7, 8]
    assert tally(hub) == {"acknowledged": 3, "pending": 3, "parked": 3, "expired": 0}


def test_the_cursor_passes_over_what_is_parked(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 4, 6)

    ack(hub, 7)

    assert pending(hub) == [8, 9]
    assert tally(hub) == {"acknowledged": 5, "pending": 2, "parked": 2, "expired": 0}


def test_acknowledging_a_parked_number_itself_leaves_it_parked(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 5)

    ack(hub, 5)

    assert tally(hub) == {"acknowledged": 4, "pending": 4, "parked": 1, "expired": 0}


@pytest.mark.parametrize("seq", [3, 10, 0, -1, 2**63])
def test_only_pending_messages_can_be_parked(topic_of_9: Hub, seq: int) -> None:
    hub = topic_of_9

    with pytest.raises(NotPending):
        park(hub, 5, seq)

    assert pending(hub) == [4, 5, 6, 7, 8, 9]


def test_parking_twice_counts_once(topic_of_9: Hub) -> None:
    hub = topic_of_9
    first = park(hub, 4, 5)

    again = park(hub, 5, 6, 6)

    assert (first, again) == (2, 1)
    assert pending(hub) == [7, 8, 9]


def test_parking_nothing_is_refused(topic_of_9: Hub) -> None:
    with pytest.raises(BadRequest):
        park(topic_of_9)

    assert pending(topic_of_9) == [4, 5, 6, 7, 8, 9]


def test_parking_too_many_at_once_is_refused(topic_of_9: Hub) -> None:
    with pytest.raises(BadRequest):
        park(topic_of_9, *range(1, limits.LIST_ROWS_MAX + 2))

    assert account(topic_of_9).parked == 0


def test_one_parked_message_too_many_is_refused(topic_of_9: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = topic_of_9
    monkeypatch.setattr(limits, "PARKED_MAX", 3)
    park(hub, 4, 5)

    with pytest.raises(LimitReached):
        park(hub, 6, 7)

    assert pending(hub) == [6, 7, 8, 9]
    assert park(hub, 4, 5, 6) == 1


def test_unparked_messages_count_towards_the_limit_until_acknowledged(
    topic_of_9: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = topic_of_9
    monkeypatch.setattr(limits, "PARKED_MAX", 2)
    park(hub, 4, 5)
    ack(hub, 6)
    unpark(hub)

    with pytest.raises(LimitReached):
        park(hub, 7)

    pull(hub)
    ack(hub, 5)
    assert park(hub, 7) == 1


def test_nobody_parks_without_a_subscription(hub: Hub) -> None:
    fill(hub, 1)

    for verb in (park, unpark):
        with pytest.raises(NotFound):
            verb(hub, 1)

    assert pending(hub) == [1]


def test_what_is_parked_is_listed_with_its_reason(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 4, 5, reason="bad XML")
    park(hub, 8, reason="x" * 600)
    ack(hub, 6)
    unpark(hub, 5)

    rows = hub.list_parked(TOPIC, "bank", 4).result()

    assert [(row["seq"], row["returned"], row["reason"]) for row in rows] == [
        (5, True, "bad XML"),
        (8, False, "x" * 500),
    ]


def test_what_is_parked_for_one_who_is_not_subscribed_is_not_found(topic_of_9: Hub) -> None:
    hub = topic_of_9

    parked = hub.list_parked(TOPIC, "nobody")

    with pytest.raises(NotFound):
        parked.result()


def test_parking_is_of_one_subscription(topic_of_9: Hub) -> None:
    hub = topic_of_9

    park(hub, 4)

    assert pending(hub, "another") == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_parked_messages_survive_the_retention_of_the_log(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC, retention=Retention(when_acknowledged=True))).result()
    subscribe(hub)
    fill(hub, 5)
    park(hub, 2, 4)
    ack(hub, 5)
    hub.maintenance.run_once()

    unpark(hub)

    pulled = pull(hub)
    assert tail_of(hub) == 6
    assert (seqs(pulled), bodies(pulled)) == ([2, 4], ["2", "4"])
