"""`pregon schema`: set, show, remove what the messages of a topic must be."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from pregon.cli.connect import HubOption, JsonOption, MaxOption, connect
from pregon.cli.output import console, printable, show_fields, show_json, show_rows, tell
from pregon.errors import BadRequest, NotFound
from pregon.limits import SCHEMA_BYTES_MAX

app = typer.Typer(help="Schemas: what the messages of a topic must be.", no_args_is_help=True)

TopicArgument = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name")]
NONE = "none"


class Kind(StrEnum):
    """What a schema is written in; the last two only ask for bodies that are well-formed."""

    xsd = "xsd"
    json_schema = "json-schema"
    xml = "xml"
    json = "json"


_WITHOUT_TEXT = (Kind.xml, Kind.json)


@app.command("set")
def set_(
    topic: TopicArgument,
    kind: Annotated[
        Kind,
        typer.Option("--kind", metavar="xsd|json-schema|xml|json", help="xml and json: well-formed, no more"),
    ],
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="The schema, for xsd and json-schema; - for stdin")
    ] = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a topic a schema: from then on only what fits is stored. Says if it accepts all that the last one did."""
    if (file is None) != (kind in _WITHOUT_TEXT):
        raise BadRequest("xsd and json-schema need the schema in a --file; xml and json have none")
    text = "" if file is None else _read_text(file)
    with connect(hub) as client:
        row = client.create("schema", topic=topic, kind=kind.value, text=text)
    if as_json:
        show_json(row)
    else:
        _tell_verdict(row)


@app.command("show")
def show(
    topic: TopicArgument,
    versions: Annotated[
        bool, typer.Option("--versions", help="List the versions that it has had, newest first")
    ] = False,
    max: MaxOption = 100,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a topic's schema, or the versions that it has had."""
    with connect(hub) as client:
        rows = client.list("schema", names=[topic], max=max if versions else 1)
    if versions:
        columns = ("version", "kind", "compatible", "created_us", "reasons")
        show_rows(rows, columns, as_json=as_json, empty=tell("none yet", "todavía no hay ninguno"))
        return
    if not rows or rows[0]["kind"] == NONE:
        raise NotFound(f"{topic} has no schema: it takes any body")
    if as_json:
        show_json(rows[0])
        return
    show_fields({name: value for name, value in rows[0].items() if name != "text"}, as_json=False)
    for line in rows[0]["text"].splitlines():
        console().print(escape(printable(line)))


@app.command("remove")
def remove(topic: TopicArgument, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Take a topic's schema away: it takes any body again. The versions that it had stay."""
    with connect(hub) as client:
        rows = client.list("schema", names=[topic], max=1)
        if not rows or rows[0]["kind"] == NONE:
            raise NotFound(f"{topic} has no schema: it takes any body")
        row = client.create("schema", topic=topic, kind=NONE)
    if as_json:
        show_json(row)
    else:
        console().print(tell(f"{topic} takes any body again", f"{topic} vuelve a aceptar cualquier cuerpo"))


def _read_text(file: Path) -> str:
    """The text of a file, or of standard input for `-`; raises BadRequest."""
    try:
        if str(file) == "-":
            content = sys.stdin.buffer.read(SCHEMA_BYTES_MAX + 1)
        else:
            with file.open("rb") as opened:
                content = opened.read(SCHEMA_BYTES_MAX + 1)
    except OSError as error:
        raise BadRequest(f"{file} cannot be read: {error.strerror}") from error
    if len(content) > SCHEMA_BYTES_MAX:
        raise BadRequest(f"{file} has more than {SCHEMA_BYTES_MAX} bytes, the limit of a schema")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadRequest(f"{file} is not UTF-8: a schema is sent as text") from error


def _tell_verdict(row: dict[str, Any]) -> None:
    out = console()
    out.print(
        tell(
            f"{row['topic']} has version {row['version']} of its schema ({row['kind']})",
            f"{row['topic']} tiene la versión {row['version']} de su esquema ({row['kind']})",
        )
    )
    verdicts = {
        "yes": ("It accepts all that was accepted before.", "Acepta todo lo que se aceptaba antes."),
        "no": (
            "It does not accept all that was accepted before:",
            "No acepta todo lo que se aceptaba antes:",
        ),
        "unknown": (
            "Whether it accepts all that was accepted before is not known:",
            "No se sabe si acepta todo lo que se aceptaba antes:",
        ),
    }
    out.print(tell(*verdicts[row["compatible"]]))
    for reason in row["reasons"]:
        out.print("  " + escape(printable(reason)))
