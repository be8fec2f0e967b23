"""The catalogue: topics, producers, subscribers and subscriptions are created, shown, listed, changed, deleted."""

from typing import Any

import msgspec
import pytest

from pregon.errors import AlreadyExists, BadName, BadRequest, LimitReached, NotFound, Rejected
from pregon.hub.hub import Hub
from pregon.hub.registry import Entry
from pregon.model.catalog import Producer, Retention, Subscriber, Subscription, Topic
from pregon.store import catalog

from .site import Clock, Site
from .verbs import TOPIC, fill, say, subscribe

ENTRIES: list[Entry] = [
    Topic(name="t", description="of all", restricted=True, retention=Retention(age_ms=5, when_acknowledged=True)),
    Producer(name="p", description="who", topics=("a", "b")),
    Subscriber(name="s", description="whom"),
    Subscription(topic="a", subscriber="s", pending_max=3, pending_age_ms=9),
]


@pytest.fixture
def town(hub: Hub) -> Hub:
    """A hub with the topics a and b."""
    for name in "ab":
        hub.create(Topic(name=name)).result()
    return hub


def kind_of(entry: Entry) -> str:
    """The kind, as verbs name it."""
    return type(entry).__name__.lower()


def names_of(entry: Entry) -> tuple[str, ...]:
    """The names that find an entry."""
    return (entry.topic, entry.subscriber) if isinstance(entry, Subscription) else (entry.name,)


def names(entries: list[Entry]) -> list[str]:
    """The names of a listing, in its order."""
    return [" ".join(names_of(entry)) for entry in entries]


@pytest.mark.parametrize("entry", ENTRIES, ids=kind_of)
def test_what_is_created_is_shown_and_listed(clock: Clock, town: Hub, entry: Entry) -> None:
    created = town.create(entry).result()

    shown = town.show(kind_of(entry), names_of(entry)).result()

    assert created == shown
    assert shown in town.list(kind_of(entry)).result()
    for field in ("name", "description", "restricted", "retention", "topics", "pending_max", "pending_age_ms"):
        assert getattr(shown, field, None) == getattr(entry, field, None)
    assert shown.created_us > 0


@pytest.mark.parametrize("entry", ENTRIES, ids=kind_of)
def test_creating_the_same_again_is_no_error(town: Hub, entry: Entry) -> None:
    first = town.create(entry).result()

    again = town.create(entry).result()

    assert again == first


@pytest.mark.parametrize(
    ("entry", "other"),
    [
        (ENTRIES[0], Topic(name="t", description="of none")),
        (ENTRIES[1], Producer(name="p", description="who", topics=("a",))),
        (ENTRIES[2], Subscriber(name="s")),
        (ENTRIES[3], Subscription(topic="a", subscriber="s", pending_max=4, pending_age_ms=9)),
    ],
    ids=[kind_of(entry) for entry in ENTRIES],
)
def test_creating_another_with_the_same_name_is_refused(town: Hub, entry: Entry, other: Entry) -> None:
    first = town.create(entry).result()

    with pytest.raises(AlreadyExists):
        town.create(other).result()

    assert town.show(kind_of(entry), names_of(entry)).result() == first


def test_grants_are_the_same_in_any_order(town: Hub) -> None:
    first = town.create(Producer(name="p", topics=("b", "a", "b"))).result()

    again = town.create(Producer(name="p", topics=("a", "b"))).result()

    assert again == first
    assert isinstance(first, Producer)
    assert first.topics == ("a", "b")


def test_a_grant_needs_its_topic(town: Hub) -> None:
    with pytest.raises(NotFound):
        town.create(Producer(name="p", topics=("a", "nowhere"))).result()

    assert town.list("producer").result() == []


@pytest.mark.parametrize(
    ("entry", "values"),
    [
        (ENTRIES[0], {"description": "new", "restricted": False, "retention": {"bytes_max": 7}}),
        (ENTRIES[1], {"description": "new", "topics": ["b"]}),
        (ENTRIES[2], {"description": "new"}),
        (ENTRIES[3], {"pending_max": None, "pending_age_ms": 10}),
    ],
    ids=[kind_of(entry) for entry in ENTRIES],
)
def test_what_is_updated_is_shown(town: Hub, entry: Entry, values: dict[str, Any]) -> None:
    created = town.create(entry).result()

    updated = town.update(kind_of(entry), names_of(entry), values).result()

    assert updated == town.show(kind_of(entry), names_of(entry)).result()
    assert updated == msgspec.convert({**msgspec.to_builtins(created), **values}, type(entry))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("topic", {"name": "other"}),
        ("topic", {"head_seq": 9}),
        ("topic", {"nothing": 1}),
        ("topic", {"restricted": "perhaps"}),
        ("topic", {"retention": {"age_ms": 0}}),
        ("topic", {"description": "x" * 1_001}),
        ("nothing", {}),
    ],
)
def test_what_cannot_be_changed_is_refused(town: Hub, kind: str, values: dict[str, Any]) -> None:
    before = town.show("topic", ("a",)).result()

    with pytest.raises(BadRequest):
        town.update(kind, ("a",), values).result()

    assert town.show("topic", ("a",)).result() == before


