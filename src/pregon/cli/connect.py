"""The options that commands share, and the client that they use.

A key is no option: the arguments of a process are seen by everybody on its machine (`ps`), its variables only by
its user. The client itself reads it from the variable PREGON_KEY.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Annotated

import typer

from pregon.addresses import DEFAULT_HUB, HUB_VARIABLE, KEY_VARIABLE
from pregon.errors import BadRequest

if TYPE_CHECKING:
    from pregon.client import Client

HubOption = Annotated[
    str | None,
    typer.Option(
        "--hub",
        metavar="URL",
        help=f"The hub: tcp://, http:// or https:// [env {HUB_VARIABLE}; {DEFAULT_HUB}]. "
        f"The key to present is read from the variable {KEY_VARIABLE} only",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON for programs instead of text for people")]
TimeoutOption = Annotated[int, typer.Option("--timeout", metavar="MS", help="How long to wait for the hub")]
MaxOption = Annotated[int, typer.Option("--max", help="At most so many")]
TIMEOUT_MS = 5_000
CERTIFICATE_VARIABLE = "PREGON_CERTIFICATE"
"""The environment variable that names the file with the certificate to show to a hub, and its key."""

_DURATION = re.compile(r"(\d+)(ms|s|m|h|d)", re.ASCII)
_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SIZE = re.compile(r"(\d+)(B|KiB|MiB|GiB)?", re.ASCII)
_BYTES = {None: 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def connect(hub: str | None, *, producer: str = "local", timeout_ms: int = TIMEOUT_MS) -> Client:
    """A client of the hub that was named, by the option or the environment, or of the local one."""
    from pregon.client import Client

    address = hub or os.environ.get(HUB_VARIABLE, DEFAULT_HUB)
    # Only where it is used: the variable may stand for all the hubs that somebody talks to.
    certificate = os.environ.get(CERTIFICATE_VARIABLE) if address.startswith("https:") else None
    return Client(address, producer=producer, timeout_ms=timeout_ms, certificate=certificate)


def parse_duration_ms(text: str | None) -> int | None:
    """`30d`, `12h`, `90s`, `500ms` as milliseconds; raises BadRequest."""
    if text is None:
        return None
    match = _DURATION.fullmatch(text)
    if match is None:
        raise BadRequest(f"{text!r} is not a duration: write 500ms, 90s, 15m, 12h or 30d")
    return int(match[1]) * _MS[match[2]]


def parse_bytes(text: str | None) -> int | None:
    """`500MiB`, `10GiB` as bytes; raises BadRequest."""
    if text is None:
        return None
    match = _SIZE.fullmatch(text)
    if match is None:
        raise BadRequest(f"{text!r} is not a size: write 1000, 64KiB, 500MiB or 10GiB")
    return int(match[1]) * _BYTES[match[2]]
