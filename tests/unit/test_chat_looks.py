"""Texts from outside do nothing to a terminal, and names have their colours."""

from __future__ import annotations

import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregon.chat import words
from pregon.chat.looks import COLOURS, beginning, clean, colour_of


@given(st.text())
def test_whatever_is_written_what_is_shown_has_no_control_character(text: str) -> None:
    shown = clean(text)

    kinds = {unicodedata.category(one) for one in shown if one not in "\u200c\u200d"}
    assert not kinds & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(st.text())
def test_a_text_that_was_cleaned_stays_as_it_is(text: str) -> None:
    once = clean(text)

    again = clean(once)

    assert again == once


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07here", "here"),
        ("\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\", "click"),
        ("\x9b2Jgone", "gone"),
        ("a\x00b\x07c\x7f", "abc"),
        ("one\ntwo\r\nthree\u2028four", "one ⏎ two ⏎ three ⏎ four"),
        ("left\u202eright", "leftright"),
        ("tab\there", "tab here"),
        ("año, niño, 你好, مرحبا", "año, niño, 你好, مرحبا"),
        ("👩\u200d👧 y 🇺🇾", "👩\u200d👧 y 🇺🇾"),
        ("z" + "\u0301" * 50, "z" + "\u0301" * 4),
    ],
)
def test_escapes_go_and_writing_stays(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_a_name_has_its_colour_however_it_is_written() -> None:
    assert colour_of("Ana") == colour_of("ana") == colour_of("ＡＮＡ")
    assert colour_of("ana") == "#98b13e", "the same on every machine, and tomorrow"


def test_names_are_spread_over_the_colours() -> None:
    found = {colour_of(f"name {number}") for number in range(300)}

    assert found == set(COLOURS)


def test_the_beginning_of_a_long_text_says_that_there_is_more() -> None:
    assert beginning("corto") == "corto"
    assert beginning("a" * 100, 10) == "a" * 9 + "…"


# The words.


@pytest.mark.parametrize("text", sorted(words.TEXTS))
def test_each_text_has_the_same_places_to_fill_in_both_languages(text: str) -> None:
    english, spanish = ({name for _, name, _, _ in string.Formatter().parse(one) if name} for one in words.TEXTS[text])

    assert english == spanish


def test_a_text_is_said_in_the_language_that_was_asked_for() -> None:
    assert words.say("en", "left", name="Ana") == "Ana left"
    assert words.say("es", "left", name="Ana") == "Ana se fue"
