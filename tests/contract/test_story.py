"""A message's story: what it is, all that happened to it, and how it stands for each subscription."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Table, update

from pregon import limits
from pregon.errors import BadRequest, Forbidden, NotFound, Unauthorized
from pregon.hub.access import NewKey
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.hub.story import read_story
from pregon.model.catalog import Retention, Topic
from pregon.model.message import Outgoing
from pregon.model.trace import Standing, Story
from pregon.security.callers import ANYBODY, Caller
from pregon.store.database import Database
from pregon.store.filter_results import Examined, write_examined
from pregon.store.schema import subscriber as subscriber_table
from pregon.store.schema import subscription as subscription_table

from .site import Clock, Site
from .verbs import PRODUCER, SUBSCRIBER, TOPIC, ack, fill, park, pull, replay, say, subscribe, unpark


def story(hub: Hub, seq: int, topic: str = TOPIC) -> Story:
    """The story as a reader gets it."""
    return Gate(hub).story(ANYBODY, topic, seq).result()


def standing(hub: Hub, seq: int, subscriber: str = SUBSCRIBER) -> Standing:
    """How a message stands for one subscription."""
    (found,) = [one for one in story(hub, seq).subscriptions if one.subscriber == subscriber]
    return found


def states(hub: Hub, last_seq: int) -> list[str]:
    """How messages 1 to `last_seq` stand for the usual subscription."""
    return [standing(hub, seq).state for seq in range(1, last_seq + 1)]


def set_columns(hub: Hub, table: Table, **values: Any) -> None:
    """Change all rows of a table behind the hub's back."""
    with hub.database.connect() as connection:
        hub.database.begin_write(connection, durable=False)
        connection.execute(update(table).values(**values))
        hub.database.commit(connection)


def test_a_story_says_what_the_message_is(clock: Clock, site: Site) -> None:
    hub = site.restart()
    message = Outgoing(b"<x/>", "id-1", "key-1", "text/xml")
    hub.publish(TOPIC, PRODUCER, message, clock.now_us - 5).result()

    told = story(hub, 1)

    assert (told.topic, told.seq, told.producer, told.id, told.key) == (TOPIC, 1, PRODUCER, "id-1", "key-1")
    assert (told.content_type, told.published_us, told.accepted_us) == ("text/xml", clock.now_us - 5, clock.now_us)
    assert ([trace.kind for trace in told.traces], told.subscriptions, told.is_whole) == (["accepted"], [], True)


def test_a_story_tells_what_happened_oldest_first_and_nothing_of_other_messages(hub: Hub) -> None:
    fill(hub, 9)
    subscribe(hub)
    park(hub, 5, reason="bad XML")
    park(hub, 6)
    ack(hub, 9)
    unpark(hub, 5)
    pull(hub)
    ack(hub, 5)
    say(hub, "x", topic="deaths")

    told = story(hub, 5)

    assert [(trace.kind, trace.first_seq, trace.last_seq) for trace in told.traces] == [
        ("accepted", 1, 9),
        ("parked", 5, 5),
        ("unparked", 5, 5),
        ("pulled", 5, 5),
        ("acknowledged", 5, 5),
    ]
    assert [one.state for one in told.subscriptions] == ["acknowledged"]


def test_each_message_stands_as_it_was_left(clock: Clock, site: Site) -> None:
    hub = site.restart()
    fill(hub, 7)
    subscribe(hub, start="2")
    park(hub, 3, 4, 6, reason="no such person")
    parked_us = clock.now_us
    unpark(hub, 4)
    acked_us = clock.move_ms(1_000)
    ack(hub, 2)
    hub.cancel(TOPIC, SUBSCRIBER, [5], "by mistake").result()

    found = states(hub, 7)

    assert found == ["not_entitled", "acknowledged", "parked", "returned", "cancelled", "parked", "pending"]
    assert (standing(hub, 3).reason, standing(hub, 3).at_us) == ("no such person", parked_us)
    assert (standing(hub, 2).at_us, standing(hub, 5).reason) == (acked_us, "by mistake")


def test_a_message_acknowledged_ahead_of_the_cursor_is_acknowledged(hub: Hub) -> None:
    fill(hub, 5)
    subscribe(hub)
    park(hub, 4)
    unpark(hub, 4)
    pull(hub, messages_max=1)
    ack(hub, 4)

    found = states(hub, 5)

    assert found == ["pending", "pending", "pending", "acknowledged", "pending"]


