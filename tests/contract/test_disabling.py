"""Topics and producers that are disabled: nothing more is accepted, what is there is as it was, and nobody learns of it
who would not have been let in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from pregon.errors import AlreadyExists, BadRequest, Changed, Disabled, Forbidden, PregonError, SessionUnknown
from pregon.hub.access import NewKey
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.registry import fingerprint
from pregon.model.catalog import Producer, Topic
from pregon.model.message import Outgoing
from pregon.security.callers import ANYBODY
from pregon.store.ticket import Ticket

from .group_stage import GROUP, Stage
from .site import Site, one_commit
from .verbs import PRODUCER, SUBSCRIBER, TOPIC, ack, batch_of, fill, pull, read, say, send, subscribe

Publish = Callable[[Hub], Ticket[Any]]
PUBLICATIONS: dict[str, Publish] = {
    "one": lambda hub: hub.publish(TOPIC, PRODUCER, Outgoing(b"x")),
    "one with an id": lambda hub: hub.publish(TOPIC, PRODUCER, Outgoing(b"x", "a")),
    "many": lambda hub: hub.publish_many(TOPIC, PRODUCER, [Outgoing(b"x", "a"), Outgoing(b"y")]),
    "a batch": lambda hub: send(hub, batch_of("x", "y")),
    "a batch of a session": lambda hub: send(hub, batch_of("x", "y"), "session", 1),
    "a later batch of a session": lambda hub: send(hub, batch_of("x", "y"), "session", 2),
}
ways = pytest.mark.parametrize("publish", PUBLICATIONS.values(), ids=PUBLICATIONS)
kinds = pytest.mark.parametrize(("kind", "name"), [("topic", TOPIC), ("producer", PRODUCER)])


def switch(hub: Hub, kind: str, name: str, *, enabled: bool) -> Any:
    """Enable or disable an entry; the entry."""
    return hub.update(kind, (name,), {"enabled": enabled}).result()


def refusal(ticket: Ticket[Any]) -> PregonError:
    """Why it was refused."""
    with pytest.raises(PregonError) as caught:
        ticket.result()
    return caught.value


@kinds
@ways
def test_nothing_is_accepted_however_it_comes(hub: Hub, publish: Publish, kind: str, name: str) -> None:
    fill(hub, 3)
    switch(hub, kind, name, enabled=False)

    refused = refusal(publish(hub))

    assert isinstance(refused, Disabled)
    assert f"`pregon {kind} update {name} --enable`" in str(refused)
    assert len(read(hub)) == 3


@kinds
def test_enabled_again_everything_is_accepted(hub: Hub, kind: str, name: str) -> None:
    fill(hub, 3)
    switch(hub, kind, name, enabled=False)

    switch(hub, kind, name, enabled=True)

    assert say(hub, "four") == [4]
    assert send(hub, batch_of("5", "6"), "session", 1).result().seq == 5


@kinds
def test_what_was_remembered_of_who_may_publish_is_forgotten_at_once(hub: Hub, kind: str, name: str) -> None:
    fill(hub, 1)

    with one_commit(hub):
        before = hub.publish(TOPIC, PRODUCER, Outgoing(b"before"))
        off = hub.update(kind, (name,), {"enabled": False})
        between = hub.publish(TOPIC, PRODUCER, Outgoing(b"between"))
        packed = send(hub, batch_of("packed"))
        on = hub.update(kind, (name,), {"enabled": True})
        after = hub.publish(TOPIC, PRODUCER, Outgoing(b"after"))

    assert (off.result().enabled, on.result().enabled) == (False, True)  # type: ignore[union-attr]
    assert [before.result().seq, after.result().seq] == [2, 3]
    assert [type(refusal(one)) for one in (between, packed)] == [Disabled, Disabled]


@kinds
def test_it_is_so_after_a_restart(site: Site, kind: str, name: str) -> None:
    fill(site.hub, 1)
    switch(site.hub, kind, name, enabled=False)

    hub = site.restart()

    assert isinstance(refusal(hub.publish(TOPIC, PRODUCER, Outgoing(b"x"))), Disabled)
    assert not hub.show(kind, (name,)).result().enabled  # type: ignore[union-attr]


def test_what_is_in_a_disabled_topic_is_pulled_acknowledged_and_read(hub: Hub) -> None:
    fill(hub, 3)
    subscribe(hub)
    switch(hub, "topic", TOPIC, enabled=False)

    pulled = pull(hub)
    cursor = ack(hub, 2)

    assert [message.text for batch in pulled.batches for message in batch.messages(TOPIC)] == ["1", "2", "3"]
    assert cursor == 2
    assert [message.text for message in read(hub)] == ["1", "2", "3"]
    assert hub.account(TOPIC, SUBSCRIBER).result().pending == 1


def test_a_disabled_topic_takes_subscriptions_and_other_values(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC, enabled=False)).result()

    made = subscribe(hub)
    changed = hub.update("topic", (TOPIC,), {"description": "closed"}).result()

    assert (made.first_seq, made.paused) == (1, False)
    assert isinstance(changed, Topic)
    assert (changed.description, changed.enabled) == ("closed", False)


def test_other_producers_and_other_topics_go_on(hub: Hub) -> None:
    fill(hub, 1)
    say(hub, "x", topic="deaths", producer="hospital")

    switch(hub, "topic", "deaths", enabled=False)
    switch(hub, "producer", "hospital", enabled=False)

    assert say(hub, "2") == [2]


def test_a_disabled_producer_is_refused_in_every_topic_and_makes_none(hub: Hub) -> None:
    hub.create(Producer(name=PRODUCER, enabled=False)).result()
    hub.create(Topic(name="restricted", restricted=True)).result()
    hub.update("producer", (PRODUCER,), {"topics": ["restricted"]}).result()

    refused = [refusal(hub.publish(topic, PRODUCER, Outgoing(b"x"))) for topic in (TOPIC, "restricted")]

    assert [type(one) for one in refused] == [Disabled, Disabled]
    assert [one.name for one in hub.list("topic").result()] == ["restricted"]  # type: ignore[union-attr]


def test_a_disabled_topic_makes_no_producer(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC, enabled=False)).result()

    refused = refusal(hub.publish(TOPIC, "newcomer", Outgoing(b"x")))

    assert isinstance(refused, Disabled)
    assert hub.list("producer").result() == []


def test_the_first_batch_that_a_session_sends_to_a_disabled_topic_is_refused_for_that(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC, enabled=False)).result()

    refused = refusal(send(hub, batch_of("x"), "session", 2))
    switch(hub, "topic", TOPIC, enabled=True)
    unknown = refusal(send(hub, batch_of("x"), "session", 2))

    assert isinstance(refused, Disabled)
    assert isinstance(unknown, SessionUnknown)


# Who is told.


def test_who_was_not_granted_a_restricted_topic_does_not_learn_that_it_is_disabled(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC, restricted=True)).result()
    for name in (PRODUCER, "hospital"):
        hub.create(Producer(name=name)).result()
    hub.grant(PRODUCER, TOPIC, is_granted=True).result()
    before = refusal(hub.publish(TOPIC, "hospital", Outgoing(b"x")))
    switch(hub, "topic", TOPIC, enabled=False)

    after = refusal(hub.publish(TOPIC, "hospital", Outgoing(b"x")))
    granted = refusal(hub.publish(TOPIC, PRODUCER, Outgoing(b"x")))

    assert isinstance(before, Forbidden)
    assert (after.code, str(after)) == (before.code, str(before))
    assert isinstance(granted, Disabled)


def test_a_key_is_told_no_more_than_before_unless_it_may_publish_there(hub: Hub) -> None:
    gate, names = Gate(hub), ("restricted", "no-such-topic")
    for entry in (Topic(name=TOPIC), Topic(name="restricted", restricted=True), Producer(name=PRODUCER)):
        hub.create(entry).result()
    key = hub.create_key(NewKey(kind="producer", owner=PRODUCER)).result()
    hub.create_key(NewKey(kind="token", owner="ops", scopes=("admin",))).result()

    def words(topic: str) -> tuple[str, str]:
        error = refusal(gate.publish(gate.identify(key.secret), topic, PRODUCER, Outgoing(b"x")))
        return error.code, str(error)

    before = [words(name) for name in names]
    switch(hub, "topic", "restricted", enabled=False)
    switch(hub, "topic", TOPIC, enabled=False)
    after = [words(name) for name in names]
    open_to_it = words(TOPIC)
    switch(hub, "producer", PRODUCER, enabled=False)
    disabled_itself = [words(name) for name in names]

    assert after == before == disabled_itself
    assert {code for code, _ in before} == {"forbidden"}
    assert open_to_it[0] == "disabled"


def test_who_administers_nothing_is_sent_to_the_administrator(hub: Hub) -> None:
    gate = Gate(hub)
    fill(hub, 1)
    key = hub.create_key(NewKey(kind="producer", owner=PRODUCER)).result()
    hub.create_key(NewKey(kind="token", owner="ops", scopes=("admin",))).result()
    switch(hub, "producer", PRODUCER, enabled=False)

    refused = refusal(gate.publish(gate.identify(key.secret), TOPIC, PRODUCER, Outgoing(b"x")))

    assert (refused.code, "administrator" in str(refused), "--enable" in str(refused)) == ("disabled", True, False)


# In the catalogue.


@pytest.mark.parametrize("entry", [Topic(name=TOPIC, enabled=False), Producer(name=PRODUCER, enabled=False)])
def test_it_can_be_so_from_the_beginning_and_is_part_of_what_people_set(hub: Hub, entry: Topic | Producer) -> None:
    made = hub.create(entry).result()
    again = hub.create(entry).result()

    assert msgspec.structs.replace(made, created_us=0) == entry
    assert again == made
    with pytest.raises(AlreadyExists):
        hub.create(msgspec.structs.replace(entry, enabled=True)).result()
    assert fingerprint(made) != fingerprint(msgspec.structs.replace(made, enabled=True))


@kinds
def test_who_saw_it_enabled_does_not_change_it_disabled(hub: Hub, kind: str, name: str) -> None:
    fill(hub, 1)
    seen = fingerprint(hub.show(kind, (name,)).result())
    switch(hub, kind, name, enabled=False)

    with pytest.raises(Changed):
        hub.update(kind, (name,), {"description": "x"}, seen).result()


@kinds
@pytest.mark.parametrize("value", ["no", 0, None])
def test_it_is_true_or_false(hub: Hub, kind: str, name: str, value: object) -> None:
    fill(hub, 1)

    with pytest.raises(BadRequest):
        hub.update(kind, (name,), {"enabled": value}).result()

    assert say(hub, "2") == [2]


# Groups.


def test_the_topic_of_a_group_is_not_disabled(stage: Stage, hub: Hub) -> None:
    stage.join("ana")

    with pytest.raises(BadRequest, match="group"):
        Gate(hub).update(ANYBODY, "topic", (f"groups.{GROUP}",), {"enabled": False}).result()
    with pytest.raises(BadRequest, match="group"):
        hub.create(Topic(name="groups.otro", enabled=False)).result()

    stage.send("ana", "hola")
    assert stage.read("ana")[-1].body == b"hola"
