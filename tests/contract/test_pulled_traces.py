"""What a pull gave is traced, once, before the acknowledgement of it, and nothing that was not given."""

from __future__ import annotations

import json
import time

from pregon.hub.hub import Hub
from pregon.model.catalog import Subscription, Topic
from pregon.model.message import Outgoing

from .site import Site, settle
from .verbs import (
    PRODUCER,
    SUBSCRIBER,
    TOPIC,
    ack,
    ask,
    fill,
    park,
    pull,
    ranges,
    replay,
    say,
    seqs,
    subscribe,
    traces,
    unpark,
)

PATIENCE_S = 5.0


def ready(hub: Hub, count: int = 10) -> None:
    """A subscription with so much pending."""
    fill(hub, count)
    subscribe(hub)


def test_what_a_pull_gave_is_traced(hub: Hub) -> None:
    ready(hub)

    pull(hub, messages_max=4)

    assert ranges(hub, "pulled") == [(1, 4)]
    assert traces(hub, kind="pulled")[0].subscriber == SUBSCRIBER


def test_a_pull_that_gave_nothing_is_not(hub: Hub) -> None:
    subscribe(hub)

    pull(hub)

    assert ranges(hub, "pulled") == []


def test_it_is_traced_also_when_nothing_is_written_after_it(hub: Hub) -> None:
    ready(hub)

    ask(hub).result()

    last = time.monotonic() + PATIENCE_S
    while not ranges(hub, "pulled") and time.monotonic() < last:
        time.sleep(0.01)
    assert ranges(hub, "pulled") == [(1, 10)]


def test_it_is_traced_also_when_the_hub_stops_right_after_it(site: Site) -> None:
    ready(site.hub)
    ask(site.hub).result()

    hub = site.restart()

    assert ranges(hub, "pulled") == [(1, 10)]


def test_it_is_traced_before_what_is_acknowledged(hub: Hub) -> None:
    ready(hub)

    ask(hub, messages_max=5).result()
    ack(hub, 5)

    kinds = [one.kind for one in traces(hub, subscriber=SUBSCRIBER)]
    assert kinds == ["pulled", "acknowledged"]


def test_who_asks_for_the_same_again_and_again_is_traced_once(hub: Hub) -> None:
    ready(hub)

    for _ in range(5):
        pull(hub)

    assert ranges(hub, "pulled") == [(1, 10)]


def test_of_what_grew_only_the_new_is_traced(hub: Hub) -> None:
    ready(hub, 3)
    pull(hub)

    say(hub, "four", "five")
    pull(hub)
    pull(hub)

    assert ranges(hub, "pulled") == [(1, 3), (4, 5)]


def test_a_smaller_pull_of_the_same_is_not_traced_nor_the_larger_one_after_it(hub: Hub) -> None:
    ready(hub)
    pull(hub)

    pull(hub, messages_max=3)
    pull(hub)

    assert ranges(hub, "pulled") == [(1, 10)]


def test_what_is_parked_is_not_traced_as_pulled(hub: Hub) -> None:
    ready(hub)
    park(hub, 4)
    # Around a parked message a pull may give less than it could.
    given = seqs(pull(hub))
    say(hub, "eleven", "twelve")

    given += seqs(pull(hub))

    traced = {seq for first, last in ranges(hub, "pulled") for seq in range(first, last + 1)}
    assert traced == set(given)
    assert 4 not in traced


def test_what_the_filter_does_not_want_is_not_traced_as_pulled(hub: Hub) -> None:
    filter = json.dumps({"header": "r", "equals": "a"})
    hub.create(Subscription(topic=TOPIC, subscriber=SUBSCRIBER, filter=filter)).result()
    given: set[int] = set()
    for letters in ("aba", "baab", "a"):
        for one in letters:
            hub.publish(TOPIC, PRODUCER, Outgoing(b"", headers={"r": one})).result()

        given.update(seqs(pull(hub, wait_ms=2_000)))

    traced = {seq for first, last in ranges(hub, "pulled") for seq in range(first, last + 1)}
    assert traced == given <= {1, 3, 5, 6, 8}


def test_what_is_given_again_after_a_replay_is_traced_again(hub: Hub) -> None:
    ready(hub)
    pull(hub)
    ack(hub, 10)

    replay(hub, from_seq=1)
    pull(hub)

    assert ranges(hub, "pulled") == [(1, 10), (1, 10)]


def test_an_unparked_message_that_is_given_is_traced(hub: Hub) -> None:
    ready(hub, 3)
    park(hub, 2)
    ack(hub, 3)
    unpark(hub, 2)

    pull(hub)

    assert ranges(hub, "pulled") == [(2, 2)]


def test_what_was_pulled_ahead_is_traced(hub: Hub) -> None:
    ready(hub)
    pulled = pull(hub, messages_max=3)

    pull(hub, messages_max=3, after=3, epoch=pulled.epoch)

    assert ranges(hub, "pulled") == [(1, 3), (4, 6)]


def test_each_subscription_has_its_own(hub: Hub) -> None:
    ready(hub, 3)
    subscribe(hub, "post")

    pull(hub)
    pull(hub, "post")

    assert ranges(hub, "pulled", subscriber=SUBSCRIBER) == [(1, 3)]
    assert ranges(hub, "pulled", subscriber="post") == [(1, 3)]


def test_the_first_pull_of_a_topic_made_again_is_traced(hub: Hub) -> None:
    ready(hub, 2)
    pull(hub)
    before = len(ranges(hub, "pulled"))
    hub.delete("topic", (TOPIC,)).result()
    hub.create(Topic(name=TOPIC)).result()
    ready(hub, 2)

    pull(hub)

    assert len(ranges(hub, "pulled")) == before + 1


def test_many_pulls_at_once_are_traced_without_a_gap(hub: Hub) -> None:
    ready(hub, 200)
    epoch = pull(hub, messages_max=1).epoch

    tickets = [ask(hub, messages_max=10, after=after, epoch=epoch) for after in range(0, 200, 10)]
    for ticket in tickets:
        ticket.result()
    settle(hub)

    traced = {seq for first, last in ranges(hub, "pulled") for seq in range(first, last + 1)}
    assert traced == set(range(1, 201))
