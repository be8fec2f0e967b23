"""Who takes part in groups: names, coming back, going, and what is private."""

import pytest

from pregon.errors import (
    AlreadyExists,
    BadName,
    BadRequest,
    Forbidden,
    NotAMember,
    NotFound,
    Unauthorized,
)
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.pull import PullRequest
from pregon.model.catalog import Topic
from pregon.model.group import DELIVERIES_TOPIC, HOSTED, NATIVE, DeliveryRow, Group
from pregon.model.message import Outgoing
from pregon.security.callers import ANYBODY
from pregon.wire.groups import Mine, Private, Read, Report

from .group_stage import GROUP, Native, Stage, kind_of
from .site import Site
from .verbs import read


@pytest.mark.parametrize("taken", ["ana", "ANA", "Ａｎａ"])
def test_names_that_people_take_for_the_same_are_one(stage: Stage, taken: str) -> None:
    stage.enroll("Ana")

    with pytest.raises(AlreadyExists):
        stage.desk.enroll(ANYBODY, taken).result()


@pytest.mark.parametrize("name", ["", "server", "Servidor", "a" * 33, "a\nb", "<b>", " ana", "ana ", "a\u202eb", "🙂"])
def test_what_is_no_name_is_refused(stage: Stage, name: str) -> None:
    with pytest.raises(BadName):
        stage.desk.enroll(ANYBODY, name).result()


def test_a_new_name_is_told_in_every_group(stage: Stage) -> None:
    stage.make("otra")
    stage.join("ana")
    stage.join("ana", "otra")

    stage.desk.rename(ANYBODY, stage.tokens["ana"], "Anita").result()

    for group in (GROUP, "otra"):
        last = stage.read("ana", group=group)[-1]
        assert (kind_of(last), last.key, last.body) == ("renamed", "pregon", b'{"member":2,"name":"Anita","old":"ana"}')
    assert stage.send("ana", "hola").seq == stage.head("ana")
    assert stage.read("ana")[-1].key == "Anita"
    stage.tokens.pop("ana")
    assert stage.enroll("ana")


def test_who_leaves_is_out_and_may_come_back_as_another(stage: Stage) -> None:
    stage.join("ana")
    stage.join("luis")

    stage.leave("luis")

    assert kind_of(stage.read("ana")[-1]) == "left"
    with pytest.raises(NotAMember):
        stage.send("luis", "sigo")
    assert stage.join("luis").member == 4


def test_a_native_member_says_itself_that_it_left(stage: Stage) -> None:
    stage.join("ana")
    luis = Native(stage, "luis")

    luis.leave()

    assert [kind_of(one) for one in stage.read("ana")[-2:]] == ["leaving", "left"]
    assert [one.name for one in stage.desk.list_members(ANYBODY, GROUP).result()] == ["ana"]


def test_a_native_member_with_its_state_goes_on_as_the_same(stage: Stage, site: Site) -> None:
    luis = Native(stage, "luis")
    luis.send("uno")
    stage.desk.stop()

    later = Stage.on(site.restart())
    later.tokens = stage.tokens
    back = later.join("luis", kind=NATIVE, member=luis.member.me, number=2)
    luis._stage = later
    sent = luis.send("dos")
    later.desk.stop()

    assert (back.member, back.number, back.is_back) == (luis.member.me, 2, True)
    assert sent.stamp == f"{luis.member.me}:3"


def test_a_native_member_without_its_state_is_another_and_the_old_one_is_gone(stage: Stage) -> None:
    stage.join("ana")
    luis = Native(stage, "luis")

    back = Native(stage, "luis")

    assert back.member.me != luis.member.me
    kinds = [kind_of(one) for one in stage.read("ana")]
    assert kinds[-3:] == ["gone", "joining", "joined"]
    with pytest.raises(NotAMember):
        luis.send("soy el de antes")


def test_a_state_older_than_what_was_sent_is_refused(stage: Stage) -> None:
    luis = Native(stage, "luis")
    luis.send("uno")

    with pytest.raises(BadRequest, match="too old"):
        stage.join("luis", kind=NATIVE, member=luis.member.me, number=1)
    with pytest.raises(NotAMember):
        stage.join("ana", kind=NATIVE, member=99, number=1)


