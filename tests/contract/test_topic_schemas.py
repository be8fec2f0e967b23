"""The schemas of topics: versions, what is stored of them, and that nothing that does not fit gets in."""

import json
from collections.abc import Callable

import pytest

from pregon.errors import BadSchema, LimitReached, NotFound, PregonError, SchemaMismatch
from pregon.hub.hub import Hub
from pregon.hub.way import Published
from pregon.limits import SCHEMA_BYTES_MAX
from pregon.model.catalog import SchemaVersion, Topic
from pregon.model.message import Outgoing
from pregon.store.ticket import Ticket

from .site import Clock, Site, one_commit
from .verbs import PRODUCER, TOPIC, batch_of, read, say, send

OBJECT = json.dumps({"type": "object"})
NAMED = json.dumps({"type": "object", "required": ["name"]})
XSD = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="birth" type="xs:date"/></xs:schema>'
Way = Callable[[Hub, bytes], Ticket[object]]
WAYS: dict[str, Way] = {
    "alone": lambda hub, body: hub.publish(TOPIC, PRODUCER, Outgoing(body)),  # type: ignore[return-value]
    "with others": lambda hub, body: hub.publish_many(TOPIC, PRODUCER, [Outgoing(body)]),  # type: ignore[return-value]
    "in a batch": lambda hub, body: send(hub, batch_of(body)),  # type: ignore[return-value]
}


@pytest.fixture(params=list(WAYS))
def publish(request: pytest.FixtureRequest) -> Way:
    """Each way to publish a body."""
    return WAYS[request.param]


@pytest.fixture
def topic_hub(hub: Hub) -> Hub:
    """A hub with the usual topic, empty."""
    hub.create(Topic(name=TOPIC)).result()
    return hub


def give(hub: Hub, kind: str, text: str = "", topic: str = TOPIC) -> SchemaVersion:
    """Give the topic a schema."""
    return hub.set_schema(SchemaVersion(topic=topic, kind=kind, text=text)).result()


def bodies(hub: Hub) -> list[bytes]:
    """What the log holds."""
    return [bytes(message.body) for message in read(hub)]


FITS = [
    ("json", "", b'{"a": 1}', b"{"),
    ("json-schema", NAMED, b'{"name": "Ana"}', b"{}"),
    ("xml", "", b"<birth/>", b"<birth>"),
    ("xsd", XSD, b"<birth>2026-11-15</birth>", b"<birth>yesterday</birth>"),
]


@pytest.mark.parametrize(("kind", "text", "right", "wrong"), FITS, ids=[row[0] for row in FITS])
def test_only_what_fits_the_schema_is_stored(
    topic_hub: Hub, publish: Way, kind: str, text: str, right: bytes, wrong: bytes
) -> None:
    give(topic_hub, kind, text)

    publish(topic_hub, right).result()
    with pytest.raises(SchemaMismatch, match=TOPIC):
        publish(topic_hub, wrong).result()

    assert bodies(topic_hub) == [right]


def test_one_body_of_a_batch_that_does_not_fit_keeps_the_batch_out_and_is_named(topic_hub: Hub) -> None:
    give(topic_hub, "json")

    with pytest.raises(SchemaMismatch, match="message 3 of the batch"):
        send(topic_hub, batch_of("1", "2", "{", "4"), "session", 1).result()
    again = send(topic_hub, batch_of("1", "2", "3", "4"), "session", 1).result()

    assert again == Published(1, 4)
    assert bodies(topic_hub) == [b"1", b"2", b"3", b"4"]


def test_versions_are_numbered_and_kept_with_their_text_and_time(topic_hub: Hub) -> None:
    made = [give(topic_hub, "json-schema", OBJECT), give(topic_hub, "json-schema", NAMED), give(topic_hub, "none")]

    listed = topic_hub.list_schemas(TOPIC).result()

    assert [one.version for one in made] == [1, 2, 3]
    assert list(listed) == made[::-1]
    assert [one.text for one in listed] == ["", NAMED, OBJECT]
    assert made[0].created_us <= made[1].created_us <= made[2].created_us
    assert topic_hub.show("topic", (TOPIC,)).result().schema_version == 3  # type: ignore[union-attr]


def test_versions_are_listed_in_pages(topic_hub: Hub) -> None:
    for _ in range(5):
        give(topic_hub, "json")

    first = topic_hub.list_schemas(TOPIC, rows_max=2).result()
    second = topic_hub.list_schemas(TOPIC, before=first[-1].version, rows_max=10).result()

    assert [one.version for one in [*first, *second]] == [5, 4, 3, 2, 1]


def test_whether_a_version_accepts_all_that_the_one_before_it_did_is_stored(site: Site) -> None:
    site.hub.create(Topic(name=TOPIC)).result()
    steps = [("json-schema", OBJECT), ("json-schema", NAMED), ("json-schema", OBJECT), ("xml", ""), ("none", "")]

    told = [(give(site.hub, *step).compatible) for step in steps]
    kept = [one.compatible for one in site.restart().list_schemas(TOPIC).result()][::-1]

    assert told == kept
    assert told[1:] == ["no", "yes", "no", "yes"]


