"""What goes when something is deleted, what stays, and that a name is free at once."""

import pytest
from sqlalchemy import Table, func, select

from pregon.errors import Forbidden, NotFound
from pregon.hub import maintenance
from pregon.hub.hub import Hub
from pregon.model.catalog import Producer, Topic
from pregon.store.schema import batch, dedupe, expired_range, parked, producer_session, subscription, topic

from .site import Site, one_commit
from .verbs import (
    PRODUCER,
    TOPIC,
    account,
    ack,
    batch_of,
    count_batches,
    fill,
    park,
    pending,
    pull,
    read,
    say,
    say_as,
    send,
    subscribe,
)


def rows_of(hub: Hub, *tables: Table) -> list[int]:
    """How many rows each table has."""
    counts = [select(func.count()).select_from(table) for table in tables]
    return hub.read(lambda connection: [connection.execute(count).scalar_one() for count in counts]).result()


def test_a_deleted_topic_is_gone_at_once(hub: Hub) -> None:
    fill(hub, 3)
    subscribe(hub)

    existed = hub.delete("topic", (TOPIC,)).result()

    assert existed is True
    assert hub.delete("topic", (TOPIC,)).result() is False
    assert hub.list("topic").result() == hub.list("subscription").result() == []
    for ticket in (hub.show("topic", (TOPIC,)), hub.read_log(TOPIC, 1, None, 1, 1), hub.account(TOPIC, "bank")):
        with pytest.raises(NotFound):
            ticket.result()


def test_the_name_of_a_deleted_topic_can_be_used_at_once(hub: Hub) -> None:
    fill(hub, 3)
    subscribe(hub)
    ack(hub, 2)
    hub.delete("topic", (TOPIC,)).result()

    numbers = say(hub, "of the new one")

    assert numbers == [1]
    assert [message.text for message in read(hub)] == ["of the new one"]
    assert pending(hub) == [1]


def test_a_topic_deleted_and_used_in_one_commit_begins_anew(hub: Hub) -> None:
    send(hub, batch_of("old"), "s", 1).result()

    with one_commit(hub):
        deleted = hub.delete("topic", (TOPIC,))
        ticket = send(hub, batch_of("new"), "s", 1)

    assert deleted.result() is True
    assert (ticket.result().seq, ticket.result().duplicate) == (1, False)
    assert [message.text for message in read(hub)] == ["new"]


def test_ids_of_a_deleted_topic_are_not_taken_for_ids_of_the_new_one(hub: Hub) -> None:
    say_as(hub, "x", "old")
    hub.delete("topic", (TOPIC,)).result()
    hub.maintenance.run_once()

    answer = say_as(hub, "x", "new")

    assert (answer.seq, answer.duplicate) == (1, False)


def test_messages_of_a_deleted_topic_are_removed_little_by_little(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "_ROWS_AT_ONCE", 50)
    monkeypatch.setattr(maintenance, "_ROUNDS_MAX", 1)
    for ticket in [send(hub, batch_of("x")) for _ in range(12)]:
        ticket.result()
    hub.delete("topic", (TOPIC,)).result()
    left = [count_batches(hub)]

    while left[-1]:
        hub.maintenance.run_once()
        left.append(count_batches(hub))

    assert left == [12, 7, 2, 0]
    assert rows_of(hub, topic) == [0]


def test_nothing_of_a_deleted_topic_is_left(hub: Hub) -> None:
    subscribe(hub, pending_max=3)
    say_as(hub, "x")
    send(hub, batch_of(*"23456"), "s", 1).result()
    park(hub, 5)
    hub.maintenance.run_once()
    before = rows_of(hub, batch, parked, expired_range, dedupe, producer_session, subscription, topic)
    hub.delete("topic", (TOPIC,)).result()

    hub.maintenance.run_once()

    assert min(before) > 0
    assert rows_of(hub, batch, parked, expired_range, dedupe, producer_session, subscription, topic) == [0] * 7


def test_another_topic_keeps_its_messages(hub: Hub) -> None:
    say(hub, "stays", topic="deaths")
    fill(hub, 3)
    hub.delete("topic", (TOPIC,)).result()

    hub.maintenance.run_once()

    assert [message.text for message in read(hub, "deaths")] == ["stays"]


def test_a_deletion_goes_on_after_a_restart(site: Site) -> None:
    fill(site.hub, 3)
    site.hub.delete("topic", (TOPIC,)).result()

    hub = site.restart()
    hub.maintenance.run_once()

    assert rows_of(hub, batch, topic) == [0, 0]


def test_a_deleted_subscription_begins_anew(hub: Hub) -> None:
    fill(hub, 3)
    subscribe(hub)
    park(hub, 2)
    ack(hub, 3)

    existed = hub.delete("subscription", (TOPIC, "bank")).result()

    assert existed is True
    assert hub.delete("subscription", (TOPIC, "bank")).result() is False
    assert pending(hub) == [1, 2, 3]
    assert account(hub).parked == 0


def test_a_deleted_subscriber_has_no_subscriptions(hub: Hub) -> None:
    fill(hub, 3)
    pull(hub)

    hub.delete("subscriber", ("bank",)).result()

    assert hub.list("subscription").result() == hub.list("subscriber").result() == []


def test_a_deleted_producer_loses_its_grants_and_leaves_its_messages(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC, restricted=True)).result()
    hub.create(Producer(name=PRODUCER, topics=(TOPIC,))).result()
    say(hub, "stays")

    hub.delete("producer", (PRODUCER,)).result()

    with pytest.raises(Forbidden):
        say(hub, "refused")
    assert [(message.text, message.producer) for message in read(hub)] == [("stays", PRODUCER)]


def test_a_deleted_topic_loses_its_grants(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC, restricted=True)).result()
    hub.create(Producer(name=PRODUCER, topics=(TOPIC,))).result()
    hub.delete("topic", (TOPIC,)).result()

    hub.create(Topic(name=TOPIC, restricted=True)).result()

    with pytest.raises(Forbidden):
        say(hub, "refused")