def test_a_replay_makes_what_was_settled_pending_again(hub: Hub) -> None:
    fill(hub, 4)
    subscribe(hub)
    ack(hub, 4)
    replay(hub, from_seq=3)

    found = states(hub, 4)

    assert found == ["acknowledged", "acknowledged", "pending", "pending"]


@pytest.mark.parametrize("has_log", [True, False])
def test_what_expired_stays_expired_when_the_log_has_it_no_more(site: Site, has_log: bool) -> None:
    hub = site.hub
    retention = Retention() if has_log else Retention(bytes_max=1)
    hub.create(Topic(name=TOPIC, retention=retention)).result()
    for body in ("1", "2", "3"):
        say(hub, body)
    subscribe(hub, pending_max=1)
    hub.maintenance.run_once()

    told = story(hub, 1)

    assert [one.state for one in told.subscriptions] == ["expired"]
    assert (told.id is None) is not has_log
    assert (told.producer, told.accepted_us is None) == (PRODUCER, False)
    assert [trace.kind for trace in told.traces] == ["accepted", "expired", *([] if has_log else ["removed"])]


def test_what_nothing_is_known_of_any_more_is_said_to_be_unknown(clock: Clock, site: Site) -> None:
    hub = site.restart(HubOptions(traces_keep_ms=1_000))
    hub.create(Topic(name=TOPIC, retention=Retention(bytes_max=1))).result()
    say(hub, "1")
    say(hub, "2")
    hub.maintenance.run_once()
    clock.move_ms(10_000)
    say(hub, "the newest trace stays", topic="others")
    hub.maintenance.run_once()

    told = story(hub, 1)

    assert (told.producer, told.accepted_us, told.id, told.traces) == (None, None, None, [])


def test_what_the_filter_does_not_want_is_filtered_and_what_it_wants_says_why(
    site: Site, open_database: Callable[[], Database]
) -> None:
    fill(site.hub, 4)
    subscribe(site.hub)
    # A hub that runs would look at the last message too.
    site.stop()
    database = open_database()
    with database.connect() as connection:
        database.begin_write(connection, durable=False)
        connection.execute(update(subscription_table).values(filter='{"field": "key", "exists": true}'))
        write_examined(connection, 1, [Examined(1, 2, False, "no key"), Examined(3, 3, True, "key exists")])
        database.commit(connection)

        found = [read_story(connection, TOPIC, seq).subscriptions[0] for seq in range(1, 5)]

    database.close()
    assert [one.state for one in found] == ["filtered", "filtered", "pending", "pending"]
    assert [one.reason for one in found[1:]] == ["no key", "key exists", "its filter has not looked at it yet"]


def test_a_push_that_fails_says_how_often_why_and_when_it_is_tried_again(hub: Hub) -> None:
    fill(hub, 2)
    subscribe(hub)
    ack(hub, 1)
    set_columns(hub, subscriber_table, mode="push", endpoint="http://h")
    set_columns(
        hub,
        subscription_table,
        attempts=3,
        next_try_us=9,
        failing_since_us=5,
        last_failure="HTTP 503 Service Unavailable",
    )

    settled, failing = standing(hub, 1), standing(hub, 2)

    assert (settled.state, settled.attempts, settled.last_failure) == ("acknowledged", 0, "")
    assert (failing.state, failing.mode, failing.attempts) == ("pending", "push", 3)
    assert (failing.next_try_us, failing.failing_since_us) == (9, 5)
    assert failing.last_failure == "HTTP 503 Service Unavailable"


def test_what_waits_because_nothing_is_pushed_says_so(hub: Hub) -> None:
    fill(hub, 1)
    subscribe(hub)
    set_columns(hub, subscriber_table, mode="push", enabled=False, disabled_reason="HTTP 410 Gone")

    found = standing(hub, 1)

    assert (found.state, found.reason, found.next_try_us) == ("pending", "HTTP 410 Gone", None)


def test_what_waits_in_a_paused_subscription_says_so_and_what_is_settled_does_not(hub: Hub) -> None:
    fill(hub, 2)
    subscribe(hub, paused=True)
    ack(hub, 1)
    pulled = standing(hub, 2)
    set_columns(hub, subscriber_table, mode="push", endpoint="http://h")

    settled, pending = standing(hub, 1), standing(hub, 2)

    assert (pending.state, pending.reason) == ("pending", "nothing is pushed in it: the subscription is paused")
    assert (settled.state, settled.reason) == ("acknowledged", "")
    assert (pulled.mode, pulled.reason) == ("pull", "")


def test_subscriptions_come_by_name(hub: Hub) -> None:
    fill(hub, 1)
    for name in ("press", "archive", "bank"):
        subscribe(hub, name)

    told = story(hub, 1)

    assert [one.subscriber for one in told.subscriptions] == ["archive", "bank", "press"]


