"""The hub dies in the middle of a conversation, and so do people's chats: nothing is lost, nothing said twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import MakeHub
from ..hub_process import HubProcess
from .chatters import Chatter

ROOM = "plaza"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """People are remembered below the test's own directory."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data-home"))


@pytest.fixture
def mortal(make_hub: MakeHub) -> HubProcess:
    return make_hub().start()


@pytest.fixture
def three(mortal: HubProcess, tmp_path: Path) -> Iterator[list[Chatter]]:
    """Ana, Luis and Eva in one room."""
    chatters = [Chatter(mortal, nick, tmp_path, ROOM) for nick in ("ana", "luis", "eva")]
    for chatter in chatters:
        chatter.start()
    for chatter in chatters:
        chatter.wait_for(f"!! you are in {ROOM}")
    yield chatters
    for chatter in chatters:
        chatter.end()


def texts(chatter: Chatter) -> list[str]:
    return [text for _, _, text in chatter.messages(ROOM)]


def test_the_hub_dies_and_comes_back_and_nobody_misses_anything(mortal: HubProcess, three: list[Chatter]) -> None:
    ana, luis, eva = three
    ana.tell("antes")
    asked = luis.stamp_of("antes")
    eva.stamp_of("antes")

    mortal.kill()
    for chatter in three:
        chatter.wait_for("!! the hub does not answer: reconnecting")
    for number in range(5):
        for chatter in three:
            chatter.tell(f"{chatter.nick} sin pregón {number}")
    luis.tell(f"/answer {asked} respuesta sin pregón")
    mortal.start()
    for chatter in three:
        chatter.wait_for("!! connected again")
    ana.tell("después")
    for chatter in three:
        chatter.stamp_of("después")
        chatter.wait_for("sin pregón", 16)

    wanted = {f"{one.nick} sin pregón {number}" for one in three for number in range(5)}
    wanted |= {"antes", "después", "respuesta sin pregón"}
    for chatter in three:
        shown = texts(chatter)
        assert sorted(shown) == sorted(wanted), "each once"
        assert shown.index("antes") < shown.index("respuesta sin pregón")
        for one in three:
            own = [text for text in shown if text.startswith(f"{one.nick} sin")]
            assert own == [f"{one.nick} sin pregón {number}" for number in range(5)]


def test_lines_that_were_not_sent_when_the_chat_was_killed_are_sent_the_next_time(
    mortal: HubProcess, three: list[Chatter]
) -> None:
    ana, luis, _ = three
    ana.tell("guardada")
    luis.stamp_of("guardada")
    mortal.kill()
    ana.wait_for("!! the hub does not answer")
    for number in range(3):
        ana.tell(f"pendiente {number}")
    ana.tell("/nada")
    ana.wait_for("/nada is not a command")

    ana.kill()
    mortal.start()
    ana.start()
    ana.wait_for("!! lines of the last time, sent now: 3")
    ana.wait_for(": pendiente 2")
    luis.wait_for(": pendiente 2")
    ana.leave()
    ana.start()
    ana.wait_for(": pendiente 2")

    assert texts(luis) == ["guardada", *(f"pendiente {number}" for number in range(3))]
    assert texts(ana) == texts(luis)
    assert "of the last time" not in "\n".join(ana.lines()), "they are sent once"


def test_who_quits_while_the_hub_is_away_is_told_that_lines_are_kept(mortal: HubProcess, three: list[Chatter]) -> None:
    ana, luis, _ = three
    mortal.kill()
    ana.wait_for("!! the hub does not answer")

    ana.tell("para luego")
    shown = ana.leave()
    mortal.start()
    ana.start()

    assert shown[-1] == "!! lines that were not sent: 1; they are kept, and sent when you come back"
    luis.wait_for(": para luego")


def test_who_comes_while_the_hub_is_away_is_in_when_it_is_there(mortal: HubProcess, three: list[Chatter]) -> None:
    ana, luis, _ = three
    ana.leave()
    mortal.kill()

    ana.start()
    ana.wait_for("!! connecting to tcp://")
    mortal.start()

    ana.wait_for("!! connected as ana")
    ana.tell("aquí estoy")
    luis.wait_for(": aquí estoy")


def test_a_hub_that_has_forgotten_everybody_is_begun_with_anew(mortal: HubProcess, three: list[Chatter]) -> None:
    ana, *_ = three
    for chatter in three:
        chatter.leave()
    mortal.kill()
    for file in mortal.data.iterdir():
        file.unlink()

    mortal.start()
    ana.start()

    ana.wait_for("!! the hub does not know you any more, so you begin anew")
    ana.tell("hola, pregón nuevo")
    assert ana.stamp_of("hola, pregón nuevo") == "2:2"
