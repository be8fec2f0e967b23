"""A tutorial as a reader follows it: its files saved, its commands typed, its outputs compared.

What a document shows is what is run. In it:

    a block after a sentence with "Save this as `NAME`"     is saved as that file
    a block of lines that begin with `$ `                   is typed in the terminal of the tutorial, line by line
    <!-- terminal: NAME --> before a block                  its command is left running in a terminal of that name;
                                                            its other lines must appear there
    <!-- ctrl-c: NAME -->                                   what runs there is interrupted
    <!-- eventually --> before a block                      its commands are repeated until they show what is said
    a line with only `…`                                    any lines

Instants, random ids, and how long something took are not compared.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .hub_process import wait_until

_PIECE = re.compile(
    r"<!-- (?P<order>terminal|ctrl-c|eventually)(?:: (?P<name>\w+))? -->"
    r"|Save this as `(?P<file>[\w.]+)`"
    r"|^```(?P<language>\w*)\n(?P<block>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_VARIABLE = (
    (re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?Z)?"), "DATE"),
    (re.compile(r"\b\d\d:\d\d:\d\d\.\d{6}\b"), "TIME"),
    (re.compile(r"urn:uuid:[\w-]+"), "UUID"),
    (re.compile(r"attempt \d+, \d+ ms"), "attempt N"),
    (re.compile(r"attempt \d+"), "attempt N"),
    (re.compile(r"next try in [\d.]+ m?s"), "next try in N"),
)
_COMMAND_S_MAX = 60.0
_ANY = "…"


@dataclass(frozen=True)
class Step:
    """One block of the document, and what stood before it."""

    block: str
    file: str = ""
    terminal: str = ""
    is_eventual: bool = False
    interrupted: tuple[str, ...] = ()


def steps_of(document: str) -> Iterator[Step]:
    """What a document says to do, in its order."""
    file, terminal, is_eventual = "", "", False
    interrupted: list[str] = []
    for piece in _PIECE.finditer(document):
        order = piece["order"]
        if order == "terminal":
            terminal = piece["name"]
        elif order == "ctrl-c":
            interrupted.append(piece["name"])
        elif order == "eventually":
            is_eventual = True
        elif piece["file"]:
            file = piece["file"]
        else:
            yield Step(piece["block"], file, terminal, is_eventual, tuple(interrupted))
            file, terminal, is_eventual, interrupted = "", "", False, []


def commands_of(block: str) -> list[tuple[str, str]]:
    """The commands of a block, each with what it should show."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        else:
            assert found, f"a block begins with what no command shows: {line}"
            command, shown = found[-1]
            is_continued = command.endswith("\\")
            found[-1] = (f"{command}\n{line}", shown) if is_continued else (command, f"{shown}{line}\n")
    return found


def looks_like(shown: str, wanted: str) -> bool:
    """Whether an output is what a document shows, but for what is different each time."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == _ANY else re.escape(line) + r" *\n" for line in _plain(wanted).splitlines()
    )
    return re.fullmatch(pattern, _plain(shown)) is not None


def _plain(text: str) -> str:
    for pattern, name in _VARIABLE:
        text = pattern.sub(name, text)
    return re.sub(r"[ \t]+\n", "\n", text)


@dataclass
class Reader:
    """Somebody who does what a tutorial says, in a directory."""

    directory: Path
    environment: dict[str, str]
    replaced: dict[str, str] = field(default_factory=dict)
    """What is written otherwise here: addresses that may be taken."""
    _terminals: dict[str, tuple[subprocess.Popen[bytes], Path]] = field(default_factory=dict)
    _variables: str = ""

    def follow(self, document: str) -> int:
        """Do it all; how many commands that were."""
        count = 0
        for step in steps_of(self._rewritten(document)):
            for name in step.interrupted:
                self.interrupt(name)
            if step.file:
                (self.directory / step.file).write_text(step.block)
            elif step.terminal:
                count += self._leave_running(step)
            else:
                commands = commands_of(step.block)
                for command, wanted in commands:
                    self._type(command, wanted, step.is_eventual)
                count += len(commands)
        return count

    def interrupt(self, name: str) -> None:
        """Ctrl-C in a terminal."""
        process, _ = self._terminals.pop(name)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        process.wait(_COMMAND_S_MAX)

    def close(self) -> None:
        """Close all terminals."""
        for process, _ in self._terminals.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _rewritten(self, document: str) -> str:
        for old, new in self.replaced.items():
            document = document.replace(old, new)
        return document

    def _leave_running(self, step: Step) -> int:
        """Start a command that does not end, if there is one, and wait until its terminal shows the rest."""
        name, wanted, commands = step.terminal, step.block, []
        if wanted.startswith("$ "):
            ((command, wanted),) = commands = commands_of(wanted)
            if name in self._terminals:
                # What ran there was killed, or the reader could not type.
                self._terminals.pop(name)[0].wait(_COMMAND_S_MAX)
            screen = self.directory / f".screen-{name}-{len(list(self.directory.glob('.screen-*')))}"
            with screen.open("wb") as out:
                process = subprocess.Popen(
                    ["bash", "-c", command],
                    cwd=self.directory,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    start_new_session=True,
                    # A terminal's programs hear Ctrl-C, also where the tests themselves run in the background.
                    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                )
            self._terminals[name] = (process, screen)
        process, screen = self._terminals[name]

        def is_shown() -> bool:
            assert process.poll() is None, f"what ran in the terminal {name} ended"
            return looks_like(screen.read_text(), wanted)

        try:
            wait_until(is_shown, f"the terminal {name} shows:\n{wanted}", _COMMAND_S_MAX)
        except AssertionError as error:
            raise AssertionError(f"{error}\ninstead of:\n{screen.read_text()}") from error
        return len(commands)

    def _type(self, command: str, wanted: str, is_eventual: bool) -> None:
        """Run a command to its end; variables that it sets stay for those after it."""
        if re.fullmatch(r"\w+=\S+", command):
            self._variables += command + "\n"
            return
        shown = ""

        def is_shown() -> bool:
            nonlocal shown
            ended = subprocess.run(
                ["bash", "-c", self._variables + command],
                cwd=self.directory,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                timeout=_COMMAND_S_MAX,
                check=False,
            )
            shown = ended.stdout.decode()
            # curl ends its answer without a line feed; a terminal begins the prompt on a new line all the same.
            shown = shown if shown.endswith("\n") or not shown else shown + "\n"
            return looks_like(shown, wanted)

        try:
            wait_until(is_shown, "it shows that", _COMMAND_S_MAX if is_eventual else 0.0)
        except AssertionError as error:
            raise AssertionError(f"$ {command}\nshows:\n{shown}\ninstead of:\n{wanted}") from error
