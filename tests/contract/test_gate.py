"""Who may do what: every verb of the gate, by every kind of caller, on open, administered and locked hubs.

The table says for each verb who may; everybody else is refused, with the same words whether what they named is
somebody else's or does not exist.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from pregon.errors import Forbidden, PregonError, SchemaMismatch, Unauthorized
from pregon.hub.access import NewKey
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.keyring import Keyring
from pregon.hub.options import HubOptions
from pregon.hub.pull import PullRequest
from pregon.model.administration import AuditQuery
from pregon.model.catalog import Producer, SchemaVersion, Subscriber, Subscription, Topic
from pregon.model.message import Outgoing
from pregon.model.trace import TraceQuery
from pregon.security.callers import ANYBODY, Caller, caller_of_claims
from pregon.store.database import Database
from pregon.store.ticket import Ticket

from .verbs import batch_of

MANY = 8 * 1024 * 1024
READERS = {"read", "operate", "admin"}
OPERATORS = {"operate", "admin"}
ADMINS = {"admin"}
ALL = {"nobody", "registry", "hospital", "bank", "archive", "two hats", "stranger", *READERS}
OPEN, ADMINISTERED, LOCKED = "open", "administered", "locked"


@dataclass(frozen=True)
class Names:
    """What a verb is about."""

    topic: str = "births"
    producer: str = "registry"
    subscriber: str = "bank"


NOBODYS = Names("no-topic", "no-producer", "no-subscriber")
"""None of these exists."""
Call = Callable[[Gate, Caller, Names], Ticket[Any]]


@dataclass(frozen=True)
class Verb:
    """A verb, who may on an administered hub, and who besides may on an open one."""

    call: Call
    may: set[str]
    on_open: set[str] = frozenset(ALL)  # type: ignore[assignment]


def _key(names: Names) -> NewKey:
    return NewKey(kind="producer", owner=names.producer, lifetime_ms=0)


PUBLISHERS, RECEIVERS = {"registry", "two hats"}, {"bank", "two hats"}
VERBS: dict[str, Verb] = {
    "publish": Verb(lambda g, c, n: g.publish(c, n.topic, n.producer, Outgoing(b"x")), PUBLISHERS, PUBLISHERS),
    "publish_many": Verb(
        lambda g, c, n: g.publish_many(c, n.topic, n.producer, [Outgoing(b"x")]), PUBLISHERS, PUBLISHERS
    ),
    "publish_batch": Verb(
        lambda g, c, n: g.publish_batch(c, (n.topic, n.producer), batch_of("x")), PUBLISHERS, PUBLISHERS
    ),
    "pull": Verb(lambda g, c, n: g.pull(c, PullRequest(topic=n.topic, subscriber=n.subscriber)), RECEIVERS, RECEIVERS),
    "ack": Verb(lambda g, c, n: g.ack(c, n.topic, n.subscriber, 1), RECEIVERS, RECEIVERS),
    "read_log": Verb(lambda g, c, n: g.read_log(c, n.topic, (1, None), 10, MANY), RECEIVERS | {"archive"} | READERS),
    "park": Verb(lambda g, c, n: g.park(c, n.topic, n.subscriber, [5]), RECEIVERS | OPERATORS, RECEIVERS | OPERATORS),
    "unpark": Verb(lambda g, c, n: g.unpark(c, n.topic, n.subscriber), RECEIVERS | OPERATORS, RECEIVERS | OPERATORS),
    "cancel": Verb(
        lambda g, c, n: g.cancel(c, n.topic, n.subscriber, [6]), RECEIVERS | OPERATORS, RECEIVERS | OPERATORS
    ),
    "list_parked": Verb(
        lambda g, c, n: g.list_parked(c, n.topic, n.subscriber), RECEIVERS | READERS, RECEIVERS | READERS
    ),
    "replay": Verb(
        lambda g, c, n: g.replay(c, n.topic, n.subscriber, from_seq=1), RECEIVERS | OPERATORS, RECEIVERS | OPERATORS
    ),
    "account": Verb(lambda g, c, n: g.account(c, n.topic, n.subscriber), RECEIVERS | READERS, RECEIVERS | READERS),
    "traces": Verb(lambda g, c, n: g.traces(c, TraceQuery(subscriber=n.subscriber)), RECEIVERS | READERS),
    "traces of a producer": Verb(lambda g, c, n: g.traces(c, TraceQuery(producer=n.producer)), PUBLISHERS | READERS),
    "create": Verb(lambda g, c, n: g.create(c, Topic(name=n.topic)), ADMINS),
    "update": Verb(lambda g, c, n: g.update(c, "topic", (n.topic,), {"description": ""}), ADMINS),
    "delete": Verb(lambda g, c, n: g.delete(c, "topic", (f"{n.topic}-2",)), ADMINS),
    "grant": Verb(lambda g, c, n: g.grant(c, n.producer, n.topic, is_granted=True), ADMINS),
    "show": Verb(lambda g, c, n: g.show(c, "topic", (n.topic,)), READERS),
    "show a producer": Verb(lambda g, c, n: g.show(c, "producer", (n.producer,)), PUBLISHERS | READERS),
    "show a subscriber": Verb(lambda g, c, n: g.show(c, "subscriber", (n.subscriber,)), RECEIVERS | READERS),
    "show a subscription": Verb(
        lambda g, c, n: g.show(c, "subscription", (n.topic, n.subscriber)), RECEIVERS | READERS
    ),
    "list": Verb(lambda g, c, n: g.list(c, "topic"), READERS),
    "list producers": Verb(lambda g, c, n: g.list(c, "producer", names=(n.producer,)), READERS),
    "list subscribers": Verb(lambda g, c, n: g.list(c, "subscriber", names=(n.subscriber,)), READERS),
    "list all subscriptions": Verb(lambda g, c, n: g.list(c, "subscription"), READERS),
    "list own subscriptions": Verb(
        lambda g, c, n: g.list(c, "subscription", names=("", n.subscriber)), RECEIVERS | READERS
    ),
    "create_key": Verb(lambda g, c, n: g.create_key(c, _key(n)), ADMINS),
    "revoke_key": Verb(lambda g, c, n: g.revoke_key(c, "producer", n.producer, "0" * 12), ADMINS),
    "list_keys": Verb(lambda g, c, n: g.list_keys(c, "producer", n.producer), ADMINS),
    "set_schema": Verb(lambda g, c, n: g.set_schema(c, SchemaVersion(topic=n.topic, kind="none")), ADMINS),
    "compare_schema": Verb(lambda g, c, n: g.compare_schema(c, SchemaVersion(topic=n.topic, kind="json")), READERS),
    "list_schemas": Verb(lambda g, c, n: g.list_schemas(c, n.topic), READERS),
    "audit": Verb(lambda g, c, n: g.audit(c, AuditQuery(object=n.topic)), READERS),
    "note_test": Verb(lambda g, c, n: g.note_test(c, "topic", n.topic, {}), OPERATORS),
    "story": Verb(lambda g, c, n: g.story(c, n.topic, 1), RECEIVERS | {"archive"} | READERS),
    "create_secret": Verb(lambda g, c, n: g.create_secret(c, n.subscriber, "", 0), ADMINS),
    "revoke_secret": Verb(lambda g, c, n: g.revoke_secret(c, n.subscriber, "0" * 12), ADMINS),
    "list_secrets": Verb(lambda g, c, n: g.list_secrets(c, n.subscriber), ADMINS),
    "push_state": Verb(
        lambda g, c, n: g.push_state(c, n.topic, n.subscriber), RECEIVERS | READERS, RECEIVERS | READERS
    ),
}
NO_VERBS = {"identify", "rules", "producer_of"}
"""What the gate has besides: who asks, and what the rules are."""


@dataclass(frozen=True)
class World:
    """A hub with people who have keys, and what each of them presents."""

    gate: Gate
    callers: dict[str, Caller]

    def ask(self, verb: Verb, who: str, names: Names = Names()) -> str:
        """What the answer is: nothing for a success, else the code and the words, without the names."""
        try:
            verb.call(self.gate, self.callers[who], names).result()
        except PregonError as error:
            return f"{error.code}: {blank(str(error), names)}"
        return ""


def blank(text: str, names: Names) -> str:
    """The text without the names in it."""
    for kind in ("topic", "producer", "subscriber"):
        text = text.replace(getattr(names, kind), f"<{kind}>")
    return text


def settle_in(hub: Hub) -> dict[str, Caller]:
    """People the hub, and give each of them a key; who asks, by name."""
    for topic in ("births", "deaths"):
        hub.create(Topic(name=topic)).result()
    hub.create(Topic(name="sealed", restricted=True)).result()
    for name in ("registry", "hospital", "clinic"):
        hub.create(Producer(name=name)).result()
    for name in ("bank", "archive", "press"):
        hub.create(Subscriber(name=name)).result()
        hub.create(Subscription(topic="births", subscriber=name)).result()
    hub.publish_many("births", "clinic", [Outgoing(b"%d" % number) for number in range(1, 11)]).result()
    gate = Gate(hub)
    wanted = [
        *(NewKey(kind="producer", owner=name) for name in ("registry", "hospital")),
        *(NewKey(kind="subscriber", owner=name) for name in ("bank", "archive")),
        *(NewKey(kind="token", owner=name, scopes=(name,)) for name in ("read", "operate")),
    ]
    keys = {one.owner: hub.create_key(one).result().secret for one in wanted}
    return {
        "nobody": ANYBODY,
        "admin": Caller(name="token admin", scopes=frozenset(["admin", "operate", "read"])),
        "two hats": caller_of_claims("ana", frozenset(["pregon:producer:registry", "pregon:subscriber:bank"])),
        "stranger": caller_of_claims("luis", frozenset(["email", "admin", "pregon:root"])),
        **{name: gate.identify(secret) for name, secret in keys.items()},
    }


@pytest.fixture
def make_world(open_database: Callable[[], Database], database_kind: Any, tmp_path: Any) -> Iterator[Any]:
    """Makes a world on a hub that is open, administered, or locked (administered, and keys are required)."""
    hubs: list[Hub] = []

    def make(state: str) -> World:
        database_kind.prepare(tmp_path / "data")
        hub = Hub(open_database(), HubOptions(maintenance_every_ms=3_600_000), Keyring(require_keys=state == LOCKED))
        hubs.append(hub)
        hub.start()
        callers = settle_in(hub)
        if state != OPEN:
            hub.create_key(NewKey(kind="token", owner="admin", scopes=("admin",))).result()
        assert hub.keyring.rules.is_open == (state == OPEN)
        return World(Gate(hub), callers)

    yield make
    for hub in hubs:
        hub.stop()


MakeWorld = Callable[[str], World]


def test_every_verb_of_the_gate_is_in_the_table() -> None:
    public = {name for name, _ in inspect.getmembers(Gate) if not name.startswith("_")}

    classified = {name for name in VERBS if " " not in name}

    assert public - NO_VERBS == classified


@pytest.mark.parametrize("state", [OPEN, ADMINISTERED, LOCKED])
def test_who_may_does_and_who_may_not_is_refused(make_world: MakeWorld, state: str) -> None:
    world = make_world(state)

    answers = {(verb, who): world.ask(VERBS[verb], who) for verb in VERBS for who in sorted(ALL)}

    wrong = {}
    for (verb, who), answer in answers.items():
        may = VERBS[verb].may | (VERBS[verb].on_open if state == OPEN else set())
        expected = "" if who in may else ("unauthorized" if who == "nobody" else "forbidden")
        if answer.partition(":")[0] != expected:
            wrong[verb, who] = (answer, expected)
    assert wrong == {}


@pytest.mark.parametrize("state", [ADMINISTERED, LOCKED])
def test_who_may_not_is_told_the_same_of_what_exists_and_of_what_does_not(make_world: MakeWorld, state: str) -> None:
    world = make_world(state)
    others = [
        NOBODYS,
        replace(Names(), topic="no-topic"),
        replace(Names(), producer="no-producer"),
        replace(Names(), subscriber="no-subscriber"),
        replace(Names(), topic="sealed"),
    ]

    told = {
        (verb, who): {world.ask(VERBS[verb], who, names) for names in (Names(), *others)}
        for verb in VERBS
        for who in sorted(ALL - VERBS[verb].may - READERS)  # Those may see for themselves what there is.
    }

    assert {case: answers for case, answers in told.items() if len(answers) > 1} == {}


@pytest.mark.parametrize("state", [ADMINISTERED, LOCKED])
@pytest.mark.parametrize(
    ("verb", "who"),
    [
        *((verb, "registry") for verb in ("publish", "publish_many", "publish_batch")),
        *((verb, "bank") for verb in ("pull", "ack", "park", "unpark", "cancel", "replay", "account", "read_log")),
        ("show a subscription", "bank"),
    ],
)
def test_in_its_own_name_nobody_learns_which_topics_there_are(
    make_world: MakeWorld, state: str, verb: str, who: str
) -> None:
    world = make_world(state)
    hidden = ("sealed", "no-topic") if verb.startswith("publish") else ("deaths", "sealed", "no-topic")

    told = {world.ask(VERBS[verb], who, replace(Names(), topic=topic)) for topic in hidden}

    assert len(told) == 1
    assert told.pop().startswith("forbidden")


@pytest.mark.parametrize("verb", ["publish", "publish_many", "publish_batch"])
def test_the_schema_of_a_topic_is_not_told_to_who_may_not_publish_there(make_world: MakeWorld, verb: str) -> None:
    world = make_world(ADMINISTERED)
    for topic in ("sealed", "deaths"):
        world.gate.hub.set_schema(SchemaVersion(topic=topic, kind="json-schema", text='{"required": ["x"]}')).result()
    registry = world.callers["registry"]

    refused = world.ask(VERBS[verb], "registry", replace(Names(), topic="sealed"))
    nowhere = world.ask(VERBS[verb], "registry", replace(Names(), topic="no-topic"))
    with pytest.raises(SchemaMismatch):
        VERBS[verb].call(world.gate, registry, replace(Names(), topic="deaths")).result()

    assert refused == nowhere


@pytest.mark.parametrize("who", sorted(ALL))
@pytest.mark.parametrize("verb", ["publish", "publish_many", "publish_batch", "pull"])
def test_on_an_administered_hub_only_administrators_make_things_on_first_use(
    make_world: MakeWorld, verb: str, who: str
) -> None:
    world = make_world(ADMINISTERED)
    hub = world.gate.hub
    before = {kind: len(hub.list(kind).result()) for kind in ("topic", "producer", "subscriber", "subscription")}

    answers = [
        world.ask(VERBS[verb], who, names)
        for names in (NOBODYS, Names("deaths", "no-producer", "press"), Names("no-topic", "clinic", "press"))
    ]

    after = {kind: len(hub.list(kind).result()) for kind in before}
    if who == "admin":
        assert answers == ["", "", ""]
        assert after != before
    else:
        assert all(answers)
        assert after == before


@pytest.mark.parametrize(("state", "is_served"), [(OPEN, True), (ADMINISTERED, True), (LOCKED, False)])
def test_who_has_no_key_needs_none_unless_keys_are_required(make_world: MakeWorld, state: str, is_served: bool) -> None:
    world = make_world(state)
    names = Names("births", "clinic", "press")

    answers = [world.ask(VERBS[verb], "nobody", names) for verb in ("publish", "pull", "ack", "park", "account")]

    assert [answer == "" for answer in answers] == [is_served] * 5


@pytest.mark.parametrize("state", [OPEN, ADMINISTERED, LOCKED])
def test_two_hats_see_the_traces_of_each_and_of_nobody_else(make_world: MakeWorld, state: str) -> None:
    world = make_world(state)
    gate, ana = world.gate, world.callers["two hats"]
    gate.publish(ana, "births", "registry", Outgoing(b"")).result()
    gate.ack(ana, "births", "bank", 2).result()

    mine = gate.traces(ana, TraceQuery(producer="registry")).result(), gate.traces(ana, TraceQuery()).result()

    assert {trace.producer for trace in mine[0]} == {"registry"}
    if state != OPEN:
        assert {trace.subscriber for trace in mine[1]} == {"bank"}
        for query in (TraceQuery(producer="hospital"), TraceQuery(subscriber="archive")):
            with pytest.raises(Forbidden):
                gate.traces(ana, query).result()
        with pytest.raises(Unauthorized):
            gate.traces(ANYBODY, TraceQuery()).result()


def test_a_subscribers_traces_are_its_own_whatever_else_is_asked(make_world: MakeWorld) -> None:
    world = make_world(ADMINISTERED)
    gate, bank = world.gate, world.callers["bank"]
    gate.ack(bank, "births", "bank", 2).result()
    gate.ack(world.callers["archive"], "births", "archive", 3).result()

    queries = [{}, {"topic": "births"}, {"topic": "births", "seq": 2}, {"kind": "acknowledged"}]
    found = [trace for query in queries for trace in gate.traces(bank, TraceQuery(**query)).result()]  # type: ignore[arg-type]

    assert {trace.subscriber for trace in found} == {"bank"}
