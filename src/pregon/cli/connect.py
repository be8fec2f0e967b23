"""The options that commands share, and the client that they use.

A key is no option: the arguments of a process are seen by everybody on its machine (`ps`), its variables only by
its user. The client itself reads it from the variable PREGON_KEY.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from pregon.addresses import DEFAULT_HUB, HUB_VARIABLE, KEY_VARIABLE
from pregon.model.quantities import parse_bytes as parse_bytes
from pregon.model.quantities import parse_duration_ms as parse_duration_ms

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


def connect(hub: str | None, *, producer: str = "local", timeout_ms: int = TIMEOUT_MS) -> Client:
    """A client of the hub that was named, by the option or the environment, or of the local one."""
    from pregon.client import Client

    address = hub or os.environ.get(HUB_VARIABLE, DEFAULT_HUB)
    # Only where it is used: the variable may stand for all the hubs that somebody talks to.
    certificate = os.environ.get(CERTIFICATE_VARIABLE) if address.startswith("https:") else None
    return Client(address, producer=producer, timeout_ms=timeout_ms, certificate=certificate)
