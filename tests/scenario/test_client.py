"""The client against a hub that stays: publishing, producing, pulling and following, blocking and with asyncio.

Every test here runs twice, once with each client. What happens when the hub goes away is in
`test_client_reconnects`.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from pregon.client import AsyncClient, Client
from pregon.client.outbox import ProducerOptions, Receipt
from pregon.errors import (
    AckBeyondHead,
    BadName,
    Forbidden,
    HubStopping,
    HubUnreachable,
    NotFound,
    SettingsInvalid,
    TooLarge,
)
from pregon.limits import BODY_BYTES_MAX
from pregon.model.trace import TraceQuery

from .both_clients import open_client
from .hub_process import HubProcess, find_port, wait_until


@pytest.fixture(params=["sync", "async"])
def either(request: pytest.FixtureRequest, hub: HubProcess) -> Iterator[Any]:
    """A client of each kind."""
    with open_client(request.param, hub.url, producer="ministry", timeout_ms=10_000) as client:
        yield client


def bodies(client: Any, topic: str, subscriber: str = "reader") -> list[str]:
    """Everything that is pending."""
    return [message.text for message in client.pull(topic, subscriber, max=10_000)]


# Single messages.


def test_a_message_arrives_as_it_was_published(either: Any, topic: str) -> None:
    published = either.publish(topic, b"\0\xff", id="id", key="key", content_type="image/png", headers={"a": "ñ"})

    (message,) = either.pull(topic, "reader")
    assert published.seq == 1
    assert not published.duplicate
    assert (message.seq, message.topic, message.producer) == (1, topic, "ministry")
    assert (message.body, message.id, message.key) == (b"\0\xff", "id", "key")
    assert (message.content_type, message.headers) == ("image/png", {"a": "ñ"})
    assert 0 < message.published_us <= message.accepted_us + 1_000_000


def test_publishing_an_id_again_stores_nothing_and_answers_with_the_first_number(either: Any, topic: str) -> None:
    first = either.publish(topic, "one", id="same")
    either.publish(topic, "other")

    again = either.publish(topic, "one", id="same")

    assert (again.seq, again.duplicate) == (first.seq, True)
    assert bodies(either, topic) == ["one", "other"]


def test_errors_of_the_hub_are_raised_as_what_they_are(either: Any, topic: str) -> None:
    either.publish(topic, "one")
    either.pull(topic, "reader")

    with pytest.raises(BadName, match="not a name!"):
        either.publish("not a name!", "x")
    with pytest.raises(TooLarge):
        either.publish(topic, bytes(1024 * 1024 + 1))
    with pytest.raises(AckBeyondHead, match="ends at 1"):
        either.ack(topic, "reader", 2)
    with pytest.raises(NotFound, match="topic list"):
        either.show("topic", "absent")


def test_the_catalogue_the_account_and_the_traces_are_asked_for(either: Any, topic: str) -> None:
    either.create("topic", name=topic, description="first")
    either.update("topic", topic, description="second")
    for _ in range(4):
        either.publish(topic, "x")
    either.pull(topic, "reader")
    either.ack(topic, "reader", 3)
    either.park(topic, "reader", [4], "broken")

    account = either.account(topic, "reader")
    assert (account.accepted, account.acknowledged, account.pending, account.parked) == (4, 3, 0, 1)
    assert [row["seq"] for row in either.parked(topic, "reader")] == [4]
    assert either.unpark(topic, "reader") == 1
    assert either.replay(topic, "reader", from_seq=2) == 1
    assert [message.seq for message in either.pull(topic, "reader", max=2)] == [2, 3]
    assert either.show("topic", topic)["description"] == "second"
    assert [row["name"] for row in either.list("topic", names=[topic])] == [topic]
    assert [trace.detail for trace in either.traces(TraceQuery(topic=topic, kind="parked"))] == ["broken"]
    assert either.delete("topic", topic)
    assert not either.delete("topic", topic)


# Pulling and following.


def test_an_answered_acknowledgement_holds_for_the_next_pull(either: Any, hub: HubProcess, topic: str) -> None:
    either.publish(topic, "one")
    either.pull(topic, "reader")
    with closing(sqlite3.connect(hub.data / "pregon.db", isolation_level=None, check_same_thread=False)) as database:
        # While this is held the hub cannot write the acknowledgement; it may answer before, or wait.
        database.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.5, lambda: database.execute("ROLLBACK"))
        release.start()

        pulled = either.pull(topic, "reader", ack=1)
        again = either.pull(topic, "reader")
        release.join()

    assert (pulled.acked_seq, len(pulled)) == (1, 0)
    assert len(again) == 0, "it was told that 1 is acknowledged"


def test_a_pull_waits_for_something_new(either: Any, client: Client, topic: str) -> None:
    either.pull(topic, "reader")
    publisher = threading.Timer(0.2, lambda: client.publish(topic, "news"))

    publisher.start()
    pulled = either.pull(topic, "reader", wait_ms=10_000)
    publisher.join()

    assert [message.text for message in pulled] == ["news"]


def test_following_acknowledges_what_was_dealt_with_and_no_more(either: Any, topic: str) -> None:
    for number in range(1, 8):
        either.publish(topic, str(number))

    left_at = {}
    for last in (1, 2, 3, 5, 7):
        for message in either.follow(topic, "reader", max=2):
            if message.seq == last:
                break
        left_at[last] = either.account(topic, "reader").acked_seq

    assert left_at == {last: last - 1 for last in left_at}, "all before it, and not the one at hand"


def test_an_error_while_dealing_with_a_message_leaves_it_unacknowledged(either: Any, topic: str) -> None:
    for number in range(1, 4):
        either.publish(topic, str(number))

    with pytest.raises(ZeroDivisionError):
        for message in either.follow(topic, "reader"):
            1 / (2 - message.seq)

    assert either.account(topic, "reader").acked_seq == 1
    assert bodies(either, topic) == ["2", "3"]


def test_following_until_empty_gives_everything_once(either: Any, topic: str) -> None:
    with either.producer(topic, ProducerOptions(batch_messages=100)) as out:
        for number in range(2_345):
            out.send(str(number))

    rounds = [[message.seq for message in either.follow(topic, "reader", until_empty=True)] for _ in range(3)]

    assert rounds == [list(range(1, 2_346)), [], []]
    assert either.account(topic, "reader").pending == 0


# Producing.


def test_a_producer_packs_batches_and_gives_a_receipt_for_each(either: Any, topic: str) -> None:
    receipts: list[Receipt] = []

    with either.producer(topic, ProducerOptions(batch_messages=10, on_receipt=receipts.append)) as out:
        for number in range(25):
            out.send(f"{number}", id=f"id-{number}", key="k", headers={"n": str(number)})

    assert [(one.first_seq, one.count, one.first_id, one.last_id) for one in receipts] == [
        (1, 10, "id-0", "id-9"),
        (11, 10, "id-10", "id-19"),
        (21, 5, "id-20", "id-24"),
    ]
    messages = either.pull(topic, "reader")
    assert [message.id for message in messages] == [f"id-{number}" for number in range(25)]
    assert [message.headers for message in messages] == [{"n": str(number)} for number in range(25)]
    assert {message.producer for message in messages} == {"ministry"}


def test_a_batch_that_does_not_fill_is_sent_by_itself(either: Any, client: Client, topic: str) -> None:
    client.pull(topic, "watcher")

    with either.producer(topic, ProducerOptions(batch_messages=500, linger_ms=10)) as out:
        out.send("alone")
        arrived = client.pull(topic, "watcher", wait_ms=10_000)
        wait_until(lambda: out.outbox.is_empty, "the receipt was taken without a further call")

    assert [message.text for message in arrived] == ["alone"]


def test_a_producer_is_held_back_while_too_much_is_in_flight(either: Any, hub: HubProcess, topic: str) -> None:
    most = 0
    options = ProducerOptions(batch_messages=5, in_flight_max=2)

    with either.producer(topic, options) as out:
        for _ in range(500):
            out.send("x")
            most = max(most, out.outbox.unacknowledged)
        out.flush()
        left = out.outbox.unacknowledged

    assert most <= 15, "two batches in flight, and the one being packed"
    assert left == 0
    assert out.outbox.acknowledged == 500


def test_an_error_of_a_batch_is_raised_by_the_next_call(either: Any, topic: str) -> None:
    either.create("topic", name=topic, restricted=True)
    out = either.producer(topic, ProducerOptions(linger_ms=5))

    with pytest.raises(Forbidden, match="grant"), out:
        out.send("not allowed")
        wait_until(lambda: out.outbox.failure, "the hub has refused the batch")
        out.send("the next call")
        pytest.fail("the next call did not raise")


def test_an_error_of_a_batch_is_raised_at_the_latest_by_the_end(either: Any, topic: str) -> None:
    either.create("topic", name=topic, restricted=True)

    with pytest.raises(Forbidden), either.producer(topic) as out:
        out.send("not allowed")

    assert bodies(either, topic) == []


def test_a_message_that_is_too_large_harms_none_of_the_others(either: Any, topic: str) -> None:
    with either.producer(topic) as out:
        out.send("before")
        with pytest.raises(TooLarge):
            out.send(bytes(BODY_BYTES_MAX + 1))
        out.send("after")

    assert bodies(either, topic) == ["before", "after"]


def test_large_messages_are_spread_over_batches_that_the_hub_takes(either: Any, topic: str) -> None:
    receipts: list[Receipt] = []

    with either.producer(topic, ProducerOptions(on_receipt=receipts.append)) as out:
        for _ in range(12):
            out.send(bytes(1024 * 1024))

    assert sum(one.count for one in receipts) == 12
    assert 4 <= len(receipts) <= 12


def test_a_closed_producer_takes_nothing(either: Any, topic: str) -> None:
    with either.producer(topic) as out:
        out.send("x")

    with pytest.raises(HubStopping):
        out.send("y")


# Without a hub.


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_without_a_hub_a_call_ends_in_time_and_says_where_it_looked(kind: str) -> None:
    nowhere = f"tcp://127.0.0.1:{find_port()}"

    with open_client(kind, nowhere, timeout_ms=300) as client:
        with pytest.raises(HubUnreachable, match=nowhere) as raised:
            client.ping()
        with pytest.raises(HubUnreachable), client.producer("t", ProducerOptions(timeout_ms=300)) as out:
            out.send("x")

    assert raised.value.is_retryable


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_what_is_no_address_is_refused_at_once(kind: str) -> None:
    with pytest.raises(SettingsInvalid, match="tcp://HOST:PORT"):
        with open_client(kind, "nonsense"):
            pass


# Many at once.


def test_many_threads_share_one_client(client: Client, topic: str) -> None:
    told: dict[str, int] = {}

    def publish(name: str) -> None:
        for number in range(25):
            told[f"{name}-{number}"] = client.publish(topic, f"{name}-{number}").seq

    threads = [threading.Thread(target=publish, args=(f"thread-{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {message.text: message.seq for message in client.pull(topic, "reader")} == told
    assert sorted(told.values()) == list(range(1, 201))


def test_many_tasks_share_one_connection_and_each_gets_its_own_answer(hub: HubProcess, topic: str) -> None:
    async def publish_all() -> dict[str, int]:
        async with AsyncClient(hub.url) as client:
            published = await asyncio.gather(*(client.publish(topic, str(number)) for number in range(100)))
            return {str(number): one.seq for number, one in enumerate(published)}

    told = asyncio.run(publish_all())

    with hub.client() as client:
        assert {message.text: message.seq for message in client.pull(topic, "reader")} == told
    assert sorted(told.values()) == list(range(1, 101))
