"""All rooms together: which one is shown, what was not read, what is on its way, how the hub is doing."""

from __future__ import annotations

import pytest

from pregon.chat.input_line import Concurrent, Say
from pregon.chat.room import Stage
from pregon.client.groups.events import GroupMember, GroupMessage, MemberJoined, MemberRenamed

from .chat_stage import Stage as Play
from .chat_stage import stamp_of


def test_a_message_in_a_room_that_is_not_shown_counts_as_unread_until_it_is() -> None:
    play = Play()
    obras = play.open("obras", is_shown=False)

    for number in (1, 2):
        play.hear(play.event(GroupMessage, f"3:{number}"), obras)
    play.say("4:1")

    assert (obras.unread, play.room.unread) == (2, 0)
    play.conversation.show_room(obras)
    assert obras.unread == 0


def test_history_and_events_are_not_unread() -> None:
    play = Play()
    obras = play.open("obras", is_shown=False)

    play.hear(play.event(GroupMessage, "3:1", is_history=True), obras)
    play.hear(play.event(MemberJoined, "4:1"), obras)

    assert obras.unread == 0
    assert len(obras.lines) == 2


def test_what_was_said_since_the_last_time_is_unread() -> None:
    play = Play()
    obras = play.open("obras", is_shown=False)
    obras.read_seq = 7

    for number, seq in ((1, 6), (2, 7), (3, 8), (4, 9)):
        play.hear(play.event(GroupMessage, f"3:{number}", is_history=True, seq=seq), obras)
    play.hear(play.event(GroupMessage, "2:1", is_history=True, seq=10), obras)

    assert obras.unread == 2, "not what was seen, nor what one said oneself"
    play.conversation.show_room(obras)
    assert obras.seen_seq == 10


def test_what_comes_while_a_room_is_shown_is_seen() -> None:
    play = Play()

    play.hear(play.event(GroupMessage, "3:1", seq=5))

    assert play.room.seen_seq == 5


def test_an_own_line_is_shown_at_once_and_told_when_it_is_stored() -> None:
    play = Play()

    line = play.conversation.spoke(play.room, Say("hola"), stamp_of("2:1"), 0)
    before = line.stage
    play.conversation.stored(play.room, line)

    assert (before, line.stage) == (Stage.WAITING, Stage.STORED)
    assert play.notes.lines == [("plaza", line)]
    assert play.notes.stages == [line]


def test_an_own_line_that_is_refused_says_why() -> None:
    play = Play("es")
    line = play.conversation.spoke(play.room, Say("hola"), stamp_of("2:1"), 0)

    play.conversation.refused(play.room, line, "you are not a member")

    assert line.stage is Stage.REFUSED
    assert play.notes.notices == ["no se envió: you are not a member"]


def test_that_the_hub_is_away_is_said_once() -> None:
    play = Play("es")

    play.conversation.disconnected()
    play.conversation.disconnected()

    assert len(play.notes.notices) == 1
    assert "reconectando" in play.notes.notices[0]


def test_a_private_conversation_follows_the_name_of_the_other() -> None:
    play = Play()
    private = play.open("private.1", "luis", is_shown=False)

    play.hear(play.event(MemberRenamed, "1:1", member=3, name="lucho", old="luis"), private)

    assert private.title == "@lucho"
    assert play.conversation.find_room("@LUCHO") is private


@pytest.mark.parametrize(("places", "title"), [(1, "obras"), (2, "@luis"), (3, "plaza"), (-1, "@luis")])
def test_rooms_are_shown_in_turn(places: int, title: str) -> None:
    play = Play()
    play.open("obras", is_shown=False)
    play.open("private.1", "luis", is_shown=False)

    play.conversation.step(places)

    assert play.conversation.shown is not None
    assert play.conversation.shown.title == title


def test_when_the_room_that_is_shown_is_left_another_one_is_shown() -> None:
    play = Play()
    obras = play.open("obras", is_shown=False)

    play.conversation.close_room("plaza")
    shown = play.conversation.shown
    play.conversation.close_room("obras")

    assert shown is obras
    assert play.conversation.shown is None


def test_what_is_said_in_no_room_or_answers_nothing_is_a_mistake() -> None:
    play = Play()
    play.say("3:1")

    answered = play.conversation.check(Say("sí", stamp_of("3:1")))
    unknown = play.conversation.check(Say("sí", stamp_of("3:9")))
    play.conversation.close_room("plaza")
    nowhere = play.conversation.check(Say("sí"))

    assert answered is None
    assert unknown is not None
    assert unknown.text == "message_unknown"
    assert nowhere is not None
    assert nowhere.text == "no_room"


def test_concurrent_ones_are_told_and_asked_again_are_marked_no_more() -> None:
    play = Play()
    play.say("2:1")
    play.say("3:1", after="2:1")
    play.say("4:1", after="2:1")

    play.conversation.mark(Concurrent())
    marked = play.room.concurrent
    play.conversation.mark(Concurrent())

    assert marked == {stamp_of("3:1")}
    assert play.notes.notices[0] == "concurrent with 4:1 (neither knew of the other): 3:1"
    assert play.room.concurrent == frozenset()


def test_who_is_away_is_told_as_away() -> None:
    play = Play("es")
    play.conversation.members_are(play.room, [GroupMember(2, "ana"), GroupMember(3, "luis", is_here=False)])

    play.conversation.tell_members()

    assert play.notes.notices == ["en plaza: ana, luis (ausente)"]
