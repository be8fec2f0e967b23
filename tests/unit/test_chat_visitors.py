"""Plain clients of a room: in, out, said and refused; virtual time, no sockets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregon.chat.plain_visitors import (
    TEXT_BYTES_MAX,
    TEXTS_WAITING_MAX,
    Deed,
    Enter,
    Part,
    Speak,
    Standing,
    Tell,
    Visitors,
)


def push(visitors: Visitors, nick: str, text: str, now_ms: float = 0) -> list[Deed]:
    return visitors.took([nick.encode(), text.encode()], now_ms)


@pytest.fixture
def visitors() -> Visitors:
    return Visitors(visitors_max=3, silence_ms=1_000)


@pytest.fixture
def ana(visitors: Visitors) -> Visitors:
    """Ana is in."""
    push(visitors, "Ana", "HI")
    visitors.entered("Ana")
    return visitors


def test_hi_lets_a_nick_in(visitors: Visitors) -> None:
    assert push(visitors, "Ana", "HI") == [Enter("Ana")]
    assert visitors.nicks == ["Ana"]


def test_a_text_is_said_when_the_nick_is_in(visitors: Visitors) -> None:
    push(visitors, "Ana", "HI")
    early = push(visitors, "Ana", "hola")

    assert early == []
    assert visitors.entered("Ana") == [Speak("Ana")]
    assert push(visitors, "Ana", "¿qué tal?") == [Speak("Ana")]


def test_who_speaks_without_hi_comes_in(visitors: Visitors) -> None:
    assert push(visitors, "Ana", "hola") == [Enter("Ana")]
    assert visitors.entered("Ana") == [Speak("Ana")]


def test_bye_lets_a_nick_go_after_it_has_said_everything(ana: Visitors) -> None:
    push(ana, "Ana", "hola")

    early = push(ana, "Ana", "BYE")

    assert early == []
    assert ana.said("Ana") == [Part("Ana")]
    assert ana.gone("Ana", 0) == []
    assert len(ana) == 0


def test_bye_while_entering_lets_it_go_when_it_is_in(visitors: Visitors) -> None:
    push(visitors, "Ana", "HI")

    push(visitors, "Ana", "BYE")

    assert visitors.entered("Ana") == [Part("Ana")]


def test_hi_while_leaving_brings_it_back(ana: Visitors) -> None:
    push(ana, "Ana", "BYE")

    meanwhile = [*push(ana, "Ana", "HI"), *push(ana, "Ana", "otra vez")]

    assert meanwhile == []
    assert ana.gone("Ana", 0) == [Enter("Ana")]
    assert ana.entered("Ana") == [Speak("Ana")]


def test_a_second_hi_is_told_and_changes_nothing(ana: Visitors) -> None:
    assert push(ana, "Ana", "HI") == [Tell("Ana is connected already")]
    assert push(ana, "ANA", "HI") == [], "the same is not told again at once"
    assert ana.nicks == ["Ana"]


def test_names_that_look_the_same_are_the_same(ana: Visitors) -> None:
    assert push(ana, "ANA", "hola") == [Speak("Ana")]


def test_bye_of_who_is_not_there_is_counted(visitors: Visitors) -> None:
    assert push(visitors, "Ana", "BYE") == []
    assert visitors.counts["bye_of_nobody"] == 1


@pytest.mark.parametrize("nick", ["server", "SERVER", "Servidor", "pregon", "", "a" * 33, "<b>", " "])
def test_nobody_is_called_server_or_what_is_no_name(visitors: Visitors, nick: str) -> None:
    deeds = push(visitors, nick, "HI")

    assert len(visitors) == 0
    assert all(isinstance(deed, Tell) and "cannot be a nick" in deed.text for deed in deeds)


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [b"Ana"],
        [b"Ana", b"hola", b"more"],
        [b"", b"hola"],
        [b"\xff\xfe", b"hola"],
        [b"Ana", b"\xff\xfe"],
        [b"Ana", b"x" * (TEXT_BYTES_MAX + 1)],
        [b"n" * 1_000, b"HI"],
    ],
)
def test_what_is_no_message_is_dropped_and_counted(visitors: Visitors, frames: list[bytes]) -> None:
    assert visitors.took(frames, 0) == []
    assert visitors.counts["malformed"] == 1


def test_escapes_are_taken_out_of_texts(ana: Visitors) -> None:
    push(ana, "Ana", "rojo \x1b[31mfuego\n")

    visitor = ana.find("Ana")
    assert visitor is not None
    assert list(visitor.texts) == ["rojo fuego"]


def test_an_empty_text_is_nothing(ana: Visitors) -> None:
    assert push(ana, "Ana", "") == push(ana, "Ana", " \x07") == []
    assert ana.counts["empty"] == 2


def test_there_is_room_for_so_many(visitors: Visitors) -> None:
    for nick in ("a", "b", "c"):
        push(visitors, nick, "HI")

    refused = push(visitors, "d", "HI")

    assert refused == [Tell("there is no room for d: 3 are connected")]
    assert len(visitors) == 3


def test_what_the_hub_refuses_is_told_and_the_nick_may_try_again(visitors: Visitors) -> None:
    push(visitors, "Ana", "HI")

    told = visitors.refused("Ana", "somebody is called Ana already", 0)

    assert told == [Tell("somebody is called Ana already")]
    assert push(visitors, "Ana", "HI") == [Enter("Ana")]


def test_a_silent_nick_goes_and_one_that_speaks_stays(ana: Visitors) -> None:
    push(ana, "Luis", "HI")
    ana.entered("Luis")
    push(ana, "Luis", "sigo aquí", 900)
    ana.said("Luis")

    assert ana.tick(999) == []
    assert ana.tick(1_000) == [Part("Ana")]
    assert ana.tick(1_001) == []
    assert ana.tick(1_900) == [Part("Luis")]


def test_who_is_too_fast_loses_texts_and_is_told(visitors: Visitors) -> None:
    push(visitors, "Ana", "HI")
    for number in range(TEXTS_WAITING_MAX):
        push(visitors, "Ana", str(number))

    told = push(visitors, "Ana", "one more")

    assert told == [Tell("Ana is too fast: texts are lost")]
    assert visitors.counts["too_many"] == 1


def test_mistakes_of_many_nicks_do_not_flood_everybody(visitors: Visitors) -> None:
    told = [deed for number in range(1_000) for deed in push(visitors, f"<{number}>", "HI")]
    later = push(visitors, "<again>", "HI", 60_000)

    assert len(told) == 20
    assert len(later) == 1


@given(
    st.lists(
        st.tuples(st.sampled_from(["Ana", "ana", "Luis", "Eva", "Leo"]), st.sampled_from(["HI", "BYE", "hola"]))
        | st.sampled_from(["entered", "said", "gone", "tick"]),
        max_size=60,
    )
)
def test_whatever_happens_nicks_are_bounded_and_every_text_is_said_or_waits(steps: list[tuple[str, str] | str]) -> None:
    visitors = Visitors(visitors_max=3, silence_ms=5)
    entering: list[str] = []
    leaving: list[str] = []
    said = 0

    def do(deeds: list[Deed]) -> None:
        entering.extend(deed.nick for deed in deeds if isinstance(deed, Enter))
        leaving.extend(deed.nick for deed in deeds if isinstance(deed, Part))

    for now_ms, step in enumerate(steps):
        if isinstance(step, tuple):
            do(push(visitors, *step, now_ms))
        elif step == "entered" and entering:
            do(visitors.entered(entering.pop(0)))
        elif step == "gone" and leaving:
            do(visitors.gone(leaving.pop(0), now_ms))
        elif step == "tick":
            do(visitors.tick(now_ms))
        elif step == "said":
            speaking = [one for one in map(visitors.find, visitors.nicks) if one is not None]
            for one in speaking:
                if one.standing is Standing.IN and one.texts:
                    do(visitors.said(one.nick))
                    said += 1

    waiting = [one for one in map(visitors.find, visitors.nicks) if one is not None]
    assert len(visitors) <= 3
    assert sorted(entering) == sorted(one.nick for one in waiting if one.standing is Standing.ENTERING)
    assert sorted(leaving) == sorted(one.nick for one in waiting if one.standing is Standing.LEAVING)
    assert visitors.counts["taken"] == said + sum(len(one.texts) for one in waiting)
