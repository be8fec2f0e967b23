"""The chat as lines, with real processes: people who talk, in rooms and in private, under names that are theirs."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..command_line import run
from ..hub_process import HubProcess, find_port
from .chatters import Chatter
from .conftest import Naming

Come = Callable[..., Chatter]


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where people are remembered: each test on a machine of its own."""
    folder = tmp_path / "data-home"
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    return folder


@pytest.fixture
def come(hub: HubProcess, tmp_path: Path) -> Iterator[Come]:
    """Somebody comes, and is in unless that cannot be: `come("ana", "plaza")`."""
    made: list[Chatter] = []

    def make(nick: str, *rooms: str, options: tuple[str, ...] = (), is_in: bool = True) -> Chatter:
        place = tmp_path / f"{len(made)}"
        place.mkdir()
        made.append(Chatter(hub, nick, place, *rooms, options=options))
        made[-1].start()
        if is_in:
            made[-1].wait_for("!! connected as ")
            for room in rooms:
                made[-1].wait_for(f"!! you are in {room}")
        return made[-1]

    yield make
    for chatter in made:
        chatter.end()


def test_what_one_says_the_others_see_and_answers_say_what_they_answer(come: Come, group: str, called: Naming) -> None:
    ana, luis = (come(called(name), group) for name in ("ana", "luis"))
    ana.wait_for(f"{luis.nick} is in")

    ana.tell("¿a qué hora?")
    asked = luis.stamp_of("¿a qué hora?")
    luis.tell(f"/answer {asked} a las ocho")

    assert ana.wait_for("a las ocho").endswith(f"{luis.nick} (answers {ana.nick} {asked}): a las ocho")
    assert ana.messages(group) == luis.messages(group)
    assert [text for _, _, text in ana.messages(group)] == ["¿a qué hora?", "a las ocho"]


def test_what_is_private_is_seen_by_two_and_appears_by_itself(come: Come, group: str, called: Naming) -> None:
    ana, luis, eva = (come(called(name), group) for name in ("ana", "luis", "eva"))

    ana.tell(f'/msg "{luis.nick}" psst, solo para ti')
    luis.wait_for(": psst, solo para ti")
    luis.tell(f"/room @{ana.nick}")
    luis.tell("te oigo")
    ana.wait_for(": te oigo")
    ana.tell(f"/room {group}")
    ana.tell("esto es para todos")
    eva.wait_for("esto es para todos")

    shown = "\n".join(eva.lines())
    assert "psst" not in shown
    assert "te oigo" not in shown
    assert "private" not in shown


def test_a_name_that_is_taken_is_asked_for_again(come: Come, group: str, called: Naming, hub: HubProcess) -> None:
    taken, free = called("ana"), called("anita")
    with hub.client() as elsewhere:
        elsewhere.enroll(taken)

    chatter = come(taken, group, is_in=False)
    chatter.wait_for(f"!! somebody is called {taken} already: choose another name")
    chatter.tell("server")
    chatter.wait_for("!! 'server' cannot be a name")
    chatter.tell(free)

    chatter.wait_for(f"!! connected as {free}")
    chatter.leave()


def test_who_has_another_name_has_it_everywhere_and_no_taken_one(come: Come, group: str, called: Naming) -> None:
    ana, luis = (come(called(name), group) for name in ("ana", "luis"))
    new = called("lucha")

    ana.tell(f"/nick {luis.nick}")
    ana.wait_for(f"!! somebody is called {luis.nick} already")
    ana.tell(f"/nick {new}")
    luis.wait_for(f"{group}  --  {ana.nick} is {new} now")
    ana.tell("soy yo")

    luis.wait_for(f"  {new}: soy yo")


def test_who_was_away_sees_what_was_said_and_is_the_same_member(come: Come, group: str, called: Naming) -> None:
    ana, luis = (come(called(name), group) for name in ("ana", "luis"))
    ana.tell("hasta mañana")
    stamp = luis.stamp_of("hasta mañana")
    ana.leave()
    luis.tell("¿hay alguien?")
    luis.stamp_of("¿hay alguien?")

    ana.open()
    ana.wait_for(": ¿hay alguien?")
    ana.tell("buenos días")

    assert luis.stamp_of("buenos días").split(":")[0] == stamp.split(":")[0]
    assert [text for _, _, text in ana.messages(group)] == ["hasta mañana", "¿hay alguien?", "buenos días"]
    told = [line for line in luis.lines() if "  --  " in line and ana.nick in line]
    assert told == [f"{group}  --  {ana.nick} is in"], "nothing happened to the member meanwhile"


def test_nobody_can_type_an_event_or_a_terminal_escape(come: Come, group: str, called: Naming) -> None:
    ana, luis = (come(called(name), group) for name in ("ana", "luis"))

    ana.tell(f"{group}  --  {luis.nick} left")
    ana.tell("\x1b[2J\x1b[31mrojo")
    luis.wait_for(": rojo")

    forged = luis.wait_for(f"{luis.nick} left")
    assert forged.startswith(f"{group}  2:2  {ana.nick}: ")
    assert "\x1b" not in luis.said()