def test_a_hosted_member_may_take_its_clock_into_its_own_hands(stage: Stage) -> None:
    stage.join("ana")
    stage.join("luis")
    mine = stage.send("ana", "uno", seen_seq=stage.head("ana"))
    beside = stage.send("luis", "dos")

    taken = stage.join("ana", kind=NATIVE)
    given_back = stage.join("ana", kind=HOSTED)
    last = stage.send("ana", "tres", seen_seq=beside.seq)

    assert (taken.member, taken.number, taken.frontier) == (2, 2, beside.stamp)
    assert given_back.member == 2
    assert (last.stamp, last.after) == ("2:3", beside.stamp)
    assert mine.stamp == "2:2"


def test_an_operator_takes_a_dead_member_off(stage: Stage) -> None:
    stage.join("ana")
    luis = stage.join("luis")

    assert stage.desk.remove_member(ANYBODY, GROUP, luis.member).result()

    assert kind_of(stage.read("ana")[-1]) == "gone"
    assert not stage.desk.remove_member(ANYBODY, GROUP, luis.member).result()
    assert not stage.desk.remove_member(ANYBODY, GROUP, 1).result()


def test_who_retires_is_out_everywhere_and_its_name_is_free(stage: Stage) -> None:
    stage.join("ana")
    stage.join("luis")

    stage.desk.retire(ANYBODY, stage.tokens["luis"]).result()

    assert kind_of(stage.read("ana")[-1]) == "gone"
    with pytest.raises(Unauthorized):
        stage.send("luis", "sigo")
    stage.tokens.pop("luis")
    assert stage.join("luis").member == 4


def test_a_private_conversation_is_of_two_and_found_again(stage: Stage) -> None:
    for name in ("ana", "luis", "eva"):
        stage.join(name)

    private = stage.desk.private(ANYBODY, Private(token=stage.tokens["ana"], with_="LUIS")).result()
    same = stage.desk.private(ANYBODY, Private(token=stage.tokens["luis"], with_="ana")).result()
    stage.send("ana", "solo para vos", private.group)

    assert private.group == same.group
    assert stage.read("luis", group=private.group)[-1].body == b"solo para vos"
    with pytest.raises(NotAMember):
        stage.read("eva", group=private.group)
    with pytest.raises(Forbidden):
        stage.join("eva", private.group)
    listed = stage.desk.list_groups(ANYBODY, stage.tokens["eva"]).result()
    assert [one["name"] for one in listed] == [GROUP]
    mine = stage.desk.mine(ANYBODY, Mine(token=stage.tokens["luis"])).result()
    assert [one.others for one in mine.groups if one.is_private] == [("ana",)]


def test_a_private_conversation_is_not_read_by_its_topic(stage: Stage, hub: Hub) -> None:
    for name in ("ana", "luis"):
        stage.join(name)
    topic = stage.desk.private(ANYBODY, Private(token=stage.tokens["ana"], with_="luis")).result().topic
    gate = Gate(hub)

    with pytest.raises(Forbidden):
        gate.read_log(ANYBODY, topic, (1, None), 10, 1_000)
    with pytest.raises(Forbidden):
        gate.pull(ANYBODY, PullRequest(topic=topic, subscriber="curioso"))
    with pytest.raises(Forbidden):
        gate.story(ANYBODY, topic, 1)
    with pytest.raises(BadName):
        stage.make("private.mine")
    with pytest.raises(NotFound):
        stage.desk.diagram_data(ANYBODY, topic.removeprefix("groups."), 1, 10).result()


def test_enrolling_again_with_the_same_secret_is_answered_with_the_same_token(stage: Stage) -> None:
    secret = "s" * 40

    first = stage.desk.enroll(ANYBODY, "ana", secret).result()
    again = stage.desk.enroll(ANYBODY, "ana", secret).result()

    assert first == again
    with pytest.raises(AlreadyExists):
        stage.desk.enroll(ANYBODY, "ana", "x" * 40).result()
    with pytest.raises(BadRequest):
        stage.desk.enroll(ANYBODY, "luis", "1234").result()


