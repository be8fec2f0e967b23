"""`pregon subscriber test`: send a test to a subscriber's web service, and show what went over the wire.

Promises:
- What comes from the web service is shown without anything that could move a terminal's cursor.
- The command ends with 1 when a message would not have been delivered.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from pregon.cli.connect import HubOption, JsonOption, connect
from pregon.cli.output import console, printable, show_json, tell
from pregon.errors import BadRequest
from pregon.limits import REHEARSAL_BODY_BYTES_MAX

_DELIVERED = "delivered"
_OUR_TIME_MS = 2_000
"""What the hub may take besides the time limit of the web service."""


def rehearse(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The subscriber's name")],
    body: Annotated[
        str | None, typer.Option("--body", metavar="TEXT|@FILE", help="What to send; a small sample if not said")
    ] = None,
    content_type: Annotated[
        str, typer.Option("--content-type", help="What it is; XML for SOAP, else JSON, if not said")
    ] = "",
    topic: Annotated[str, typer.Option("--topic", help="The topic that it says to be of")] = "",
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send a test to a subscriber's web service, as a push is sent, and show what it answers. Nothing else changes."""
    trial = {"topic": topic, "content_type": content_type, **({} if body is None else _read_body(body))}
    said = {name_: value for name_, value in trial.items() if value or name_ in ("text", "base64")}
    with connect(hub) as client:
        # Asked first: how long it may take is the subscriber's.
        time_limit_ms = client.show("subscriber", name)["push"]["time_limit_ms"]
        rehearsal = client.rehearse(name, wait_ms=time_limit_ms + _OUR_TIME_MS, **said)
    if as_json:
        show_json(rehearsal)
    else:
        _show(rehearsal)
    if rehearsal["outcome"] != _DELIVERED:
        raise typer.Exit(1)


def _read_body(said: str) -> dict[str, str]:
    """The body that was written, or that is in the file that was named."""
    if not said.startswith("@"):
        return {"text": said}
    try:
        with sys.stdin.buffer if said == "@-" else Path(said[1:]).open("rb") as file:
            read = file.read(REHEARSAL_BODY_BYTES_MAX + 1)
    except OSError as error:
        raise BadRequest(f"{said[1:]} cannot be read: {error.strerror}") from error
    return {"base64": base64.b64encode(read).decode()}


def _show(rehearsal: Mapping[str, Any]) -> None:
    out = console()
    request, answer = rehearsal["request"], rehearsal["answer"]
    out.print(f"[dim]{escape(printable(rehearsal['endpoint']))}[/]")
    _show_part(out, ">", request["request_line"], request)
    out.print()
    if answer["status"] is None:
        out.print(f"[dim]<[/] {tell('no answer', 'sin respuesta')}")
    else:
        _show_part(out, "<", f"HTTP {answer['status']} {answer['reason']}".rstrip(), answer)
    out.print()
    is_good = rehearsal["outcome"] == _DELIVERED
    took = tell(f"after {rehearsal['latency_ms']} ms", f"en {rehearsal['latency_ms']} ms")
    said = f"{rehearsal['outcome']}: {printable(rehearsal['reason'])}"
    out.print(f"[bold {'green' if is_good else 'red'}]{escape(said)}[/] [dim]{took}[/]")


def _show_part(out: Console, mark: str, first_line: str, part: Mapping[str, Any]) -> None:
    """A request or an answer, each line with a mark as curl has it."""
    out.print(f"[dim]{mark}[/] [bold]{escape(printable(first_line))}[/]")
    for header in part["headers"]:
        out.print(f"[dim]{mark}[/] {escape(printable(header['name']))}: {escape(printable(header['value']))}")
    body = part["text"] if "text" in part else part["base64"]
    if body:
        out.print(f"[dim]{mark}[/]")
    for line in body.splitlines():
        out.print(f"[dim]{mark}[/] {escape(printable(line))}")
    if part["body_is_cut"]:
        out.print(f"[dim]{mark}[/] [dim]{tell('… and more', '… y más')}[/]")
