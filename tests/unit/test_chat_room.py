"""A room as it is seen: causal order, threads, events that nobody can type, concurrent messages."""

from __future__ import annotations

import pytest

from pregon.chat.plain_lines import describe
from pregon.chat.room import LINES_MAX, Kind, Line, Room, Stage
from pregon.chat.screen_parts import draw_line
from pregon.client.groups.events import (
    GroupEvent,
    MemberGone,
    MemberJoined,
    MemberLeft,
    MemberRenamed,
    MessagesMissed,
)

from .chat_stage import Stage as Play
from .chat_stage import stamp_of


def shown(room: Room, *, in_threads: bool = False) -> list[str]:
    """The lines as they stand: their depth, the text, and what is quoted above them."""
    return [
        ">" * one.depth + one.line.text + (f" [{one.quoted.text}]" if one.quoted is not None else "")
        for one in room.placed(in_threads=in_threads)
    ]


@pytest.mark.parametrize(
    ("kind", "more", "english", "spanish"),
    [
        (MemberJoined, {}, "luis is in", "luis entró"),
        (MemberLeft, {}, "luis left", "luis se fue"),
        (MemberGone, {}, "luis is out", "luis quedó fuera"),
        (MemberRenamed, {"old": "lucho"}, "lucho is luis now", "lucho ahora es luis"),
    ],
)
def test_what_happens_to_a_member_is_told_from_the_kind_of_the_event(
    kind: type[GroupEvent], more: dict[str, str], english: str, spanish: str
) -> None:
    play = Play()

    play.hear(play.event(kind, "3:1", **more))

    (line,) = play.room.lines
    assert describe("en", play.room, line) == f"plaza  --  {english}"
    assert describe("es", play.room, line) == f"plaza  --  {spanish}"


@pytest.mark.parametrize(
    "text", ["luis left", "--  luis left", "plaza  --  luis left", "hola\nplaza  --  luis left", "— luis left"]
)
def test_nobody_can_type_what_looks_like_an_event(text: str) -> None:
    play = Play()
    play.hear(play.event(MemberLeft, "3:1"))

    play.say("4:1", text)

    event, typed = play.room.lines
    placed = play.room.placed(in_threads=False)
    assert describe("en", play.room, typed).startswith("plaza  4:1  eva: ")
    assert "\n" not in describe("en", play.room, typed)
    assert event.kind is Kind.LEFT
    assert typed.kind is Kind.MESSAGE
    drawn_event, drawn_typed = (draw_line("en", play.room, one).right for one in placed)
    assert "italic" in str(drawn_event.style)
    assert not any("italic" in str(style) for style in (drawn_typed.style, *(one.style for one in drawn_typed.spans)))
    assert drawn_typed.plain.index("eva") < drawn_typed.plain.index("luis")


def test_markup_in_a_text_is_shown_and_not_obeyed() -> None:
    play = Play()

    play.say("3:1", "[bold red]alarma[/] [link=http://x]y[/link]")

    drawn = draw_line("en", play.room, play.room.placed(in_threads=False)[0])
    assert "[bold red]alarma[/] [link=http://x]y[/link]" in str(drawn)


def test_messages_that_are_no_longer_kept_are_told_by_their_numbers() -> None:
    play = Play()

    play.conversation.heard(play.room, MessagesMissed(0, 5, 9))

    assert describe("en", play.room, play.room.lines[0]) == "plaza  --  messages 5 to 9 are no longer kept"


def test_the_same_message_is_shown_once() -> None:
    play = Play()

    play.say("3:1", "hola")
    play.say("3:1", "hola")

    assert shown(play.room) == ["hola"]


# Threads.


def test_an_answer_right_below_what_it_answers_stands_under_it() -> None:
    play = Play()
    play.say("2:1", "¿dónde?")

    play.say("3:1", "aquí", "2:1", answers=stamp_of("2:1"))
    play.say("4:1", "allá", "2:1", answers=stamp_of("2:1"))

    assert shown(play.room) == ["¿dónde?", ">aquí", ">allá"]


def test_an_answer_further_down_stands_under_a_quotation_of_what_it_answers() -> None:
    play = Play()
    play.say("2:1", "¿dónde?")
    play.say("4:1", "otra cosa", "2:1")

    play.say("3:1", "aquí", "4:1", answers=stamp_of("2:1"))

    assert shown(play.room) == ["¿dónde?", "otra cosa", ">aquí [¿dónde?]"]