@pytest.mark.parametrize("kind", ["topic", "producer", "subscriber"])
def test_what_is_not_there_cannot_be_shown_or_changed(hub: Hub, kind: str) -> None:
    for ticket in (hub.show(kind, ("nobody",)), hub.update(kind, ("nobody",), {"description": ""})):
        with pytest.raises(NotFound):
            ticket.result()

    assert hub.delete(kind, ("nobody",)).result() is False


@pytest.mark.parametrize(("kind", "wrong"), [("topic", ()), ("topic", ("",)), ("subscription", ("a",))])
def test_an_entry_needs_its_names(hub: Hub, kind: str, wrong: tuple[str, ...]) -> None:
    for verb in (hub.show, hub.delete):
        with pytest.raises(BadRequest):
            verb(kind, wrong).result()

    assert hub.list(kind).result() == []


@pytest.mark.parametrize("name", ["", "no spaces", "ñ", "x" * 129])
def test_a_name_is_checked(hub: Hub, name: str) -> None:
    for entry in (
        Topic(name=name),
        Producer(name=name),
        Subscriber(name=name),
        Subscription(topic="a", subscriber=name),
    ):
        with pytest.raises(BadName):
            hub.create(entry)

    assert hub.list("topic").result() == []


def test_a_description_is_not_a_book(hub: Hub) -> None:
    with pytest.raises(BadRequest):
        hub.create(Topic(name="t", description="x" * 1_001))

    assert hub.create(Topic(name="t", description="x" * 1_000)).result().created_us > 0


@pytest.mark.parametrize("start", ["", "first", "-1", "1.5", "²"])
def test_a_start_that_is_no_number_is_refused(town: Hub, start: str) -> None:
    with pytest.raises(BadRequest):
        town.create(Subscription(topic="a", subscriber="s", start=start)).result()

    assert town.list("subscription").result() == []


def test_listings_are_by_name_and_go_on_after_a_name(hub: Hub) -> None:
    for name in "dbace":
        hub.create(Topic(name=name)).result()

    pages = [names(hub.list("topic", after=after, rows_max=2).result()) for after in ((), ("b",), ("d",), ("e",))]

    assert pages == [["a", "b"], ["c", "d"], ["e"], []]


def test_subscriptions_are_listed_by_topic_and_subscriber(hub: Hub) -> None:
    for topic in "ba":
        for subscriber in "yx":
            subscribe(hub, subscriber, topic=topic)

    assert names(hub.list("subscription").result()) == ["a x", "a y", "b x", "b y"]
    assert names(hub.list("subscription", after=("a", "x"), rows_max=2).result()) == ["a y", "b x"]
    assert names(hub.list("subscription", names=("b", "")).result()) == ["b x", "b y"]
    assert names(hub.list("subscription", names=("", "y")).result()) == ["a y", "b y"]


def test_an_unknown_kind_is_refused(hub: Hub) -> None:
    with pytest.raises(BadRequest):
        hub.delete("message", ("x",))

    with pytest.raises(BadRequest):
        hub.list("message").result()


def test_a_topic_shows_what_it_has(hub: Hub) -> None:
    fill(hub, 5)

    shown = hub.show("topic", (TOPIC,)).result()

    assert isinstance(shown, Topic)
    assert (shown.head_seq, shown.tail_seq, shown.bytes > 0) == (5, 1, True)


@pytest.mark.parametrize("entry", ENTRIES, ids=kind_of)
def test_one_entry_too_many_is_refused(town: Hub, monkeypatch: pytest.MonkeyPatch, entry: Entry) -> None:
    count = len(town.list(kind_of(entry)).result())
    monkeypatch.setitem(catalog._ROWS_MAX, kind_of(entry), count)

    with pytest.raises(LimitReached):
        town.create(entry).result()

    assert len(town.list(kind_of(entry)).result()) == count


def test_the_catalogue_survives_a_restart(site: Site) -> None:
    hub = site.hub
    for name in "ab":
        hub.create(Topic(name=name)).result()
    before = [hub.create(entry).result() for entry in ENTRIES]

    hub = site.restart()

    assert [hub.show(kind_of(entry), names_of(entry)).result() for entry in ENTRIES] == before


def test_a_change_of_the_catalogue_does_not_stop_publications(hub: Hub) -> None:
    say(hub, "1")

    with pytest.raises(Rejected):
        hub.create(Topic(name=TOPIC, restricted=True)).result()

    assert say(hub, "2") == [2]
