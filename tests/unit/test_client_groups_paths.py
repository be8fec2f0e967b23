"""A group on several hubs: what comes by one path before its cause by another is held back, and lies hold up nobody."""

from __future__ import annotations

from typing import Any

import pytest

from pregon.causal.member import Member
from pregon.causal.message import CausalMessage, Delivery
from pregon.causal.stamps import Stamp
from pregon.client.groups import joining
from pregon.client.groups.events import GroupMessage, MemberJoined
from pregon.client.groups.intake import HELD_MAX, WAITING_MAX
from pregon.client.groups.joining import PATHS_MAX, Question
from pregon.errors import AlreadyExists, BadRequest

from .group_hub import FakeHub, Person
from .group_members import Actor, texts

HERE, THERE = 0, 1


@pytest.fixture
def hubs() -> tuple[FakeHub, FakeHub]:
    return FakeHub(stride=2, offset=0), FakeHub(stride=2, offset=1)


def all_in(hubs: tuple[FakeHub, FakeHub]) -> tuple[Actor, Actor, Actor]:
    """Ana and eva send to the first hub, luis to the second; all read both."""
    first, second = hubs
    actors = (Actor([first, second], "ana"), Actor([second, first], "luis"), Actor([first, second], "eva"))
    for actor in actors:
        actor.send()
    for actor in actors:
        actor.catch_up()
        actor.catch_up()
        actor.events.clear()
    return actors


def ask_and_answer(hubs: tuple[FakeHub, FakeHub]) -> tuple[Actor, Actor, Actor]:
    """Ana asks through the first hub, luis answers through the second."""
    ana, luis, eva = all_in(hubs)
    ana.tell("¿vienes?")
    luis.catch_up()
    asked = luis.events[-1]
    assert isinstance(asked, GroupMessage)
    luis.tell("sí", asked)
    return ana, luis, eva


def test_members_of_both_hubs_have_numbers_of_their_own_and_see_each_other(hubs: tuple[FakeHub, FakeHub]) -> None:
    ana, luis, eva = all_in(hubs)

    numbers = [actor.talk.me for actor in (ana, luis, eva)]

    assert len({*numbers, 1, 2}) == 5
    for actor in (ana, luis, eva):
        assert sorted(member.name for member in actor.talk.view.members) == ["ana", "eva", "luis"]


def test_an_answer_that_comes_before_its_question_is_held_back_and_says_for_what(
    hubs: tuple[FakeHub, FakeHub],
) -> None:
    ana, _, eva = ask_and_answer(hubs)

    eva.read(THERE)
    early = eva.look()
    held = eva.talk.intake.held
    eva.read(HERE)

    assert (early, held) == ([], 1)
    assert texts(eva.look()) == ["¿vienes?", "sí"]
    question, answer = eva.events
    assert isinstance(answer, GroupMessage) and isinstance(question, GroupMessage)
    assert answer.waited_for == question.stamp == Stamp(ana.talk.me, 2)
    assert question.waited_for is None