def test_rooms_are_joined_and_left_and_several_at_once(come: Come, group: str, called: Naming) -> None:
    ana, luis = (come(called(name), group) for name in ("ana", "luis"))

    ana.tell(f"/join {group}-2")
    ana.wait_for(f"!! you are in {group}-2")
    ana.tell("aquí no hay nadie")
    ana.stamp_of("aquí no hay nadie")
    luis.tell("en la primera")
    ana.wait_for(f"{group}  3:2  {luis.nick}: en la primera")
    ana.tell(f"/leave {group}")
    luis.wait_for(f"{group}  --  {ana.nick} left")
    luis.tell("¿te fuiste?")
    luis.stamp_of("¿te fuiste?")
    ana.tell("/rooms")

    ana.wait_for(f"{group}-2 (1)")
    assert "¿te fuiste?" not in ana.said()
    assert "aquí no hay nadie" not in luis.said()


def test_concurrent_messages_are_told_on_request(come: Come, group: str, called: Naming, hub: HubProcess) -> None:
    ana = come(called("ana"), group)
    with hub.client() as client:
        # Members that look at nothing do not know of what the other one says.
        luis, eva = (client.join(group, name=called(name)) for name in ("luis", "eva"))
        one, other = luis.send("uno"), eva.send("otro")
        ana.wait_for(": uno")
        ana.wait_for(": otro")

        ana.tell(f"/concurrent {one}")

        ana.wait_for(f"!! concurrent with {one} (neither knew of the other): {other}")
        ana.tell("después de los dos")
        later = ana.stamp_of("después de los dos")
        ana.tell("/concurrent")
        ana.wait_for("!! concurrent messages are no longer marked")
        ana.tell(f"/concurrent {later}")
        ana.wait_for(f"!! nothing on this screen is concurrent with {later}")


def test_mistakes_are_explained_and_the_chat_goes_on(come: Come, group: str, called: Naming) -> None:
    ana = come(called("ana"), group)

    for line in ("/nada", "/answer 9:9 hola", "/msg nadie_en_absoluto hola", "x" * 5_000, "/room otra", "/leave otra"):
        ana.tell(line)
    ana.tell("sigo aquí")
    ana.stamp_of("sigo aquí")

    notices = [line for line in ana.lines() if line.startswith("!! ")]
    for part in (
        "/nada is not a command",
        "there is no message 9:9",
        "nobody is called nadie_en_absoluto",
        "a line has at most 4,000 characters, and this one has 5,000",
        "you are not in otra",
    ):
        assert any(part in notice for notice in notices), part
    assert len(ana.messages(group)) == 1


def test_the_same_person_does_not_chat_twice_at_once(come: Come, group: str, called: Naming) -> None:
    ana = come(called("ana"), group)

    second = come(ana.nick, group, is_in=False)

    second.wait_for(f"!! {ana.nick} is chatting from here already")
    second.tell("/quit")
    second.finish()


def test_who_is_fresh_is_forgotten_and_the_name_is_free(come: Come, group: str, called: Naming) -> None:
    ana = come(called("ana"), group)
    luis = come(called("luis"), group)
    ana.leave()

    again = come(ana.nick, group, options=("--fresh",))

    luis.wait_for(f"{group}  --  {ana.nick} is out")
    luis.wait_for(f"{group}  --  {ana.nick} is in")
    again.tell("otra vez")
    assert luis.stamp_of("otra vez").startswith("4:"), "as another member"


def test_what_is_kept_of_a_person_is_read_by_nobody_else(come: Come, group: str, called: Naming, data: Path) -> None:
    come(called("ana"), group)

    files = [path for path in data.rglob("*") if path.is_file()]

    assert files
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_lines_of_a_pipe_are_said_before_the_chat_ends(hub: HubProcess, group: str, called: Naming) -> None:
    lines = [f"línea {number}" for number in range(50)]
    nick = called("robot")

    said = run("chat", group, "--nick", nick, "--lang", "es", hub=hub.url, stdin="\n".join(lines))

    with hub.client() as client:
        listener = client.join(group, name=called("oyente"), history=True)
        heard = [event for event in iter(lambda: listener.poll(5), None) if hasattr(event, "text")]
    assert said.status == 0, said.err
    assert [event.text for event in heard] == lines
    assert f"!! conectado como {nick}" in said.out


def test_a_wrong_room_or_language_is_refused_in_words(hub: HubProcess) -> None:
    room = run("chat", "¿dónde?", hub=hub.url, PREGON_LANG="es")
    language = run("chat", "plaza", "--lang", "fr", hub=hub.url)

    assert (room.status, language.status) == (2, 2)
    assert "no puede ser una sala" in room.err
    assert "--lang is en or es" in language.err


def test_what_cannot_be_said_because_the_hub_is_not_there_is_an_error() -> None:
    nowhere = f"tcp://127.0.0.1:{find_port()}"

    said = run("chat", "plaza", "--nick", "ana", "--lang", "en", hub=nowhere, stdin="uno\ndos\n")

    assert said.status == 5
    assert f"!! connecting to {nowhere}" in said.out
    assert "these lines were not said: 2" in said.err
