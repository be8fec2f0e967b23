"""A replay moves a cursor back to a number or a time: what comes after it is pending again."""

import pytest

from pregon.errors import BadRequest, NotFound
from pregon.hub.hub import Hub
from pregon.model.catalog import Retention, Topic

from .site import Clock, Site
from .verbs import (
    TOPIC,
    account,
    ack,
    fill,
    park,
    pending,
    pull,
    ranges,
    replay,
    say,
    say_batch,
    seqs,
    subscribe,
    tail_of,
    tally,
    unpark,
)

STEP_MS = 1_000


@pytest.fixture
def topic_of_9(hub: Hub) -> Hub:
    """A hub with messages 1 to 9 in one batch and a subscription that has acknowledged 7."""
    fill(hub, 9)
    subscribe(hub)
    ack(hub, 7)
    return hub


def test_a_replay_by_number_makes_that_message_the_next_one(topic_of_9: Hub) -> None:
    hub = topic_of_9

    cursor = replay(hub, from_seq=5)

    assert cursor == 4
    assert pending(hub) == [5, 6, 7, 8, 9]
    assert tally(hub) == {"acknowledged": 4, "pending": 5, "parked": 0, "expired": 0}


def test_a_replay_begins_a_new_epoch(topic_of_9: Hub) -> None:
    hub = topic_of_9
    before = pull(hub).epoch

    cursor = hub.replay(TOPIC, "bank", from_seq=5).result()

    assert (cursor.epoch, pull(hub).epoch) == (before + 1, before + 1)


def test_a_replay_to_where_the_cursor_stands_changes_nothing(topic_of_9: Hub) -> None:
    hub = topic_of_9
    before = pull(hub)

    cursor = replay(hub, from_seq=8)

    assert cursor == 7
    assert (pull(hub).epoch, seqs(pull(hub))) == (before.epoch, [8, 9])
    assert ranges(hub, "replayed") == []


def test_a_replay_forward_is_refused(topic_of_9: Hub) -> None:
    hub = topic_of_9

    with pytest.raises(BadRequest, match="goes back"):
        replay(hub, from_seq=9)

    assert pending(hub) == [8, 9]


@pytest.mark.parametrize("wrong", [{}, {"from_seq": 1, "from_us": 1}, {"from_seq": 0}, {"from_seq": -3}])
def test_a_replay_from_nowhere_is_refused(topic_of_9: Hub, wrong: dict[str, int]) -> None:
    with pytest.raises(BadRequest):
        topic_of_9.replay(TOPIC, "bank", **wrong)

    assert pending(topic_of_9) == [8, 9]


def test_nobody_replays_without_a_subscription(hub: Hub) -> None:
    fill(hub, 1)

    with pytest.raises(NotFound):
        replay(hub, from_seq=1)

    assert pending(hub) == [1]


def test_a_replay_from_before_the_subscription_gives_it_what_it_never_had(hub: Hub) -> None:
    fill(hub, 4)
    subscribe(hub, start="latest")
    say(hub, "5")

    replay(hub, from_seq=2)

    assert pending(hub) == [2, 3, 4, 5]
    assert (account(hub).first_seq, account(hub).accepted) == (2, 4)


def test_a_replay_goes_no_further_back_than_the_log(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC, retention=Retention(when_acknowledged=True))).result()
    subscribe(hub)
    for word in "abcd":
        say(hub, word)
    ack(hub, 2)
    hub.maintenance.run_once()
    ack(hub, 4)

    cursor = replay(hub, from_seq=1)

    assert (tail_of(hub), cursor) == (3, 2)
    assert pending(hub) == [3, 4]


def test_a_replay_of_a_log_that_is_empty_changes_nothing(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC, retention=Retention(when_acknowledged=True))).result()
    subscribe(hub)
    fill(hub, 3)
    ack(hub, 3)
    hub.maintenance.run_once()

    cursor = replay(hub, from_seq=1)

    assert cursor == 3
    assert tally(hub) == {"acknowledged": 3, "pending": 0, "parked": 0, "expired": 0}


def test_a_replay_delivers_nothing_that_stays_parked(topic_of_9: Hub) -> None:
    hub = topic_of_9
    park(hub, 8)
    ack(hub, 9)

    replay(hub, from_seq=6)

    assert pending(hub) == [6, 7, 9]
    assert ranges(hub, "replayed") == [(6, 7), (9, 9)]
    assert tally(hub) == {"acknowledged": 5, "pending": 3, "parked": 1, "expired": 0}


