"""The example of a group without a hub, run as its text says."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

CHAT = Path(__file__).parents[3] / "examples" / "groups" / "brokerless_chat.py"


def start(life: ExitStack, *arguments: str) -> subprocess.Popen[str]:
    """The example in a terminal of its own."""
    command = [sys.executable, str(CHAT), *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    life.enter_context(process)
    life.callback(process.kill)
    return process


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """The first line that has a text in it."""
    assert process.stdout is not None
    for line in process.stdout:
        if text in line:
            return line
    raise AssertionError(f"it ended without {text!r}")


def write(process: subprocess.Popen[str], text: str) -> None:
    """Type a line."""
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.flush()


def test_three_people_talk_and_one_leaves() -> None:
    with ExitStack() as life:
        ana = start(life, "ana")
        address = read_until(ana, "others join with").split()[-1]
        luis = start(life, "luis", address)
        read_until(luis, "here:")
        eva = start(life, "eva", address)
        # Whom ana has not heard of yet is told a moment later.
        read_until(eva, "luis")

        write(luis, "hola a todas\n")
        heard = [read_until(one, "hola a todas") for one in (ana, eva)]
        write(eva, "chau\n\n")

        assert all("luis: hola a todas" in line for line in heard)
        assert "eva: chau" in read_until(ana, "chau")
        read_until(ana, "eva: MemberLeft")
        assert eva.wait(30) == 0
