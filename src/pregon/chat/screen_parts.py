"""How the chat's screen draws a line, a room and a member, as rich draws it.

Pure. Promises: what somebody wrote is only ever text: no markup in it is obeyed. What happened to a member is drawn
from the event's kind, in a way that no message is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from pregon.chat.looks import beginning, colour_of
from pregon.chat.plain_lines import describe_event
from pregon.chat.room import Line, Placed, Room, Stage
from pregon.client.groups.events import GroupMember

_DEPTH_MAX = 6
_LEFT_COLUMNS = 15
CONCURRENT = "∥"
CHOSEN = "▶"


@dataclass(frozen=True)
class Drawn:
    """A line of a room: when and which to the left, who and what to the right, where it is wrapped by itself."""

    left: Text
    right: Text
    quotation: Text | None = None

    @property
    def text(self) -> Text:
        """All of it, one after the other."""
        above = (Text(" " * _LEFT_COLUMNS), self.quotation, "\n") if self.quotation is not None else ()
        return Text.assemble(*above, self.left, self.right)

    def __str__(self) -> str:
        return self.text.plain

    def __rich_console__(self, _console: Console, _options: ConsoleOptions) -> RenderResult:
        grid = Table.grid(padding=0)
        grid.add_column(width=_LEFT_COLUMNS, no_wrap=True)
        grid.add_column(ratio=1)
        if self.quotation is not None:
            grid.add_row("", self.quotation)
        grid.add_row(self.left, self.right)
        yield grid


def draw_line(language: str, room: Room, placed: Placed, zone: tzinfo | None = None) -> Drawn:
    """A line of a room, with a quotation above it if it has one."""
    line = placed.line
    left = Text(f"{_clock(line, zone)} ", "dim")
    if not line.is_message:
        left.append(" " * (_LEFT_COLUMNS - len(left)))
        return Drawn(left, Text(f"— {describe_event(language, line)}", "italic dim"))
    left.append(f"{line.stamp or ''!s:>6} ")
    left.append(_mark(room, line), "not dim bold yellow")
    indent = "   " * min(placed.depth, _DEPTH_MAX)
    right = Text()
    right.append(f"{indent}{'└ ' if placed.depth else ''}", "dim")
    right.append(line.name, f"bold {colour_of(line.name)}")
    right.append("  ")
    right.append(line.text, "strike dim" if line.stage is Stage.REFUSED else "")
    if line.stage is Stage.WAITING:
        right.append("  ⏳", "dim")
    return Drawn(left, right, None if placed.quoted is None else _quote(placed.quoted, indent))


def _quote(line: Line, indent: str) -> Text:
    text = Text(f"{indent}┌ ", "dim", no_wrap=True, overflow="ellipsis")
    text.append(line.name, f"dim {colour_of(line.name)}")
    text.append(f" {line.stamp}  {beginning(line.text)}", "dim")
    return text


def look_of(room: Room, placed: Placed) -> tuple[object, ...]:
    """All by which a line that is on the screen could come to look otherwise."""
    line = placed.line
    return id(line), placed.depth, id(placed.quoted), line.stage, line.stamp, _mark(room, line)


def _mark(room: Room, line: Line) -> str:
    if line.stamp is None or room.marked is None:
        return "  "
    if line.stamp == room.marked:
        return f"{CHOSEN} "
    return f"{CONCURRENT} " if line.stamp in room.concurrent else "  "


def _clock(line: Line, zone: tzinfo | None) -> str:
    if not line.at_us:
        return "     "
    return datetime.fromtimestamp(line.at_us / 1_000_000, UTC).astimezone(zone).strftime("%H:%M")


def draw_room(room: Room, *, is_shown: bool) -> Text:
    """A room in the list of rooms."""
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append("@" if room.with_ else "#", "dim")
    name = room.with_ or room.name
    colour = colour_of(name) if room.with_ else ""
    text.append(name, f"bold {colour}" if is_shown or room.unread else colour)
    if room.unread:
        text.append("  ")
        text.append(f" {room.unread} ", "bold reverse")
    return text


def draw_member(member: GroupMember, *, is_me: bool, you: str) -> Text:
    """A member in the list of who is here."""
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append("● " if member.is_here else "○ ", "green" if member.is_here else "dim")
    text.append(member.name, colour_of(member.name) if member.is_here else f"dim {colour_of(member.name)}")
    if is_me:
        text.append(f" ({you})", "dim")
    return text
