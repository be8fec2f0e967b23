"""What the hub refuses, why, and that a refusal writes nothing and harms nobody."""

from typing import Any

import pytest
from sqlalchemy import func, select

from pregon import limits
from pregon.errors import BadName, BadRequest, Forbidden, LimitReached, NotFound, PregonError, SessionUnknown, TooLarge
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.hub.way import Published
from pregon.model.catalog import Producer, Retention, Subscription, Topic
from pregon.model.message import Outgoing
from pregon.store import catalog
from pregon.store.schema import batch as batch_table
from pregon.store.ticket import Ticket

from .site import Site, one_commit
from .verbs import PRODUCER, TOPIC, ask, batch_of, read, say, send, subscribe, traces

BAD_NAMES = ["", " ", "-a", ".a", "a b", "a/b", "ñ", "#1", "a\n", "x" * 129]
ABSURD = 2**63


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_bad_name_is_refused(hub: Hub, name: str) -> None:
    message = Outgoing(b"x")

    for ticket in (
        hub.publish(name, PRODUCER, message),
        hub.publish(TOPIC, name, message),
        hub.publish_batch(name, PRODUCER, batch_of("x")),
        ask(hub, topic=name),
        ask(hub, name),
    ):
        with pytest.raises(BadName):
            ticket.result()

    assert hub.list("topic").result() == []
    assert hub.list("producer").result() == []
    assert hub.list("subscriber").result() == []


def test_a_name_may_have_128_characters(hub: Hub) -> None:
    name = "x" * 128

    numbers = say(hub, "a", topic=name, producer=name)

    assert numbers == [1]


def test_a_producer_without_a_grant_may_not_publish_to_a_restricted_topic(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC, restricted=True)).result()
    hub.create(Producer(name=PRODUCER, topics=(TOPIC,))).result()

    for ticket in (hub.publish(TOPIC, "stranger", Outgoing(b"x")), hub.publish_batch(TOPIC, "stranger", batch_of("x"))):
        with pytest.raises(Forbidden):
            ticket.result()

    assert say(hub, "allowed") == [1]


def test_a_forbidden_publication_makes_no_producer(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC, restricted=True)).result()

    for ticket in (hub.publish(TOPIC, "stranger", Outgoing(b"x")), hub.publish_batch(TOPIC, "stranger", batch_of("x"))):
        with pytest.raises(Forbidden):
            ticket.result()

    assert hub.list("producer").result() == []


def test_a_refused_batch_makes_no_topic(hub: Hub) -> None:
    late = batch_of("x")

    with pytest.raises(SessionUnknown):
        send(hub, late, "a session that the hub forgot", 7).result()

    assert hub.list("topic").result() == []
    assert hub.list("producer").result() == []


