"""`pregon group trace`: what was said in a group as a space-time diagram, and why a message waited."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from pregon.cli.connect import HubOption, JsonOption, connect
from pregon.cli.output import console, printable, show_json, show_rows, tell
from pregon.clock import INSTANT_US_MAX
from pregon.errors import BadRequest

if TYPE_CHECKING:
    from pregon.groups.trace import GroupTrace

commands = typer.Typer()

PARTICIPANT_VARIABLE = "PREGON_PARTICIPANT"
"""The environment variable with the token of a participant: needed for what only members may see."""
_FORMS = (".svg", ".html")
_COLUMNS = ("seq", "stamp", "name", "kind", "after", "text", "shown_to", "held_back")


@commands.command("trace")
def trace(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The group's name")],
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Draw it: a picture (.svg) or a page (.html)")
    ] = None,
    first: Annotated[int, typer.Option("--from", metavar="SEQ", min=0, help="From this message on; else the last")] = 0,
    last: Annotated[int, typer.Option("--to", metavar="SEQ", min=0, help="Up to this message; else the newest")] = 0,
    why: Annotated[str, typer.Option("--why", metavar="STAMP", help="Say why a message, such as 3:17, waited")] = "",
    member: Annotated[str, typer.Option("--member", metavar="NAME", help="With --why: for whom; else for all")] = "",
    logical: Annotated[bool, typer.Option("--logical", help="Draw only the order, not the time")] = False,
    lang: Annotated[str | None, typer.Option("--lang", metavar="es|en", help="Else as the locale says")] = None,
    theme: Annotated[str, typer.Option("--theme", help="light, dark, or auto: as the reader's system says")] = "auto",
    width: Annotated[int, typer.Option("--width", metavar="PIXELS", help="How wide to draw at least")] = 1_200,
    also: Annotated[
        list[str] | None,
        typer.Option("--also", metavar="URL", help="Another hub in which the group lives; may be repeated"),
    ] = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw what was said in a group, and when each member was shown it; or say why a message waited."""
    # Imported here, so that every other command starts without the drawing.
    from pregon.groups.spacetime import DiagramOptions, render_page, render_svg

    options = DiagramOptions(lang=lang or tell("en", "es"), is_logical=logical, width=width, theme=theme)
    if output is not None and output.suffix.lower() not in _FORMS:
        raise BadRequest(f"{output} is drawn as its name says: end it in {' or '.join(_FORMS)}")
    if member and not why:
        raise BadRequest("--member is for --why: name the message too")
    found = _fetch_all(name, (first, last), hub, also or [])
    if output is not None:
        render = render_svg if output.suffix.lower() == ".svg" else render_page
        _write(output, render(found, options))
    if why:
        _tell_why(found, why, member, options.lang, as_json)
    elif as_json:
        show_json(msgspec.to_builtins(found))
    elif output is not None:
        shown = tell(f"{len(found.messages)} messages drawn", f"{len(found.messages)} mensajes dibujados")
        console().print(f"{output}: {shown}", markup=False)
    else:
        show_rows(_rows(found), _COLUMNS, as_json=False, empty=tell("nothing was said yet", "todavía no se dijo nada"))
    if not found.is_whole:
        more = tell(
            "this is not all that was asked for: choose a shorter part with --from and --to",
            "esto no es todo lo que se pidió: elija un tramo más corto con --from y --to",
        )
        console(stderr=True).print(more, style="dim", markup=False)


def participant_token() -> str:
    """The token to show, if the user has set one: like a key, it is no option."""
    return os.environ.get(PARTICIPANT_VARIABLE, "")


def _fetch_all(name: str, part: tuple[int, int], hub: str | None, others: list[str]) -> GroupTrace:
    """A part of what a hub has, and what the others have of the same time."""
    from pregon.groups.trace import MESSAGES_MAX
    from pregon.groups.trace_merging import between, merge_traces

    found = _fetch(name, part, hub)
    if not others:
        return found
    traces = [found]
    for url in others:
        theirs = _fetch(name, (0, 0), url)
        if any(part) and found.messages:
            # Numbers of a message are of one hub: in another one the same time is looked for.
            theirs = _fetch(name, (max(1, theirs.head_seq - MESSAGES_MAX + 1), 0), url)
            last_us = found.messages[-1].accepted_us if part[1] else INSTANT_US_MAX
            theirs = between(theirs, found.messages[0].accepted_us, last_us)
        traces.append(theirs)
    return merge_traces(traces)


def _fetch(name: str, part: tuple[int, int], hub: str | None) -> GroupTrace:
    from pregon.groups.trace import GroupTrace

    token = participant_token()
    with connect(hub) as client:
        row = client.show("group-trace", name, *map(str, part), *([token] if token else []))
    return msgspec.convert(row, GroupTrace)


def _write(output: Path, text: str) -> None:
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadRequest(f"{output} cannot be written: {error.strerror or error}") from error


def _tell_why(found: GroupTrace, stamp: str, member: str, lang: str, as_json: bool) -> None:
    from pregon.groups.spacetime_why import explain, explain_all, find_member

    sentences = [explain(found, find_member(found, member), stamp, lang)] if member else explain_all(found, stamp, lang)
    for sentence in sentences:
        if as_json:
            show_json({"stamp": stamp, "why": sentence})
        else:
            console().print(printable(sentence), markup=False)


def _rows(found: GroupTrace) -> list[dict[str, object]]:
    """A line for each message: to how many it was shown, and by how many it was held back."""
    shown: dict[str, int] = {}
    held: dict[str, int] = {}
    for delivery in found.deliveries:
        shown[delivery.stamp] = shown.get(delivery.stamp, 0) + 1
        held[delivery.stamp] = held.get(delivery.stamp, 0) + delivery.was_held
    return [
        {
            "seq": message.seq,
            "stamp": message.stamp,
            "name": message.name,
            "kind": message.kind,
            "after": message.after,
            "text": message.text,
            "shown_to": shown.get(message.stamp, 0),
            "held_back": held.get(message.stamp, 0),
        }
        for message in found.messages
    ]
