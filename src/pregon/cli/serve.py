"""`pregon serve`: run a hub until it is told to stop."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from pregon.cli.output import console, tell
from pregon.settings import CONFIG_VARIABLE, Settings, load_settings

commands = typer.Typer()

_SWITCH_INTERVAL_S = 0.00005


@commands.command("serve")
def serve(
    data: Annotated[str | None, typer.Option("--data", metavar="DIR", help="The data directory")] = None,
    zmq: Annotated[str | None, typer.Option("--zmq", metavar="tcp://HOST:PORT", help="The fast lane's address")] = None,
    feed: Annotated[
        str | None, typer.Option("--feed", metavar="tcp://HOST:PORT", help="The live feed's address")
    ] = None,
    ingest: Annotated[
        str | None, typer.Option("--ingest", metavar="tcp://HOST:PORT", help="The ingest's address")
    ] = None,
    http: Annotated[str | None, typer.Option("--http", metavar="HOST:PORT", help="The HTTP door's address")] = None,
    config: Annotated[Path | None, typer.Option("--config", metavar="FILE", help="A TOML file of settings")] = None,
    auto_create: Annotated[
        bool | None,
        typer.Option("--auto-create/--no-auto-create", help="Make topics and the like on first use"),
    ] = None,
    log_level: Annotated[str | None, typer.Option("--log-level", help="debug, info, warning or error")] = None,
) -> None:
    """Run a hub. Settings come from --config, then PREGON_* variables, then these options."""
    options = {
        "data": data, "zmq": zmq, "feed": feed, "ingest": ingest, "http": http,
        "auto_create": auto_create, "log_level": log_level,
    }  # fmt: skip
    file = config or (Path(os.environ[CONFIG_VARIABLE]) if os.environ.get(CONFIG_VARIABLE) else None)
    settings = load_settings(file, os.environ, options)
    run(settings)


def run(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT; what was taken until then is written."""
    # Imported here, so that every other command starts without the server.
    from pregon.logs import configure_logs
    from pregon.server import Server

    configure_logs(settings.log_level)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with Server(settings) as server:
        _tune_interpreter()
        _greet(server.addresses, settings)
        # Waiting in slices: a signal's handler only runs when the main thread comes back to the interpreter.
        while not stop.wait(0.2):
            pass


def _tune_interpreter() -> None:
    """What suits a process that is a hub and nothing else."""
    # The committer, back from a sync, must not wait the usual 5 ms for the thread that reads requests.
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    # What was imported stays for ever: the garbage collector need not look at it again and again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _greet(addresses: dict[str, str], settings: Settings) -> None:
    """Say what to do next, to a person."""
    from pregon.addresses import DEFAULT_HUB, HUB_VARIABLE

    out = console()
    program = os.path.relpath(sys.argv[0]) if os.sep in sys.argv[0] else sys.argv[0]
    hub = "" if addresses["zmq"] == DEFAULT_HUB else f"{HUB_VARIABLE}={addresses['zmq']} "
    out.print(
        tell(
            "[bold]The hub is running.[/] In another terminal:",
            "[bold]El pregón está en marcha.[/] En otra terminal:",
        )
    )
    command = escape(hub + program)
    out.print(f"  {tell('publish', 'publicar')}:  [cyan]{command} publish fallecidos 'Pepe Gómez'[/]")
    out.print(f"  {tell('pull', 'recibir')}:     [cyan]{command} pull fallecidos[/]")
    if "http" in addresses:
        out.print(f"  {tell('metrics', 'métricas')}:  [cyan]curl {addresses['http']}/metrics[/]")
    out.print(
        tell(
            f"Messages are kept in {escape(settings.data)}. Stop with Ctrl-C.",
            f"Los mensajes se guardan en {escape(settings.data)}. Se detiene con Ctrl-C.",
        )
    )
    sys.stdout.flush()
