"""Lists of the catalogue for people: found by a part of the name, in any order, without what is not to be seen."""

from __future__ import annotations

import pytest

from pregon.errors import BadRequest
from pregon.hub.access import NewKey
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.private_topics import PREFIX
from pregon.model.catalog import Producer, Subscriber, Subscription, Topic
from pregon.security.callers import Caller, scopes_of
from pregon.security.keys import ADMIN, READ
from pregon.store.catalog_search import ListQuery

from .verbs import fill, say

READER = Caller(name="ines", scopes=scopes_of((READ,)))
ADMINISTRATOR = Caller(name="ana", scopes=scopes_of((ADMIN,)))


def producers(hub: Hub, query: ListQuery) -> list[str]:
    """The names that a list of producers has."""
    return [one.producer.name for one in Gate(hub).lists.producers(READER, query).result()]


def topics(hub: Hub, query: ListQuery, caller: Caller = READER) -> list[str]:
    """The names that a list of topics has."""
    return [one.topic.name for one in Gate(hub).lists.topics(caller, query).result()]


def test_those_who_were_granted_a_topic_are_found_by_it(hub: Hub) -> None:
    for name in ("births", "deaths", "birth"):
        hub.create(Topic(name=name, restricted=True)).result()
    hub.create(Producer(name="registry", topics=("births", "deaths"))).result()
    hub.create(Producer(name="hospital", topics=("births",))).result()
    hub.create(Producer(name="court", topics=("birth",))).result()
    hub.create(Producer(name="bank")).result()

    hub.grant("registry", "deaths", is_granted=False).result()

    assert producers(hub, ListQuery(topic="births")) == ["hospital", "registry"]
    assert producers(hub, ListQuery(topic="births", q="HOSP")) == ["hospital"]
    assert producers(hub, ListQuery(topic="deaths")) == producers(hub, ListQuery(topic="nothing")) == []
    assert producers(hub, ListQuery(sort="grants", descending=True)) == ["court", "hospital", "registry", "bank"]


def test_a_topic_that_was_deleted_and_made_again_is_granted_to_nobody(hub: Hub) -> None:
    hub.create(Topic(name="births", restricted=True)).result()
    hub.create(Producer(name="hospital", topics=("births",))).result()

    hub.delete("topic", ("births",)).result()
    hub.create(Topic(name="births", restricted=True)).result()

    assert producers(hub, ListQuery(topic="births")) == []


def test_lists_are_sorted_and_paged_by_what_is_asked_for(hub: Hub) -> None:
    for name, count in (("a", 1), ("b", 3), ("c", 2)):
        say(hub, *(f"{name} {number}" for number in range(count)), topic=name)

    by_messages = topics(hub, ListQuery(sort="messages", descending=True))
    second = topics(hub, ListQuery(sort="messages", descending=True, offset=1, rows=1))

    assert by_messages == ["b", "c", "a"]
    assert second == ["c"]
    with pytest.raises(BadRequest, match="sorted by one of"):
        topics(hub, ListQuery(sort="bytes; drop table topic"))


def test_a_part_of_a_name_or_description_finds_and_signs_mean_themselves(hub: Hub) -> None:
    hub.create(Subscriber(name="bps", description="Banco de Previsión Social 100%")).result()
    hub.create(Subscriber(name="dnic")).result()
    hub.create_key(NewKey(kind="subscriber", owner="bps")).result()
    hub.create(Subscription(topic="t", subscriber="bps")).result()
    lists = Gate(hub).lists

    found = {q: lists.subscribers(READER, ListQuery(q=q)).result() for q in ("BANCO", "0%", "_", "")}

    assert [[one.subscriber.name for one in rows] for rows in found.values()] == [["bps"], ["bps"], [], ["bps", "dnic"]]
    assert [(one.keys, one.subscriptions, one.failing) for one in found[""]] == [(1, 1, 0), (0, 0, 0)]


def test_private_conversations_are_listed_for_administrators_only(hub: Hub) -> None:
    fill(hub, 1)
    private = f"{PREFIX}a.b"
    hub.create(Subscription(topic=private, subscriber="bps")).result()
    lists = Gate(hub).lists

    seen = [
        (private in topics(hub, ListQuery(), caller), len(lists.subscriptions(caller, ListQuery()).result()))
        for caller in (READER, ADMINISTRATOR)
    ]

    assert seen == [(False, 0), (True, 1)]
