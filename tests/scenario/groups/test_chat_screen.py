"""The chat on a terminal's screen, with a real hub: under textual's pilot, and once in a real terminal."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from pregon.chat.people import People
from pregon.chat.screen import ChatScreen
from pregon.chat.talk import Talk, Wanted
from pregon.client import AsyncClient

from ..conftest import MakeHub
from ..hub_process import COMMAND, HubProcess, clean_environment, wait_until
from .conftest import Naming

_PATIENCE_S = 40.0
SIZE = (110, 30)


def screen_of(hub: HubProcess, data: Path, nick: str, *rooms: str, language: str = "en") -> ChatScreen:
    """The chat of somebody."""
    wanted = Wanted(
        open_client=lambda timeout_ms: AsyncClient(hub.url, timeout_ms=timeout_ms or 5_000), nick=nick, rooms=rooms
    )
    return ChatScreen(language, lambda conversation: Talk(conversation, People(hub.url, data=data), wanted))


class Seat:
    """Somebody in front of a screen."""

    def __init__(self, screen: ChatScreen, pilot: Pilot[None]) -> None:
        self.screen = screen
        self.pilot = pilot

    async def type(self, line: str) -> None:
        self.screen.query_one("#line", Input).value = line
        await self.pilot.press("enter")

    def listed(self, id: str) -> list[str]:
        """What a list shows."""
        found = self.screen.query_one(f"#{id}", OptionList)
        return [str(found.get_option_at_index(index).prompt) for index in range(found.option_count)]

    def told(self, id: str) -> str:
        return str(self.screen.query_one(f"#{id}", Static).content)

    async def wait(self, part: str, id: str = "said") -> None:
        """Wait until a part of the screen shows something."""
        for _ in range(int(_PATIENCE_S / 0.05)):
            shown = self.told(id) if id in ("top", "notices") else "\n".join(self.listed(id))
            if part in shown:
                return
            await self.pilot.pause(0.05)
        raise AssertionError(f"{id} does not show {part!r}, but:\n{shown}\n{self.told('notices')}")


def play(scene: Callable[..., Coroutine[Any, Any, None]], *screens: ChatScreen) -> None:
    """Play a scene with somebody in front of each screen."""

    async def run(left: tuple[ChatScreen, ...], seats: tuple[Seat, ...]) -> None:
        if not left:
            await scene(*seats)
            return
        async with left[0].run_test(size=SIZE) as pilot:
            seat = Seat(left[0], pilot)
            if left[1:]:
                await seat.wait("you are in", "notices")
            await run(left[1:], (*seats, seat))

    asyncio.run(run(screens, ()))


def test_two_screens_show_the_same_conversation(hub: HubProcess, tmp_path: Path, group: str, called: Naming) -> None:
    ana, luis = called("ana"), called("luis")

    async def scene(at_ana: Seat, at_luis: Seat) -> None:
        await at_ana.wait("is in", "said")
        await at_luis.type("hola, ana")
        await at_ana.wait("hola, ana")
        await at_ana.type("/answer 3:2 hola, luis")
        await at_luis.wait("hola, luis")
        await at_luis.wait("● " + ana, "members")

        shown = at_luis.listed("said")[-2:]
        assert shown[0].endswith(f"3:2   {luis}  hola, ana")
        assert shown[1].endswith(f"└ {ana}  hola, luis")
        assert at_luis.listed("rooms") == [f"#{group}"]
        assert any(one == f"● {luis} (you)" for one in at_luis.listed("members"))

    first = screen_of(hub, tmp_path / "a", ana, group)
    second = screen_of(hub, tmp_path / "b", luis, group)
    play(scene, first, second)


def test_the_keys_answer_mark_gather_and_change_rooms(
    hub: HubProcess, tmp_path: Path, group: str, called: Naming
) -> None:
    async def scene(ana: Seat) -> None:
        await ana.wait(f"#{group}-2", "rooms")
        await ana.type("uno")
        await ana.wait("uno")
        await ana.type("dos")
        await ana.wait("dos")
        await ana.pilot.press("shift+tab", "home", "enter")
        line = ana.screen.query_one("#line", Input)
        assert line.value == "/answer 2:2 "
        await ana.type(line.value + "respuesta a uno")
        await ana.wait("respuesta a uno")
        flow = ana.listed("said")
        await ana.pilot.press("f2")
        await ana.wait("gathered", "notices")
        await ana.pilot.pause(0.3)
        threads = ana.listed("said")
        await ana.pilot.press("f3")
        await ana.wait("nothing on this screen is concurrent with 2:4", "notices")
        await ana.pilot.press("ctrl+n")
        await ana.wait(f"{group}-2", "top")
        assert ana.listed("said") == []
        await ana.pilot.press("f1")
        await ana.wait("/answer 3:4 TEXT", "notices")

        assert "┌" in flow[-1], "under a quotation"
        assert "uno" in flow[-1]
        assert [one.rsplit("  ", 1)[1] for one in threads] == ["uno", "respuesta a uno", "dos"]

    play(scene, screen_of(hub, tmp_path, called("ana"), group, f"{group}-2"))


def test_a_private_conversation_appears_with_what_was_not_read(
    hub: HubProcess, tmp_path: Path, group: str, called: Naming
) -> None:
    ana = called("ana")

    async def scene(seat: Seat) -> None:
        await seat.wait("you are in", "notices")
        async with AsyncClient(hub.url) as client:
            luis = await client.enroll(called("luis"))
            private = await client.private(luis, ana)
            await private.send("psst")
            await private.send("¿estás?")
            await seat.wait(f"@{luis.name}   2 ", "rooms")
            await seat.type(f"/room @{luis.name}")
            await seat.wait("¿estás?")
            await seat.pilot.pause(0.2)
            assert seat.listed("rooms") == [f"#{group}", f"@{luis.name}"]

    play(scene, screen_of(hub, tmp_path, ana, group))


def test_what_was_said_while_one_was_away_is_unread(
    hub: HubProcess, tmp_path: Path, group: str, called: Naming
) -> None:
    ana, other = called("ana"), f"{group}-2"

    async def before(seat: Seat) -> None:
        await seat.wait(f"you are in {other}", "notices")
        await seat.type(f"/room {other}")
        await seat.type("hasta mañana")
        await seat.wait("hasta mañana")
        await seat.type(f"/room {group}")
        await seat.wait(group, "top")

    async def after(seat: Seat) -> None:
        await seat.wait(f"#{other}   2 ", "rooms")
        assert f"#{group}" in seat.listed("rooms")

    play(before, screen_of(hub, tmp_path, ana, group, other))
    with hub.client() as client:
        luis = client.join(other, name=called("luis"))
        luis.send("uno")
        luis.send("dos")

    play(after, screen_of(hub, tmp_path, ana, group))


def test_a_name_that_is_taken_is_asked_for_in_words(hub: HubProcess, tmp_path: Path, called: Naming) -> None:
    taken, free = called("ana"), called("anita")
    with hub.client() as client:
        client.enroll(taken)

    async def scene(seat: Seat) -> None:
        await seat.wait(f"alguien se llama {taken} ya: elija otro nombre", "notices")
        assert seat.screen.query_one("#line", Input).placeholder == "Su nombre"
        await seat.type(free)
        await seat.wait(free, "top")
        await seat.wait("no está en ninguna sala", "notices")

    play(scene, screen_of(hub, tmp_path, taken, language="es"))


def test_the_hub_dies_and_the_screen_says_so_and_loses_nothing(make_hub: MakeHub, tmp_path: Path) -> None:
    mortal = make_hub().start()

    async def scene(seat: Seat) -> None:
        await seat.wait("está en plaza", "notices")
        await seat.type("antes")
        await seat.wait("antes")
        mortal.kill()
        await seat.wait("reconectando", "top")
        for number in range(3):
            await seat.type(f"sin pregón {number}")
        await seat.wait("sin pregón 2  ⏳")
        mortal.launch()
        await seat.wait("conectado otra vez", "notices")
        await seat.type("después")
        await seat.wait("después")
        await seat.pilot.pause(1.0)
        assert not any("⏳" in one for one in seat.listed("said"))
        assert "reconectando" not in seat.told("top")

    play(scene, screen_of(mortal, tmp_path / "home", "ana", "plaza", language="es"))

    with mortal.client() as client:
        listener = client.join("plaza", name="oyente", history=True)
        heard = [event.text for event in iter(lambda: listener.poll(3), None) if hasattr(event, "text")]
    assert heard == ["antes", "sin pregón 0", "sin pregón 1", "sin pregón 2", "después"]


# In a real terminal.


def run_in_terminal(command: list[str], *typed: tuple[str, str], **variables: str) -> tuple[int, str]:
    """Run a command in a terminal; each thing is typed when the screen has shown another. The status, and all shown."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=clean_environment(TERM="xterm-256color", COLUMNS="100", LINES="30", **variables),
        start_new_session=True,
    )
    os.close(theirs)
    os.set_blocking(ours, False)
    shown = b""

    def look() -> str:
        nonlocal shown
        try:
            while data := os.read(ours, 65_536):
                shown += data
        except OSError:
            pass
        return re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", shown.decode(errors="replace"))

    try:
        for wanted, keys in typed:
            wait_until(lambda wanted=wanted: wanted in look(), f"the terminal shows {wanted!r}", _PATIENCE_S)  # type: ignore[misc]
            os.write(ours, keys.encode())
        wait_until(lambda: (look(), process.poll() is not None)[1], "the command ends", _PATIENCE_S)
        return process.returncode, look()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)


