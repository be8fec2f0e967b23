"""What waits for every subscription, read at once: the same as the accounting of each, and since when it waits."""

import random
from collections.abc import Callable

import pytest
from sqlalchemy import Connection, update

from pregon.hub.hub import Hub
from pregon.model.catalog import Subscriber, Topic
from pregon.store import backlogs as reading
from pregon.store.backlogs import Backlog, read_backlogs
from pregon.store.filter_results import Examined, write_examined
from pregon.store.schema import subscriber as subscriber_table
from pregon.store.schema import subscription as subscription_table
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction

from .site import Clock
from .verbs import TOPIC, ack, count_batches, fill, park, pull, replay, say, subscribe, unpark

MINUTE_MS = 60_000


class Write:
    """An operation that writes what no verb of the hub does."""

    size_bytes = 100
    is_durable = False

    def __init__(self, write: Callable[[Connection], object]) -> None:
        self.ticket: Ticket[object] = Ticket()
        self._write = write

    def apply(self, transaction: Transaction) -> None:
        transaction.results.append((self.ticket, self._write(transaction.connection)))


def write(hub: Hub, change: Callable[[Connection], object]) -> None:
    operation = Write(change)
    hub.committer.submit(operation)
    operation.ticket.result()


def look(hub: Hub) -> dict[str, Backlog]:
    """The backlogs of the usual topic, by subscriber."""
    found = hub.read(read_backlogs).result()
    return {one.subscriber: one for one in found if one.topic == TOPIC}


def counted(hub: Hub, subscriber: str = "bank") -> tuple[int, int]:
    """What the accounting says is pending and parked."""
    found = hub.account(TOPIC, subscriber).result()
    return found.pending, found.parked


def filtered(hub: Hub, *unwanted: tuple[int, int], last_seq: int, subscription_id: int = 1) -> None:
    """As if a filter had looked at the messages up to a number and not wanted some."""

    def change(connection: Connection) -> None:
        connection.execute(
            update(subscription_table).where(subscription_table.c.id == subscription_id).values(filter='{"not": {}}')
        )
        results = [Examined(first, last, False, "") for first, last in unwanted]
        wanted = last_seq if unwanted[-1][1] < last_seq else None
        write_examined(connection, subscription_id, results + ([Examined(wanted, wanted, True, "x")] if wanted else []))

    write(hub, change)


def test_a_hub_without_subscriptions_has_no_backlogs(hub: Hub) -> None:
    say(hub, "x")

    found = look(hub)

    assert found == {}


def test_pending_and_parked_are_those_of_the_accounting_all_along_a_life(hub: Hub) -> None:
    for name in ("bank", "city"):
        subscribe(hub, name, pending_max=40)
    chance = random.Random(7)
    steps: list[Callable[[], object]] = [
        lambda: say(hub, "x", "y", "z"),
        lambda: ack(hub, min(chance.randrange(1, 9) + cursor(), head())),
        lambda: park(hub, head(), max(1, head() - 3)),
        lambda: unpark(hub),
        lambda: pull(hub, messages_max=3),
        lambda: replay(hub, from_seq=max(1, cursor() - chance.randrange(30))),
        lambda: hub.maintenance.run_once(),
    ]

    def head() -> int:
        return hub.account(TOPIC, "bank").result().head_seq

    def cursor() -> int:
        return hub.account(TOPIC, "bank").result().acked_seq

    say(hub, "first")
    seen = []
    for _ in range(150):
        chance.choice(steps)()
        found = look(hub)
        seen.append({name: ((one.pending, one.parked), counted(hub, name)) for name, one in found.items()})

    assert all(read == exact for one in seen for read, exact in one.values())
    assert len({one["bank"] for one in seen}) > 30
    assert any(one["bank"][0][1] for one in seen)


def test_what_a_filter_does_not_want_is_not_pending(hub: Hub) -> None:
    fill(hub, 20)
    subscribe(hub)
    ack(hub, 2)
    filtered(hub, (5, 9), (11, 12), last_seq=13)

    found = look(hub)["bank"]

    assert found.pending == 18 - 5 - 2
    assert (found.pending, found.parked) == counted(hub)


def test_the_oldest_pending_message_says_since_when_it_waits(clock: Clock, hub: Hub) -> None:
    subscribe(hub)
    subscribe(hub, "city")
    accepted_us = []
    for body in "12345":
        accepted_us.append(clock.move_ms(MINUTE_MS))
        say(hub, body)
    ack(hub, 2)
    ack(hub, 5, "city")

    found = look(hub)

    assert found["bank"].oldest_pending_us == accepted_us[2]
    assert (found["city"].pending, found["city"].oldest_pending_us) == (0, 0)


def test_what_is_set_aside_or_unwanted_does_not_wait(clock: Clock, hub: Hub) -> None:
    subscribe(hub)
    accepted_us = []
    for body in "123456":
        accepted_us.append(clock.move_ms(MINUTE_MS))
        say(hub, body)
    park(hub, 1, 2)
    filtered(hub, (3, 4), last_seq=5)

    found = look(hub)["bank"]

    assert (found.pending, found.parked) == (2, 2) == counted(hub)
    assert found.oldest_pending_us == accepted_us[4]


def test_an_unparked_message_waits_since_it_was_accepted(clock: Clock, hub: Hub) -> None:
    subscribe(hub)
    accepted_us = []
    for body in "123":
        accepted_us.append(clock.move_ms(MINUTE_MS))
        say(hub, body)
    park(hub, 2)
    ack(hub, 3)
    clock.move_ms(MINUTE_MS)
    unpark(hub)

    found = look(hub)["bank"]

    assert (found.pending, found.oldest_pending_us) == (1, accepted_us[1])


def test_merging_does_not_make_messages_older(clock: Clock, hub: Hub) -> None:
    subscribe(hub)
    accepted_us = []
    for number in range(1_200):
        accepted_us.append(clock.move_ms(MINUTE_MS))
        say(hub, str(number))
    ack(hub, 700)
    before = look(hub)["bank"].oldest_pending_us

    hub.maintenance.run_once()
    after = [look(hub)["bank"].oldest_pending_us for _ in range(4)]

    assert count_batches(hub) < 700
    assert {before, *after} == {accepted_us[700]}


def test_beyond_what_may_be_taken_apart_the_time_is_estimated(
    clock: Clock, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_DECODED_MAX", 0)
    subscribe(hub)
    accepted_us = []
    for number in range(1_200):
        accepted_us.append(clock.move_ms(MINUTE_MS))
        say(hub, str(number))
    ack(hub, 700)
    hub.maintenance.run_once()

    found = look(hub)["bank"].oldest_pending_us

    assert count_batches(hub) < 700
    assert abs(found - accepted_us[700]) < 2 * MINUTE_MS * 1_000


def test_how_pushing_goes_is_read_with_it(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC)).result()
    hub.create(Subscriber(name="bank")).result()
    subscribe(hub)

    def change(connection: Connection) -> None:
        connection.execute(update(subscription_table).values(failing_since_us=5))
        connection.execute(update(subscriber_table).values(enabled=False, mode="push", endpoint="http://x.example/"))

    write(hub, change)
    found = look(hub)["bank"]

    assert (found.failing_since_us, found.enabled, found.mode) == (5, False, "push")


def test_a_deleted_topic_has_no_backlogs(hub: Hub) -> None:
    subscribe(hub)
    say(hub, "x")

    hub.delete("topic", (TOPIC,)).result()

    assert hub.read(read_backlogs).result() == []
