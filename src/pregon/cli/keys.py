"""`pregon key` and `pregon token`: create, list, revoke.

A key lets its bearer act as a producer or as a subscriber; a token has scopes instead. What was made is written on
standard output, alone, and what to do with it on standard error, so that a script can keep the one:

    export PREGON_KEY=$(pregon token create admin --scope admin --data pregon-data)

Promises:
- A secret is written once, by `create`, to standard output, and by nothing else.
- No command takes a secret as an argument: the arguments of a process are seen by everybody on its machine.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from pregon.addresses import KEY_VARIABLE
from pregon.cli.connect import HubOption, JsonOption, parse_bytes, parse_duration_ms
from pregon.cli.key_places import KeyPlace, open_keys
from pregon.cli.output import console, show_json, show_rows, tell
from pregon.clock import format_us
from pregon.errors import NotFound
from pregon.security.keys import ADMIN, OPERATE, PRODUCER, READ, SUBSCRIBER, TOKEN

key = typer.Typer(help="Keys: with which a producer or a subscriber shows who it is.", no_args_is_help=True)
token = typer.Typer(help="Tokens: keys of people and programs that administer, operate or read.", no_args_is_help=True)


class Owner(StrEnum):
    """Whose a key is."""

    producer = PRODUCER
    subscriber = SUBSCRIBER


class Scope(StrEnum):
    """What a token may do; each includes the ones after it."""

    admin = ADMIN
    operate = OPERATE
    read = READ


KindArgument = Annotated[Owner, typer.Argument(metavar="producer|subscriber", help="Whose key it is")]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of its owner")]
IdArgument = Annotated[str, typer.Argument(metavar="KEY_ID", help="The key's id, which `list` shows")]
LabelOption = Annotated[str, typer.Option("--label", help="What it is for, for people")]
RateOption = Annotated[
    int | None, typer.Option("--requests-per-s", metavar="N", help="Refuse more requests than this in a second")
]
BodyOption = Annotated[str | None, typer.Option("--body-bytes-max", metavar="SIZE", help="Refuse larger bodies: 64KiB")]
LifetimeOption = Annotated[
    str | None, typer.Option("--lifetime", metavar="DURATION", help="Let it expire after so long: 90d")
]
OverlapOption = Annotated[
    str | None,
    typer.Option("--overlap", metavar="DURATION", help="Let the owner's other keys end after so long: 24h, 0s"),
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Work in the data directory of a hub that is not running"),
]

_COLUMNS = ("id", "label", "requests_per_s", "body_bytes_max", "created_us", "expires_us")


@key.command("create")
def key_create(
    kind: KindArgument,
    name: NameArgument,
    label: LabelOption = "",
    requests_per_s: RateOption = None,
    body_bytes_max: BodyOption = None,
    lifetime: LifetimeOption = None,
    overlap: OverlapOption = None,
    data: DataOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key for a producer or subscriber, and show it once. From then on only its bearers use the name."""
    limits = {"requests_per_s": requests_per_s, "body_bytes_max": parse_bytes(body_bytes_max)}
    wanted = {"kind": kind.value, "owner": name, "label": label, **limits, **_times(lifetime, overlap)}
    with open_keys(hub, data) as keys:
        _show_made(keys.create(wanted), overlap, as_json)


