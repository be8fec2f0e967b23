"""Publishing the same id again stores nothing and answers with the first number."""

import pytest

from pregon.errors import BadRequest
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.hub.way import Published
from pregon.model.message import Outgoing

from .site import Clock, Site, one_commit
from .verbs import PRODUCER, TOPIC, batch_of, ranges, read, say, say_as, send


def test_the_same_id_again_stores_nothing_and_answers_the_first_number(hub: Hub) -> None:
    say(hub, "before")
    say_as(hub, "x", "first")
    say(hub, "between")

    again = say_as(hub, "x", "second")

    assert again == Published(2, 1, True)
    assert [message.text for message in read(hub)] == ["before", "first", "between"]


def test_the_same_id_twice_in_one_commit_is_stored_once(hub: Hub) -> None:
    with one_commit(hub):
        tickets = [
            hub.publish(TOPIC, PRODUCER, Outgoing(body, id)) for body, id in ((b"1", "x"), (b"2", "y"), (b"3", "x"))
        ]

    answers = [ticket.result() for ticket in tickets]

    assert answers == [Published(1), Published(2), Published(1, 1, True)]
    assert [message.text for message in read(hub)] == ["1", "2"]


def test_the_same_id_is_recognised_around_a_batch_of_the_same_commit(hub: Hub) -> None:
    with one_commit(hub):
        first = hub.publish(TOPIC, PRODUCER, Outgoing(b"1", "x"))
        send(hub, batch_of("2"))
        again = hub.publish(TOPIC, PRODUCER, Outgoing(b"3", "x"))

    assert (first.result(), again.result()) == (Published(1), Published(1, 1, True))
    assert [message.text for message in read(hub)] == ["1", "2"]


def test_the_same_id_is_recognised_after_a_restart(site: Site) -> None:
    say(site.hub, "before")
    say_as(site.hub, "x")

    again = say_as(site.restart(), "x")

    assert again == Published(2, 1, True)
    assert len(read(site.hub)) == 2


def test_many_ids_are_recognised_at_once(hub: Hub) -> None:
    ids = [f"id-{number}" for number in range(1_200)]
    with one_commit(hub):
        first = [hub.publish(TOPIC, PRODUCER, Outgoing(b"", id)) for id in ids]

    with one_commit(hub):
        again = [hub.publish(TOPIC, PRODUCER, Outgoing(b"", id)) for id in reversed(ids)]

    assert [ticket.result().seq for ticket in first] == list(range(1, 1_201))
    assert [ticket.result() for ticket in again] == [Published(seq, 1, True) for seq in range(1_200, 0, -1)]


def test_two_producers_may_use_the_same_id(hub: Hub) -> None:
    with one_commit(hub):
        tickets = [hub.publish(TOPIC, producer, Outgoing(b"", "x")) for producer in ("a", "b")]

    answers = [ticket.result() for ticket in tickets]

    assert answers == [Published(1), Published(2)]
    assert say_as(hub, "x", producer="c") == Published(3)


def test_two_topics_may_have_the_same_id(hub: Hub) -> None:
    say_as(hub, "x")

    elsewhere = say_as(hub, "x", topic="deaths")

    assert elsewhere == Published(1)


def test_a_producer_is_not_taken_for_a_deleted_one(hub: Hub) -> None:
    say_as(hub, "x", "of the first", producer="first")
    hub.delete("producer", ("first",)).result()

    answer = say_as(hub, "x", "of the second", producer="second")

    assert answer == Published(2)
    assert [message.text for message in read(hub)] == ["of the first", "of the second"]


def test_a_duplicate_leaves_no_trace(hub: Hub) -> None:
    say_as(hub, "x")

    say_as(hub, "x")

    assert ranges(hub, "accepted") == [(1, 1)]


def test_an_id_is_forgotten_after_its_time(clock: Clock, site: Site) -> None:
    hub = site.restart(HubOptions(dedupe_keep_ms=1_000))
    say_as(hub, "old")
    clock.move_ms(900)
    say_as(hub, "young")
    clock.move_ms(200)

    hub.maintenance.run_once()

    assert say_as(hub, "old") == Published(3)
    assert say_as(hub, "young") == Published(2, 1, True)


@pytest.mark.parametrize("id", ["", "x" * 201, "ñ" * 101])
def test_an_id_too_short_or_too_long_is_refused(hub: Hub, id: str) -> None:
    message = Outgoing(b"", id)

    with pytest.raises(BadRequest):
        hub.publish(TOPIC, PRODUCER, message)

    assert say(hub, "next") == [1]
