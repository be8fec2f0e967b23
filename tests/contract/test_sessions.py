"""Batches of a producer session are numbered: a repeated one is recognised, a missing one is noticed."""

import pytest

from pregon import limits
from pregon.errors import BatchOutOfOrder, SessionUnknown
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.hub.way import Published

from .site import Clock, Site, one_commit
from .verbs import TOPIC, batch_of, read, send


def test_a_repeated_batch_stores_nothing_and_answers_its_first_number(hub: Hub) -> None:
    send(hub, batch_of("a", "b"), "s", 1).result()
    send(hub, batch_of("c"), "s", 2).result()

    again = send(hub, batch_of("a", "b"), "s", 1).result()

    assert again == Published(1, 2, True)
    assert [message.text for message in read(hub)] == ["a", "b", "c"]


def test_a_batch_repeated_in_one_commit_is_stored_once(hub: Hub) -> None:
    with one_commit(hub):
        tickets = [send(hub, batch_of("a", "b"), "s", 1), send(hub, batch_of("a", "b"), "s", 1)]

    answers = [ticket.result() for ticket in tickets]

    assert answers == [Published(1, 2), Published(1, 2, True)]
    assert len(read(hub)) == 2


def test_a_batch_repeated_after_a_restart_is_stored_once(site: Site) -> None:
    send(site.hub, batch_of("a", "b"), "s", 1).result()

    again = send(site.restart(), batch_of("a", "b"), "s", 1).result()

    assert again == Published(1, 2, True)
    assert send(site.hub, batch_of("c"), "s", 2).result() == Published(3)


def test_a_missing_batch_is_noticed_and_nothing_after_it_is_stored(hub: Hub) -> None:
    send(hub, batch_of("1"), "s", 1).result()

    with pytest.raises(BatchOutOfOrder, match="2 is missing"):
        send(hub, batch_of("3"), "s", 3).result()

    assert [message.text for message in read(hub)] == ["1"]


def test_order_is_kept_when_everything_since_the_missing_one_is_sent_again(hub: Hub) -> None:
    send(hub, batch_of("1"), "s", 1).result()
    with pytest.raises(BatchOutOfOrder):
        send(hub, batch_of("3"), "s", 3).result()

    answers = [send(hub, batch_of(str(number)), "s", number).result() for number in (2, 3, 4)]

    assert answers == [Published(2), Published(3), Published(4)]
    assert [message.text for message in read(hub)] == ["1", "2", "3", "4"]


def test_a_batch_missing_in_the_commit_that_begins_the_session_is_noticed_too(hub: Hub) -> None:
    with one_commit(hub):
        first = send(hub, batch_of("1"), "s", 1)
        third = send(hub, batch_of("3"), "s", 3)

    assert first.result() == Published(1)
    with pytest.raises(BatchOutOfOrder):
        third.result()


def test_batches_of_one_commit_are_in_order(hub: Hub) -> None:
    with one_commit(hub):
        tickets = [send(hub, batch_of(str(number)), "s", number) for number in range(1, 31)]

    answers = [ticket.result() for ticket in tickets]

    assert answers == [Published(number) for number in range(1, 31)]
    assert [message.text for message in read(hub)] == [str(number) for number in range(1, 31)]


def test_a_session_that_does_not_begin_at_1_is_unknown(hub: Hub) -> None:
    late = batch_of("5")

    with pytest.raises(SessionUnknown):
        send(hub, late, "s", 5).result()

    assert send(hub, batch_of("1"), "s", 1).result() == Published(1)


def test_a_batch_older_than_what_is_remembered_is_unknown(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SESSION_BATCHES_REMEMBERED", 3)
    for number in range(1, 6):
        send(hub, batch_of(str(number)), "s", number).result()

    with pytest.raises(SessionUnknown):
        send(hub, batch_of("2"), "s", 2).result()

    assert send(hub, batch_of("3"), "s", 3).result() == Published(3, 1, True)
    assert len(read(hub)) == 5


def test_a_session_is_forgotten_after_its_time(clock: Clock, site: Site) -> None:
    hub = site.restart(HubOptions(dedupe_keep_ms=1_000))
    send(hub, batch_of("1"), "old", 1).result()
    clock.move_ms(900)
    send(hub, batch_of("2"), "young", 1).result()
    clock.move_ms(200)

    hub.maintenance.run_once()

    with pytest.raises(SessionUnknown):
        send(hub, batch_of("3"), "old", 2).result()
    assert send(hub, batch_of("2"), "young", 1).result() == Published(2, 1, True)


def test_sessions_topics_and_producers_do_not_mix(hub: Hub) -> None:
    send(hub, batch_of("1"), "s", 1).result()

    other_session = send(hub, batch_of("2"), "r", 1).result()
    other_producer = hub.publish_batch(TOPIC, "another", batch_of("3"), "s", 1).result()
    other_topic = hub.publish_batch("deaths", "registry", batch_of("4"), "s", 1).result()

    assert (other_session, other_producer, other_topic) == (Published(2), Published(3), Published(1))


def test_a_batch_without_a_session_is_stored_every_time(hub: Hub) -> None:
    send(hub, batch_of("a")).result()

    again = send(hub, batch_of("a")).result()

    assert again == Published(2)
    assert len(read(hub)) == 2


def test_a_session_of_a_deleted_producer_is_not_taken_for_another_ones(hub: Hub) -> None:
    hub.publish_batch(TOPIC, "first", batch_of("a"), "s", 1).result()
    hub.delete("producer", ("first",)).result()

    answer = hub.publish_batch(TOPIC, "second", batch_of("b"), "s", 1).result()

    assert answer == Published(2)
