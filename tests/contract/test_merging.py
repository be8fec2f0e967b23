"""Small neighbouring batches are merged: fewer rows, and nothing else changes."""

import pytest

from pregon.hub.hub import Hub
from pregon.hub.merging import WAITING_MIN
from pregon.model.catalog import Retention, Topic
from pregon.model.message import Outgoing

from .site import Clock, Site
from .verbs import (
    PRODUCER,
    TOPIC,
    ack,
    batch_of,
    count_batches,
    messages,
    park,
    pending,
    pull,
    read,
    replay,
    say,
    send,
    subscribe,
    tail_of,
    traces,
    unpark,
)


def many(hub: Hub, count: int, size: int = 5) -> None:
    """So many batches of one message, each a row of its own."""
    tickets = [send(hub, batch_of(f"{number} ".ljust(size, "x"))) for number in range(1, count + 1)]
    for ticket in tickets:
        ticket.result()


def everything(hub: Hub) -> list[tuple[object, ...]]:
    """All that can be seen of the log."""
    return [(m.seq, m.id, m.key, m.body, m.headers, m.producer, m.published_us, m.accepted_us) for m in read(hub)]


def test_merging_changes_nothing_visible_and_shrinks_the_log(hub: Hub) -> None:
    for number in range(50):
        hub.publish(
            TOPIC,
            f"producer-{number % 3}",
            Outgoing(
                b"x" * number, f"id-{number}", f"key-{number}" if number % 2 else None, headers={"n": str(number)}
            ),
        ).result()
        send(hub, batch_of("a", "b")).result()
    before, rows, trace = everything(hub), count_batches(hub), traces(hub)

    hub.maintenance.run_once()

    assert (rows, count_batches(hub)) == (100, 1)
    assert everything(hub) == before
    assert traces(hub) == trace


def test_few_batches_are_left_as_they_are(hub: Hub) -> None:
    many(hub, WAITING_MIN - 1)

    hub.maintenance.run_once()

    assert count_batches(hub) == WAITING_MIN - 1


def test_large_batches_are_left_as_they_are(hub: Hub) -> None:
    for _ in range(3):
        many(hub, 1, 40_000)
        many(hub, 30)

    hub.maintenance.run_once()

    assert [message.seq for message in read(hub)] == list(range(1, 94))
    assert count_batches(hub) == 3 + 2 + 30


def test_one_round_merges_all_there_is(hub: Hub) -> None:
    many(hub, 1_200)

    hub.maintenance.run_once()

    assert count_batches(hub) < WAITING_MIN
    assert len(read(hub)) == 1_200


def test_merging_goes_on_as_the_log_grows(hub: Hub) -> None:
    for _ in range(5):
        many(hub, 100)
        hub.maintenance.run_once()

    assert count_batches(hub) < WAITING_MIN + 5
    assert [message.seq for message in read(hub)] == list(range(1, 501))


@pytest.mark.parametrize("late_us", [0, 1, -1])
def test_a_replay_by_time_finds_the_same_message_inside_a_merged_batch(clock: Clock, site: Site, late_us: int) -> None:
    hub = site.restart()
    times = []
    for number in range(100):
        times.append(clock.move_ms(1_000))
        say(hub, str(number))
    subscribe(hub)
    ack(hub, 100)
    hub.maintenance.run_once()

    replay(hub, from_us=times[70] + late_us)

    assert count_batches(hub) == 1
    assert pending(hub)[0] == (72 if late_us > 0 else 71)


def test_replays_by_time_before_and_after_a_merged_batch_find_its_ends(clock: Clock, site: Site) -> None:
    hub = site.restart()
    first = clock.move_ms(1_000)
    for number in range(100):
        say(hub, str(number))
        clock.move_ms(1_000)
    subscribe(hub)
    ack(hub, 100)
    hub.maintenance.run_once()

    after = replay(hub, from_us=clock.now_us)
    before = replay(hub, from_us=first - 1)

    assert (after, before) == (100, 0)
    assert pending(hub) == list(range(1, 101))


def test_what_was_parked_before_and_what_is_parked_after_a_merge_is_the_same(hub: Hub) -> None:
    many(hub, 80)
    subscribe(hub)
    park(hub, 10)

    hub.maintenance.run_once()
    park(hub, 20)
    ack(hub, 30)
    unpark(hub)

    got = messages(pull(hub).batches)
    assert [(message.seq, message.text.split()[0]) for message in got] == [(10, "10"), (20, "20")]


def test_pulls_cut_inside_a_merged_batch(hub: Hub) -> None:
    many(hub, 100)
    hub.maintenance.run_once()
    subscribe(hub)
    ack(hub, 40)

    pulled = pull(hub, messages_max=3)

    assert [message.text.split()[0] for message in messages(pulled.batches)] == ["41", "42", "43"]


def test_retention_goes_by_whole_merged_batches_and_keeps_what_is_needed(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC, retention=Retention(when_acknowledged=True))).result()
    subscribe(hub)
    many(hub, 100)
    hub.maintenance.run_once()
    ack(hub, 99)
    hub.maintenance.run_once()
    half = tail_of(hub)

    ack(hub, 100)
    hub.maintenance.run_once()

    assert (half, tail_of(hub), count_batches(hub)) == (1, 101, 0)


def test_the_same_id_is_recognised_after_its_batch_was_merged(hub: Hub) -> None:
    for number in range(70):
        hub.publish(TOPIC, PRODUCER, Outgoing(b"x", f"id-{number}")).result()
    hub.maintenance.run_once()

    again = hub.publish(TOPIC, PRODUCER, Outgoing(b"x", "id-42")).result()

    assert (count_batches(hub), again.seq, again.duplicate) == (1, 43, True)


def test_topics_are_merged_apart(hub: Hub) -> None:
    for number in range(140):
        say(hub, str(number), topic=f"topic-{number % 2}")

    hub.maintenance.run_once()

    assert count_batches(hub) == 2
    assert [message.text for message in read(hub, "topic-0")] == [str(number) for number in range(0, 140, 2)]
