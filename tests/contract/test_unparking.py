"""Unparking delivers parked messages again, before anything else and alone, and acknowledged by their own numbers."""

import pytest

from pregon.errors import NotPending
from pregon.hub.hub import Hub

from .site import Site
from .verbs import (
    account,
    ack,
    bodies,
    drain,
    fill,
    park,
    pending,
    pull,
    ranges,
    replay,
    say,
    seqs,
    subscribe,
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


def test_what_is_unparked_after_the_cursor_is_delivered(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 4, 6, 8)

    unparked = unpark(hub, 6)

    assert unparked == 1
    assert tally(hub) == {"acknowledged": 3, "pending": 4, "parked": 2, "expired": 0}
    assert sorted(drain(hub)) == [5, 6, 7, 9]


def test_what_is_unparked_before_the_cursor_comes_first_and_alone(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 4, 6)
    ack(hub, 7)

    unpark(hub, 4, 6)

    assert pending(hub) == [4, 6]
    assert tally(hub) == {"acknowledged": 5, "pending": 4, "parked": 0, "expired": 0}


def test_an_unparked_message_has_its_body_and_number(hub: Hub) -> None:
    say(hub, "a", "b", "c")
    subscribe(hub)
    park(hub, 2)
    ack(hub, 3)

    unpark(hub, 2)

    pulled = pull(hub)
    assert (seqs(pulled), bodies(pulled)) == ([2], ["b"])


def test_unparking_without_numbers_unparks_everything(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 4, 5, 9)
    ack(hub, 6)

    unparked = unpark(hub)

    assert unparked == 3
    assert account(hub).parked == 0
    assert sorted(drain(hub)) == [4, 5, 7, 8, 9]


def test_unparking_twice_counts_once(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 4, 9)
    ack(hub, 6)
    first = unpark(hub, 4, 9)

    again = unpark(hub, 4, 9)

    assert (first, again) == (2, 0)
    assert sorted(drain(hub)) == [4, 7, 8, 9]
    assert ranges(hub, "unparked") == [(4, 4), (9, 9)]


@pytest.mark.parametrize("seq", [2, 10])
def test_what_was_not_parked_cannot_be_unparked(topic_of_9: Hub, seq: int) -> None:
    hub = topic_of_9
    park(hub, 4)

    with pytest.raises(NotPending):
        unpark(hub, 4, seq)

    assert account(hub).parked == 1


def test_an_unparked_message_is_acknowledged_by_naming_it(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 4, 6)
    ack(hub, 7)
    unpark(hub)
    last = seqs(pull(hub))[-1]

    pulled = pull(hub, ack=last)

    assert seqs(pulled) == [8, 9]
    assert tally(hub) == {"acknowledged": 7, "pending": 2, "parked": 0, "expired": 0}


def test_unparked_messages_are_acknowledged_as_far_as_they_were_handed_out(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 4, 5, 6)
    ack(hub, 7)
    unpark(hub)
    first = pull(hub, messages_max=2)

    second = pull(hub, ack=5)

    assert (seqs(first), seqs(second)) == ([4, 5], [6])
    assert account(hub).acknowledged == 6


def test_an_older_message_unparked_since_is_not_acknowledged_with_a_newer_one(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 4, 5)
    ack(hub, 7)
    unpark(hub, 5)
    given = pull(hub)
    unpark(hub, 4)

    ack(hub, 5)

    assert seqs(given) == [5]
    assert pending(hub) == [4]


def test_an_unparked_message_not_handed_out_cannot_be_acknowledged(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 4)
    ack(hub, 7)
    unpark(hub, 4)

    ack(hub, 4)

    assert pending(hub) == [4]


def test_a_late_acknowledgement_of_another_number_takes_no_unparked_message_away(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 4)
    ack(hub, 7)
    unpark(hub, 4)
    pull(hub)

    cursors = [ack(hub, seq) for seq in (5, 7, 3)]

    assert cursors == [7, 7, 7]
    assert pending(hub) == [4]


def test_acknowledging_what_comes_after_leaves_an_unparked_message_pending(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 4)
    ack(hub, 7)
    unpark(hub, 4)
    pull(hub)

    cursor = ack(hub, 9)

    assert cursor == 9
    assert tally(hub) == {"acknowledged": 8, "pending": 1, "parked": 0, "expired": 0}
    assert pending(hub) == [4]


@pytest.mark.parametrize("says_epoch", [True, False])
def test_what_is_unparked_after_the_cursor_is_not_acknowledged_unseen(topic_of_9: Hub, says_epoch: bool) -> None:
    hub = topic_of_9
    park(hub, 5)
    pulled = pull(hub)
    unpark(hub, 5)

    ack(hub, seqs(pulled)[-1], epoch=pulled.epoch if says_epoch else None)

    assert seqs(pulled) == [4, 6, 7, 8, 9]
    assert 5 in drain(hub)


def test_acknowledging_what_is_unparked_after_the_cursor_acknowledges_nothing_else(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 6, 8)
    unpark(hub)
    given = pull(hub)

    cursor = ack(hub, 8)

    assert seqs(given) == [6, 8]
    assert cursor == 3
    assert pending(hub) == [4, 5, 7, 9]
    assert tally(hub) == {"acknowledged": 5, "pending": 4, "parked": 0, "expired": 0}


def test_what_was_acknowledged_ahead_of_the_cursor_can_neither_be_parked_nor_lost(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 6)
    unpark(hub)
    pull(hub)
    ack(hub, 6)

    with pytest.raises(NotPending):
        park(hub, 6)

    assert ack(hub, 7) == 7
    assert tally(hub) == {"acknowledged": 7, "pending": 2, "parked": 0, "expired": 0}


def test_a_replay_delivers_what_was_acknowledged_ahead_of_the_cursor_again(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 6)
    unpark(hub)
    pull(hub)
    ack(hub, 6)

    replay(hub, from_seq=2)

    assert pending(hub) == [2, 3, 4, 5, 6, 7, 8, 9]
    assert tally(hub) == {"acknowledged": 1, "pending": 8, "parked": 0, "expired": 0}


def test_an_acknowledgement_of_an_old_epoch_takes_no_unparked_message_away(topic_of_9: Hub) -> None:
    hub = topic_of_9
    old = pull(hub).epoch
    replay(hub, from_seq=2)
    park(hub, 4)
    ack(hub, 7)
    unpark(hub, 4)
    pull(hub)

    ack(hub, 4, epoch=old)

    assert pending(hub) == [4]


def test_an_unparked_message_can_be_parked_again(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 4)
    ack(hub, 7)
    unpark(hub, 4)
    pull(hub)

    parked = park(hub, 4, reason="still wrong")

    assert parked == 1
    assert pending(hub) == [8, 9]
    ack(hub, 4)
    assert tally(hub) == {"acknowledged": 6, "pending": 2, "parked": 1, "expired": 0}


def test_unparked_messages_respect_the_limits_of_a_pull(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 4, 5, 6)
    ack(hub, 7)
    unpark(hub)

    by_count, by_bytes = pull(hub, messages_max=2), pull(hub, bytes_max=1)

    assert (seqs(by_count), seqs(by_bytes)) == ([4, 5], [4])


def test_parked_and_unparked_messages_survive_a_restart(site: Site) -> None:
    fill(site.hub, 5)
    subscribe(site.hub)
    park(site.hub, 1, 2, 5)
    ack(site.hub, 3)
    unpark(site.hub, 1)
    pull(site.hub)

    hub = site.restart()

    assert tally(hub) == {"acknowledged": 1, "pending": 2, "parked": 2, "expired": 0}
    assert ack(hub, 1) == 3
    assert pending(hub) == [4]


def test_a_replay_over_an_unparked_message_delivers_it_in_its_place(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 4, 6)
    ack(hub, 7)
    unpark(hub, 4)

    replay(hub, from_seq=3)

    assert pending(hub) == [3, 4, 5, 7, 8, 9]
    assert tally(hub) == {"acknowledged": 2, "pending": 6, "parked": 1, "expired": 0}
