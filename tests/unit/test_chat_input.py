"""What a typed line means, and what is said about a wrong one, in both languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregon.causal.stamps import Stamp
from pregon.chat.input_line import (
    COMMANDS,
    TEXT_CHARACTERS_MAX,
    Concurrent,
    Join,
    Leave,
    Meaning,
    Mistake,
    Plain,
    Rename,
    Say,
    Show,
    Whisper,
    read_line,
    read_nick,
)
from pregon.chat.words import LANGUAGES, say


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("hola a todos", Say("hola a todos")),
        ("  con espacios  ", Say("con espacios")),
        ("//etc/hosts", Say("/etc/hosts")),
        ("HI", Say("HI")),
        ("/join plaza", Join("plaza")),
        ("/JOIN #plaza", Join("plaza")),
        ("/leave", Leave()),
        ("/leave @luis", Leave("@luis")),
        ("/room obras", Show("obras")),
        ("/msg luis hola, ¿qué tal?", Whisper("luis", "hola, ¿qué tal?")),
        ("/msg @luis", Whisper("luis")),
        ('/msg "Ana María" hola', Whisper("Ana María", "hola")),
        ("/nick Ana María", Rename("Ana María")),
        ("/answer 3:4 a las ocho", Say("a las ocho", Stamp(3, 4))),
        ("/concurrent", Concurrent()),
        ("/concurrent 3:4", Concurrent(Stamp(3, 4))),
        ("/who", Plain("who")),
        ("/rooms", Plain("rooms")),
        ("/threads", Plain("threads")),
        ("/help", Plain("help")),
        ("/quit", Plain("quit")),
    ],
)
def test_a_line_means_what_it_says(line: str, meaning: Meaning) -> None:
    assert read_line(line) == meaning


@pytest.mark.parametrize("line", ["", "   ", "\x1b[2J", "\x07\x00"])
def test_a_line_with_nothing_on_it_means_nothing(line: str) -> None:
    assert read_line(line) is None


def test_terminal_escapes_are_not_sent() -> None:
    assert read_line("hola\x1b[31m rojo") == Say("hola rojo")


@pytest.mark.parametrize(
    ("line", "text", "english", "spanish"),
    [
        ("/nada", "command_unknown", "/nada is not a command", "/nada no es un comando"),
        ("/join", "command_use", "write /join ROOM", "escriba /join ROOM"),
        ("/join ¿dónde?", "room_bad", "cannot be a room", "no puede ser una sala"),
        ("/nick", "command_use", "write /nick NEW", "escriba /nick NEW"),
        ("/nick server", "nick_bad", "'server' cannot be a name", "'server' no puede ser un nombre"),
        ("/nick " + "a" * 33, "nick_bad", "1 to 32 letters", "1 a 32 letras"),
        ("/msg", "command_use", "write /msg NICK TEXT", "escriba /msg NICK TEXT"),
        ("/msg <script> x", "nick_bad", "cannot be a name", "no puede ser un nombre"),
        ("/answer 3:4", "command_use", "write /answer 3:4 TEXT", "escriba /answer 3:4 TEXT"),
        ("/answer tres hola", "stamp_bad", "'tres' is not the number", "'tres' no es el número"),
        ("/concurrent 0:0", "stamp_bad", "is not the number of a message", "no es el número de un mensaje"),
        ("x" * (TEXT_CHARACTERS_MAX + 1), "too_long", "at most 4,000 characters", "a lo sumo 4,000 caracteres"),
    ],
)
def test_a_mistake_is_explained_in_both_languages(line: str, text: str, english: str, spanish: str) -> None:
    mistake = read_line(line)

    assert isinstance(mistake, Mistake)
    assert mistake.text == text
    assert english in say("en", mistake.text, **mistake.values)
    assert spanish in say("es", mistake.text, **mistake.values)


@given(st.text(max_size=200) | st.text(max_size=100).map("/".__add__))
def test_whatever_is_typed_is_read_and_every_mistake_has_its_words(line: str) -> None:
    meaning = read_line(line)

    if isinstance(meaning, Mistake):
        assert all(say(language, meaning.text, **meaning.values) for language in LANGUAGES)


@given(st.sampled_from(COMMANDS), st.text(max_size=60))
def test_commands_take_whatever_follows_them(command: str, rest: str) -> None:
    meaning = read_line(f"/{command} {rest}")

    assert meaning is not None


def test_a_name_is_read_with_or_without_its_sign() -> None:
    assert read_nick("@ana") == read_nick("ana") == "ana"
