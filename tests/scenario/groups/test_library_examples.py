"""The examples of groups run, and show what they say that they show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import MakeHub
from ..hub_process import HubProcess, clean_environment, wait_until

ROOT = Path(__file__).parents[3]
SHOWN = {
    "talk.py": ["ana hears eva: I bring bread (concurrent with her question)", "bread and soup are concurrent: True"],
    "with_asyncio.py": ["3 squared is 9", "5 squared is 25"],
    "two_hubs.py": ["of ana: shall we meet?", "of luis: yes, which had waited for 3:2"],
}


def run(example: str, hub: HubProcess, folder: Path, *arguments: str, said: str = "") -> str:
    """What an example prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples/groups" / example), *arguments],
        cwd=folder,
        env=clean_environment(PREGON_HUB=hub.url),
        input=said,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("example", SHOWN)
def test_an_example_shows_what_it_says(example: str, hub: HubProcess, tmp_path: Path) -> None:
    printed = [run(example, hub, tmp_path) for _ in range(2)]

    for one in printed:
        assert all(line in one for line in SHOWN[example]), one


def test_the_member_that_keeps_its_state_comes_back_as_the_same(hub: HubProcess, tmp_path: Path) -> None:
    first, second, third = (run("come_back.py", hub, tmp_path) for _ in range(3))

    assert "new, as member 2" in first
    assert "back as member 2" in second and "back as member 2" in third
    assert "my message 2," in first and "my message 3," in second and "my message 4," in third
    assert (tmp_path / "come-back.state").stat().st_mode & 0o077 == 0


def test_the_room_says_what_is_typed_and_shows_what_others_said(hub: HubProcess, tmp_path: Path) -> None:
    run("room.py", hub, tmp_path, "ana", said="hola\n¿hay alguien?\n")

    shown = run("room.py", hub, tmp_path, "luis", said="yo\n")

    assert shown.splitlines()[:4] == ["* ana came", "ana: hola", "ana: ¿hay alguien?", "* ana left"]


def test_the_room_goes_on_when_the_hub_is_killed(make_hub: MakeHub, tmp_path: Path) -> None:
    hub = make_hub().start()
    command = [sys.executable, "-u", str(ROOT / "examples/groups/room.py")]
    environment = clean_environment(PREGON_HUB=hub.url)
    with (
        (tmp_path / "luis.txt").open("w") as seen,
        subprocess.Popen([*command, "luis"], stdin=subprocess.PIPE, stdout=seen, env=environment) as luis,
        subprocess.Popen([*command, "ana"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment) as ana,
    ):
        assert ana.stdin is not None and luis.stdin is not None
        shown = tmp_path / "luis.txt"
        wait_until(lambda: "ana came" in shown.read_text(), "luis is shown that ana came")
        ana.stdin.write(b"antes\n")
        ana.stdin.flush()
        hub.kill()
        ana.stdin.write(b"mientras tanto\n")
        ana.stdin.flush()
        hub.start()
        wait_until(lambda: "mientras tanto" in shown.read_text(), "luis is shown what was typed without a hub")
        ana.stdin.close()
        wait_until(lambda: "* ana left" in shown.read_text(), "luis is shown that ana left")
        luis.stdin.close()

    assert [line for line in shown.read_text().splitlines() if line.startswith("ana:")] == [
        "ana: antes",
        "ana: mientras tanto",
    ]
