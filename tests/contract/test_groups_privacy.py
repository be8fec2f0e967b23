"""Groups and who is curious: who is out gets nothing, what is private is for two, and which topics groups need."""

from collections.abc import Iterator

import pytest

from pregon.causal.message import CausalMessage
from pregon.causal.stamps import Stamp
from pregon.errors import Forbidden, LimitReached, NotFound
from pregon.groups import membership
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.model.catalog import Subscriber, Subscription
from pregon.model.group import DELIVERIES_TOPIC, NATIVE, DeliveryRow
from pregon.model.trace import TraceQuery
from pregon.security.callers import ANYBODY, Caller, scopes_of
from pregon.wire.groups import Private, Report

from .group_stage import GROUP, Native, Stage, again, kind_of
from .site import Site
from .verbs import read

ADMINISTRATOR = Caller(name="token root", scopes=scopes_of(("admin",)))


# Web services.


def pushed_to(hub: Hub, name: str = "svc") -> None:
    """A subscriber with an endpoint that nobody calls in these tests."""
    hub.create(Subscriber(name=name, mode="push", endpoint="http://127.0.0.1:9/")).result()


def subscriptions(hub: Hub) -> list[tuple[str, str]]:
    """Who is subscribed to what."""
    return [(one.topic, one.subscriber) for one in hub.list("subscription").result()]  # type: ignore[union-attr]


@pytest.fixture
def open_site(site: Site) -> Iterator[Stage]:
    """A hub that may push to this machine."""
    made = Stage.on(site.restart(HubOptions(push_allow="127.0.0.1/32")))
    made.make()
    pushed_to(site.hub)
    yield made
    made.desk.stop()


@pytest.mark.parametrize("how", ["leave", "retire", "remove", "left"])
def test_nothing_is_pushed_to_who_is_out(open_site: Stage, site: Site, how: str) -> None:
    stage = open_site
    joined = stage.join("ana", subscriber="svc")
    assert subscriptions(site.hub) == [("groups.design", "svc")]

    if how == "leave":
        stage.leave("ana")
    elif how == "retire":
        stage.desk.retire(ANYBODY, stage.tokens["ana"]).result()
    elif how == "remove":
        stage.desk.remove_member(ANYBODY, GROUP, joined.member).result()
    else:
        native = Native.__new__(Native)
        taken = stage.join("ana", kind=NATIVE)
        native._stage, native._group, native.name = stage, GROUP, "ana"
        native.send_control(CausalMessage(Stamp(taken.member, taken.number + 1)), "{}", "left")

    assert subscriptions(site.hub) == []


def test_a_subscriber_of_two_members_is_served_until_both_are_out(open_site: Stage, site: Site) -> None:
    stage = open_site
    stage.join("ana", subscriber="svc")
    stage.join("luis", subscriber="svc")

    stage.leave("ana")
    assert subscriptions(site.hub) == [("groups.design", "svc")]
    stage.leave("luis")
    assert subscriptions(site.hub) == []


# What is private.


def private(stage: Stage, one: str = "ana", other: str = "luis") -> str:
    """The conversation of two."""
    stage.enroll(one)
    stage.enroll(other)
    return stage.desk.private(ANYBODY, Private(token=stage.tokens[one], with_=other)).result().group


def test_who_takes_the_name_of_one_of_the_two_does_not_get_in(stage: Stage) -> None:
    group = private(stage)
    stage.send("ana", "secreto", group)
    stage.desk.rename(ANYBODY, stage.tokens["ana"], "Anita").result()
    stage.tokens["mallory"] = stage.desk.enroll(ANYBODY, "ana").result().token

    with pytest.raises(Forbidden):
        stage.join("mallory", group)
    stage.leave("ana", group)

    assert stage.join("ana", group).member


def test_a_private_conversation_is_not_changed_by_others(stage: Stage) -> None:
    group = private(stage)

    for change in (
        lambda caller: stage.desk.update_group(caller, group, {"access": "open"}),
        lambda caller: stage.desk.remove_member(caller, group, 2),
        lambda caller: stage.desk.delete_group(caller, group),
    ):
        with pytest.raises(NotFound):
            change(ANYBODY).result()
    assert stage.desk.delete_group(ADMINISTRATOR, group).result()


