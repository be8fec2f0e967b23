"""`pregon topic`, `pregon producer`: create, list, show, update, delete."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pregon.cli.connect import (
    HubOption,
    JsonOption,
    MaxOption,
    connect,
    parse_bytes,
    parse_duration_ms,
)
from pregon.cli.output import console, show_fields, show_rows, tell
from pregon.errors import NotFound

topic = typer.Typer(help="Topics: named logs of messages.", no_args_is_help=True)
producer = typer.Typer(help="Producers: who publishes.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Its name")]
DescriptionOption = Annotated[str | None, typer.Option("--description", help="What it is, for people")]
AfterOption = Annotated[str, typer.Option("--after", metavar="NAME", help="Begin after this name (the next page)")]
KeepOption = Annotated[
    str | None, typer.Option("--keep", metavar="DURATION", help="Forget messages older than this: 30d, 12h")
]
KeepBytesOption = Annotated[
    str | None, typer.Option("--keep-bytes", metavar="SIZE", help="Forget the oldest past this size: 10GiB")
]
KeepUnackedOption = Annotated[
    bool | None,
    typer.Option("--forget-acknowledged/--keep-acknowledged", help="Forget what every subscription has acknowledged"),
]
RestrictedOption = Annotated[
    bool | None,
    typer.Option("--restricted/--open", help="Only producers that were granted the topic may publish"),
]
TopicEnabledOption = Annotated[
    bool | None, typer.Option("--enable/--disable", help="Whether it accepts messages; what is in it is delivered")
]
ProducerEnabledOption = Annotated[
    bool | None, typer.Option("--enable/--disable", help="Whether what it publishes is accepted")
]

_COLUMNS = {
    "topic": ("name", "head_seq", "tail_seq", "bytes", "restricted", "enabled", "retention", "description"),
    "producer": ("name", "enabled", "topics", "created_us", "description"),
    "subscriber": ("name", "mode", "enabled", "format", "endpoint", "created_us", "description"),
}


def show_list(kind: str, hub: str | None, after: str, rows_max: int, as_json: bool) -> None:
    """A page of a kind."""
    with connect(hub) as client:
        rows = client.list(kind, after=[after] if after else [], max=rows_max)
    show_rows(rows, _COLUMNS[kind], as_json=as_json, empty=tell("none yet", "todavía no hay ninguno"))


def show_one(kind: str, names: tuple[str, ...], hub: str | None, as_json: bool) -> None:
    """One entry."""
    with connect(hub) as client:
        show_fields(client.show(kind, *names), as_json=as_json)


def delete_one(kind: str, names: tuple[str, ...], hub: str | None, as_json: bool) -> None:
    """Delete one entry; raises NotFound when there was none."""
    with connect(hub) as client:
        existed = client.delete(kind, *names)
    if not existed:
        raise NotFound(f"there is no {kind} {' '.join(names)}: `pregon {kind} list` shows what there is")
    if not as_json:
        console().print(tell(f"{kind} {' '.join(names)} deleted", f"{kind} {' '.join(names)} eliminado"))


def _retention(keep: str | None, keep_bytes: str | None, when_acknowledged: bool | None) -> dict[str, Any]:
    given = {
        "age_ms": parse_duration_ms(keep),
        "bytes_max": parse_bytes(keep_bytes),
        "when_acknowledged": when_acknowledged,
    }
    return {name: value for name, value in given.items() if value is not None}


@topic.command("create")
def topic_create(
    name: NameArgument,
    description: DescriptionOption = None,
    restricted: RestrictedOption = None,
    keep: KeepOption = None,
    keep_bytes: KeepBytesOption = None,
    forget_acknowledged: KeepUnackedOption = None,
    enabled: TopicEnabledOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Register a topic. Without limits it keeps everything."""
    said = {} if enabled is None else {"enabled": enabled}
    with connect(hub) as client:
        entry = client.create(
            "topic",
            name=name,
            description=description or "",
            restricted=bool(restricted),
            retention=_retention(keep, keep_bytes, forget_acknowledged),
            **said,
        )
    show_fields(entry, as_json=as_json)


@topic.command("update")
def topic_update(
    name: NameArgument,
    description: DescriptionOption = None,
    restricted: RestrictedOption = None,
    keep: KeepOption = None,
    keep_bytes: KeepBytesOption = None,
    forget_acknowledged: KeepUnackedOption = None,
    keep_all: Annotated[bool, typer.Option("--keep-all", help="Take every retention limit away")] = False,
    enabled: TopicEnabledOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a topic; what is not named stays. --disable has it accept nothing more until --enable."""
    given: dict[str, Any] = {"description": description, "restricted": restricted, "enabled": enabled}
    values = {field: value for field, value in given.items() if value is not None}
    with connect(hub) as client:
        limits = _retention(keep, keep_bytes, forget_acknowledged)
        if limits or keep_all:
            values["retention"] = {**({} if keep_all else client.show("topic", name)["retention"]), **limits}
        show_fields(client.update("topic", name, **values), as_json=as_json)


@topic.command("list")
def topic_list(
    hub: HubOption = None, after: AfterOption = "", max: MaxOption = 100, as_json: JsonOption = False
) -> None:
    """List topics, by name."""
    show_list("topic", hub, after, max, as_json)


@topic.command("show")
def topic_show(name: NameArgument, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Show a topic."""
    show_one("topic", (name,), hub, as_json)


@topic.command("delete")
def topic_delete(
    name: NameArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask")] = False,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a topic, its messages and its subscriptions; its traces stay."""
    if not yes:
        typer.confirm(
            tell(f"Delete {name} and every message in it?", f"¿Eliminar {name} y todos sus mensajes?"),
            abort=True,
        )
    delete_one("topic", (name,), hub, as_json)


@producer.command("create")
def producer_create(
    name: NameArgument,
    description: DescriptionOption = None,
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="TOPIC", help="Grant a restricted topic; may be repeated"),
    ] = None,
    enabled: ProducerEnabledOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Register a producer, and grant it restricted topics."""
    said = {} if enabled is None else {"enabled": enabled}
    with connect(hub) as client:
        entry = client.create("producer", name=name, description=description or "", topics=topics or [], **said)
    show_fields(entry, as_json=as_json)


@producer.command("update")
def producer_update(
    name: NameArgument,
    description: DescriptionOption = None,
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="TOPIC", help="Grant exactly these; may be repeated"),
    ] = None,
    enabled: ProducerEnabledOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a producer; what is not named stays. --disable has all that it publishes refused, until --enable."""
    given: dict[str, Any] = {"description": description, "topics": topics, "enabled": enabled}
    with connect(hub) as client:
        values = {field: value for field, value in given.items() if value is not None}
        show_fields(client.update("producer", name, **values), as_json=as_json)


@producer.command("list")
def producer_list(
    hub: HubOption = None, after: AfterOption = "", max: MaxOption = 100, as_json: JsonOption = False
) -> None:
    """List producers, by name."""
    show_list("producer", hub, after, max, as_json)


@producer.command("show")
def producer_show(name: NameArgument, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Show a producer."""
    show_one("producer", (name,), hub, as_json)


@producer.command("delete")
def producer_delete(name: NameArgument, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Delete a producer; its messages stay."""
    delete_one("producer", (name,), hub, as_json)