def test_who_waits_for_its_groups_is_told_of_a_new_one(stage: Stage) -> None:
    stage.join("ana")
    stage.join("luis")
    version = stage.desk.mine(ANYBODY, Mine(token=stage.tokens["luis"])).result().version
    waiting = stage.desk.mine(ANYBODY, Mine(token=stage.tokens["luis"], version=version, wait_ms=30_000))

    stage.desk.private(ANYBODY, Private(token=stage.tokens["ana"], with_="luis")).result()

    assert len(waiting.result().groups) == 2


def test_who_waits_for_a_message_is_given_it(stage: Stage) -> None:
    stage.join("ana")
    head = stage.head("ana")

    wanted = Read(group=GROUP, token=stage.tokens["ana"], after_seq=head, wait_ms=30_000)
    waiting = stage.desk.read(ANYBODY, wanted)
    stage.send("ana", "hola")

    assert [one.body for batch in waiting.result().batches for one in batch.messages("")] == [b"hola"]


def test_the_topic_of_a_group_is_not_for_others(stage: Stage, hub: Hub) -> None:
    gate = Gate(hub)

    with pytest.raises(Forbidden):
        gate.publish(ANYBODY, "groups.design", "p", Outgoing(b"x"))
    with pytest.raises(Forbidden):
        gate.create(ANYBODY, Topic(name="groups.otro"))
    with pytest.raises(Forbidden):
        gate.delete(ANYBODY, "topic", ("groups.design",))


def test_a_group_deleted_and_made_again_begins_anew(stage: Stage) -> None:
    stage.join("ana")

    assert stage.desk.delete_group(ANYBODY, GROUP).result()
    with pytest.raises(NotFound):
        stage.send("ana", "hola")
    stage.make()

    assert stage.join("ana").member == 2
    assert [one.seq for one in stage.read("ana")] == [1, 2]
    assert not stage.desk.delete_group(ANYBODY, "nada").result()


@pytest.mark.parametrize(
    "values",
    [{"name": "socket"}, {"name": "a b"}, {"name": "x" * 160}, {"access": "closed"}, {"stride": 0}, {"offset": 1}],
)
def test_what_is_no_group_is_refused(stage: Stage, values: dict[str, object]) -> None:
    with pytest.raises((BadName, BadRequest)):
        stage.desk.create_group(ANYBODY, Group(**{"name": "otra", **values})).result()  # type: ignore[arg-type]


def test_hubs_that_share_a_group_give_different_numbers(stage: Stage) -> None:
    stage.make("shared", stride=2, offset=1)

    first = Native(stage, "ana", "shared")
    second = Native(stage, "luis", "shared")

    assert (first.member.me, second.member.me) == (4, 6)
    # What members of the other hub have said is known there, not here.
    first.member.frontier = {3: 17}
    assert first.send("depende de otro hub").after == "3:17"
    with pytest.raises(BadRequest):
        stage.join("eva", "shared")


def test_reports_of_deliveries_are_kept_in_a_topic(stage: Stage, hub: Hub) -> None:
    stage.join("ana")
    rows = [DeliveryRow("1:1", 10, 20, ""), DeliveryRow("2:1", 10, 30, "1:1")]

    count = stage.desk.report(ANYBODY, Report(group=GROUP, token=stage.tokens["ana"], rows=rows)).result()

    assert count == 2
    (kept,) = read(hub, DELIVERIES_TOPIC)
    assert b'"rows":[["1:1",10,20,""],["2:1",10,30,"1:1"]]' in kept.body
    wrong = [DeliveryRow("1:1", 20, 10, "")]
    with pytest.raises(BadRequest):
        stage.desk.report(ANYBODY, Report(group=GROUP, token=stage.tokens["ana"], rows=wrong)).result()


def test_members_report_no_more_when_the_topic_of_reports_is_disabled(stage: Stage, hub: Hub) -> None:
    stage.join("ana")
    report = Report(group=GROUP, token=stage.tokens["ana"], rows=[DeliveryRow("1:1", 10, 20, "")])
    stage.desk.report(ANYBODY, report).result()
    hub.update("topic", (DELIVERIES_TOPIC,), {"enabled": False}).result()

    count = stage.desk.report(ANYBODY, report).result()

    assert count == 0
    assert len(read(hub, DELIVERIES_TOPIC)) == 1
