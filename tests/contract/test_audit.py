"""The audit: each change and its note are on disk together or not at all, and nothing that is secret is in it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from pregon.errors import PregonError
from pregon.hub.access import NewKey
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.limits import AUDIT_DETAIL_BYTES_MAX
from pregon.model.catalog import Producer, Retention, SchemaVersion, Subscriber, Subscription, Topic
from pregon.model.message import Outgoing
from pregon.security.callers import ANYBODY, Caller, scopes_of
from pregon.security.signatures import encode_secret, new_secret
from pregon.store.ticket import Ticket

from .people_stage import ADMIN, GOOD, OPERATOR, OTHER, detail, dump, notes, people_of
from .site import Site, one_commit

Verb = Callable[[Gate], Ticket[Any]]
BANK = Caller(name="subscriber bank", subscribers=frozenset(["bank"]))

CHANGES: dict[str, tuple[Verb, tuple[str, str, str], dict[str, Any]]] = {
    "create a topic": (
        lambda g: g.create(ADMIN, Topic(name="deaths", description="who died", retention=Retention(age_ms=5))),
        ("create", "topic", "deaths"),
        {"description": "who died", "retention": {"age_ms": 5, "bytes_max": None, "when_acknowledged": False}},
    ),
    "create a subscription": (
        lambda g: g.create(ADMIN, Subscription(topic="births", subscriber="press")),
        ("create", "subscription", "births press"),
        {},
    ),
    "update": (
        lambda g: g.update(ADMIN, "topic", ("births",), {"description": "who was born"}),
        ("update", "topic", "births"),
        {"description": "who was born"},
    ),
    "delete": (lambda g: g.delete(ADMIN, "subscriber", ("bank",)), ("delete", "subscriber", "bank"), {}),
    "grant": (
        lambda g: g.grant(ADMIN, "registry", "births", is_granted=True),
        ("grant", "producer", "registry"),
        {"topic": "births"},
    ),
    "no more": (
        lambda g: g.grant(ADMIN, "registry", "births", is_granted=False),
        ("ungrant", "producer", "registry"),
        {"topic": "births"},
    ),
    "schema": (
        lambda g: g.set_schema(ADMIN, SchemaVersion(topic="births", kind="json-schema", text='{"type":"object"}')),
        ("update", "schema", "births"),
        {"kind": "json-schema", "characters": 17, "version": 1},
    ),
    "park": (
        lambda g: g.park(OPERATOR, "births", "bank", [2, 3, 5], "no such person"),
        ("park", "subscription", "births bank"),
        {"messages": "2-3 5", "reason": "no such person"},
    ),
    "cancel": (
        lambda g: g.cancel(OPERATOR, "births", "bank", [4]),
        ("cancel", "subscription", "births bank"),
        {"messages": "4"},
    ),
    "replay": (
        lambda g: g.replay(OPERATOR, "births", "bank", from_seq=1),
        ("replay", "subscription", "births bank"),
        {"from_seq": 1},
    ),
}


@pytest.fixture
def gate(hub: Hub) -> Gate:
    """A hub in which there is something to change, and nothing in the audit."""
    hub.create(Topic(name="births")).result()
    hub.create(Producer(name="registry")).result()
    hub.create(Subscriber(name="bank")).result()
    hub.create(Subscription(topic="births", subscriber="bank")).result()
    hub.publish_many("births", "registry", [Outgoing(b"%d" % number) for number in range(1, 11)]).result()
    hub.ack("births", "bank", 1).result()
    return Gate(hub)


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_a_change_leaves_a_note_of_who_did_what_to_what(gate: Gate, name: str) -> None:
    change, note, said = CHANGES[name]

    change(gate).result()

    who = "token guardia" if note[0] in ("park", "cancel", "replay") else "token admin"
    assert notes(gate.hub) == [(who, *note)]
    assert detail(gate.hub) == said


def test_keys_and_secrets_are_told_by_their_ids(gate: Gate) -> None:
    wanted = NewKey(kind="producer", owner="registry", label="the cellar", lifetime_ms=90, requests_per_s=5)
    key = gate.create_key(ADMIN, wanted).result()
    key_said = detail(gate.hub)
    gate.revoke_key(ADMIN, "producer", "registry", key.id).result()
    secret = gate.create_secret(ADMIN, "bank", "", 1_000).result()
    secret_said = detail(gate.hub)
    gate.revoke_secret(ADMIN, "bank", secret.id).result()

    assert key_said == {"label": "the cellar", "lifetime_ms": 90, "requests_per_s": 5, "id": key.id}
    assert secret_said == {"overlap_ms": 1_000, "is_own": False, "id": secret.id}
    assert detail(gate.hub) == {"id": secret.id}
    assert [note[1:] for note in notes(gate.hub)] == [
        ("create", "key", "producer registry"),
        ("revoke", "key", "producer registry"),
        ("create", "secret", "bank"),
        ("revoke", "secret", "bank"),
    ]


def test_unparking_says_which_or_all(gate: Gate) -> None:
    gate.park(OPERATOR, "births", "bank", [2, 3, 4]).result()

    gate.unpark(OPERATOR, "births", "bank", [3]).result()
    some = detail(gate.hub)
    gate.unpark(OPERATOR, "births", "bank").result()

    assert (some, detail(gate.hub)) == ({"messages": "3"}, {"messages": "all"})


def test_what_a_subscriber_does_for_itself_is_not_noted(gate: Gate) -> None:
    gate.park(BANK, "births", "bank", [2]).result()
    gate.unpark(BANK, "births", "bank").result()
    gate.cancel(BANK, "births", "bank", [3]).result()
    gate.replay(BANK, "births", "bank", from_seq=1).result()

    assert notes(gate.hub) == []


def test_on_an_open_hub_it_was_anybody(gate: Gate) -> None:
    gate.create(ANYBODY, Topic(name="deaths")).result()

    assert notes(gate.hub) == [("", "create", "topic", "deaths")]


def test_what_is_made_on_first_use_is_not_noted(hub: Hub) -> None:
    hub.publish("births", "registry", Outgoing(b"x")).result()

    assert notes(hub) == []


REFUSED: dict[str, Verb] = {
    "who may not": lambda g: g.create(Caller(name="x", scopes=scopes_of(("read",))), Topic(name="births")),
    "there with other values": lambda g: g.create(ADMIN, Topic(name="births", description="x")),
    "no such entry": lambda g: g.update(ADMIN, "topic", ("nothing",), {"description": "x"}),
    "no such field": lambda g: g.update(ADMIN, "topic", ("births",), {"head_seq": 1}),
    "not as it was": lambda g: g.delete(ADMIN, "topic", ("births",), "another fingerprint"),
    "no such producer": lambda g: g.grant(ADMIN, "nobody", "births", is_granted=True),
    "no such owner": lambda g: g.create_key(ADMIN, NewKey(kind="producer", owner="nobody")),
    "no schema": lambda g: g.set_schema(ADMIN, SchemaVersion(topic="births", kind="json-schema", text="{")),
    "no such subscriber": lambda g: g.create_secret(ADMIN, "nobody"),
    "not pending": lambda g: g.park(OPERATOR, "births", "bank", [99]),
    "not before": lambda g: g.replay(OPERATOR, "births", "bank", from_seq=9),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_change_that_is_refused_leaves_no_note(gate: Gate, name: str) -> None:
    if name == "who may not":
        gate.hub.create_key(NewKey(kind="token", owner="admin", scopes=("admin",))).result()

    with pytest.raises(PregonError):
        REFUSED[name](gate).result()

    assert notes(gate.hub) == []


def test_what_changed_nothing_leaves_no_note(gate: Gate) -> None:
    answers = [
        gate.delete(ADMIN, "topic", ("nothing",)).result(),
        gate.revoke_key(ADMIN, "producer", "registry", "0" * 12).result(),
        gate.revoke_secret(ADMIN, "bank", "0" * 12).result(),
        gate.unpark(OPERATOR, "births", "bank").result(),
    ]

    assert answers == [False, False, False, 0]
    assert notes(gate.hub) == []


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_a_change_whose_note_cannot_be_written_is_not_made(
    gate: Gate, monkeypatch: pytest.MonkeyPatch, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = dump(gate.hub)

    def broken(*_: object) -> None:
        raise RuntimeError("no note")

    monkeypatch.setattr("pregon.hub.auditing.write_audit", broken)
    with pytest.raises(PregonError), caplog.at_level(logging.CRITICAL, "pregon.store"):
        CHANGES[name][0](gate).result()

    assert dump(gate.hub) == before


def test_a_note_is_not_left_by_a_transaction_that_is_undone(gate: Gate, caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        size_bytes = 1
        is_durable = True
        ticket: Ticket[None] = Ticket()

        def apply(self, transaction: Any) -> None:
            raise RuntimeError("broken")

    with caplog.at_level(logging.CRITICAL, "pregon.store"), one_commit(gate.hub):
        ticket = gate.create(ADMIN, Topic(name="deaths"))
        broken = gate.hub.submit(Broken())
    ticket.result()

    with pytest.raises(PregonError):
        broken.result()
    assert notes(gate.hub) == [("token admin", "create", "topic", "deaths")]


def test_notes_outlive_a_restart(site: Site) -> None:
    Gate(site.hub).create(ADMIN, Topic(name="deaths")).result()

    again = site.restart()

    assert notes(again) == [("token admin", "create", "topic", "deaths")]


def test_nothing_that_is_secret_is_in_the_audit_or_the_log(gate: Gate, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    hub, people = gate.hub, people_of(gate.hub)
    own, link = encode_secret(new_secret()), people.make_link() or ""
    keys = [gate.create_key(ADMIN, NewKey(kind="producer", owner="registry")).result().secret]
    keys.append(gate.create_key(ADMIN, NewKey(kind="token", owner="x", scopes=("admin",))).result().secret)
    signing = [
        gate.create_secret(ADMIN, "bank").result().secret,
        gate.create_secret(ADMIN, "bank", own).result().secret,
    ]
    first, session = people.use_link(link, "ana", GOOD)
    second, _ = people.change_own_password(session, GOOD, OTHER)
    people.create(ADMIN, "luis", "la tercera es la vencida", "reader")
    people.change(ADMIN, "luis", password="la cuarta es la vencida")
    third, _ = people.enter("luis", "la cuarta es la vencida", "192.0.2.1")
    for name, password in [("luis", "una que no es la suya"), ("mi clave secreta", "x"), ("clave-secreta", "y")]:
        with pytest.raises(PregonError):
            people.enter(name, password)
    people.leave(third)

    hashes = dump(hub, "administrator")
    written = dump(hub, "audit") + caplog.text
    secret = [*keys, *signing, own, link, first, second, third, GOOD, OTHER, "vencida", "no es la suya", "ecreta"]
    secret += [one.split("_", 2)[-1] for one in (*keys, *signing)]
    assert "luis" in written
    assert [one for one in secret if one in written] == []
    assert "argon2" in hashes and "argon2" not in written


def test_a_note_is_bounded_and_says_what_it_left_out(gate: Gate) -> None:
    topics = [f"topic-{number:03}-{'x' * 100}" for number in range(400)]
    for name in topics:
        gate.hub.create(Topic(name=name))

    gate.update(ADMIN, "producer", ("registry",), {"topics": topics, "description": "all of them"}).result()

    assert detail(gate.hub) == {"description": "all of them", "left_out": ["topics"]}
    assert len(repr(topics)) > AUDIT_DETAIL_BYTES_MAX


def test_names_are_noted_as_they_came_and_cut_where_the_table_ends(gate: Gate) -> None:
    caller = Caller(name="x" * 1_000, scopes=scopes_of(("admin",)))

    gate.create(caller, Topic(name="deaths")).result()

    assert notes(gate.hub) == [("x" * 200, "create", "topic", "deaths")]
