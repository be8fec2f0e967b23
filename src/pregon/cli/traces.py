"""`pregon traces`: what happened to which messages, and when."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from pregon.cli.connect import HubOption, JsonOption, MaxOption, connect
from pregon.cli.output import show_rows, tell
from pregon.clock import parse_us
from pregon.errors import BadRequest
from pregon.model.trace import KINDS, TraceQuery

commands = typer.Typer()


@commands.command("traces")
def traces(
    topic: Annotated[str, typer.Option("--topic", help="Of this topic")] = "",
    seq: Annotated[int, typer.Option("--seq", help="Of the message with this number (needs --topic)")] = 0,
    kind: Annotated[
        str,
        typer.Option("--kind", help=f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"),
    ] = "",
    producer: Annotated[str, typer.Option("--producer", help="Of this producer")] = "",
    subscriber: Annotated[str, typer.Option("--subscriber", help="Of this subscriber")] = "",
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="From this time on")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Before this time")] = None,
    max: MaxOption = 100,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search the traces, newest first."""
    query = TraceQuery(
        topic=topic,
        seq=seq,
        kind=kind,
        producer=producer,
        subscriber=subscriber,
        since_us=_instant(since),
        until_us=_instant(until),
        max=max,
    )
    with connect(hub) as client:
        rows = [msgspec.to_builtins(trace) for trace in client.traces(query)]
    columns = ("at_us", "kind", "topic", "first_seq", "last_seq", "producer", "subscriber", "detail")
    show_rows(rows, columns, as_json=as_json, empty=tell("no traces", "no hay trazas"))


def _instant(text: str | None) -> int:
    try:
        return 0 if text is None else parse_us(text)
    except ValueError as error:
        raise BadRequest(f"{text!r} is not a time: write 2026-11-15T10:00:00Z") from error