def test_a_version_that_takes_something_away_says_what(topic_hub: Hub) -> None:
    give(topic_hub, "json-schema", OBJECT)

    compared = topic_hub.compare_schema(SchemaVersion(topic=TOPIC, kind="json-schema", text=NAMED)).result()
    given = give(topic_hub, "json-schema", NAMED)

    assert any("name" in reason for reason in given.reasons)
    assert (compared.compatible, compared.reasons) == (given.compatible, given.reasons)
    assert topic_hub.list_schemas(TOPIC).result()[0].reasons == given.reasons


def test_comparing_changes_nothing(topic_hub: Hub) -> None:
    give(topic_hub, "json")

    topic_hub.compare_schema(SchemaVersion(topic=TOPIC, kind="xml")).result()

    assert len(topic_hub.list_schemas(TOPIC).result()) == 1
    assert say(topic_hub, "{}") == [1]


def test_a_topic_without_its_schema_takes_anything_again(topic_hub: Hub, publish: Way) -> None:
    give(topic_hub, "json")

    give(topic_hub, "none")
    publish(topic_hub, b"{").result()

    assert bodies(topic_hub) == [b"{"]


BAD = [
    ("yaml", ""),
    ("", ""),
    ("json-schema", "{"),
    ("json-schema", '{"type": "nothing"}'),
    ("xsd", "<xs:schema"),
    ("json-schema", '{"$ref": "http://example.com/schema.json"}'),
    ("json-schema", json.dumps({"description": "x" * SCHEMA_BYTES_MAX})),
]


@pytest.mark.parametrize(("kind", "text"), BAD)
def test_a_schema_that_cannot_be_used_is_refused_and_the_old_one_stays(topic_hub: Hub, kind: str, text: str) -> None:
    give(topic_hub, "json")

    with pytest.raises(PregonError) as refused:
        give(topic_hub, kind, text)

    assert refused.value.code in (BadSchema.code, "too_large")
    assert len(topic_hub.list_schemas(TOPIC).result()) == 1
    with pytest.raises(SchemaMismatch):
        say(topic_hub, "{")


def test_a_topic_that_is_not_there_gets_no_schema(hub: Hub) -> None:
    with pytest.raises(NotFound):
        give(hub, "json", topic="nowhere")
    with pytest.raises(NotFound):
        hub.list_schemas("nowhere").result()

    assert hub.list("topic").result() == []


def test_versions_have_a_limit(topic_hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pregon.store.topic_schemas.SCHEMA_VERSIONS_MAX", 2)
    give(topic_hub, "json")
    give(topic_hub, "xml")

    with pytest.raises(LimitReached):
        give(topic_hub, "json")

    assert [one.kind for one in topic_hub.list_schemas(TOPIC).result()] == ["xml", "json"]


def test_a_schema_holds_after_a_restart(site: Site, publish: Way) -> None:
    site.hub.create(Topic(name=TOPIC)).result()
    give(site.hub, "json-schema", NAMED)

    hub = site.restart()

    with pytest.raises(SchemaMismatch):
        publish(hub, b"{}").result()
    publish(hub, b'{"name": 1}').result()


def test_what_was_checked_before_its_schema_changed_is_checked_again_by_the_writer(
    topic_hub: Hub, publish: Way
) -> None:
    give(topic_hub, "json")

    with one_commit(topic_hub):
        changed = topic_hub.set_schema(SchemaVersion(topic=TOPIC, kind="json-schema", text=NAMED))
        wrong = publish(topic_hub, b"[]")
        right = publish(topic_hub, b'{"name": "Ana"}')
    assert changed.result().version == 2
    with pytest.raises(SchemaMismatch):
        wrong.result()

    assert right.result()
    assert bodies(topic_hub) == [b'{"name": "Ana"}']


def test_what_was_checked_before_its_schema_was_taken_away_is_stored(topic_hub: Hub, publish: Way) -> None:
    give(topic_hub, "json")

    with one_commit(topic_hub):
        changed = topic_hub.set_schema(SchemaVersion(topic=TOPIC, kind="none"))
        published = publish(topic_hub, b"{}")

    assert (changed.result().kind, bool(published.result())) == ("none", True)


def test_a_deleted_topic_leaves_its_schema_behind_it(topic_hub: Hub, publish: Way) -> None:
    give(topic_hub, "json")

    topic_hub.delete("topic", (TOPIC,)).result()
    topic_hub.create(Topic(name=TOPIC)).result()
    publish(topic_hub, b"{").result()

    assert topic_hub.list_schemas(TOPIC).result() == []
    assert bodies(topic_hub) == [b"{"]


def test_a_topic_made_again_with_another_schema_is_not_taken_for_the_old_one(topic_hub: Hub, publish: Way) -> None:
    give(topic_hub, "json")

    with one_commit(topic_hub):
        topic_hub.delete("topic", (TOPIC,))
        topic_hub.create(Topic(name=TOPIC))
        given = topic_hub.set_schema(SchemaVersion(topic=TOPIC, kind="xml"))
        published = publish(topic_hub, b"{}")
    assert given.result().kind == "xml"
    with pytest.raises(SchemaMismatch):
        published.result()

    assert bodies(topic_hub) == []


def test_a_refused_body_has_no_trace_and_no_number(topic_hub: Hub, clock: Clock) -> None:
    give(topic_hub, "json")
    say(topic_hub, "{}")

    with pytest.raises(SchemaMismatch):
        say(topic_hub, "{")
    numbers = say(topic_hub, "[]")

    assert numbers == [2]