def test_without_the_hold_back_the_answer_would_have_been_shown_too_early(
    hubs: tuple[FakeHub, FakeHub], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, eva = ask_and_answer(hubs)

    def deliver_at_once(self: Member, message: CausalMessage) -> list[Delivery]:
        if message.stamp.number <= self.clock.get(message.stamp.member, 0):
            return []
        self.clock[message.stamp.member] = message.stamp.number
        return [Delivery(message)]

    monkeypatch.setattr(Member, "receive", deliver_at_once)
    eva.read(THERE)
    early = eva.look()
    eva.read(HERE)
    late = eva.look()

    assert (texts(early), texts(late)) == (["sí"], ["¿vienes?"])


def test_what_is_held_back_is_shown_to_who_comes_back_with_a_state_from_meanwhile(
    hubs: tuple[FakeHub, FakeHub],
) -> None:
    _, _, eva = ask_and_answer(hubs)
    eva.read(THERE)
    assert eva.talk.intake.held == 1

    again = Actor(hubs, state=eva.talk.state())

    assert texts(again.catch_up()) == ["¿vienes?", "sí"]


def test_what_depends_on_something_that_no_hub_has_is_given_up_and_holds_up_nobody(
    hubs: tuple[FakeHub, FakeHub],
) -> None:
    ana, luis, eva = all_in(hubs)
    liar = luis.talk.me
    hubs[1].say(Stamp(liar, 2), (Stamp(ana.talk.me, 99),), "luis", b"mentira")
    ana.tell("verdad")
    eva.catch_up()
    assert eva.talk.intake.held == 1

    eva.read(HERE)

    assert eva.talk.intake.held == 0
    assert eva.talk.intake.refused == 1
    assert texts(eva.events) == ["verdad"]
    assert eva.talk.paths[THERE].resume_seq == len(hubs[1].log)


def test_a_path_is_read_no_further_while_much_of_it_is_held_back_and_nothing_is_lost(
    hubs: tuple[FakeHub, FakeHub],
) -> None:
    ana, luis, eva = all_in(hubs)
    ana.tell("primero")
    luis.catch_up()
    for number in range(3 * HELD_MAX):
        luis.tell(str(number))

    while eva.read(THERE):
        pass
    held = eva.talk.intake.held
    while texts(eva.catch_up()):
        pass

    assert HELD_MAX <= held < 2 * HELD_MAX
    assert texts(eva.events) == ["primero", *map(str, range(3 * HELD_MAX))]


def test_two_ways_to_one_hub_show_everything_once() -> None:
    hub = FakeHub()
    ana = Actor([hub], "ana")
    ana.send()
    luis = Actor([hub, hub], "luis")
    luis.send()
    for number in range(5):
        ana.tell(str(number))
        luis.read(number % 2)

    luis.catch_up()

    assert texts(luis.events) == ["0", "1", "2", "3", "4"]
    assert luis.talk.paths[HERE].token == luis.talk.paths[THERE].token
    assert luis.talk.paths[THERE].resume_seq == len(hub.log)


def test_the_history_of_two_hubs_is_merged_in_causal_order(hubs: tuple[FakeHub, FakeHub]) -> None:
    ana, luis, _ = all_in(hubs)
    said = []
    for number in range(20):
        actor = (ana, luis)[number % 2]
        actor.catch_up()
        actor.tell(str(number))
        said.append(str(number))

    raul = Actor([hubs[1], hubs[0]], "raúl", history=True)
    raul.send()
    raul.catch_up()

    assert texts(raul.events) == said
    assert all(event.is_history for event in raul.events if isinstance(event, GroupMessage))
    assert sum(isinstance(event, MemberJoined) for event in raul.events) == 3


def test_history_of_which_a_part_is_no_longer_kept_is_shown_all_the_same(hubs: tuple[FakeHub, FakeHub]) -> None:
    ana, luis, _ = all_in(hubs)
    for number in range(10):
        actor = (ana, luis)[number % 2]
        actor.catch_up()
        actor.tell(str(number))
    hubs[0].tail_seq = len(hubs[0].log)

    raul = Actor(hubs, "raúl", history=True)
    raul.send()
    luis.tell("ahora")
    raul.catch_up()
    raul.catch_up()

    assert texts(raul.events) == ["1", "3", "5", "7", "8", "9", "ahora"]


def test_messages_that_come_while_the_past_is_not_over_wait_for_it(hubs: tuple[FakeHub, FakeHub]) -> None:
    ana, luis, _ = all_in(hubs)
    for number in range(WAITING_MAX):
        ana.tell(str(number))
    raul = Actor(hubs, "raúl", history=True)
    raul.send()
    luis.tell("vivo")
    raul.read(THERE)
    assert texts(raul.look()) == []

    while texts(raul.catch_up()):
        pass

    assert texts(raul.events) == [*map(str, range(WAITING_MAX)), "vivo"]


def test_a_name_that_is_taken_at_another_hub_is_refused_and_given_back_at_the_first(
    hubs: tuple[FakeHub, FakeHub],
) -> None:
    hubs[1].people["somebody"] = Person("ana")

    with pytest.raises(AlreadyExists):
        Actor(hubs, "ana")

    assert hubs[0].people == {}


def test_a_group_is_read_from_so_many_hubs_at_most(hubs: tuple[FakeHub, FakeHub]) -> None:
    with pytest.raises(BadRequest, match=f"at most {PATHS_MAX} hubs"):
        Actor([hubs[0]] * (PATHS_MAX + 1), "ana")


def join_while_others_talk(moment: int) -> tuple[list[str], list[str]]:
    """Raúl joins two hubs, and after some of his questions the others talk: what they said, and what he is shown."""
    hubs = FakeHub(stride=2, offset=0), FakeHub(stride=2, offset=1)
    ana, luis, _ = all_in(hubs)
    said: list[str] = []
    asked = 0

    def talk(*speakers: Actor) -> None:
        # Each message follows from the one before it.
        for actor in speakers:
            actor.catch_up()
            said.append(f"{len(said)}")
            actor.tell(said[-1])

    def answer(question: Question) -> Any:
        nonlocal asked
        asked += 1
        found = hubs[question.path].answer(question.call)
        if asked in (moment, moment + 1):
            talk(ana, luis)
        return found

    raul = Actor(hubs, "raúl", answer=answer)
    raul.send()
    talk(luis, ana, luis)
    for path in (THERE, HERE, THERE, HERE):
        raul.read(path)
        raul.look()
    return said, texts(raul.events)


@pytest.mark.parametrize("moment", range(12))
def test_what_others_say_while_somebody_joins_two_hubs_is_shown_from_one_moment_on(moment: int) -> None:
    said, shown = join_while_others_talk(moment)

    assert len(shown) >= 3
    assert shown == said[-len(shown) :]


def test_who_began_just_where_each_hub_said_would_be_shown_what_follows_from_something_else_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(joining, "find_beginning", lambda starts, path_of: None)

    found = [join_while_others_talk(moment) for moment in range(12)]

    assert any(shown != sorted(shown, key=int) for _, shown in found)
