"""How the chat's screen draws a line, a room and a member, as rich texts.

Pure. Promises: what somebody wrote is only ever text: no markup in it is obeyed. What happened to a member is drawn
from the event's kind, in a way that no message is.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from rich.text import Text

from pregon.chat.looks import beginning, colour_of
from pregon.chat.plain_lines import describe_event
from pregon.chat.room import Line, Placed, Room, Stage
from pregon.client.groups.events import GroupMember

_DEPTH_MAX = 6
CONCURRENT = "∥"
CHOSEN = "▶"


def draw_line(language: str, room: Room, placed: Placed, zone: tzinfo | None = None) -> Text:
    """A line of a room, with a quotation above it if it has one."""
    line = placed.line
    if not line.is_message:
        return Text.assemble(
            (f"{_clock(line, zone)}       ", "dim"), (f"— {describe_event(language, line)}", "italic dim")
        )
    indent = "   " * min(placed.depth, _DEPTH_MAX)
    text = Text()
    if placed.quoted is not None:
        text.append(f"{'':13}{indent}┌ ", "dim")
        text.append(placed.quoted.name, f"dim {colour_of(placed.quoted.name)}")
        text.append(f" {placed.quoted.stamp}  {beginning(placed.quoted.text)}\n", "dim")
    text.append(f"{_clock(line, zone)} ", "dim")
    text.append(f"{line.stamp or ''!s:>6} ", "dim")
    text.append(_mark(room, line), "bold yellow")
    text.append(f"{indent}{'└ ' if placed.depth else ''}", "dim")
    text.append(line.name, f"bold {colour_of(line.name)}")
    text.append("  ")
    text.append(line.text, "strike dim" if line.stage is Stage.REFUSED else "")
    if line.stage is Stage.WAITING:
        text.append("  ⏳", "dim")
    return text


def look_of(room: Room, placed: Placed) -> tuple[object, ...]:
    """All by which a line that is on the screen could come to look otherwise."""
    line = placed.line
    return id(line), placed.depth, id(placed.quoted), line.stage, line.stamp, _mark(room, line)


def _mark(room: Room, line: Line) -> str:
    if line.stamp is None or room.marked is None:
        return ""
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
        text.append(f"  {room.unread}", "bold reverse")
    return text


def draw_member(language: str, member: GroupMember, *, is_me: bool, you: str) -> Text:
    """A member in the list of who is here."""
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append("● " if member.is_here else "○ ", "green" if member.is_here else "dim")
    text.append(member.name, colour_of(member.name) if member.is_here else f"dim {colour_of(member.name)}")
    if is_me:
        text.append(f" ({you})", "dim")
    return text
