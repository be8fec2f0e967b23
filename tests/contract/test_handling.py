"""Looking after subscriptions: what is next, what a replay would do, what is set aside or given up in all of them."""

from __future__ import annotations

import pytest

from pregon.errors import BadRequest, Forbidden, NotFound, Unauthorized
from pregon.hub.access import NewKey
from pregon.hub.gate import Gate
from pregon.hub.handling import NextPending, ReplayPlan
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.hub.private_topics import PREFIX
from pregon.model.administration import AuditQuery
from pregon.model.catalog import PUSH, Subscriber, Subscription
from pregon.security.callers import ANYBODY, Caller, scopes_of
from pregon.security.keys import ADMIN, OPERATE, READ
from pregon.store.catalog_search import ListQuery
from pregon.store.exceptions import ParkedQuery
from pregon.store.transaction import Transaction

from .filtering import A, say_each, wanting
from .pushes import NAMES, deliver, fail, state
from .site import Clock, Site
from .verbs import SUBSCRIBER, TOPIC, ack, fill, park, say, subscribe

READER = Caller(name="ines", scopes=scopes_of((READ,)))
OPERATOR = Caller(name="olga", scopes=scopes_of((OPERATE,)))
ADMINISTRATOR = Caller(name="ana", scopes=scopes_of((ADMIN,)))


@pytest.fixture
def gate(hub: Hub) -> Gate:
    """The gate of a hub that is closed: it has a token."""
    opened = Gate(hub)
    opened.create_key(ANYBODY, NewKey(kind="token", owner="first", scopes=(ADMIN,))).result()
    return opened


@pytest.fixture
def pushing(site: Site) -> Hub:
    """A hub with three messages for a subscriber to which they are pushed."""
    hub = site.restart(HubOptions(push_allow="127.0.0.1"))
    hub.create(Subscriber(name=SUBSCRIBER, mode=PUSH, endpoint="http://127.0.0.1:9/")).result()
    fill(hub, 3)
    subscribe(hub)
    return hub


def next_of(hub: Hub) -> NextPending | None:
    """What comes next, for a reader."""
    return Gate(hub).handling.next_pending(READER, TOPIC, SUBSCRIBER).result()


def next_seq(hub: Hub) -> int:
    """The number of what comes next; 0 for nothing."""
    found = next_of(hub)
    return found.seq if found else 0


def plan(hub: Hub, from_seq: int | None = None, from_us: int | None = None) -> ReplayPlan:
    """What a replay would do."""
    return Gate(hub).handling.plan_replay(READER, TOPIC, SUBSCRIBER, from_seq=from_seq, from_us=from_us).result()


# What is next.


def test_what_comes_next_is_the_first_that_is_neither_settled_nor_set_aside(hub: Hub) -> None:
    fill(hub, 5)
    subscribe(hub)

    begun = next_of(hub)
    ack(hub, 1)
    park(hub, 2, 3)

    assert begun is not None
    assert (begun.seq, begun.producer, begun.size_bytes, begun.is_returned) == (1, "registry", 1, False)
    assert next_seq(hub) == 4
    ack(hub, 5)
    assert next_of(hub) is None


def test_what_was_unparked_comes_before_all(hub: Hub) -> None:
    fill(hub, 5)
    subscribe(hub)
    park(hub, 2)
    ack(hub, 4)

    hub.unpark(TOPIC, SUBSCRIBER, [2]).result()

    found = next_of(hub)
    assert found is not None
    assert (found.seq, found.is_returned) == (2, True)


def test_what_the_filter_does_not_want_is_passed_over(hub: Hub) -> None:
    say_each(hub, "abba")
    wanting(hub, A)

    ack(hub, 1)

    assert next_seq(hub) == 4


# Replays.


def test_a_plan_of_a_replay_counts_what_the_replay_then_does(hub: Hub) -> None:
    fill(hub, 10)
    subscribe(hub)
    park(hub, 3, 4)
    ack(hub, 8)
    hub.unpark(TOPIC, SUBSCRIBER, [4]).result()
    hub.cancel(TOPIC, SUBSCRIBER, [10]).result()
    before = hub.account(TOPIC, SUBSCRIBER).result()

    planned = plan(hub, 2)
    hub.replay(TOPIC, SUBSCRIBER, from_seq=2).result()

    after = hub.account(TOPIC, SUBSCRIBER).result()
    assert planned.messages == after.pending - before.pending == 6
    assert (planned.start_seq, planned.acked_seq, planned.parked, planned.is_cut) == (2, 8, 1, False)


