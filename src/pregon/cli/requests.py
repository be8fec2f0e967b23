"""`pregon request` and `pregon result`: ask a service from the command line, and collect what was left to be done."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pregon.cli.connect import HubOption, JsonOption, TimeoutOption
from pregon.cli.output import show_json

commands = typer.Typer()

FrontOption = Annotated[
    str | None,
    typer.Option("--front", metavar="tcp://HOST:PORT", help="The broker's front; otherwise the hub is asked for it"),
]
_TIMEOUT_MS = 30_000


def _show(frames: list[bytes], *, as_json: bool) -> None:
    if as_json:
        show_json([frame.decode("utf-8", "replace") for frame in frames])
        return
    for frame in frames:
        sys.stdout.buffer.write(frame + b"\n")
    sys.stdout.buffer.flush()


@commands.command("request")
def request(
    job_type: Annotated[str, typer.Argument(metavar="TYPE", help="The job type")],
    body: Annotated[list[str], typer.Argument(metavar="BODY…", help="What to ask; each is a frame; - reads one")],
    durable: Annotated[bool, typer.Option("--durable", help="Store it, show its id, and do not wait")] = False,
    key: Annotated[str, typer.Option("--key", help="The id of a durable request: asked again, it is the same")] = "",
    version: Annotated[str, typer.Option("--version", help="Only a worker of this version")] = "",
    priority: Annotated[int, typer.Option("--priority", min=0, max=9, help="The higher goes first")] = 5,
    deadline_ms: Annotated[int | None, typer.Option("--deadline-ms", help="Of no use after this long")] = None,
    timeout_ms: TimeoutOption = _TIMEOUT_MS,
    front: FrontOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a service and show its answer, a frame a line; with --durable, show the id by which to collect it."""
    from pregon.client.services.ask import AskOptions
    from pregon.client.services.clients import ServiceClient

    frames = [sys.stdin.buffer.read() if one == "-" else one.encode() for one in body]
    options: AskOptions = {"version": version, "priority": priority}
    if deadline_ms is not None:
        options["deadline_ms"] = deadline_ms
    with ServiceClient(front, hub=hub, timeout_ms=timeout_ms) as client:
        if durable:
            typer.echo(client.submit(job_type, *frames, key=key, **options))
        else:
            _show(client.request_frames(job_type, frames, **options), as_json=as_json)


@commands.command("result")
def result(
    id: Annotated[str, typer.Argument(metavar="ID", help="As `pregon request --durable` showed it")],
    wait_ms: Annotated[int, typer.Option("--wait-ms", help="How long to wait for it")] = 0,
    front: FrontOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Collect the result of a durable request."""
    from pregon.client.services.clients import ServiceClient

    with ServiceClient(front, hub=hub) as client:
        _show(client.collect_frames(id, wait_ms=wait_ms), as_json=as_json)
