"""Acknowledging: cumulative, never backwards, never of what has not been published."""

import pytest

from pregon.errors import AckBeyondHead, BadRequest, NotFound
from pregon.hub.hub import Hub

from .site import Site, one_commit
from .verbs import TOPIC, account, ack, fill, pending, pull, ranges, replay, subscribe, tally


def test_the_cursor_follows_the_highest_acknowledgement(hub: Hub) -> None:
    fill(hub, 6)
    subscribe(hub)

    cursors = [ack(hub, seq) for seq in (2, 5, 3)]

    assert cursors == [2, 5, 5]
    assert pending(hub) == [6]


def test_a_late_acknowledgement_has_no_effect(hub: Hub) -> None:
    fill(hub, 4)
    subscribe(hub)
    ack(hub, 3)

    cursor = ack(hub, 1)

    assert cursor == 3
    assert ranges(hub, "acknowledged") == [(1, 3)]


def test_a_negative_acknowledgement_is_refused(hub: Hub) -> None:
    fill(hub, 2)
    subscribe(hub)

    with pytest.raises(BadRequest):
        ack(hub, -1)

    assert pending(hub) == [1, 2]


def test_acknowledging_0_settles_nothing(hub: Hub) -> None:
    fill(hub, 2)
    subscribe(hub)

    cursor = ack(hub, 0)

    assert cursor == 0
    assert pending(hub) == [1, 2]


@pytest.mark.parametrize("seq", [3, 2**63, 2**64])
def test_what_has_not_been_published_cannot_be_acknowledged(hub: Hub, seq: int) -> None:
    fill(hub, 2)
    subscribe(hub)

    with pytest.raises(AckBeyondHead):
        ack(hub, seq)

    assert pending(hub) == [1, 2]


def test_a_pull_cannot_acknowledge_what_has_not_been_published_either(hub: Hub) -> None:
    fill(hub, 2)
    subscribe(hub)

    with pytest.raises(AckBeyondHead):
        pull(hub, ack=3)

    assert pending(hub) == [1, 2]


def test_an_acknowledgement_is_of_one_subscription(hub: Hub) -> None:
    fill(hub, 2)
    subscribe(hub, "one")
    subscribe(hub, "another")

    ack(hub, 2, "one")

    assert pending(hub, "one") == []
    assert pending(hub, "another") == [1, 2]


def test_nobody_can_acknowledge_without_a_subscription(hub: Hub) -> None:
    fill(hub, 1)

    with pytest.raises(NotFound):
        ack(hub, 1, "stranger")

    assert hub.list("subscriber").result() == []


def test_acknowledgements_of_one_commit_are_taken_in_turn(hub: Hub) -> None:
    fill(hub, 5)
    subscribe(hub)

    with one_commit(hub):
        tickets = [hub.ack(TOPIC, "bank", seq) for seq in (2, 4, 1)]

    assert [ticket.result() for ticket in tickets] == [2, 4, 4]
    assert ranges(hub, "acknowledged") == [(1, 2), (3, 4)]


def test_an_acknowledgement_of_an_old_epoch_is_ignored(hub: Hub) -> None:
    fill(hub, 5)
    old = pull(hub).epoch
    ack(hub, 4, epoch=old)
    replay(hub, from_seq=2)

    cursor = ack(hub, 5, epoch=old)

    assert cursor == 1
    assert pending(hub) == [2, 3, 4, 5]


def test_a_pull_with_an_acknowledgement_of_an_old_epoch_gives_what_was_replayed(hub: Hub) -> None:
    fill(hub, 5)
    old = pull(hub).epoch
    ack(hub, 5, epoch=old)
    replay(hub, from_seq=2)

    pulled = pull(hub, ack=5, epoch=old)

    assert (pulled.acked_seq, pulled.epoch) == (1, old + 1)
    assert pending(hub) == [2, 3, 4, 5]


def test_an_acknowledgement_of_the_new_epoch_counts(hub: Hub) -> None:
    fill(hub, 5)
    subscribe(hub)
    ack(hub, 5)
    replay(hub, from_seq=2)
    new = pull(hub).epoch

    cursor = ack(hub, 3, epoch=new)

    assert cursor == 3
    assert pending(hub) == [4, 5]


def test_an_acknowledgement_that_was_answered_is_there_after_a_restart(site: Site) -> None:
    fill(site.hub, 3)
    subscribe(site.hub)
    ack(site.hub, 2)

    hub = site.restart()

    assert pending(hub) == [3]
    assert tally(hub) == {"acknowledged": 2, "pending": 1, "parked": 0, "expired": 0}


def test_the_cursor_never_passes_the_head(hub: Hub) -> None:
    fill(hub, 3)
    subscribe(hub, start="latest")

    cursor = ack(hub, 2)

    assert cursor == 3
    assert account(hub).accepted == 0
