"""People who chat in a terminal, each a process of its own with lines in and lines out."""

from __future__ import annotations

import re
from pathlib import Path

from ..hub_process import COMMAND, HubProcess, wait_until
from ..services.program import PATIENCE_S, Program

_MESSAGE = re.compile(r"(\S+)  (\d+:\d+)  (.+?)(?: \(answers .+? (\d+:\d+)\))?: (.*)")


class Chatter(Program):
    """`pregon chat --plain-text`, and what somebody types there."""

    def __init__(self, hub: HubProcess, nick: str, place: Path, *rooms: str, options: tuple[str, ...] = ()) -> None:
        command = [*COMMAND, "chat", *rooms, "--hub", hub.url, "--lang", "en", "--plain-text", *options]
        super().__init__(f"chat-{nick}", [*command, *(("--nick", nick) if nick else ())], place)
        self.nick = nick

    def open(self) -> Chatter:
        """Start, and wait until they are in."""
        self.start()
        self.wait_for("!! connected as ")
        return self

    def wait_for(self, part: str, count: int = 1) -> str:
        """Wait until a line has this in it, so many times; the last of those lines."""

        def found() -> list[str]:
            is_alive = self.is_alive
            lines = [line for line in self.lines() if part in line]
            assert is_alive or len(lines) >= count, f"{self.name} ended without showing {part!r}:\n{self.said()}"
            return lines if len(lines) >= count else []

        try:
            return wait_until(found, f"{self.name} shows {part!r}", PATIENCE_S)[-1]
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.said()}") from error

    def messages(self, room: str) -> list[tuple[str, str, str]]:
        """What was said in a room as it was shown: the stamp, who, and the text."""
        found = [match for line in self.lines() if (match := _MESSAGE.fullmatch(line)) and match[1] == room]
        return [(match[2], match[3], match[5]) for match in found]

    def stamp_of(self, text: str) -> str:
        """The name of a message, by its text."""
        return self.wait_for(f": {text}").split("  ")[1]

    def finish(self, status: int = 0) -> list[str]:
        """Wait until it ends by itself; what it showed."""
        lines = super().finish(status)
        assert self.running.stdin is not None, "its standard input is a pipe"
        self.running.stdin.close()
        return lines

    def leave(self) -> list[str]:
        """Type /quit, and wait for the end; all that was shown."""
        self.tell("/quit")
        return self.finish()