def test_a_plan_from_a_time_begins_with_the_first_message_of_then(clock: Clock, hub: Hub) -> None:
    fill(hub, 2)
    at_us = clock.move_ms(60_000)
    say(hub, "three", "four")
    subscribe(hub)
    ack(hub, 4)

    planned = plan(hub, from_us=at_us)

    assert (planned.start_seq, planned.messages) == (3, 2)
    assert planned.accepted_us >= at_us


def test_a_plan_that_would_do_nothing_says_so(hub: Hub) -> None:
    fill(hub, 4)
    subscribe(hub)
    ack(hub, 2)

    assert plan(hub, 3).messages == 0
    assert plan(hub, 99).messages == 0
    with pytest.raises(BadRequest):
        plan(hub, 0)
    with pytest.raises(NotFound):
        Gate(hub).handling.plan_replay(READER, TOPIC, "nobody", from_seq=1).result()


# Pausing and trying now.


def test_an_operator_pauses_and_resumes_and_the_audit_says_so(gate: Gate, hub: Hub) -> None:
    subscribe(hub)

    paused = gate.handling.pause(OPERATOR, TOPIC, SUBSCRIBER, is_paused=True).result()
    resumed = gate.handling.pause(OPERATOR, TOPIC, SUBSCRIBER, is_paused=False).result()

    assert isinstance(paused, Subscription)
    assert isinstance(resumed, Subscription)
    assert (paused.paused, resumed.paused) == (True, False)
    noted = gate.audit(READER, AuditQuery(kind="subscription")).result()
    assert [(one.who, one.action, one.object, one.detail) for one in noted] == [
        ("olga", "update", f"{TOPIC} {SUBSCRIBER}", '{"paused":false}'),
        ("olga", "update", f"{TOPIC} {SUBSCRIBER}", '{"paused":true}'),
    ]


def test_who_only_reads_neither_pauses_nor_tries(gate: Gate, hub: Hub) -> None:
    subscribe(hub)

    with pytest.raises(Forbidden):
        gate.handling.pause(READER, TOPIC, SUBSCRIBER, is_paused=True)
    with pytest.raises(Forbidden):
        gate.handling.try_now(READER, TOPIC, SUBSCRIBER)
    with pytest.raises(Unauthorized):
        gate.handling.next_pending(ANYBODY, TOPIC, SUBSCRIBER)


def test_private_conversations_are_for_administrators_only(gate: Gate) -> None:
    private = f"{PREFIX}a.b"

    for ask in (
        lambda: gate.handling.pause(OPERATOR, private, SUBSCRIBER, is_paused=True),
        lambda: gate.handling.try_now(OPERATOR, private, SUBSCRIBER),
        lambda: gate.handling.next_pending(OPERATOR, private, SUBSCRIBER),
        lambda: gate.handling.plan_replay(OPERATOR, private, SUBSCRIBER, from_seq=1),
    ):
        with pytest.raises(Forbidden):
            ask()

    with pytest.raises(NotFound):
        gate.handling.next_pending(ADMINISTRATOR, private, SUBSCRIBER).result()


class Follower:
    """Who hears of what is committed."""

    def __init__(self) -> None:
        self.resumed: set[tuple[str, str]] = set()

    def committed(self, transaction: Transaction) -> None:
        """Note what is to be tried at once."""
        self.resumed |= transaction.resumed


def test_to_try_now_ends_the_wait_and_keeps_since_when_it_fails(pushing: Hub) -> None:
    fail(pushing, 1, attempt=3, refusals=2)
    follower = Follower()
    pushing.follow(follower)

    is_pushed = Gate(pushing).handling.try_now(OPERATOR, TOPIC, SUBSCRIBER).result()

    found = state(pushing)
    assert is_pushed
    assert (found.attempts, found.next_try_us, found.last_failure) == (0, 0, "HTTP 503")
    assert found.failing_since_us > 0
    assert follower.resumed == {NAMES}
    noted = Gate(pushing).audit(READER, AuditQuery(kind="subscription")).result()
    assert [one.action for one in noted] == ["try_now"]


def test_where_nothing_is_pushed_there_is_nothing_to_try(pushing: Hub) -> None:
    gate = Gate(pushing)
    gate.handling.pause(OPERATOR, TOPIC, SUBSCRIBER, is_paused=True).result()
    subscribe(pushing, "puller")

    is_pushed = [gate.handling.try_now(OPERATOR, TOPIC, name).result() for name in (SUBSCRIBER, "puller")]

    assert is_pushed == [False, False]
    assert "try_now" not in [one.action for one in gate.audit(READER, AuditQuery(kind="subscription")).result()]


