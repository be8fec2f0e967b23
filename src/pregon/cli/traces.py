"""`pregon traces`: what happened to which messages, and when; `pregon trace`: the whole story of one message."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer
from rich.markup import escape
from rich.table import Table

from pregon.cli.connect import HubOption, JsonOption, MaxOption, connect
from pregon.cli.output import console, printable, show_json, show_rows, tell
from pregon.cli.pages import gather, parse_instant
from pregon.clock import format_us
from pregon.model import trace as kinds
from pregon.model.trace import KINDS, Standing, Story, Trace, TraceQuery

commands = typer.Typer()

_COLUMNS = (
    "at_us",
    "kind",
    "topic",
    "first_seq",
    "last_seq",
    "producer",
    "subscriber",
    "attempt",
    "latency_ms",
    "detail",
)
_SPANISH = {
    kinds.ACCEPTED: "aceptado",
    kinds.DELIVERED: "entregado",
    kinds.FAILED: "falló",
    kinds.DEFERRED: "postergado",
    kinds.PULLED: "retirado",
    kinds.ACKNOWLEDGED: "confirmado",
    kinds.PARKED: "apartado",
    kinds.UNPARKED: "repuesto",
    kinds.FILTERED: "filtrado",
    kinds.REPLAYED: "repetido",
    kinds.EXPIRED: "vencido",
    kinds.CANCELLED: "cancelado",
    kinds.REMOVED: "borrado",
    kinds.PENDING: "pendiente",
    kinds.RETURNED: "repuesto, pendiente",
    kinds.NOT_ENTITLED: "anterior a su suscripción",
}
_STYLES = {
    kinds.FAILED: "red",
    kinds.PARKED: "yellow",
    kinds.DEFERRED: "yellow",
    kinds.EXPIRED: "yellow",
    kinds.CANCELLED: "yellow",
    kinds.DELIVERED: "green",
    kinds.ACKNOWLEDGED: "green",
}


@commands.command("traces")
def traces(
    topic: Annotated[str, typer.Option("--topic", help="Of this topic")] = "",
    seq: Annotated[int, typer.Option("--seq", help="Of the message with this number (needs --topic)")] = 0,
    kind: Annotated[
        str,
        typer.Option("--kind", help=f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"),
    ] = "",
    producer: Annotated[
        str,
        typer.Option("--producer", help="Of this producer; with --subscriber or --kind, of the messages it published"),
    ] = "",
    subscriber: Annotated[str, typer.Option("--subscriber", help="Of this subscriber")] = "",
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="From this time on")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Before this time")] = None,
    before: Annotated[int, typer.Option("--before", metavar="ID", help="Older than the trace with this id")] = 0,
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
        since_us=parse_instant(since),
        until_us=parse_instant(until),
        before=before,
        max=max,
    )
    with connect(hub) as client:
        found = gather(client.traces, query)
    rows = [msgspec.to_builtins(trace) for trace in found]
    show_rows(rows, _COLUMNS, as_json=as_json, empty=tell("no traces", "no hay trazas"))
    if found.next and not as_json:
        older = tell(f"there are older ones: --before {found.next}", f"hay más antiguas: --before {found.next}")
        console(stderr=True).print(f"[dim]{older}[/]")


@commands.command("trace")
def trace(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name")],
    seq: Annotated[int, typer.Argument(metavar="SEQ", help="The message's number")],
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell the whole story of one message: what happened to it, and how it stands now for each subscription."""
    with connect(hub) as client:
        story = client.story(topic, seq)
    if as_json:
        show_json(msgspec.to_builtins(story))
        return
    out = console()
    out.print(_title(story))
    day = ""
    for one in story.traces:
        if format_us(one.at_us)[:10] != day:
            day = format_us(one.at_us)[:10]
            out.print(f"\n[bold]{day}[/]")
        out.print(_line(one, seq))
    if not story.is_whole:
        out.print(f"[dim]{tell('there is more than is shown here', 'hay más de lo que se muestra aquí')}[/]")
    out.print(f"\n[bold]{tell('now', 'ahora')}[/]")
    if not story.subscriptions:
        out.print(f"  [dim]{tell('nobody is subscribed', 'no hay suscripciones')}[/]")
        return
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for standing in story.subscriptions:
        table.add_row(f"  {escape(standing.subscriber)}", _word(standing.state), _standing(standing))
    out.print(table)


def _word(kind: str) -> str:
    """What happened, or how it stands, in the reader's language."""
    style = _STYLES.get(kind, "cyan")
    return f"[{style}]{tell(kind.replace('_', ' '), _SPANISH.get(kind, kind))}[/]"


def _title(story: Story) -> str:
    """What the message is."""
    said = [f"[bold]{escape(story.topic)} {story.seq}[/]"]
    if story.producer is not None:
        said.append(f"{tell('from', 'de')} [green]{escape(story.producer)}[/]")
    if story.id is None:
        return f"{' '.join(said)}  [dim]{tell('no longer in the log', 'ya no está en el registro')}[/]"
    key = f"  {tell('key', 'clave')} {story.key}" if story.key is not None else ""
    return f"{' '.join(said)}  [dim]{escape(printable(f'{story.content_type}  id {story.id}{key}'))}[/]"


def _line(one: Trace, seq: int) -> str:
    """One event: when, to whom, what, and why."""
    who = one.subscriber or one.producer
    said = [f"  [dim]{format_us(one.at_us)[11:].removesuffix('Z')}[/]", escape(who) if who else "", _word(one.kind)]
    if one.attempt:
        took = f", {one.latency_ms} ms" if one.latency_ms else ""
        said.append(f"[dim]{tell('attempt', 'intento')} {one.attempt}{took}[/]")
    if one.detail:
        said.append(escape(printable(one.detail)))
    if (one.first_seq, one.last_seq) != (seq, seq):
        said.append(f"[dim]({one.first_seq} {tell('to', 'a')} {one.last_seq})[/]")
    return "  ".join(part for part in said if part)


def _standing(standing: Standing) -> str:
    """Since when it stands so, and why; of a push that fails, how it goes on."""
    said: list[str] = []
    if standing.at_us is not None:
        said.append(f"{tell('since', 'desde')} {format_us(standing.at_us)}")
    if standing.reason:
        said.append(printable(standing.reason))
    if standing.attempts:
        said.append(f"{tell('failed attempts', 'intentos fallidos')}: {standing.attempts}")
    if standing.last_failure:
        said.append(printable(standing.last_failure))
    if standing.next_try_us is not None:
        said.append(f"{tell('next try', 'próximo intento')} {format_us(standing.next_try_us)}")
    return escape("; ".join(said))
