"""A member of a group without sockets: what it sends and is shown, and how it comes back."""

from __future__ import annotations

import msgspec
import pytest

from pregon.causal.stamps import Stamp
from pregon.client.groups.conversation import FORGET_AFTER
from pregon.client.groups.events import (
    GroupMember,
    GroupMessage,
    MemberGone,
    MemberJoined,
    MemberLeft,
    MemberRenamed,
    MessagesMissed,
    Relation,
)
from pregon.client.groups.intake import WAITING_MAX
from pregon.client.groups.joining import drive, leaving
from pregon.errors import BadRequest, NotAMember, Rejected

from .group_hub import FakeHub
from .group_members import Actor, texts


@pytest.fixture
def hub() -> FakeHub:
    return FakeHub()


def joined(hub: FakeHub, *names: str) -> list[Actor]:
    """Members who are in, and have been shown one another."""
    actors = []
    for name in names:
        actors.append(Actor([hub], name))
        actors[-1].send()
    for actor in actors:
        actor.catch_up()
        actor.events.clear()
    return actors


def test_a_message_depends_on_what_its_sender_was_shown_and_not_on_what_still_waits(hub: FakeHub) -> None:
    ana, luis = joined(hub, "ana", "luis")
    first, second = ana.tell("uno"), ana.tell("dos")
    luis.read()
    luis.look(1)

    answer = luis.tell("a uno")

    assert answer.message.after == (first.stamp,)
    assert second.stamp not in answer.message.after
    assert texts(luis.look()) == ["dos"]


def test_an_event_says_what_it_is_after_what_it_answers_and_what_it_is_concurrent_with(hub: FakeHub) -> None:
    ana, luis, eva = joined(hub, "ana", "luis", "eva")
    ana.tell("pregunta")
    asked = luis.catch_up()[0]
    assert isinstance(asked, GroupMessage)
    luis.tell("respuesta", asked)
    eva.tell("otra cosa")

    ana.catch_up()

    answer, other = ana.events
    assert isinstance(answer, GroupMessage) and isinstance(other, GroupMessage)
    assert (answer.sender, answer.text, answer.answers, answer.seq) == ("luis", "respuesta", asked.stamp, 8)
    assert answer.is_after(asked.stamp) and not answer.is_before(asked.stamp)
    assert answer.concurrent_with(other) and other.concurrent_with(answer)
    assert other.relation(Stamp(9, 9)) is Relation.FORGOTTEN
    assert answer.stamp in ana.talk.concurrent(other.stamp)
    assert asked.stamp in ana.talk.concurrent(other.stamp)


def test_its_own_messages_are_not_shown_to_a_member(hub: FakeHub) -> None:
    (ana,) = joined(hub, "ana")
    ana.tell("hola")

    assert ana.catch_up() == []


def test_members_come_leave_and_are_renamed_as_events_in_the_same_order(hub: FakeHub) -> None:
    ana, luis = joined(hub, "ana", "luis")
    eva = Actor([hub], "eva")
    eva.send()
    eva.tell("hola")
    hub.say_as_hub("renamed", {"member": eva.talk.me, "name": "evita", "old": "eva"})
    drive(leaving(luis.talk, 0), lambda question: hub.answer(question.call))
    luis.send()
    hub.say_as_hub("gone", {"member": eva.talk.me, "name": "evita"})

    ana.catch_up()

    kinds = [type(event) for event in ana.events]
    assert kinds == [MemberJoined, GroupMessage, MemberRenamed, MemberLeft, MemberGone]
    renamed, left = ana.events[2], ana.events[3]
    assert isinstance(renamed, MemberRenamed) and isinstance(left, MemberLeft)
    assert (renamed.old, renamed.name, renamed.member) == ("eva", "evita", eva.talk.me)
    assert (left.name, left.member) == ("luis", luis.talk.me)
    assert ana.talk.view.members == (GroupMember(ana.talk.me, "ana"),)