def test_the_chat_works_in_a_real_terminal(hub: HubProcess, tmp_path: Path, group: str, called: Naming) -> None:
    nick = called("ana")
    command = [*COMMAND, "chat", group, "--nick", nick, "--hub", hub.url, "--lang", "es"]

    status, shown = run_in_terminal(
        command,
        (f"está en {group}", "hola terminal\r"),
        (f"{nick}  hola terminal", "\x11"),
        XDG_DATA_HOME=str(tmp_path),
    )

    with hub.client() as client:
        listener = client.join(group, name=called("oyente"), history=True)
        heard = [event.text for event in iter(lambda: listener.poll(3), None) if hasattr(event, "text")]
    assert status == 0, shown
    assert heard == ["hola terminal"]


def test_without_textual_it_is_said_what_to_install(hub: HubProcess, tmp_path: Path) -> None:
    code = "import sys; sys.modules['textual'] = None; from pregon.cli import main; main()"

    status, shown = run_in_terminal(
        [sys.executable, "-c", code, "chat", "plaza", "--hub", hub.url], XDG_DATA_HOME=str(tmp_path)
    )

    assert status == 2
    assert "pip install 'pregon[chat]'" in shown
    assert "--plain-text" in shown


@pytest.mark.parametrize("size", [(40, 12), (200, 60)])
def test_the_screen_fits_small_and_large_terminals(size: tuple[int, int], hub: HubProcess, tmp_path: Path) -> None:
    screen = screen_of(hub, tmp_path, f"talla {size[0]}", f"talla-{size[0]}")

    async def look() -> None:
        async with screen.run_test(size=size) as pilot:
            seat = Seat(screen, pilot)
            await seat.wait("you are in", "notices")
            await pilot.pause(0.2)
            line = screen.query_one("#line", Input).region
            said = screen.query_one("#said", OptionList).region
            assert line.right <= size[0]
            assert line.bottom <= size[1]
            assert said.width >= 30
            assert said.height >= 2

    asyncio.run(look())
