"""Reading ahead: a pull may begin after what was received and is not acknowledged yet."""

import pytest

from pregon.errors import BadRequest
from pregon.hub.hub import Hub

from .verbs import account, ack, ask, fill, park, pull, replay, say, seqs, subscribe, unpark

SOON_S = 5.0


@pytest.fixture
def topic_of_9(hub: Hub) -> Hub:
    """A hub with messages 1 to 9 in one batch and a subscription that has acknowledged 2."""
    fill(hub, 9)
    subscribe(hub)
    ack(hub, 2)
    return hub


def test_a_pull_that_reads_ahead_begins_after_what_was_received(topic_of_9: Hub) -> None:
    hub = topic_of_9

    pulled = pull(hub, after=5, messages_max=2)

    assert (seqs(pulled), pulled.acked_seq) == ([6, 7], 2)
    assert account(hub).acked_seq == 2


def test_reading_ahead_gives_every_message_once(topic_of_9: Hub) -> None:
    hub = topic_of_9
    got = seqs(pull(hub, messages_max=2))

    while more := seqs(pull(hub, messages_max=2, after=got[-1])):
        got += more

    assert got == [3, 4, 5, 6, 7, 8, 9]


def test_a_pull_that_reads_ahead_may_acknowledge_what_is_behind_it(topic_of_9: Hub) -> None:
    hub = topic_of_9

    pulled = pull(hub, ack=4, after=7)

    assert (seqs(pulled), pulled.acked_seq) == ([8, 9], 4)
    assert account(hub).acknowledged == 4


def test_what_was_received_before_the_cursor_counts_for_nothing(topic_of_9: Hub) -> None:
    hub = topic_of_9

    pulled = pull(hub, after=1)

    assert seqs(pulled) == [3, 4, 5, 6, 7, 8, 9]


def test_a_pull_of_an_old_epoch_begins_at_the_cursor(topic_of_9: Hub) -> None:
    hub = topic_of_9
    old = pull(hub).epoch
    replay(hub, from_seq=2)

    pulled = pull(hub, after=7, epoch=old)

    assert (seqs(pulled), pulled.epoch) == ([2, 3, 4, 5, 6, 7, 8, 9], old + 1)


def test_what_is_parked_is_passed_over(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 6, 8)

    pulled = pull(hub, after=5)

    assert seqs(pulled) == [7, 9]


def test_an_unparked_message_comes_first_and_only_once(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 3)
    ack(hub, 4)
    unpark(hub, 3)

    answers = [seqs(pull(hub, after=6)) for _ in range(2)]

    assert answers == [[3], [7, 8, 9]]


def test_a_pull_that_does_not_read_ahead_gets_an_unparked_message_again(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 3)
    ack(hub, 4)
    unpark(hub, 3)
    pull(hub, after=6)

    again = pull(hub)

    assert seqs(again) == [3]


def test_a_pull_of_an_old_epoch_gets_an_unparked_message_again(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 3)
    ack(hub, 9)
    unpark(hub, 3)
    old = pull(hub).epoch
    replay(hub, from_seq=6)

    pulled = ask(hub, after=9, epoch=old).result(SOON_S)

    assert seqs(pulled) == [3]


@pytest.mark.parametrize("acknowledges", [True, False])
def test_having_an_unparked_message_says_nothing_of_those_before_it(topic_of_9: Hub, acknowledges: bool) -> None:
    hub = topic_of_9
    park(hub, 7)
    unpark(hub, 7)
    alone = pull(hub)

    pulled = pull(hub, after=7, ack=7 if acknowledges else None, epoch=alone.epoch)

    assert seqs(alone) == [7]
    assert (seqs(pulled), pulled.acked_seq) == ([3, 4, 5, 6, 8, 9], 2)
    assert account(hub).acked_seq == 2


def test_a_pull_that_has_read_everything_waits_for_more(topic_of_9: Hub) -> None:
    hub = topic_of_9
    ticket = ask(hub, after=9, wait_ms=30_000)

    say(hub, "10")

    assert seqs(ticket.result(SOON_S)) == [10]


def test_a_waiting_pull_that_reads_ahead_wakes_when_its_subscription_is_replayed(topic_of_9: Hub) -> None:
    hub = topic_of_9
    ticket = ask(hub, after=9, epoch=pull(hub).epoch, wait_ms=30_000)

    replay(hub, from_seq=1)

    assert seqs(ticket.result(SOON_S)) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_a_pull_cannot_have_received_less_than_nothing(topic_of_9: Hub) -> None:
    with pytest.raises(BadRequest):
        ask(topic_of_9, after=-1)

    assert seqs(pull(topic_of_9)) == [3, 4, 5, 6, 7, 8, 9]