def test_who_asked_to_leave_is_not_failed_by_being_no_member_any_more(hub: FakeHub) -> None:
    ana, luis = joined(hub, "ana", "luis")
    drive(leaving(luis.talk, 0), lambda question: hub.answer(question.call))

    # What a read that was on its way when the hub let it go is answered.
    luis.talk.fail(NotAMember("you are not a member of it"))
    ana.talk.fail(NotAMember("you are not a member of it"))

    assert luis.talk.failure is None
    assert isinstance(ana.talk.failure, NotAMember)


def test_who_could_not_leave_is_a_member_as_before(hub: FakeHub) -> None:
    (ana,) = joined(hub, "ana")

    def refuse(_question: object) -> None:
        raise Rejected("not now")

    with pytest.raises(Rejected):
        drive(leaving(ana.talk, 0), refuse)
    ana.talk.fail(NotAMember("you were removed"))

    assert isinstance(ana.talk.failure, NotAMember)


def test_one_who_never_came_to_join_is_not_said_to_be_gone(hub: FakeHub) -> None:
    (ana,) = joined(hub, "ana")
    never = Actor([hub], "eva")
    hub.say_as_hub("gone", {"member": never.talk.me, "name": "eva"})

    assert ana.catch_up() == []


def test_history_comes_first_in_the_order_of_the_log_and_is_marked(hub: FakeHub) -> None:
    ana, luis = joined(hub, "ana", "luis")
    ana.tell("uno")
    luis.catch_up()
    luis.tell("dos")

    eva = Actor([hub], "eva", history=True)
    eva.send()
    ana.tell("tres")
    shown = eva.catch_up()

    assert texts(shown) == ["uno", "dos", "tres"]
    assert [event.is_history for event in shown if isinstance(event, GroupMessage)] == [True, True, False]
    one, two = [event for event in shown if isinstance(event, GroupMessage)][:2]
    assert two.is_after(one)
    assert [member.name for member in eva.talk.view.members] == ["ana", "luis", "eva"]


def test_without_history_only_what_comes_after_joining_is_shown(hub: FakeHub) -> None:
    ana = joined(hub, "ana")[0]
    ana.tell("antes")
    luis = Actor([hub], "luis")
    luis.send()
    ana.tell("después")

    assert texts(luis.catch_up()) == ["después"]


def test_who_comes_back_with_its_state_is_shown_the_rest_once_and_sends_what_was_not_acknowledged(hub: FakeHub) -> None:
    ana, luis = joined(hub, "ana", "luis")
    for number in range(5):
        ana.tell(str(number))
    luis.read()
    luis.look(2)
    before = luis.say("sin enviar")
    state = luis.talk.state()

    again = Actor([hub], state=state)
    again.send()
    ana.catch_up()

    assert again.talk.me == luis.talk.me
    assert texts(luis.events) + texts(again.catch_up()) == ["0", "1", "2", "3", "4"]
    assert texts(ana.events) == ["sin enviar"]
    assert ana.events[-1].stamp == before.stamp
    assert [member.name for member in again.talk.view.members] == ["ana", "luis"]


def test_what_the_hub_had_stored_already_is_not_sent_again_after_coming_back(hub: FakeHub) -> None:
    ana, luis = joined(hub, "ana", "luis")
    own = luis.say("una vez")
    state = luis.talk.state()
    luis.send()

    again = Actor([hub], state=state)
    again.tell("otra")
    ana.catch_up()

    assert own.is_stored
    assert texts(ana.events) == ["una vez", "otra"]


def test_a_state_that_is_none_or_of_another_group_is_refused_in_words(hub: FakeHub) -> None:
    (ana,) = joined(hub, "ana")
    other = msgspec.msgpack.encode({**msgspec.msgpack.decode(ana.talk.state()), "group": "ventas"})

    with pytest.raises(BadRequest, match="no state of a member"):
        Actor([hub], state=b"nonsense")
    with pytest.raises(BadRequest, match="of the group ventas"):
        Actor([hub], state=other)
    with pytest.raises(BadRequest, match="read 1 hubs"):
        Actor([hub, FakeHub()], state=ana.talk.state())


