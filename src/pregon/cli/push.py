"""`pregon subscriber secret`: create, list, revoke the secrets with which what is pushed to a subscriber is signed.

Promises, as those of `keys`:
- A secret is written once, by `create`, to standard output, and by nothing else.
- No command takes a secret as an argument: the arguments of a process are seen by everybody on its machine.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from pregon.cli.connect import HubOption, JsonOption, connect, parse_duration_ms
from pregon.cli.output import console, show_json, show_rows, tell
from pregon.errors import BadRequest, NotFound

secret = typer.Typer(help="Secrets with which what is pushed to a subscriber is signed.", no_args_is_help=True)

SubscriberArgument = Annotated[str, typer.Argument(metavar="NAME", help="The subscriber's name")]
SecretIdArgument = Annotated[str, typer.Argument(metavar="SECRET_ID", help="The secret's id, which `list` shows")]

_SECRET_BYTES_MAX = 1_000
"""No secret is as long as this: whatever it is that was named, it is not read further."""
_OVERLAP_DEFAULT = "24h"


@secret.command("create")
def secret_create(
    name: SubscriberArgument,
    overlap: Annotated[
        str,
        typer.Option("--overlap", metavar="DURATION", help="Sign with the older secrets too for so long: 24h, 0s"),
    ] = _OVERLAP_DEFAULT,
    secret_file: Annotated[
        Path | None,
        typer.Option("--secret-file", metavar="FILE", help="Use the secret in this file, whsec_…; - reads it"),
    ] = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a subscriber a new signing secret, and show it once. The older ones end after the overlap."""
    wanted: dict[str, Any] = {"subscriber": name, "overlap_ms": parse_duration_ms(overlap)}
    if secret_file is not None:
        wanted["secret"] = _read_secret(secret_file)
    with connect(hub) as client:
        made = client.create("secret", **wanted)
    if as_json:
        show_json(made)
        return
    sys.stdout.write(made["secret"] + "\n")
    sys.stdout.flush()
    out = console(stderr=True)
    for line in _explain(made, overlap):
        out.print(escape(line))


def _read_secret(file: Path) -> str:
    try:
        with sys.stdin.buffer if str(file) == "-" else file.open("rb") as opened:
            read = opened.read(_SECRET_BYTES_MAX + 1)
        text = read.decode().strip()
    except OSError as error:
        raise BadRequest(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadRequest(f"{file} is no text: a secret is whsec_ and base64") from error
    if not text or len(read) > _SECRET_BYTES_MAX:
        raise BadRequest(f"{file} has no secret in it: a secret is whsec_ and base64")
    return text


def _explain(made: dict[str, Any], overlap: str) -> list[str]:
    name = made["subscriber"]
    return [
        tell(
            f"Secret {made['id']}: from now on what is pushed to {name} is signed with it (Standard Webhooks). SOAP is "
            "not signed.",
            f"Secreto {made['id']}: desde ahora lo que se envía a {name} se firma con él (Standard Webhooks). SOAP no "
            "se firma.",
        ),
        tell(
            f"Older secrets of {name} sign beside it for {overlap}, or less if they were to end before.",
            f"Los secretos anteriores de {name} firman también durante {overlap}, o menos si vencían antes.",
        ),
        tell(
            "Give it to who writes the subscriber's web service: nobody can show it again.",
            "Déselo a quien escribe el servicio web del suscriptor: nadie puede volver a mostrarlo.",
        ),
    ]


@secret.command("list")
def secret_list(name: SubscriberArgument, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """List the signing secrets of a subscriber, newest first, without what is secret of them."""
    with connect(hub) as client:
        rows = client.list("secret", names=[name])
    empty = tell("none: what is pushed is not signed", "ninguno: lo que se envía no se firma")
    show_rows(rows, ("id", "created_us", "expires_us"), as_json=as_json, empty=empty)


@secret.command("revoke")
def secret_revoke(
    name: SubscriberArgument, secret_id: SecretIdArgument, hub: HubOption = None, as_json: JsonOption = False
) -> None:
    """Revoke a signing secret, at once."""
    with connect(hub) as client:
        existed = client.delete("secret", name, secret_id)
    if not existed:
        raise NotFound(f"{name} has no secret with this id: `pregon subscriber secret list {name}` shows what there is")
    if not as_json:
        console().print(tell(f"{name}: secret {secret_id} revoked", f"{name}: secreto {secret_id} revocado"))