# What is set aside, and what was given up, everywhere.


def aside(hub: Hub, caller: Caller = READER, **query: str | int) -> list[tuple[str, str, int]]:
    """What is set aside, as a list of who and which."""
    found = Gate(hub).lists.parked(caller, ParkedQuery(**query)).result()  # type: ignore[arg-type]
    return [(one.topic, one.subscriber, one.seq) for one in found.rows]


def test_what_is_set_aside_comes_newest_first_of_all_subscriptions(clock: Clock, hub: Hub) -> None:
    fill(hub, 6)
    for name in ("bank", "court"):
        subscribe(hub, name)
    for name, seq in (("bank", 2), ("court", 1), ("bank", 1), ("court", 5)):
        hub.park(TOPIC, name, [seq], f"because {seq}").result()
        clock.move_ms(1_000)

    hub.unpark(TOPIC, "bank", [2]).result()

    assert aside(hub) == [(TOPIC, "court", 5), (TOPIC, "bank", 1), (TOPIC, "court", 1)]
    assert aside(hub, q="COURT") == [(TOPIC, "court", 5), (TOPIC, "court", 1)]
    assert aside(hub, q="because 5") == [(TOPIC, "court", 5)]
    assert aside(hub, q="%") == []


def test_what_was_settled_ahead_of_the_cursor_is_not_set_aside(pushing: Hub) -> None:
    deliver(pushing, 3)
    pushing.cancel(TOPIC, SUBSCRIBER, [2]).result()

    assert aside(pushing) == []


def test_pages_of_what_is_set_aside_have_each_once_whatever_goes_meanwhile(hub: Hub) -> None:
    fill(hub, 20)
    for name in ("bank", "court"):
        subscribe(hub, name)
        hub.park(TOPIC, name, range(1, 11), "all at once").result()
    gate = Gate(hub)

    first = gate.lists.parked(READER, ParkedQuery(rows=7)).result()
    hub.unpark(TOPIC, first.rows[0].subscriber, [first.rows[0].seq]).result()
    second = gate.lists.parked(READER, ParkedQuery(rows=7, before=first.next)).result()
    third = gate.lists.parked(READER, ParkedQuery(rows=7, before=second.next)).result()

    seen = [(one.subscriber, one.seq) for page in (first, second, third) for one in page.rows]
    assert (first.count, second.count, third.next) == (20, 19, "")
    assert len(seen) == len(set(seen)) == 20


@pytest.mark.parametrize("before", ["x", "1.2", "1.2.x", "1.2.99999999999999999999", "-1.2.3"])
def test_a_page_begins_where_one_ended(hub: Hub, before: str) -> None:
    with pytest.raises(BadRequest):
        aside(hub, before=before)


def test_what_was_given_up_is_told_by_subscription_while_the_log_has_it(hub: Hub) -> None:
    fill(hub, 8)
    for name in ("bank", "court", "mint"):
        subscribe(hub, name)
    hub.cancel(TOPIC, "bank", [2, 3, 7]).result()
    hub.cancel(TOPIC, "court", [1]).result()

    found = Gate(hub).lists.expired(READER, ListQuery(sort="messages", descending=True)).result()
    ack(hub, 8)
    hub.replay(TOPIC, "bank", from_seq=1).result()

    assert [(one.subscriber, one.messages, one.first_seq, one.last_seq) for one in found] == [
        ("bank", 3, 2, 7),
        ("court", 1, 1, 1),
    ]
    assert [one.subscriber for one in Gate(hub).lists.expired(READER, ListQuery()).result()] == ["court"]
    assert Gate(hub).lists.expired(READER, ListQuery(q="mint")).result() == []
    with pytest.raises(BadRequest):
        Gate(hub).lists.expired(READER, ListQuery(sort="reason")).result()


def test_private_conversations_are_in_neither_list_but_for_administrators(hub: Hub) -> None:
    private = f"{PREFIX}a.b"
    hub.create(Subscription(topic=private, subscriber=SUBSCRIBER)).result()
    say(hub, "one", "two", topic=private)
    hub.park(private, SUBSCRIBER, [1]).result()
    hub.cancel(private, SUBSCRIBER, [2]).result()
    lists = Gate(hub).lists

    for caller, count in ((READER, 0), (OPERATOR, 0), (ADMINISTRATOR, 1)):
        assert lists.parked(caller, ParkedQuery()).result().count == len(aside(hub, caller)) == count
        assert len(lists.expired(caller, ListQuery()).result()) == count