def test_who_comes_back_without_its_state_is_another_member_and_the_old_one_is_over(hub: FakeHub) -> None:
    ana, luis = joined(hub, "ana", "luis")
    again = Actor([hub], token="0-luis")
    again.send()

    late = luis.tell("tarde")

    assert again.talk.me != luis.talk.me
    assert isinstance(late.error, NotAMember)
    assert isinstance(luis.talk.failure, NotAMember)
    assert [type(event) for event in ana.catch_up()] == [MemberGone, MemberJoined]


def test_reading_stops_while_enough_waits_to_be_shown_and_goes_on_after(hub: FakeHub) -> None:
    ana, luis = joined(hub, "ana", "luis")
    for number in range(3 * WAITING_MAX):
        ana.tell(str(number))

    while luis.read():
        pass
    waiting = len(luis.talk.intake)
    luis.look(10)
    while luis.read():
        pass

    assert waiting == WAITING_MAX
    assert len(luis.talk.intake) < WAITING_MAX + 500
    while texts(luis.catch_up()):
        pass
    assert texts(luis.events) == [str(number) for number in range(3 * WAITING_MAX)]


def test_what_retention_took_away_while_a_member_was_out_is_said_and_the_rest_is_shown(hub: FakeHub) -> None:
    ana, luis = joined(hub, "ana", "luis")
    for number in range(20):
        ana.tell(str(number))
    first_of_ten = len(hub.log) - 9
    hub.tail_seq = first_of_ten
    position = luis.talk.paths[0].resume_seq

    shown = luis.catch_up() + luis.catch_up() + luis.catch_up()
    ana.tell("y ahora")
    answer_to = luis.catch_up()
    luis.tell("contesto")

    assert shown[0] == MessagesMissed(0, position + 1, first_of_ten - 1)
    assert texts(shown) == [str(number) for number in range(10, 20)]
    assert texts(answer_to) == ["y ahora"]
    assert texts(ana.catch_up()) == ["contesto"]


def test_a_member_that_left_long_ago_is_forgotten(hub: FakeHub) -> None:
    ana, luis, eva = joined(hub, "ana", "luis", "eva")
    drive(leaving(luis.talk, 0), lambda question: hub.answer(question.call))
    luis.send()
    for number in range(FORGET_AFTER + 1):
        eva.tell(str(number))
        if number % 500 == 0:
            ana.catch_up()
    ana.catch_up()

    state = msgspec.msgpack.decode(ana.talk.state(), strict=False)

    assert luis.talk.me not in state["member"]["clock"]
    assert texts(ana.events)[-1] == str(FORGET_AFTER)


def test_what_depends_on_a_member_that_the_hub_itself_has_forgotten_is_shown(hub: FakeHub) -> None:
    ana, luis, eva = joined(hub, "ana", "luis", "eva")
    last = luis.tell("la última")
    eva.catch_up()
    hub.say_as_hub("gone", {"member": luis.talk.me, "name": "luis"})
    del hub.people["0-luis"], hub.numbers[luis.talk.me]
    raul = Actor([hub], "raúl")
    raul.send()
    assert last.stamp.member <= raul.talk.paths[0].highest

    hub.numbers[luis.talk.me] = last.stamp.number
    said = eva.tell("digo")

    assert last.stamp in said.message.after
    assert texts(raul.catch_up()) == ["digo"]
    assert ana.catch_up()


def test_reports_say_when_each_message_came_and_was_shown(hub: FakeHub) -> None:
    ana, luis = joined(hub, "ana", "luis")
    own = ana.tell("hola")
    luis.talk.next_report(0)
    luis.read()
    luis.now_us = 5_000
    luis.look()

    found = luis.talk.next_report(10_000)

    assert found is not None
    rows, call = found
    assert [row.stamp for row in rows] == [str(own.stamp)]
    assert rows[0].received_us < 5_000 < rows[0].delivered_us
    assert hub.answer(call) == 1
    assert luis.talk.next_report(20_000) is None


def test_a_conversation_that_is_over_says_why_and_asks_nothing_more(hub: FakeHub) -> None:
    (ana,) = joined(hub, "ana")

    ana.talk.fail(Rejected("the group was deleted"))
    ana.talk.close()

    assert ana.talk.next_call(0) is None
    with pytest.raises(Rejected, match="deleted"):
        ana.talk.require_open()