def test_a_publication_past_a_limit_of_the_catalogue_makes_nothing(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(catalog._ROWS_MAX, "producer", 0)

    with pytest.raises(LimitReached):
        say(hub, "x")

    assert hub.list("topic").result() == []


def test_a_subscription_past_a_limit_of_the_catalogue_makes_nothing(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(catalog._ROWS_MAX, "subscription", 0)

    with pytest.raises(LimitReached):
        subscribe(hub)

    assert hub.list("topic").result() == []
    assert hub.list("subscriber").result() == []


def test_restricting_a_topic_and_granting_it_count_at_once(hub: Hub) -> None:
    say(hub, "open")
    hub.update("topic", (TOPIC,), {"restricted": True}).result()

    with pytest.raises(Forbidden):
        say(hub, "refused")

    hub.update("producer", (PRODUCER,), {"topics": [TOPIC]}).result()
    assert say(hub, "granted") == [2]


def test_a_body_past_the_limit_is_refused(site: Site) -> None:
    hub = site.restart(HubOptions(body_bytes_max=10))

    with pytest.raises(TooLarge):
        hub.publish(TOPIC, PRODUCER, Outgoing(b"x" * 11))

    assert say(hub, "x" * 10) == [1]


@pytest.mark.parametrize(
    "message",
    [
        Outgoing(b"", key="k" * 1_025),
        Outgoing(b"", content_type=""),
        Outgoing(b"", content_type="t" * 256),
        Outgoing(b"", headers={str(number): "" for number in range(65)}),
        Outgoing(b"", headers={"h": "v" * 16 * 1_024}),
        Outgoing(b"", id="\ud800"),
        Outgoing(b"", headers={"\ud800": ""}),
    ],
)
def test_what_passes_a_limit_of_a_message_is_refused(hub: Hub, message: Outgoing) -> None:
    before = say(hub, "before")

    with pytest.raises(BadRequest):
        hub.publish(TOPIC, PRODUCER, message)

    assert before == [1]
    assert len(read(hub)) == 1


def test_nothing_is_made_on_first_use_when_that_is_off(strict_hub: Hub) -> None:
    for ticket in (
        strict_hub.publish(TOPIC, PRODUCER, Outgoing(b"x")),
        strict_hub.publish_batch(TOPIC, PRODUCER, batch_of("x")),
        ask(strict_hub),
        strict_hub.create(Subscription(topic=TOPIC, subscriber="bank")),
        strict_hub.ack(TOPIC, "bank", 1),
        strict_hub.account(TOPIC, "bank"),
        strict_hub.read_log(TOPIC, 1, None, 1, 1),
    ):
        with pytest.raises(NotFound):
            ticket.result()

    assert strict_hub.list("topic").result() == []
    assert strict_hub.list("producer").result() == []


def test_what_was_registered_works_when_nothing_is_made_on_first_use(strict_hub: Hub) -> None:
    strict_hub.create(Topic(name=TOPIC)).result()
    strict_hub.create(Producer(name=PRODUCER)).result()

    numbers = say(strict_hub, "x")

    assert numbers == [1]


def test_a_refusal_harms_nobody_in_its_commit(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC, restricted=True)).result()
    hub.create(Producer(name=PRODUCER, topics=(TOPIC,))).result()

    with one_commit(hub):
        good = [hub.publish(TOPIC, PRODUCER, Outgoing(b"1"))]
        bad: list[Ticket[Any]] = [
            hub.publish(TOPIC, "stranger", Outgoing(b"no")),
            hub.publish(TOPIC, "not a name", Outgoing(b"no")),
            send(hub, batch_of("no"), "s", 9),
            hub.ack(TOPIC, "nobody", 1),
            hub.update("topic", ("nothing",), {}),
        ]
        good += [send(hub, batch_of("2", "3")), hub.publish(TOPIC, PRODUCER, Outgoing(b"4"))]

    assert [ticket.result() for ticket in good] == [Published(1), Published(2, 2), Published(4)]
    for ticket in bad:
        with pytest.raises(PregonError):
            ticket.result()
    assert [message.text for message in read(hub)] == ["1", "2", "3", "4"]
    assert len(traces(hub, kind="accepted")) == 3


def test_messages_with_large_headers_never_make_a_batch_past_the_limit(hub: Hub) -> None:
    headers = {"h": "v" * 16_000}

    with one_commit(hub):
        tickets = [hub.publish(TOPIC, PRODUCER, Outgoing(b"", headers=headers)) for _ in range(400)]

    assert [ticket.result().seq for ticket in tickets] == list(range(1, 401))
    largest = hub.read(lambda c: c.execute(select(func.max(batch_table.c.bytes))).scalar_one()).result()
    assert largest <= limits.BATCH_BYTES_MAX


@pytest.mark.parametrize(
    "entry",
    [
        Subscription(topic=TOPIC, subscriber="bank", pending_max=ABSURD),
        Subscription(topic=TOPIC, subscriber="bank", pending_age_ms=ABSURD),
        Subscription(topic=TOPIC, subscriber="bank", start="9" * 5_000),
        Topic(name=TOPIC, retention=Retention(age_ms=ABSURD)),
        Topic(name=TOPIC, retention=Retention(bytes_max=ABSURD)),
    ],
)
def test_an_absurd_number_in_the_catalogue_is_the_callers_mistake(hub: Hub, entry: Topic | Subscription) -> None:
    before = say(hub, "x", topic="deaths")

    with pytest.raises(BadRequest):
        hub.create(entry).result()

    assert before == [1]
    assert [topic.name for topic in hub.list("topic").result() if isinstance(topic, Topic)] == ["deaths"]


def test_an_absurd_time_of_publication_is_the_callers_mistake(hub: Hub) -> None:
    message = Outgoing(b"x")

    with pytest.raises(BadRequest):
        hub.publish(TOPIC, PRODUCER, message, published_us=ABSURD).result()

    assert say(hub, "next") == [1]


def test_a_time_of_publication_that_no_calendar_has_is_the_callers_mistake(hub: Hub) -> None:
    message = Outgoing(b"x")

    with pytest.raises(BadRequest):
        hub.publish(TOPIC, PRODUCER, message, published_us=ABSURD - 1).result()

    assert say(hub, "next") == [1]


def test_the_name_that_a_deleted_topic_has_inside_is_nobodys(hub: Hub) -> None:
    say(hub, "x")
    hub.delete("topic", (TOPIC,)).result()

    with pytest.raises((NotFound, BadName)):
        hub.read_log("#1", 1, None, 1, 1).result()

    assert hub.delete("topic", ("#1",)).result() is False