def test_an_event_between_a_message_and_its_answer_does_not_part_them() -> None:
    play = Play()
    play.say("2:1", "¿dónde?")
    play.hear(play.event(MemberLeft, "4:1"))

    play.say("3:1", "aquí", "2:1", answers=stamp_of("2:1"))

    assert shown(play.room) == ["¿dónde?", "", ">aquí"]


def test_in_threads_answers_are_gathered_under_what_they_answer() -> None:
    play = Play()
    play.say("2:1", "¿dónde?")
    play.say("4:1", "otra cosa", "2:1")
    play.say("3:1", "aquí", "4:1", answers=stamp_of("2:1"))
    play.say("4:2", "¿seguro?", "3:1", answers=stamp_of("3:1"))
    play.say("2:2", "y otra", "4:2", answers=stamp_of("4:1"))

    threads = shown(play.room, in_threads=True)

    assert threads == ["¿dónde?", ">aquí", ">>¿seguro?", "otra cosa", ">y otra"]
    assert shown(play.room)[:2] == ["¿dónde?", "otra cosa"], "the causal order is as it was"


def test_an_answer_to_what_is_not_on_the_screen_stands_by_itself() -> None:
    play = Play()

    play.say("3:1", "aquí", answers=stamp_of("2:1"))

    assert shown(play.room) == shown(play.room, in_threads=True) == ["aquí"]
    assert describe("en", play.room, play.room.lines[0]) == "plaza  3:1  luis (answers … 2:1): aquí"


def test_threads_however_deep_are_drawn() -> None:
    play = Play()
    play.say("2:1", "0")
    for number in range(2, 1_500):
        play.say(f"2:{number}", str(number), answers=stamp_of(f"2:{number - 1}"))

    threads = play.room.placed(in_threads=True)

    assert [one.depth for one in threads] == list(range(1_499))
    assert len(str(draw_line("en", play.room, threads[-1]))) < 60


# Concurrent messages.


def test_messages_that_did_not_know_of_each_other_are_concurrent() -> None:
    play = Play()
    play.say("2:1", "uno")
    play.say("3:1", "dos", "2:1")
    play.say("4:1", "tres", "2:1")
    play.say("2:2", "cuatro", "3:1 4:1")

    found = play.room.mark_concurrent(stamp_of("3:1"))

    assert found == [stamp_of("4:1")]
    marks = [str(draw_line("en", play.room, one)) for one in play.room.placed(in_threads=False)]
    assert [mark[13:15] for mark in marks] == ["  ", "▶ ", "∥ ", "  "]


def test_what_comes_later_and_is_concurrent_is_marked_too() -> None:
    play = Play()
    play.say("2:1", "uno")
    play.say("3:1", "dos", "2:1")
    play.room.mark_concurrent(stamp_of("3:1"))

    play.say("4:1", "tres", "2:1")

    assert play.room.concurrent == {stamp_of("4:1")}


def test_only_messages_are_marked() -> None:
    play = Play()
    play.say("2:1", "uno")
    play.hear(play.event(MemberLeft, "3:1"))

    assert play.room.mark_concurrent(stamp_of("2:1")) == []


# Limits.


def test_the_oldest_lines_go_and_the_newest_stay() -> None:
    room = Room("plaza")
    for number in range(1, 3 * LINES_MAX):
        room.add(Line(Kind.MESSAGE, "ana", stamp_of(f"2:{number}"), str(number)))

    assert LINES_MAX / 2 < len(room.lines) <= LINES_MAX
    assert room.lines[-1].text == str(3 * LINES_MAX - 1)
    assert room.find(stamp_of("2:1")) is None
    assert room.find(stamp_of(f"2:{3 * LINES_MAX - 1}")) is room.lines[-1]


def test_a_line_that_was_refused_gives_its_name_to_the_next() -> None:
    room = Room("plaza")
    refused = Line(Kind.MESSAGE, "ana", stamp_of("2:1"), "no", stage=Stage.WAITING)
    room.add(refused)

    room.take_back(refused)

    assert refused.stage is Stage.REFUSED
    assert room.add(Line(Kind.MESSAGE, "ana", stamp_of("2:1"), "sí"))
    assert room.find(stamp_of("2:1")) is room.lines[-1]