@key.command("list")
def key_list(
    kind: KindArgument,
    name: NameArgument,
    data: DataOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the keys of a producer or subscriber, without their secrets."""
    with open_keys(hub, data) as keys:
        rows = keys.list(kind.value, name)
    show_rows(rows, _COLUMNS, as_json=as_json, empty=tell("none", "ninguna"))


@key.command("revoke")
def key_revoke(
    kind: KindArgument,
    name: NameArgument,
    key_id: IdArgument,
    data: DataOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke a key, at once."""
    with open_keys(hub, data) as keys:
        _revoke(keys, kind.value, name, key_id, as_json)


@token.command("create")
def token_create(
    name: NameArgument,
    scopes: Annotated[
        list[Scope],
        typer.Option("--scope", metavar="admin|operate|read", help="What it may do; may be repeated"),
    ],
    label: LabelOption = "",
    requests_per_s: RateOption = None,
    lifetime: LifetimeOption = None,
    overlap: OverlapOption = None,
    data: DataOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a token, and show it once. With its first administrator a hub begins to ask who you are."""
    wanted = {
        "kind": TOKEN,
        "owner": name,
        "scopes": list(dict.fromkeys(scope.value for scope in scopes)),
        "label": label,
        "requests_per_s": requests_per_s,
        **_times(lifetime, overlap),
    }
    with open_keys(hub, data, may_make=True) as keys:
        _show_made(keys.create(wanted), overlap, as_json)


@token.command("list")
def token_list(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Only of this name")] = "",
    data: DataOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """List tokens, without their secrets."""
    with open_keys(hub, data) as keys:
        rows = keys.list(TOKEN, name)
    columns = ("owner", "id", "scopes", "label", "requests_per_s", "created_us", "expires_us")
    show_rows(rows, columns, as_json=as_json, empty=tell("none", "ninguno"))


@token.command("revoke")
def token_revoke(
    name: NameArgument,
    key_id: IdArgument,
    data: DataOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke a token, at once; the last administrator's is refused, because without one the hub would be open."""
    with open_keys(hub, data) as keys:
        _revoke(keys, TOKEN, name, key_id, as_json)


def _times(lifetime: str | None, overlap: str | None) -> dict[str, int | None]:
    return {"lifetime_ms": parse_duration_ms(lifetime), "overlap_ms": parse_duration_ms(overlap)}


def _revoke(keys: KeyPlace, kind: str, name: str, key_id: str, as_json: bool) -> None:
    if not keys.revoke(kind, name, key_id):
        listing = f"token list {name}" if kind == TOKEN else f"key list {kind} {name}"
        raise NotFound(f"the {kind} {name} has no key with this id: `pregon {listing}` shows what there is")
    if not as_json:
        console().print(tell(f"{kind} {name}: key {key_id} revoked", f"{kind} {name}: clave {key_id} revocada"))


def _show_made(made: dict[str, Any], overlap: str | None, as_json: bool) -> None:
    """A new key: as JSON, or the secret for whoever keeps it and the rest for whoever reads."""
    if as_json:
        show_json(made)
        return
    sys.stdout.write(made["secret"] + "\n")
    sys.stdout.flush()
    out = console(stderr=True)
    for line in _explain(made, overlap):
        out.print(escape(line))


def _explain(made: dict[str, Any], overlap: str | None) -> list[str]:
    kind, owner, scopes = made["kind"], made["owner"], ", ".join(made["scopes"])
    if made["expires_us"] is None:
        english, spanish = "it does not expire", "no vence"
    else:
        day = format_us(made["expires_us"])
        english, spanish = f"it expires at {day}", f"vence en {day}"
    lines = [tell(f"Key {made['id']} of the {kind} {owner}: {english}.", f"Clave {made['id']} de {owner}: {spanish}.")]
    if kind == TOKEN:
        lines.append(tell(f"Its scopes: {scopes}.", f"Sus alcances: {scopes}."))
    else:
        english = f"From now on only who presents a key of {owner} may act as that {kind}."
        spanish = f"Desde ahora solo quien presente una clave de {owner} puede actuar con ese nombre."
        lines.append(tell(english, spanish))
    if overlap is not None:
        english = f"The other keys of {owner} end in {overlap}, or before if they were to."
        spanish = f"Las otras claves de {owner} vencen dentro de {overlap}, o antes si así estaba dicho."
        lines.append(tell(english, spanish))
    return [
        *lines,
        tell(
            "Keep it now: nobody can show it again. Commands and the Python client read it from the variable "
            f"{KEY_VARIABLE}; over HTTP it goes in the header `Authorization: Bearer KEY`.",
            "Guárdela ahora: nadie puede volver a mostrarla. Los comandos y el cliente de Python la leen de la "
            f"variable {KEY_VARIABLE}; por HTTP va en el encabezado `Authorization: Bearer CLAVE`.",
        ),
    ]
