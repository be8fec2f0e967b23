"""`pregon audit`: who changed what, and when."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from pregon.cli.connect import HubOption, JsonOption, MaxOption, connect
from pregon.cli.output import console, show_rows, tell
from pregon.cli.pages import gather, parse_instant
from pregon.model.administration import AuditQuery

commands = typer.Typer()

_COLUMNS = ("at_us", "who", "action", "kind", "object", "detail")


@commands.command("audit")
def audit(
    who: Annotated[str, typer.Option("--who", help='Of this one: "administrator ana", "token grafana"')] = "",
    kind: Annotated[str, typer.Option("--kind", help="Of this kind: topic, subscription, key, administrator …")] = "",
    object: Annotated[str, typer.Option("--object", help="Of what has this name; with * at its end, begins so")] = "",
    action: Annotated[str, typer.Option("--action", help="Only this: create, update, delete, enter …")] = "",
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="From this time on")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Before this time")] = None,
    before: Annotated[int, typer.Option("--before", metavar="ID", help="Older than the entry with this id")] = 0,
    max: MaxOption = 50,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show who changed what, newest first."""
    query = AuditQuery(
        who=who,
        kind=kind,
        object=object,
        action=action,
        since_us=parse_instant(since),
        until_us=parse_instant(until),
        before=before,
        max=max,
    )
    with connect(hub) as client:
        found = gather(client.audit, query)
    rows = [msgspec.to_builtins(entry) for entry in found]
    if not as_json:
        rows = [{**row, "who": row["who"] or tell("(anybody)", "(cualquiera)")} for row in rows]
    show_rows(rows, _COLUMNS, as_json=as_json, empty=tell("nothing was changed", "nadie cambió nada"))
    if found.next and not as_json:
        older = tell(f"there are older ones: --before {found.next}", f"hay más antiguos: --before {found.next}")
        console(stderr=True).print(f"[dim]{older}[/]")
