"""A pull gives the first unacknowledged messages, as many as were asked for, and moves nothing."""

import pytest

from pregon.errors import BadRequest
from pregon.hub.hub import Hub
from pregon.hub.pull import Pulled, PullRequest
from pregon.limits import PULL_BYTES_MAX, PULL_MESSAGES_MAX, WAIT_MS_MAX

from .site import one_commit
from .verbs import SUBSCRIBER, TOPIC, account, ack, ask, bodies, fill, park, pull, say, say_batch, seqs, subscribe


def size_of(pulled: Pulled) -> int:
    """The bytes of an answer."""
    return sum(len(batch.arrow) for batch in pulled.batches)


def test_a_pull_moves_nothing(hub: Hub) -> None:
    say(hub, "a", "b", "c")

    first, second = pull(hub), pull(hub)

    assert bodies(first) == bodies(second) == ["a", "b", "c"]
    assert account(hub).acked_seq == 0


def test_a_pull_says_where_the_subscription_stands(hub: Hub) -> None:
    say(hub, "a", "b", "c")

    pulled = pull(hub, messages_max=1)

    assert (pulled.acked_seq, pulled.head_seq, pulled.epoch) == (0, 3, 0)


def test_a_first_pull_subscribes_from_the_earliest_message(hub: Hub) -> None:
    say(hub, "a", "b")

    pulled = pull(hub, "newcomer")

    assert bodies(pulled) == ["a", "b"]
    assert account(hub, "newcomer").first_seq == 1


def test_a_first_pull_of_a_topic_that_nobody_has_used_is_empty(hub: Hub) -> None:
    pulled = pull(hub)

    assert (seqs(pulled), pulled.head_seq, pulled.acked_seq) == ([], 0, 0)

    say(hub, "a")
    assert bodies(pull(hub)) == ["a"]


def test_the_acknowledgement_of_the_last_answer_travels_with_the_next_pull(hub: Hub) -> None:
    fill(hub, 7)
    answers = [pull(hub, messages_max=3)]

    while answers[-1].batches:
        answers.append(pull(hub, messages_max=3, ack=seqs(answers[-1])[-1]))

    assert [seqs(answer) for answer in answers] == [[1, 2, 3], [4, 5, 6], [7], []]
    assert [answer.acked_seq for answer in answers] == [0, 3, 6, 7]
    assert account(hub).acknowledged == 7


def test_an_acknowledgement_settles_everything_up_to_its_number(hub: Hub) -> None:
    fill(hub, 5)
    pull(hub)

    pulled = pull(hub, ack=4)

    assert seqs(pulled) == [5]
    assert account(hub).acknowledged == 4


def test_a_pull_gives_at_most_as_many_as_asked_for_and_cuts_inside_batches(hub: Hub) -> None:
    say_batch(hub, "1", "2", "3")
    say_batch(hub, "4", "5", "6")
    say_batch(hub, "7", "8", "9")
    subscribe(hub)
    ack(hub, 1)

    pulled = pull(hub, messages_max=6)

    assert bodies(pulled) == ["2", "3", "4", "5", "6", "7"]
    assert [(batch.base_seq, batch.count) for batch in pulled.batches] == [(2, 2), (4, 3), (7, 1)]


def test_messages_max_is_of_messages_given_not_of_numbers_passed_over(hub: Hub) -> None:
    fill(hub, 30)
    subscribe(hub)
    park(hub, *range(1, 21))

    pulled = pull(hub, messages_max=5)

    assert seqs(pulled) == [21, 22, 23, 24, 25]


@pytest.mark.parametrize("bytes_max", [1, 1_500, 2_000, 3_000, 5_000, 20_000])
def test_bytes_max_is_respected_by_batches_of_equal_messages(hub: Hub, bytes_max: int) -> None:
    for _ in range(3):
        say_batch(hub, *(["x" * 200] * 10))

    pulled = pull(hub, bytes_max=bytes_max)

    assert seqs(pulled) == list(range(1, len(seqs(pulled)) + 1))
    assert len(seqs(pulled)) >= 1
    assert len(seqs(pulled)) == 1 or size_of(pulled) <= bytes_max