def test_a_private_conversation_is_seen_by_no_other_door(stage: Stage, hub: Hub) -> None:
    group = private(stage)
    topic, gate = f"groups.{group}", Gate(hub)
    hub.create(Subscriber(name="curioso")).result()
    hub.create(Subscription(topic=topic, subscriber="curioso")).result()

    for ask in (
        lambda: gate.create(ANYBODY, Subscription(topic=topic, subscriber="otro")),
        lambda: gate.update(ANYBODY, "topic", (topic,), {"description": "x"}),
        lambda: gate.update(ANYBODY, "subscription", (topic, "curioso"), {"filter": ""}),
        lambda: gate.delete(ANYBODY, "subscription", (topic, "curioso")),
        lambda: gate.show(ANYBODY, "topic", (topic,)),
        lambda: gate.show(ANYBODY, "subscription", (topic, "curioso")),
        lambda: gate.list(ANYBODY, "subscription", names=(topic,)),
        lambda: gate.traces(ANYBODY, TraceQuery(topic=topic)),
        lambda: gate.push_state(ANYBODY, topic, "curioso"),
        lambda: gate.list_schemas(ANYBODY, topic),
    ):
        with pytest.raises(Forbidden):
            ask().result()
    assert all(one.topic != topic for one in gate.traces(ANYBODY, TraceQuery()).result())
    assert all(one.topic != topic for one in gate.list(ANYBODY, "subscription").result())
    assert any(one.topic == topic for one in gate.traces(ADMINISTRATOR, TraceQuery()).result())
    assert gate.show(ADMINISTRATOR, "topic", (topic,)).result()


def test_pages_of_topics_go_on_behind_the_private_ones(stage: Stage, hub: Hub) -> None:
    gate = Gate(hub)
    for number in range(4):
        private(stage, "ana", f"luis{number}")
    stage.make("zeta")
    stage.make("alfa")

    found: list[str] = []
    while page := gate.list(ANYBODY, "topic", after=(found[-1],) if found else (), rows_max=2).result():
        found += [one.name for one in page]  # type: ignore[union-attr]

    assert found == ["groups.alfa", "groups.design", "groups.zeta"]
    assert len(gate.list(ADMINISTRATOR, "topic").result()) == 7
    assert gate.list(ANYBODY, "topic", names=("groups.alfa",)).result()


def test_what_the_two_were_shown_is_in_no_topic(stage: Stage, hub: Hub) -> None:
    group = private(stage)

    rows = [DeliveryRow("1:1", 10, 20, "")]
    count = stage.desk.report(ANYBODY, Report(group=group, token=stage.tokens["ana"], rows=rows)).result()

    assert count == 0
    with pytest.raises(NotFound):
        hub.read_log(DELIVERIES_TOPIC, 1, None, 10, 1_000).result()


def test_nobody_is_drawn_into_more_conversations_than_one_may_have(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(membership, "GROUPS_OF_PARTICIPANT_MAX", 2)
    first = private(stage, "ana", "luis")
    private(stage, "ana", "eva")

    with pytest.raises(LimitReached):
        private(stage, "ana", "noe")
    with pytest.raises(LimitReached):
        private(stage, "zoe", "ana")

    assert private(stage, "luis", "ana") == first
    assert len(stage.desk.list_groups(ADMINISTRATOR).result()) == 3


# Topics that groups need.


def test_a_topic_that_somebody_subscribed_to_before_there_was_a_group_becomes_its_own(stage: Stage, hub: Hub) -> None:
    gate = Gate(hub)
    gate.create(ANYBODY, Subscription(topic="groups.nueva", subscriber="temprano")).result()

    stage.make("nueva")
    stage.join("ana", "nueva")

    assert [kind_of(one) for one in stage.read("ana", group="nueva")] == ["joining", "joined"]
    assert gate.show(ANYBODY, "topic", ("groups.nueva",)).result().restricted  # type: ignore[union-attr]


def test_reports_are_kept_in_a_hub_that_makes_nothing_on_first_use(stage: Stage, site: Site) -> None:
    stage.join("ana")
    later = again(stage, site, HubOptions(auto_create=False))
    report = Report(group=GROUP, token=stage.tokens["ana"], rows=[DeliveryRow("1:1", 10, 20, "")])

    assert later.desk.report(ANYBODY, report).result() == 1
    assert site.hub.delete("topic", (DELIVERIES_TOPIC,)).result()
    assert later.desk.report(ANYBODY, report).result() == 1

    assert len(read(site.hub, DELIVERIES_TOPIC)) == 1
    later.desk.stop()


def test_the_topic_of_reports_has_its_retention_when_it_is_made_again(stage: Stage, hub: Hub) -> None:
    stage.join("ana")
    report = Report(group=GROUP, token=stage.tokens["ana"], rows=[DeliveryRow("1:1", 10, 20, "")])
    stage.desk.report(ANYBODY, report).result()
    before = hub.show("topic", (DELIVERIES_TOPIC,)).result()

    hub.delete("topic", (DELIVERIES_TOPIC,)).result()
    stage.desk.report(ANYBODY, report).result()

    assert hub.show("topic", (DELIVERIES_TOPIC,)).result().retention == before.retention  # type: ignore[union-attr]