def test_an_unparked_message_before_the_replay_still_comes_first(topic_of_9: Hub) -> None:
    hub = topic_of_9
    replay(hub, from_seq=1)
    park(hub, 2)
    ack(hub, 9)
    unpark(hub, 2)

    replay(hub, from_seq=5)

    assert pending(hub) == [2]
    ack(hub, 2)
    assert pending(hub) == [5, 6, 7, 8, 9]


def test_a_replay_over_expired_messages_makes_them_pending_again(hub: Hub) -> None:
    subscribe(hub, pending_max=2)
    fill(hub, 9)
    hub.maintenance.run_once()
    expired = tally(hub)

    replay(hub, from_seq=5)

    assert expired == {"acknowledged": 0, "pending": 2, "parked": 0, "expired": 7}
    assert tally(hub) == {"acknowledged": 0, "pending": 5, "parked": 0, "expired": 4}
    assert pending(hub) == [5, 6, 7, 8, 9]


def test_a_replay_over_several_expired_ranges_counts_each_once(hub: Hub) -> None:
    subscribe(hub, pending_max=3)
    fill(hub, 6)
    park(hub, 2)
    hub.maintenance.run_once()
    ack(hub, 5)
    say_batch(hub, *"789ab")
    hub.maintenance.run_once()
    before = tally(hub)

    replay(hub, from_seq=3)
    replay(hub, from_seq=1)

    assert before == {"acknowledged": 2, "pending": 3, "parked": 1, "expired": 5}
    assert tally(hub) == {"acknowledged": 0, "pending": 10, "parked": 1, "expired": 0}


@pytest.fixture
def timed(clock: Clock, site: Site) -> tuple[Hub, list[int]]:
    """A topic of 5 messages accepted a second apart, all acknowledged, and when each was."""
    hub = site.restart()
    times = []
    for word in "abcde":
        times.append(clock.move_ms(STEP_MS))
        say(hub, word)
    subscribe(hub)
    ack(hub, 5)
    return hub, times


@pytest.mark.parametrize(("row", "late_us", "first"), [(0, 0, 1), (2, 0, 3), (2, 1, 4), (2, -1, 3), (4, 0, 5)])
def test_a_replay_by_time_begins_at_the_first_message_accepted_since(
    timed: tuple[Hub, list[int]], row: int, late_us: int, first: int
) -> None:
    hub, times = timed

    replay(hub, from_us=times[row] + late_us)

    assert pending(hub) == list(range(first, 6))


def test_a_replay_from_a_time_before_everything_begins_at_the_first_message(timed: tuple[Hub, list[int]]) -> None:
    hub, _ = timed

    replay(hub, from_us=1)

    assert pending(hub) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("late_us", [1, 2**63])
def test_a_replay_from_a_time_after_everything_changes_nothing(timed: tuple[Hub, list[int]], late_us: int) -> None:
    hub, times = timed

    cursor = replay(hub, from_us=times[-1] + late_us)

    assert cursor == 5
    assert pending(hub) == []


def test_a_replay_to_a_time_after_the_cursor_is_refused(timed: tuple[Hub, list[int]]) -> None:
    hub, times = timed
    replay(hub, from_seq=2)

    with pytest.raises(BadRequest, match="goes back"):
        replay(hub, from_us=times[3])

    assert pending(hub) == [2, 3, 4, 5]


def test_messages_of_one_instant_are_replayed_together(clock: Clock, site: Site) -> None:
    hub = site.restart()
    say_batch(hub, "1", "2")
    now = clock.move_ms(STEP_MS)
    for word in "345":
        say(hub, word)
    clock.move_ms(STEP_MS)
    say(hub, "6")
    subscribe(hub)
    ack(hub, 6)

    replay(hub, from_us=now)

    assert pending(hub) == [3, 4, 5, 6]


def test_a_replay_by_time_goes_no_further_back_than_the_log(clock: Clock, site: Site) -> None:
    hub = site.restart()
    hub.create(Topic(name=TOPIC, retention=Retention(when_acknowledged=True))).result()
    subscribe(hub)
    first = clock.move_ms(STEP_MS)
    for word in "abcd":
        say(hub, word)
        clock.move_ms(STEP_MS)
    ack(hub, 2)
    hub.maintenance.run_once()
    ack(hub, 4)

    replay(hub, from_us=first)

    assert pending(hub) == [3, 4]


def test_a_replay_survives_a_restart(site: Site) -> None:
    fill(site.hub, 4)
    subscribe(site.hub)
    ack(site.hub, 4)
    replay(site.hub, from_seq=2)

    hub = site.restart()

    assert pending(hub) == [2, 3, 4]
    assert pull(hub).epoch == 1