@pytest.mark.parametrize("large_at", [0, 1, 5, 9])
def test_bytes_max_is_respected_when_one_message_is_large(hub: Hub, large_at: int) -> None:
    say_batch(hub, *("x" * (100_000 if row == large_at else 10) for row in range(10)))

    pulled = pull(hub, bytes_max=60_000)

    assert len(seqs(pulled)) == 1 or size_of(pulled) <= 60_000


def test_bytes_max_is_respected_around_parked_messages(hub: Hub) -> None:
    fill(hub, 40)
    subscribe(hub)
    park(hub, *range(2, 41, 2))

    pulled = pull(hub, bytes_max=5_000)

    assert seqs(pulled) == list(range(1, 2 * len(seqs(pulled)), 2))
    assert size_of(pulled) <= 5_000


def test_a_pull_with_room_for_a_whole_batch_gives_it_uncut(hub: Hub) -> None:
    say_batch(hub, *(["x" * 200] * 10))
    size = size_of(pull(hub))

    pulled = pull(hub, bytes_max=size)

    assert len(seqs(pulled)) == 10


def test_a_message_larger_than_bytes_max_goes_alone(hub: Hub) -> None:
    say(hub, "x" * 10_000)
    say(hub, "y")

    pulled = pull(hub, bytes_max=100)

    assert seqs(pulled) == [1]


def test_everything_arrives_whatever_the_size_of_the_answers(hub: Hub) -> None:
    for row in range(12):
        say_batch(hub, *("x" * (997 * (row * column) % 5_000) for column in range(row + 1)))
    got: list[int] = []

    while pulled := seqs(pull(hub, bytes_max=6_000, messages_max=7, ack=got[-1] if got else None)):
        got += pulled

    assert got == list(range(1, 79))


def test_two_pullers_at_once_get_the_same_messages(hub: Hub) -> None:
    fill(hub, 4)
    subscribe(hub)

    with one_commit(hub):
        tickets = [ask(hub, messages_max=2), ask(hub, messages_max=3)]
        answers = [ticket.result() for ticket in tickets]

    assert [seqs(answer) for answer in answers] == [[1, 2], [1, 2, 3]]


def test_of_two_pullers_the_highest_acknowledgement_counts(hub: Hub) -> None:
    fill(hub, 6)
    subscribe(hub)

    with one_commit(hub):
        tickets = [ask(hub, ack=4, messages_max=1), ask(hub, ack=2, messages_max=1)]
        answers = [ticket.result() for ticket in tickets]

    assert [seqs(answer) for answer in answers] == [[5], [5]]
    assert pull(hub).acked_seq == 4


def test_subscriptions_do_not_know_each_other(hub: Hub) -> None:
    fill(hub, 4)
    pull(hub, "slow")
    pull(hub, "quick")

    pull(hub, "quick", ack=4)

    assert seqs(pull(hub, "slow")) == [1, 2, 3, 4]
    assert seqs(pull(hub, "quick")) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages_max": 0},
        {"messages_max": PULL_MESSAGES_MAX + 1},
        {"bytes_max": 0},
        {"bytes_max": PULL_BYTES_MAX + 1},
        {"wait_ms": -1},
        {"wait_ms": WAIT_MS_MAX + 1},
        {"ack": -1},
        {"ack": 2**63},
    ],
)
def test_a_pull_out_of_range_is_refused(hub: Hub, wrong: dict[str, int]) -> None:
    say(hub, "a")

    with pytest.raises(BadRequest):
        hub.pull(PullRequest(topic=TOPIC, subscriber=SUBSCRIBER, **wrong))

    assert bodies(pull(hub)) == ["a"]