def test_a_story_is_of_the_topic_that_has_the_name_now(clock: Clock, site: Site) -> None:
    hub = site.restart()
    fill(hub, 5)
    hub.delete("topic", (TOPIC,)).result()
    clock.move_ms(1)
    say(hub, "x", producer="new")

    told = story(hub, 1)

    assert (told.producer, [trace.last_seq for trace in told.traces]) == ("new", [1])
    with pytest.raises(NotFound):
        story(hub, 2)


def test_a_long_story_keeps_its_beginning_and_its_end(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(hub, 1)
    subscribe(hub)
    for _ in range(3):
        ack(hub, 1)
        replay(hub, from_seq=1)
    monkeypatch.setattr(limits, "LIST_ROWS_MAX", 4)

    told = story(hub, 1)

    assert [trace.kind for trace in told.traces] == ["accepted", "replayed", "acknowledged", "replayed"]
    assert not told.is_whole


@pytest.mark.parametrize(("topic", "seq"), [("no-topic", 1), (TOPIC, 3)])
def test_there_is_no_story_of_what_was_never_published(hub: Hub, topic: str, seq: int) -> None:
    fill(hub, 2)

    with pytest.raises(NotFound):
        story(hub, seq, topic)


@pytest.mark.parametrize("seq", [0, -1, 2**63])
def test_a_number_that_cannot_be_is_refused(hub: Hub, seq: int) -> None:
    fill(hub, 2)

    with pytest.raises(BadRequest):
        story(hub, seq)


# Who is told how much.


@pytest.fixture
def people(hub: Hub) -> dict[str, Caller]:
    """Message 1 by registry, message 2 by hospital; bank and archive acknowledged both; press has another topic."""
    for number, producer in enumerate(("registry", "hospital"), start=1):
        say(hub, str(number), producer=producer)
    say(hub, "x", topic="deaths", producer="hospital")
    subscribe(hub, "press", topic="deaths")
    for name in ("bank", "archive"):
        subscribe(hub, name)
        ack(hub, 2, name)
    wanted = {
        "registry": NewKey(kind="producer", owner="registry"),
        "bank": NewKey(kind="subscriber", owner="bank"),
        "press": NewKey(kind="subscriber", owner="press"),
        "admin": NewKey(kind="token", owner="admin", scopes=("admin",)),
        "read": NewKey(kind="token", owner="read", scopes=("read",)),
    }
    gate = Gate(hub)
    return {name: gate.identify(hub.create_key(key).result().secret) for name, key in wanted.items()}


def told_to(hub: Hub, caller: Caller, seq: int) -> tuple[list[str], list[str]]:
    """Of whom the traces and the standings tell that somebody is given."""
    found = Gate(hub).story(caller, TOPIC, seq).result()
    return [trace.subscriber for trace in found.traces], [one.subscriber for one in found.subscriptions]


def test_readers_and_its_producer_are_told_the_whole_story(hub: Hub, people: dict[str, Caller]) -> None:
    told = [told_to(hub, people[name], 1) for name in ("read", "admin", "registry")]

    assert told == [(["", "bank", "archive"], ["archive", "bank"])] * 3


def test_a_subscriber_is_told_of_the_acceptance_and_of_itself(hub: Hub, people: dict[str, Caller]) -> None:
    told = [told_to(hub, people["bank"], seq) for seq in (1, 2)]

    assert told == [(["", "bank"], ["bank"])] * 2


def test_what_is_not_there_and_what_is_not_yours_cannot_be_told_apart(hub: Hub, people: dict[str, Caller]) -> None:
    gate = Gate(hub)
    asked = [("registry", TOPIC, 2), ("registry", TOPIC, 9), ("registry", "deaths", 1), ("registry", "no-topic", 1)]
    asked += [("press", TOPIC, 1), ("press", TOPIC, 9), ("press", "no-topic", 1)]

    refusals = set()
    for who, topic, seq in asked:
        with pytest.raises(Forbidden) as refused:
            gate.story(people[who], topic, seq).result()
        refusals.add(str(refused.value).replace(topic, "TOPIC").replace(str(seq), "SEQ"))

    assert len(refusals) == 1


def test_who_says_not_who_they_are_is_told_nothing(hub: Hub, people: dict[str, Caller]) -> None:
    gate = Gate(hub)

    for topic in (TOPIC, "no-topic"):
        with pytest.raises(Unauthorized):
            gate.story(ANYBODY, topic, 1).result()
